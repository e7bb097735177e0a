// Compiled like kernels.cpp, once for each instruction set, and as careful not to share a function
// with other units.

#include "kernels.hpp"

namespace propwash::bindings::open_loop {

namespace {

struct Isa;

OpenLoopKernel source(std::size_t rotors) {
  return open_loop_kernel<Isa, NativePack<double>>(rotors);
}

}  // namespace

OpenLoopKernelSource PROPWASH_KERNELS_UNIT() { return &source; }

}  // namespace propwash::bindings::open_loop
