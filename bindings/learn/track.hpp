#pragma once
/// @file
/// Following a closed path at a kept speed.

#include <cstdint>

#include "rows.hpp"

namespace propwash::learn {

/// Points of a path at even ways; a power of two.
inline constexpr std::size_t path_samples = 2048;

/// A closed path, and the speed at which a point runs along it.
template <class T>
struct PathRows {
  const T* table;  ///< m: points and the leaps to the next, (path_samples, 6)
  double length;   ///< m, of the path
  double speed;    ///< m/s

  /// Which point of the table a way >= 0 [m] from the first one lies at or after.
  const T* row(double cell) const {
    return table +
           6 * (static_cast<std::size_t>(static_cast<std::int64_t>(cell)) & (path_samples - 1));
  }
  double cells_per_metre() const { return static_cast<double>(path_samples) / length; }
  /// The point at a way >= 0 [m] from the first.
  Vec3<T> place(double way) const {
    const double cell = way * cells_per_metre();
    const T share = static_cast<T>(cell - static_cast<double>(static_cast<std::int64_t>(cell)));
    const T* at = row(cell);
    return {at[0] + share * at[3], at[1] + share * at[4], at[2] + share * at[5]};
  }
  /// m/s, of the point that is there.
  Vec3<T> velocity(double way) const {
    const T* at = row(way * cells_per_metre());
    const T pace = static_cast<T>(speed * cells_per_metre());
    return {at[3] * pace, at[4] * pace, at[5] * pace};
  }
};

/// Where the points are that `size` vehicles follow: phase [m] is the way at the start of the
/// episode, steps of `period` [s] have passed since, and the result is for `later` [s] from now.
/// place: m, velocity: m/s, (size, 3) each.
template <class T>
void follow(const PathRows<T>& path, const double* phase, const std::int32_t* steps, double period,
            double later, std::size_t size, T* place, T* velocity) {
  for (std::size_t i = 0; i < size; ++i) {
    const double way = phase[i] + path.speed * (steps[i] * period + later);
    const Vec3<T> p = path.place(way), v = path.velocity(way);
    for (int k = 0; k < 3; ++k) place[3 * i + std::size_t(k)] = p[k];
    for (int k = 0; k < 3; ++k) velocity[3 * i + std::size_t(k)] = v[k];
  }
}

/// Seconds from now at which the path ahead is looked at.
inline constexpr double ahead[] = {0.1, 0.2, 0.4};
inline constexpr std::size_t ahead_columns = 12;

/// What a follower sees of its path, (size, 12): the point's velocity, then the ways from the
/// vehicle to where the point will be.
template <class T>
void look_ahead(const PathRows<T>& path, const double* phase, const std::int32_t* steps,
                double period, const T* position, const T* velocity, std::size_t size, T* seen) {
  for (std::size_t i = 0; i < size; ++i, seen += ahead_columns) {
    const double way = phase[i] + path.speed * (steps[i] * period);
    for (std::size_t k = 0; k < 3; ++k) seen[k] = velocity[3 * i + k];
    T* to = seen + 3;
    for (const double later : ahead) {
      const Vec3<T> p = path.place(way + path.speed * later);
      for (std::size_t k = 0; k < 3; ++k) *to++ = p[static_cast<int>(k)] - position[3 * i + k];
    }
  }
}

/// Weights of the reward of a step, finite and not checked:
///   position / (1 + distance / position_scale) − velocity |velocity error| − body_rates |rates|²
///   − action_change |change of action|²
template <class T>
struct TrackReward {
  T position = T(1);
  T position_scale = T(0.5);  ///< m, the distance that halves the term of `position`
  T velocity = T(0.02);       ///< s/m
  T body_rates = T(0.002);    ///< s²/rad²
  T action_change = T(0.02);  ///< for each square of an action's unit
};

/// Arrays (size). reward: see TrackReward; over: farther than `bound` [m] from the point;
/// distance: m.
template <class T>
void judge_track(const StateRows<T>& state, const ActionRows<T>& action, const T* place,
                 const T* velocity, const TrackReward<T>& weights, T bound, T* reward, bool* over,
                 T* distance) {
  const T per_scale = T(1) / weights.position_scale;
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    const std::size_t n = state.size;
    const W far =
        norm(detail::vec3_of(state.position, block, n) - detail::vec3_of(place, block, n));
    const W slip =
        norm(detail::vec3_of(state.velocity, block, n) - detail::vec3_of(velocity, block, n));
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, n);
    const W worth = weights.position / (far * per_scale + T(1)) - weights.velocity * slip -
                    weights.body_rates * squared_norm(rates) -
                    weights.action_change * detail::squared_change(action, block);
    detail::put(worth, reward, 1, 0, block);
    detail::put(far > W(bound), over, 1, 0, block);
    detail::put(far, distance, 1, 0, block);
  });
}

}  // namespace propwash::learn
