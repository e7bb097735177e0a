#pragma once
/// @file
/// The kernels of fleets of each instruction set. Those of float in other shapes than the
/// quadcopter's are in the module _models.

#include "instruction_set.hpp"
#include "propwash/fleet/impl/kernels.hpp"

namespace propwash::bindings {

PROPWASH_DECLARE_KERNELS(quadcopter, FleetKernels<float>, float)
PROPWASH_DECLARE_KERNELS(shapes, FleetKernelSource<float>, float)
PROPWASH_DECLARE_KERNELS(fleet, FleetKernelSource<double>, double)

}  // namespace propwash::bindings
