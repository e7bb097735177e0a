#pragma once
/// @file
/// The random numbers of a block of vehicles, some steps at a time.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "propwash/fleet/impl/batch.hpp"
#include "propwash/random/lanes.hpp"

namespace propwash::detail {

/// What a step draws for each lane.
template <class Real>
struct LaneDraws {
  NormalsOf<Real> process;  ///< force, torque
  NormalsOf<Real> walk;     ///< of the biases: accelerometer, gyroscope
  NormalsOf<Real> imu;      ///< white noise of the reading before the step; the last three
  NormalsOf<Real> gust;
};

/// Steps for which a kernel draws at once.
inline constexpr int draws_at_once = 5;

/// The draws of `count` steps that the switches ask for. A function by itself, of which there is
/// one for all kernels of an instruction set: inlined, it would double the size of each. Called for
/// several steps, it empties the caller's registers less often.
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
