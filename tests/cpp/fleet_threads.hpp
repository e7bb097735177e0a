#pragma once
/// @file
/// The kernels for GPUs that the tests compare with those of packs, compiled once: run on the host
/// by fleet_kernels_thread.cpp, or on a device by tests/device/fleet_kernels_device.cu.

#include <propwash/fleet/impl/thread_kernels.hpp>

/// For four or six rotors.
template <class T>
propwash::FleetKernels<T> thread_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<float> thread_kernels(int rotors, bool parallel);
template <>
propwash::FleetKernels<double> thread_kernels(int rotors, bool parallel);

/// For four parallel rotors, commands of rates and thrust, process noise, and noise and bias walk
/// of the IMU; no other feature.
propwash::FleetKernels<float> closed_loop_kernels(int rotors, bool parallel);

/// Defines them; Loops as in thread_fleet_kernels().
template <template <class T, int N, class Shape> class Loops>
struct ThreadKernelsBy {
  template <class T, int N, class Shape,
            propwash::FleetFeatures Features = propwash::features_at_run_time>
  static propwash::FleetKernels<T> kernels() {
    return propwash::thread_fleet_kernels<T, N, Shape, Features, Loops<T, N, Shape>>();
  }
  template <class T>
  static propwash::FleetKernels<T> of(int rotors, bool parallel) {
    using propwash::GeneralShape;
    using propwash::PrincipalShape;
    if (rotors == 4)
      return parallel ? kernels<T, 4, PrincipalShape>() : kernels<T, 4, GeneralShape>();
    return parallel ? kernels<T, 6, PrincipalShape>() : kernels<T, 6, GeneralShape>();
  }
  static propwash::FleetKernels<float> closed_loop() {
    constexpr auto features = [] {
      propwash::TickSwitches on;
      on.process_noise = on.imu_noise = on.bias_walk = true;
      return propwash::features_of(on, true, false, false);
    }();
    return kernels<float, 4, propwash::PrincipalShape, features>();
  }
};
