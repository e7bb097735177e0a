#pragma once
/// @file
/// Hovering at the origin: what a step is worth, and when it is over.

#include "propwash/learn/rows.hpp"

namespace propwash::learn {

/// Squares of the body rates and of the change of action cost this much in all tasks that fly.
inline constexpr double rates_cost = 0.002, change_cost = 0.02;

/// reward: 1 / (1 + distance) + 0.2 upright − 0.002 |rates|² − 0.02 |change of action|².
/// over: farther than `bound` [m] from the origin. distance: m. All (size).
template <class T>
void judge_hover(const StateRows<T>& state, const ActionRows<T>& action, T bound, T* reward,
                 bool* over, T* distance) {
  detail::each_block<T>(state.size, [&](const detail::Block& block) PROPWASH_LAMBDA {
    using W = detail::Lanes<T>;
    const W far = norm(detail::vec3_of(state.position, block, state.size));
    const Quat<W> q = detail::quat_of(state.attitude, block, state.size);
    const W upright = T(1) - T(2) * (q.x * q.x + q.y * q.y);
    const Vec3<W> rates = detail::vec3_of(state.body_rates, block, state.size);
    const W worth = T(1) / (far + T(1)) + T(0.2) * upright - T(rates_cost) * squared_norm(rates) -
                    T(change_cost) * detail::squared_change(action, block);
    detail::put(worth, reward, 1, 0, block);
    detail::put(far > W(bound), over, 1, 0, block);
    detail::put(far, distance, 1, 0, block);
  });
}

}  // namespace propwash::learn
