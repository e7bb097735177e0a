// Compiled once for each instruction set, for double only. The rule of fleet_kernels.cpp applies:
// define nothing that another translation unit could share.

#include "derivative_kernels.hpp"

namespace propwash::bindings::open_loop {

namespace {

struct Isa;

OpenLoopKernel source(std::size_t rotors) {
  return open_loop_kernel<Isa, NativePack<double>>(rotors);
}

}  // namespace

OpenLoopKernelSource PROPWASH_KERNELS_UNIT() { return &source; }

}  // namespace propwash::bindings::open_loop
