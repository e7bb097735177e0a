// See fleet_engine.hpp.
#include <propwash/fleet/impl/kernels.hpp>

template <class T>
propwash::FleetKernels<T> test_kernels(int rotors, bool parallel);

template <>
propwash::FleetKernels<float> test_kernels(int rotors, bool parallel) {
  return propwash::native_fleet_kernels<float, propwash::Dynamic>(rotors, parallel);
}
