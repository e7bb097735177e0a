#pragma once
/// @file
/// Attitude control by quaternions, the tilt of the thrust axis before the heading.
///
/// Brescianini and D'Andrea, "Tilt-Prioritized Quadrocopter Attitude Control" (IEEE TCST 28, 2020):
/// the error is split into the least turn that brings the thrust axis home and a turn about it,
/// each with a gain of its own; see docs/control/outer-loops.md.

#include "propwash/math/quat.hpp"

namespace propwash {

/// Gains from the turn that is left to body rates.
template <class P>
struct AttitudeControlLaw {
  P tilt{};                ///< 1/s
  P heading{};             ///< 1/s
  P tilt_rate_limit{};     ///< rad/s, of the rates about body x and y together
  P heading_rate_limit{};  ///< rad/s, about body z
  Vec3<P> rate_gain{};     ///< -, on the rate error, in addition to the rate controller's own
};

/// The turn from attitude q to direction_W of the thrust axis, by the shortest way: x and y of
/// 2 sin(angle / 2) times its axis, body frame.
template <class T>
PROPWASH_FN Vec3<T> tilt_error(const Quat<T>& q, const Vec3<T>& direction_W) {
  const T zero(constant<T>(0));
  const Vec3<T> d = rotate_inverse(q, direction_W);
  // 2 sin(angle / 2) = 2 sin(angle) / sqrt(2 (1 + cos(angle))); upside down any axis will do
  const T room = (T(constant<T>(1)) + d.z) * constant<T>(2);
  const auto opposite = room < T(constant<T>(1e-5));
  const T scale = T(constant<T>(2)) / sqrt(select(opposite, T(constant<T>(1)), room));
  return {select(opposite, T(constant<T>(2)), -d.y * scale), select(opposite, zero, d.x * scale),
          zero};
}

/// The turn about the thrust axis that is left when that has come home: 2 sin(angle / 2).
template <class T>
PROPWASH_FN T heading_error(const Quat<T>& q, const Quat<T>& q_wanted) {
  const Quat<T> e = conjugate(q) * q_wanted;
  const T length = sqrt(e.w * e.w + e.z * e.z);
  const T sine = e.z / max(length, T(constant<T>(1e-4)));
  return select(e.w < T(constant<T>(0)), -sine, sine) * constant<T>(2);
}

/// The direction of the thrust axis of an attitude, world frame.
template <class T>
PROPWASH_FN Vec3<T> thrust_axis(const Quat<T>& q) {
  return rotate(q, AlongZ<T>{T(constant<T>(1))});
}

/// Body rates [rad/s] for what is left to turn (tilt_error and heading_error), plus `feed_forward`,
/// within the limits.
template <class T, class P>
PROPWASH_FN Vec3<T> attitude_control(const AttitudeControlLaw<P>& law, const Vec3<T>& error,
                                     const Vec3<T>& feed_forward) {
  const T x = error.x * law.tilt + feed_forward.x;
  const T y = error.y * law.tilt + feed_forward.y;
  const T z = error.z * law.heading + feed_forward.z;
  const T pace = sqrt(x * x + y * y);
  const T least(law.tilt_rate_limit);
  const T share = least / max(pace, least);
  return {x * share, y * share, clamp(z, -T(law.heading_rate_limit), T(law.heading_rate_limit))};
}

/// The body rates to ask the rate controller for, so that it acts as if its gains were 1 +
/// rate_gain times what they are; `rates` as it measures them.
template <class T, class P>
PROPWASH_FN Vec3<T> stiffened_rates(const AttitudeControlLaw<P>& law, const Vec3<T>& wanted,
                                    const Vec3<T>& rates) {
  return wanted + cwise_product(wanted - rates, law.rate_gain);
}

}  // namespace propwash
