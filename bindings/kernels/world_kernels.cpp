// Compiled like kernels.cpp, once for each instruction set and type of number, and as careful not
// to share a function with other units.

#include "world_kernels.hpp"

namespace propwash::bindings::world {

namespace {

struct Isa;

}  // namespace

WorldKernels<PROPWASH_KERNELS_NUMBER> PROPWASH_KERNELS_UNIT() {
  // not make_world_kernels: its instance for this unit would be no local function
  using Loops = detail::WorldLoops<Isa, PROPWASH_KERNELS_NUMBER>;
  return {Loops::lanes, &Loops::raycast, &Loops::visible};
}

}  // namespace propwash::bindings::world
