// Compiled once for each instruction set and number type. The rule of kernels.cpp applies: define
// nothing that another translation unit could share.

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
