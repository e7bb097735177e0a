// Kernels of propwash::static, for the instruction set of this compilation.
#include "propwash/fleet/impl/kernels.hpp"

template propwash::FleetKernels<float> propwash::native_fleet_kernels<float, propwash::Dynamic>(
    int rotors, bool parallel);
template propwash::FleetKernels<double> propwash::native_fleet_kernels<double, propwash::Dynamic>(
    int rotors, bool parallel);
