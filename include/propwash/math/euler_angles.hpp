#pragma once
/// @file
/// Euler angles (roll, pitch, yaw) and their rates: q_WB = R_z(yaw) R_y(pitch) R_x(roll).
///
/// Diebel, "Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors" (Stanford,
/// 2006), section 8.2, sequence (1, 2, 3). A Vec3 of angles, or of their derivatives, holds roll,
/// pitch and yaw in x, y and z.

#include "propwash/math/angle.hpp"
#include "propwash/math/quat.hpp"

namespace propwash {

/// Roll, pitch and yaw with the sines and cosines that their kinematics need.
template <class T>
struct EulerAngles {
  T roll{}, pitch{}, yaw{};    ///< rad; pitch in [-pi/2, pi/2]
  T sin_roll{}, cos_roll{};    ///< sine and cosine of roll
  T sin_pitch{}, cos_pitch{};  ///< sine and cosine of pitch
  T inverse_cos_pitch{};       ///< -, limited to 10: the Euler rates are singular at 90 degrees
};

/// The Euler angles of an attitude, a unit quaternion q_WB.
template <class T>
PROPWASH_FN EulerAngles<T> euler_angles(const Quat<T>& q) {
  const T one(constant<T>(1));
  const T two(constant<T>(2));
  EulerAngles<T> angles;
  angles.sin_pitch = clamp((q.w * q.y - q.z * q.x) * two, -one, one);
  angles.cos_pitch = sqrt(one - angles.sin_pitch * angles.sin_pitch);
  angles.inverse_cos_pitch = one / max(angles.cos_pitch, T(constant<T>(0.1)));
  angles.roll = atan2((q.w * q.x + q.y * q.z) * two, one - (q.x * q.x + q.y * q.y) * two);
  angles.pitch = atan2(angles.sin_pitch, angles.cos_pitch);
  angles.yaw = atan2((q.w * q.z + q.x * q.y) * two, one - (q.y * q.y + q.z * q.z) * two);
  angles.sin_roll = sin(angles.roll);
  angles.cos_roll = cos(angles.roll);
  return angles;
}

/// Body rates [rad/s, body frame] from the Euler rates [rad/s]: W(angles) rates.
template <class T>
PROPWASH_FN Vec3<T> body_rates_of(const EulerAngles<T>& a, const Vec3<T>& rates) {
  const T level = rates.z * a.cos_pitch;
  return {rates.x - rates.z * a.sin_pitch, rates.y * a.cos_roll + level * a.sin_roll,
          level * a.cos_roll - rates.y * a.sin_roll};
}

/// Euler rates [rad/s] from body rates [rad/s]: the inverse of body_rates_of.
template <class T>
PROPWASH_FN Vec3<T> euler_rates(const EulerAngles<T>& a, const Vec3<T>& rates_B) {
  const T yaw_rate = (rates_B.y * a.sin_roll + rates_B.z * a.cos_roll) * a.inverse_cos_pitch;
  return {rates_B.x + yaw_rate * a.sin_pitch, rates_B.y * a.cos_roll - rates_B.z * a.sin_roll,
          yaw_rate};
}

/// The angular acceleration [rad/s^2, body frame] at constant Euler rates [rad/s]: (dW/dt) rates.
/// With Euler accelerations a, it is body_rates_of(angles, a) + euler_coupling(angles, rates).
template <class T>
PROPWASH_FN Vec3<T> euler_coupling(const EulerAngles<T>& a, const Vec3<T>& rates) {
  const T roll_pitch = rates.x * rates.y;
  const T roll_yaw = rates.x * rates.z * a.cos_pitch;
  const T pitch_yaw = rates.y * rates.z * a.sin_pitch;
  return {-(rates.y * rates.z * a.cos_pitch),
          roll_yaw * a.cos_roll - (roll_pitch + pitch_yaw) * a.sin_roll,
          -(roll_yaw * a.sin_roll) - (roll_pitch + pitch_yaw) * a.cos_roll};
}

}  // namespace propwash
