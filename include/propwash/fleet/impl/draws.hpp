#pragma once
/// @file
/// The random numbers of a block of vehicles, for several steps at a time.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "propwash/fleet/impl/batch.hpp"
#include "propwash/random/lanes.hpp"

namespace propwash::detail {

/// Random numbers of one step, for each lane.
template <class Real>
struct LaneDraws {
  NormalsOf<Real> process;  ///< force, torque
  NormalsOf<Real> walk;     ///< of the biases: accelerometer, gyroscope
  NormalsOf<Real> imu;      ///< white noise of the reading before the step; [3] to [5] only
  NormalsOf<Real> gust;
};

/// Steps for which a kernel draws at a time.
inline constexpr int draws_at_once = 5;

/// Draws the enabled random numbers of `count` steps. Not inlined: that would double the size of
/// each kernel. Draws several steps at a time, because a call spills the caller's registers.
template <class Isa, class T, int Lanes>
#if defined(__GNUC__)
__attribute__((noinline))
#endif
void draw_steps(const FleetBatch<T>& batch, std::size_t block, std::uint64_t step, int count,
                bool imu, LaneDraws<Pack<T, Lanes>>* draws) {
  const auto* const ids = batch.ids + block * Lanes;
  const auto draw = [&](Stream stream, auto first, NormalsOf<Pack<T, Lanes>>& to) PROPWASH_LAMBDA {
    const auto z = lane_normals<T, Lanes>(batch.seed, ids, step, stream);
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
