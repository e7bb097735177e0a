#pragma once
/// @file
/// Hovering at the origin: reward and termination.

#include "propwash/learn/impl/rows.hpp"

namespace propwash::learn {

/// Weights of the reward of a step (must be finite, not checked):
///   position / (1 + distance / position_scale) + upright cos(tilt) − body_rates |rates|²
///   − action_change |change of action|²
template <class T>
struct HoverReward {
  T position = T(1);
  T position_scale = T(1);  ///< m, distance at which the `position` term is halved
  T upright = T(0.2);
  T body_rates = T(0.002);    ///< s²/rad²
  T action_change = T(0.02);  ///< 1/(unit of the action)²
};

/// Arrays (size). reward: see HoverReward; over: whether farther than `bound` [m] from the origin;
/// distance: m.
template <class T>
void judge_hover(const StateRows<T>& state, const ActionRows<T>& action,
                 const HoverReward<T>& weights, T bound, T* reward, bool* over, T* distance) {
  const T per_scale = T(1) / weights.position_scale;
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    const W far = norm(detail::vec3_of(state.position, block, state.size));
    const Quat<W> q = detail::quat_of(state.attitude, block, state.size);
    const W upright = T(1) - T(2) * (q.x * q.x + q.y * q.y);
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, state.size);
    const W value = weights.position / (far * per_scale + T(1)) + weights.upright * upright -
                    weights.body_rates * squared_norm(rates) -
                    weights.action_change * detail::squared_change(action, block, state.size);
    detail::put(value, reward, 1, 0, block);
    detail::put(far > W(bound), over, 1, 0, block);
    detail::put(far, distance, 1, 0, block);
  });
}

}  // namespace propwash::learn
