#pragma once
/// @file
/// The kernels of fleets of each instruction set.

#include "instruction_set.hpp"
#include "propwash/fleet/impl/kernels.hpp"

namespace propwash::bindings {

PROPWASH_DECLARE_KERNELS(fleet, FleetKernelSource<float>, float)
PROPWASH_DECLARE_KERNELS(fleet, FleetKernelSource<double>, double)

}  // namespace propwash::bindings
