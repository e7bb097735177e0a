#pragma once
/// @file
/// Quaternion attitude control; the tilt of the thrust axis has priority over the heading.
///
/// Equations (O1) to (O4) of docs/control/attitude_control.md, after Brescianini and D'Andrea,
/// "Tilt-Prioritized Quadrocopter Attitude Control" (IEEE TCST 28, 2020).

#include "propwash/math/quat.hpp"

namespace propwash {

/// Gains from the attitude error to body rates.
template <class P>
struct AttitudeControlLaw {
  P tilt{};                ///< 1/s
  P heading{};             ///< 1/s
  P tilt_rate_limit{};     ///< rad/s, of the rates about body x and y together
  P heading_rate_limit{};  ///< rad/s, about body z
  Vec3<P> rate_gain{};     ///< -, additional gain on the rate error
};

/// (O1) Tilt error, body frame: 2 sin(angle / 2) times the axis of the shortest rotation from the
/// thrust axis to the unit vector `axis_W`. Its z component is zero.
template <class T>
PROPWASH_FN Vec3<T> tilt_error(const Quat<T>& q_WB, const Vec3<T>& axis_W) {
  const T zero(constant<T>(0));
  const Vec3<T> axis_B = rotate_inverse(q_WB, axis_W);
  // 2 sin(angle / 2) = 2 sin(angle) / sqrt(2 (1 + cos(angle))); at 180 degrees any axis is valid
  const T denominator = (T(constant<T>(1)) + axis_B.z) * constant<T>(2);
  const auto opposite = denominator < T(constant<T>(1e-5));
  const T scale = T(constant<T>(2)) / sqrt(select(opposite, T(constant<T>(1)), denominator));
  return {select(opposite, T(constant<T>(2)), -axis_B.y * scale),
          select(opposite, zero, axis_B.x * scale), zero};
}

/// (O2) Heading error: 2 sin(angle / 2) of the rotation about the thrust axis that remains when the
/// tilt error is zero. D is the desired body frame.
template <class T>
PROPWASH_FN T heading_error(const Quat<T>& q_WB, const Quat<T>& q_WD) {
  const Quat<T> q_BD = conjugate(q_WB) * q_WD;
  const T length = sqrt(q_BD.w * q_BD.w + q_BD.z * q_BD.z);
  const T sine = q_BD.z / max(length, T(constant<T>(1e-4)));
  return select(q_BD.w < T(constant<T>(0)), -sine, sine) * constant<T>(2);
}

/// (O3) Body rates [rad/s] for the errors (O1) in x, y and (O2) in z, within the limits.
template <class T, class P>
PROPWASH_FN Vec3<T> attitude_control(const AttitudeControlLaw<P>& law, const Vec3<T>& error_B,
                                     const Vec3<T>& feed_forward_B) {
  const T x = error_B.x * law.tilt + feed_forward_B.x;
  const T y = error_B.y * law.tilt + feed_forward_B.y;
  const T z = error_B.z * law.heading + feed_forward_B.z;
  const T limit(law.tilt_rate_limit);
  const T fraction = limit / max(sqrt(x * x + y * y), limit);
  const T heading_limit(law.heading_rate_limit);
  return {x * fraction, y * fraction, clamp(z, -heading_limit, heading_limit)};
}

/// (O4) Rate command [rad/s] that multiplies the gains of the rate controller by 1 + rate_gain.
/// `rates_B` are the filtered rates of the rate controller.
template <class T, class P>
PROPWASH_FN Vec3<T> augmented_rate_command(const AttitudeControlLaw<P>& law,
                                           const Vec3<T>& command_B, const Vec3<T>& rates_B) {
  return command_B + cwise_product(command_B - rates_B, law.rate_gain);
}

}  // namespace propwash
