#pragma once
/// @file
/// The kernels of derivatives of flights of each instruction set.

#include "instruction_set.hpp"
#include "propwash/fleet/impl/open_loop_kernel.hpp"
#include "propwash/math/trace_instruction.hpp"

namespace propwash::bindings {

PROPWASH_DECLARE_KERNELS(open_loop, OpenLoopKernelSource, double)
PROPWASH_DECLARE_KERNELS(trace, TraceRunner, double)

}  // namespace propwash::bindings
