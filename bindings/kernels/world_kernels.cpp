// Compiled once for each instruction set and number type. The rule of fleet_kernels.cpp applies:
// define nothing that another translation unit could share.

#include "world_kernels.hpp"

namespace propwash::bindings::world {

namespace {

struct Isa;

using Loops = detail::WorldLoops<Isa, PROPWASH_KERNELS_NUMBER>;

}  // namespace

WorldKernels<PROPWASH_KERNELS_NUMBER> PROPWASH_KERNELS_UNIT() {
  return {&Loops::raycast, &Loops::visible};
}

}  // namespace propwash::bindings::world
