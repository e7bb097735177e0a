// Compiled once for each instruction set and type of number: CMakeLists.txt says with which flags.
// PROPWASH_KERNELS_UNIT names the function, PROPWASH_KERNELS_NUMBER the type. What is defined here
// must stay local but for that function: the linker keeps one copy of what two units share, and
// that could be one that a machine cannot run.

#include "kernels.hpp"

namespace propwash::bindings {

namespace {

struct Isa;

using Number = PROPWASH_KERNELS_NUMBER;

FleetKernels<Number> source(int rotors, bool parallel) {
  constexpr int lanes = NativePack<Number>::lanes;
  return fleet_kernels<Isa, Number, lanes>(rotors, parallel);
}

}  // namespace

KernelUnit<Number> PROPWASH_KERNELS_UNIT() { return {&source, NativePack<Number>::lanes}; }

}  // namespace propwash::bindings
