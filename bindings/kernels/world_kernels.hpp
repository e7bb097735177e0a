#pragma once
/// @file
/// The kernels of scenes of each instruction set.

#include "instruction_set.hpp"
#include "propwash/world/raycast.hpp"

namespace propwash::bindings {

PROPWASH_DECLARE_KERNELS(world, WorldKernels<float>, float)
PROPWASH_DECLARE_KERNELS(world, WorldKernels<double>, double)

}  // namespace propwash::bindings
