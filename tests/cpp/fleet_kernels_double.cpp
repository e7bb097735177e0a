// See fleet_engine.hpp.
#include <propwash/fleet/impl/kernels.hpp>

template <class T>
propwash::FleetKernels<T> test_kernels(int rotors, bool parallel);
propwash::FleetKernels<double> wide_kernels(int rotors, bool parallel);

template <>
propwash::FleetKernels<double> test_kernels(int rotors, bool parallel) {
  return propwash::native_fleet_kernels<double, propwash::Dynamic>(rotors, parallel);
}

propwash::FleetKernels<double> wide_kernels(int, bool) {
  constexpr int lanes = 2 * propwash::NativePack<double>::lanes;
  return propwash::make_fleet_kernels<propwash::NativeIsa, double, lanes, 4,
                                      propwash::PrincipalShape>();
}
