// The kernels of propwash::static, for the instruction set that it is compiled for.
#include "propwash/fleet/impl/kernels.hpp"

template propwash::FleetKernels<float> propwash::native_fleet_kernels<float, propwash::Dynamic>(
    int rotors, bool parallel);
template propwash::FleetKernels<double> propwash::native_fleet_kernels<double, propwash::Dynamic>(
    int rotors, bool parallel);
