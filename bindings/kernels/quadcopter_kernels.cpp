// See fleet_kernels.cpp; for parallel vehicles with 4 rotors.

#include "fleet_kernels.hpp"

namespace propwash::bindings::quadcopter {

namespace {

struct Isa;

using Number = PROPWASH_KERNELS_NUMBER;

}  // namespace

FleetKernels<Number> PROPWASH_KERNELS_UNIT() {
  return make_fleet_kernels<Isa, Number, NativePack<Number>::lanes, 4, PrincipalShape>();
}

}  // namespace propwash::bindings::quadcopter
