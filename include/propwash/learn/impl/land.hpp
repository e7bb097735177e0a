#pragma once
/// @file
/// Landing at the origin on the ground: reward and termination.

#include "propwash/learn/impl/rows.hpp"

namespace propwash::learn {

/// Conditions for the end of an episode and for a successful landing.
template <class T>
struct LandBounds {
  T gear;         ///< m, height of the vehicle's position at touchdown
  T bound;        ///< m, distance from the origin at which the episode ends
  T radius;       ///< m, maximum distance from the origin for success
  T speed;        ///< m/s, maximum for success
  T tilt_cosine;  ///< minimum for success
};

/// Arrays (size) of a step.
template <class T>
struct LandRows {
  T* distance;  ///< m, to the origin: in: before the step, out: after it
  T* reward;
  bool* over;
  bool* landed;  ///< whether successful
  T* speed;      ///< m/s
};

/// Weights of the reward of a step (must be finite, not checked):
///   progress (distance before − distance) − speed (|velocity| / (distance + speed_margin))²
///   − body_rates |rates|², + success or − failure at the end
template <class T>
struct LandReward {
  T progress = T(4);        ///< 1/m
  T speed = T(0.002);       ///< s²
  T speed_margin = T(0.3);  ///< m
  T body_rates = T(0.002);  ///< s²/rad²
  T success = T(10);
  T failure = T(10);  ///< for every other termination
};

/// reward: see LandReward; the other arrays: see LandRows.
template <class T>
void judge_landing(const StateRows<T>& state, const LandBounds<T>& bounds,
                   const LandReward<T>& weights, const LandRows<T>& rows) {
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    const Vec3<W> position = detail::vec3_of(state.position, block, state.size);
    const Quat<W> q = detail::quat_of(state.attitude, block, state.size);
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, state.size);
    const W upright = T(1) - T(2) * (q.x * q.x + q.y * q.y);
    const W far = norm(position);
    const W side = sqrt(position.x * position.x + position.y * position.y);
    const W speed = norm(detail::vec3_of(state.velocity, block, state.size));
    using Mask = decltype(far > far);
    const Mask touched = position.z < W(bounds.gear);
    const Mask over = touched | (far > W(bounds.bound));
    const Mask landed = touched & (speed < W(bounds.speed)) & (upright > W(bounds.tilt_cosine)) &
                        (side < W(bounds.radius));
    const W speed_ratio = speed / (far + weights.speed_margin);
    const W progress = detail::column_of(rows.distance, 1, 0, block) - far;
    const W running = weights.progress * progress - weights.speed * speed_ratio * speed_ratio -
                      weights.body_rates * squared_norm(rates);
    const W end = select(landed, W(weights.success), select(over, W(-weights.failure), W(T(0))));
    detail::put(running + end, rows.reward, 1, 0, block);
    detail::put(over, rows.over, 1, 0, block);
    detail::put(landed, rows.landed, 1, 0, block);
    detail::put(far, rows.distance, 1, 0, block);
    detail::put(speed, rows.speed, 1, 0, block);
  });
}

}  // namespace propwash::learn
