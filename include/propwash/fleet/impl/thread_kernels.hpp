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

/// The kernels for one number of rotors and one shape. With fixed Features, steps of everything
/// are only for batches with these. Loops runs the threads: ThreadLoops, or a class with its
/// functions that launches them on a GPU.
template <class T, int N, class Shape, FleetFeatures Features = features_at_run_time,
          class Loops = detail::ThreadLoops<T, N, Shape>>
FleetKernels<T> thread_fleet_kernels() {
  constexpr auto everything = TickWork::everything;
  using Of = detail::FleetConstantsOf<WarpNumbers<T>, WarpNumbers<T>, T, N, Shape>;
  FleetKernels<T> kernels;
  kernels.lanes = warp_lanes;
  kernels.is_principal = std::is_same_v<Shape, PrincipalShape>;
  kernels.constants_bytes = sizeof(typename Of::Constants);
  for (auto& step : kernels.euler) step = &Loops::template step<Euler, everything, Features>;
  for (auto& step : kernels.rk4) step = &Loops::template step<Rk4, everything, Features>;
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    kernels.rk4[0] = &Loops::template step<Rk4, TickWork::physics>;
    kernels.rk4[1] = &Loops::template step<Rk4, TickWork::process_noise>;
  }
  kernels.measure = &Loops::measure;
  kernels.set_constants = &Of::set_constants;
  kernels.read_rotors = &Of::read_rotors;
  kernels.set_rotors = &Of::set_rotors;
  return kernels;
}

}  // namespace propwash
