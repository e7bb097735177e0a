#pragma once
/// @file
/// The random numbers of a block of vehicles, for several steps at a time.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "propwash/fleet/impl/batch.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/random/lanes.hpp"

namespace propwash::detail {

/// Random numbers of one step, for each lane.
template <class Real>
struct LaneDraws {
  NormalsOf<Real> process;  ///< force, torque
  NormalsOf<Real> walk;     ///< of the biases: accelerometer, gyroscope
  NormalsOf<Real> imu;      ///< white noise of the reading before the step; [3] to [5] only
  NormalsOf<Real> gust;

  /// Steps for which a kernel draws at a time: several, because a call spills the caller's
  /// registers, but in a thread of a GPU, which does not call, one.
  static constexpr int at_once = LanesOf<Real>::count > 1 ? 5 : 1;
};

/// Six normals for each lane, the first that of vehicle `first`.
template <class Real>
PROPWASH_FN NormalsOf<Real> normals_of(const FleetBatch<value_type_t<Real>>& batch,
                                       std::size_t first, std::uint64_t step, Stream stream) {
  if constexpr (std::is_floating_point_v<Real>) {
    const SixNormals z = six_normals(batch.seed, batch.ids[first], step, stream);
    return {Real(z[0]), Real(z[1]), Real(z[2]), Real(z[3]), Real(z[4]), Real(z[5])};
#if PROPWASH_RANDOM_LANES
  } else {
    return lane_normals<value_type_t<Real>, Real::lanes>(batch.seed, batch.ids + first, step,
                                                         stream);
#endif
  }
}

/// Draws the enabled random numbers of `count` steps. On a CPU not inlined: that would double the
/// size of each kernel.
template <class Isa, class Real>
#if defined(__CUDACC__)
PROPWASH_FN
#elif defined(__GNUC__)
__attribute__((noinline))
#endif
    void draw_steps(const FleetBatch<value_type_t<Real>>& batch, std::size_t vehicle,
                    std::uint64_t step, int count, bool imu, LaneDraws<Real>* draws) {
  const auto draw = [&](Stream stream, auto first, NormalsOf<Real>& to) PROPWASH_LAMBDA {
    const auto z = normals_of<Real>(batch, vehicle, step, stream);
    for_each_index<6, decltype(first)::value>(6, [&](int i) PROPWASH_LAMBDA { to.value[i] = z.value[i]; });
  };
  using All = std::integral_constant<int, 0>;
  using Gyroscope = std::integral_constant<int, 3>;
  for (int k = 0; k < count; ++k, ++step, ++draws) {
    if (batch.switches.process_noise) draw(Stream::process_noise, All{}, draws->process);
    if (batch.switches.bias_walk) draw(Stream::imu_bias_walk, All{}, draws->walk);
    if (imu) draw(Stream::imu_noise, Gyroscope{}, draws->imu);
    if (batch.switches.turbulence) draw(Stream::turbulence, All{}, draws->gust);
  }
}

}  // namespace propwash::detail
