#pragma once
/// @file
/// Tracking a point that moves along a closed path at constant speed.

#include <cstdint>

#include "propwash/learn/impl/rows.hpp"

namespace propwash::learn {

/// Number of samples of a path at equal arc lengths; a power of two.
inline constexpr std::size_t path_samples = 2048;

/// A closed path and the speed of the reference point along it.
template <class T>
struct PathRows {
  const T* table;  ///< m: points and differences to the next point, (path_samples, 6)
  double length;   ///< m, of the path
  double speed;    ///< m/s

  /// The table's row for a position `cell` >= 0 along the path, in samples from the first point.
  const T* row(double cell) const {
    return table +
           6 * (static_cast<std::size_t>(static_cast<std::int64_t>(cell)) & (path_samples - 1));
  }
  double cells_per_metre() const { return static_cast<double>(path_samples) / length; }
  /// The point at an arc length >= 0 [m] from the first, interpolated linearly.
  Vec3<T> position(double arc) const {
    const double cell = arc * cells_per_metre();
    const T fraction = static_cast<T>(cell - static_cast<double>(static_cast<std::int64_t>(cell)));
    const T* at = row(cell);
    return {at[0] + fraction * at[3], at[1] + fraction * at[4], at[2] + fraction * at[5]};
  }
  /// Velocity [m/s] of the reference point there.
  Vec3<T> velocity(double arc) const {
    const T* at = row(arc * cells_per_metre());
    const T pace = static_cast<T>(speed * cells_per_metre());
    return {at[3] * pace, at[4] * pace, at[5] * pace};
  }
};

/// Positions and velocities of the reference points of `size` vehicles, `ahead` [s] from now.
/// phase: arc length at the start of the episode [m]; steps: of `period` [s] since then.
/// target: m, velocity: m/s, (size, 3) each.
template <class T>
void follow(const PathRows<T>& path, const double* phase, const std::int32_t* steps, double period,
            double ahead, std::size_t size, T* target, T* velocity) {
  for (std::size_t i = 0; i < size; ++i) {
    const double arc = phase[i] + path.speed * (steps[i] * period + ahead);
    const Vec3<T> p = path.position(arc), v = path.velocity(arc);
    for (int k = 0; k < 3; ++k) target[3 * i + std::size_t(k)] = p[k];
    for (int k = 0; k < 3; ++k) velocity[3 * i + std::size_t(k)] = v[k];
  }
}

/// Preview times of the path [s].
inline constexpr double ahead[] = {0.1, 0.2, 0.4};
inline constexpr std::size_t ahead_columns = 12;

/// seen (size, 12): velocity of the reference point, then the vectors from the vehicle to the
/// points at the preview times.
template <class T>
void look_ahead(const PathRows<T>& path, const double* phase, const std::int32_t* steps,
                double period, const T* position, const T* velocity, std::size_t size, T* seen) {
  for (std::size_t i = 0; i < size; ++i, seen += ahead_columns) {
    const double arc = phase[i] + path.speed * (steps[i] * period);
    for (std::size_t k = 0; k < 3; ++k) seen[k] = velocity[3 * i + k];
    T* to = seen + 3;
    for (const double preview : ahead) {
      const Vec3<T> p = path.position(arc + path.speed * preview);
      for (std::size_t k = 0; k < 3; ++k) *to++ = p[static_cast<int>(k)] - position[3 * i + k];
    }
  }
}

/// Weights of the reward of a step (must be finite, not checked):
///   position / (1 + distance / position_scale) − velocity |velocity error| − body_rates |rates|²
///   − action_change |change of action|²
template <class T>
struct TrackReward {
  T position = T(1);
  T position_scale = T(0.5);  ///< m, distance at which the `position` term is halved
  T velocity = T(0.02);       ///< s/m
  T body_rates = T(0.002);    ///< s²/rad²
  T action_change = T(0.02);  ///< 1/(unit of the action)²
};

/// Arrays (size). reward: see TrackReward; over: whether farther than `bound` [m] from the point;
/// distance: m.
template <class T>
void judge_track(const StateRows<T>& state, const ActionRows<T>& action, const T* target,
                 const T* velocity, const TrackReward<T>& weights, T bound, T* reward, bool* over,
                 T* distance) {
  const T per_scale = T(1) / weights.position_scale;
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    const std::size_t n = state.size;
    const W far =
        norm(detail::vec3_of(state.position, block, n) - detail::vec3_of(target, block, n));
    const W velocity_error =
        norm(detail::vec3_of(state.velocity, block, n) - detail::vec3_of(velocity, block, n));
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, n);
    const W value = weights.position / (far * per_scale + T(1)) -
                    weights.velocity * velocity_error - weights.body_rates * squared_norm(rates) -
                    weights.action_change * detail::squared_change(action, block, state.size);
    detail::put(value, reward, 1, 0, block);
    detail::put(far > W(bound), over, 1, 0, block);
    detail::put(far, distance, 1, 0, block);
  });
}

}  // namespace propwash::learn
