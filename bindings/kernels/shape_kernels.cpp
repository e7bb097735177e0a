// See fleet_kernels.cpp; for all other shapes.

#include "fleet_kernels.hpp"

namespace propwash::bindings::shapes {

namespace {

struct Isa;

using Number = PROPWASH_KERNELS_NUMBER;

}  // namespace

FleetKernelSource<Number> PROPWASH_KERNELS_UNIT() {
  return &other_fleet_kernels<Isa, Number, NativePack<Number>::lanes>;
}

}  // namespace propwash::bindings::shapes
