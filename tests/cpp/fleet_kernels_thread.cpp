// See fleet_engine.hpp and test_fleet_thread.cpp.
#include <propwash/fleet/impl/thread_kernels.hpp>

#include "fleet_threads.hpp"

namespace pw = propwash;

namespace {

template <class T, int N>
pw::FleetKernels<T> of_shape(bool parallel) {
  return parallel ? pw::thread_fleet_kernels<T, N, pw::PrincipalShape>()
                  : pw::thread_fleet_kernels<T, N, pw::GeneralShape>();
}

template <class T>
pw::FleetKernels<T> of_rotors(int rotors, bool parallel) {
  return rotors == 4 ? of_shape<T, 4>(parallel) : of_shape<T, 6>(parallel);
}

constexpr pw::FleetFeatures noisy_closed_loop() {
  pw::TickSwitches on;
  on.process_noise = on.imu_noise = on.bias_walk = true;
  return pw::features_of(on, true, false, false);
}

}  // namespace

template <>
pw::FleetKernels<float> thread_kernels(int rotors, bool parallel) {
  return of_rotors<float>(rotors, parallel);
}
template <>
pw::FleetKernels<double> thread_kernels(int rotors, bool parallel) {
  return of_rotors<double>(rotors, parallel);
}

pw::FleetKernels<float> closed_loop_kernels(int, bool) {
  return pw::thread_fleet_kernels<float, 4, pw::PrincipalShape, noisy_closed_loop()>();
}
