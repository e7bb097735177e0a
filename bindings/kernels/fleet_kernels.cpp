// Compiled once for each instruction set and number type with the flags in kernels.cmake.
// PROPWASH_KERNELS_UNIT is the name of the exported function, PROPWASH_KERNELS_NUMBER the type. All
// other definitions must have internal linkage: of a function that two translation units define,
// the linker keeps one copy, which may use instructions that the processor does not support.

#include "fleet_kernels.hpp"

namespace propwash::bindings::fleet {

namespace {

struct Isa;

using Number = PROPWASH_KERNELS_NUMBER;

}  // namespace

FleetKernelSource<Number> PROPWASH_KERNELS_UNIT() {
  return &fleet_kernels<Isa, Number, NativePack<Number>::lanes>;
}

}  // namespace propwash::bindings::fleet
