// Compiled like kernels.cpp, once for each instruction set and type of number, and as careful not
// to share a function with other units.

#include "kernels.hpp"

namespace propwash::bindings::world {

namespace {

struct Isa;

}  // namespace

WorldKernels<PROPWASH_KERNELS_NUMBER> PROPWASH_KERNELS_UNIT() {
  using Loops = detail::WorldLoops<Isa, PROPWASH_KERNELS_NUMBER>;
  return {&Loops::raycast, &Loops::visible};
}

}  // namespace propwash::bindings::world
