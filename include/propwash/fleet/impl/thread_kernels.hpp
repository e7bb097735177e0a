#pragma once
/// @file
/// The kernels of thread_kernel.hpp on the host, as a loop over the threads: what a GPU computes,
/// without one. The layout of their memory is that of the GPU.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <type_traits>

#include "propwash/fleet/impl/kernel.hpp"
#include "propwash/fleet/impl/thread_kernel.hpp"

namespace propwash {

namespace detail {

/// Writes and reads the constants of a block of vehicles: see FleetThread::constants_of().
template <class T, class Shape>
struct ThreadConstants {
  static std::size_t bytes(int rotors) { return count(rotors) * warp_lanes * sizeof(T); }

  static void set_constants(std::byte* block, int lane, int rotors, const TickSwitches&,
                            const double* numbers) {
    T* const to = reinterpret_cast<T*>(block) + lane;
    const std::size_t last = count(rotors);
    for (std::size_t k = 0; k < last; ++k) to[k * warp_lanes] = static_cast<T>(numbers[k]);
  }
  static void read_rotors(const std::byte* block, int lane, int rotors, T* numbers) {
    const T* const from = reinterpret_cast<const T*>(block) + lane;
    for_each_coefficient(rotors,
                         [&](int, int i, std::size_t k) { numbers[i] = from[k * warp_lanes]; });
  }
  static void set_rotors(std::byte* block, int lane, int rotors, const T* numbers,
                         const T* effectiveness) {
    T* const to = reinterpret_cast<T*>(block) + lane;
    for_each_coefficient(rotors, [&](int rotor, int i, std::size_t k) {
      to[k * warp_lanes] = numbers[i] * effectiveness[rotor];
    });
  }

 private:
  /// Constants whose numbers are their places in the order of for_each_number.
  static TickConstants<double, Dynamic, Shape> places(int rotors) {
    TickConstants<double, Dynamic, Shape> constants;
    resize_arrays(constants, rotors);
    double place = 0.0;
    for_each_number(constants, [&](double& number) { number = place++; });
    return constants;
  }
  static std::size_t count(int rotors) {
    const auto constants = places(rotors);
    std::size_t numbers = 0;
    for_each_number(constants, [&](double) { ++numbers; });
    return numbers;
  }
  /// Calls f(rotor, index of the coefficient, place) for what the effectiveness multiplies.
  template <class F>
  static void for_each_coefficient(int rotors, const F& f) {
    const auto constants = places(rotors);
    for (int rotor = 0; rotor < rotors; ++rotor) {
      int i = rotor * numbers_of_rotor;
      const auto call = [&](double place) { f(rotor, i++, static_cast<std::size_t>(place)); };
      for_each_number(constants.model.rotors[rotor].force_B, call);
      for_each_number(constants.model.rotors[rotor].torque_B, call);
    }
  }
};

template <class T, int N, class Shape>
struct ThreadLoops {
  template <class Method, TickWork Work, FleetFeatures Features = features_at_run_time>
  static void step(const FleetBatch<T>& batch, std::size_t first, std::size_t last) {
    assert(Features == features_at_run_time || Features == features_of(batch));
    using Thread = FleetThread<T, N, Shape, Method, Work, Features>;
    each<Thread>(batch, first, last, [&](const auto& constants, std::size_t vehicle) {
      Thread::step(batch, constants, vehicle);
    });
  }
  static void measure(const FleetBatch<T>& batch, std::size_t first, std::size_t last, T* readings,
                      std::size_t stride) {
    using Thread = FleetThread<T, N, Shape, Euler, TickWork::everything>;
    each<Thread>(batch, first, last, [&](const auto& constants, std::size_t vehicle) {
      Thread::measure(batch, constants, vehicle, readings, stride);
    });
  }

 private:
  /// Calls f(constants, vehicle) for each vehicle of the blocks.
  template <class Thread, class F>
  static void each(const FleetBatch<T>& batch, std::size_t first, std::size_t last, const F& f) {
    const auto shared = Thread::constants_of(batch, 0);
    const std::size_t end = std::min(batch.size, last * warp_lanes);
    for (std::size_t vehicle = first * warp_lanes; vehicle < end; ++vehicle) {
      if (batch.constants_stride == 0) {
        f(shared, vehicle);
      } else {
        f(Thread::constants_of(batch, vehicle), vehicle);
      }
    }
  }
};

}  // namespace detail

/// The part of the kernels for one shape that does not depend on the steps.
template <class T, class Shape>
FleetKernels<T> thread_fleet_constants(int rotors) {
  using Of = detail::ThreadConstants<T, Shape>;
  FleetKernels<T> kernels;
  kernels.lanes = warp_lanes;
  kernels.is_principal = std::is_same_v<Shape, PrincipalShape>;
  kernels.constants_bytes = Of::bytes(rotors);
  kernels.set_constants = &Of::set_constants;
  kernels.read_rotors = &Of::read_rotors;
  kernels.set_rotors = &Of::set_rotors;
  return kernels;
}

/// The kernels for one number of rotors and one shape. With fixed Features, steps of everything
/// are only for batches with these. Loops runs the threads: ThreadLoops, or a class with its
/// functions that launches them on a GPU.
template <class T, int N, class Shape, FleetFeatures Features = features_at_run_time,
          class Loops = detail::ThreadLoops<T, N, Shape>>
FleetKernels<T> thread_fleet_kernels(int rotors = N) {
  constexpr auto everything = TickWork::everything;
  auto kernels = thread_fleet_constants<T, Shape>(rotors);
  for (auto& step : kernels.euler) step = &Loops::template step<Euler, everything, Features>;
  for (auto& step : kernels.rk4) step = &Loops::template step<Rk4, everything, Features>;
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    kernels.rk4[0] = &Loops::template step<Rk4, TickWork::physics>;
    kernels.rk4[1] = &Loops::template step<Rk4, TickWork::process_noise>;
  }
  kernels.measure = &Loops::measure;
  return kernels;
}

}  // namespace propwash
