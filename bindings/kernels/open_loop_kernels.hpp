#pragma once
/// @file
/// Windows of flights and their derivatives, in each instruction set, as dispatch.cpp sees them.
/// They are taken in double.

#include "propwash/fleet/impl/open_loop_kernel.hpp"

namespace propwash::bindings::open_loop {

OpenLoopKernelSource baseline_double();
OpenLoopKernelSource v3_double();
OpenLoopKernelSource v4_double();

}  // namespace propwash::bindings::open_loop
