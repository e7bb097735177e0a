#pragma once
/// @file
/// Differential flatness: attitude, body rates and angular acceleration from the specific force of
/// the rotors, its derivatives and the heading.
///
/// Equations (O10) to (O14) of docs/control/flatness.md, after Mellinger and Kumar, "Minimum snap
/// trajectory generation and control for quadrotors" (ICRA 2011), section III; drag after Faessler,
/// Franchi and Scaramuzza, "Differential Flatness of Quadrotor Dynamics Subject to Rotor Drag for
/// Accurate Tracking of High-Speed Trajectories" (IEEE RA-L 3, 2018).

#include "propwash/math/quat.hpp"

namespace propwash {

/// A point of a trajectory, world frame. Yaw is the ZYX Euler angle psi, the heading of body x.
template <class T>
struct TrajectoryPoint {
  Vec3<T> position{};      ///< m
  Vec3<T> velocity{};      ///< m/s
  Vec3<T> acceleration{};  ///< m/s^2
  Vec3<T> jerk{};          ///< m/s^3
  Vec3<T> snap{};          ///< m/s^4
  T yaw{};                 ///< rad
  T yaw_rate{};            ///< rad/s
  T yaw_acceleration{};    ///< rad/s^2
};

/// A vector and its first two time derivatives.
template <class T>
struct Jet3 {
  Vec3<T> value{};   ///< the vector
  Vec3<T> first{};   ///< its first derivative, 1/s
  Vec3<T> second{};  ///< its second derivative, 1/s^2
};

/// Attitude, body rates and angular acceleration from flatness.
template <class T>
struct FlatAttitude {
  Quat<T> attitude{};                ///< q_WB
  Vec3<T> rates_B{};                 ///< rad/s
  Vec3<T> angular_acceleration_B{};  ///< rad/s^2
};

/// The thrust axis R e_z of an attitude, a unit vector in the world frame.
template <class T>
PROPWASH_FN Vec3<T> thrust_axis(const Quat<T>& q_WB) {
  return rotate(q_WB, AlongZ<T>{T(constant<T>(1))});
}

/// (O10) Specific force [m/s^2, world frame] that compensates drag along a trajectory in still air,
/// with its time derivatives: `quadratic` [1/m] as in (6), `linear` [1/s] isotropic.
template <class T, class P>
PROPWASH_FN Jet3<T> drag_on(const TrajectoryPoint<T>& point, const P& quadratic, const P& linear) {
  const T speed = max(norm(point.velocity), T(constant<T>(1e-3)));
  const T speed_dot = dot(point.velocity, point.acceleration) / speed;
  const T speed_ddot =
      (squared_norm(point.acceleration) + dot(point.velocity, point.jerk) - speed_dot * speed_dot) /
      speed;
  const T gain = speed * quadratic + linear;
  const T gain_dot = speed_dot * quadratic;
  const T gain_ddot = speed_ddot * quadratic;
  return {point.velocity * gain, point.acceleration * gain + point.velocity * gain_dot,
          point.jerk * gain + point.acceleration * (gain_dot * constant<T>(2)) +
              point.velocity * gain_ddot};
}

/// (O11) The attitude with thrust axis `axis_W`, a unit vector, and heading `yaw` [rad] of body x.
template <class T>
PROPWASH_FN Quat<T> attitude_towards(const Vec3<T>& axis_W, const T& yaw) {
  const T half(constant<T>(0.5));
  const T one(constant<T>(1));
  const T cos_yaw = cos(yaw);
  const T sin_yaw = sin(yaw);
  // axis in frame H, the world rotated by yaw: (sin(pitch) cos(roll), -sin(roll), cos(pitch)
  // cos(roll))
  const T forward = axis_W.x * cos_yaw + axis_W.y * sin_yaw;
  const T sin_roll = axis_W.x * sin_yaw - axis_W.y * cos_yaw;
  const T cos_roll = sqrt(forward * forward + axis_W.z * axis_W.z);
  const T divisor = max(cos_roll, T(constant<T>(1e-6)));
  const T cos_half_roll = sqrt((one + cos_roll) * half);
  const T sin_half_roll = sin_roll * half / cos_half_roll;
  const T cos_half_pitch = sqrt(max((one + axis_W.z / divisor) * half, T(constant<T>(1e-12))));
  const T sin_half_pitch = (forward / divisor) * half / cos_half_pitch;
  const Quat<T> q_WH{cos(yaw * half), T{}, T{}, sin(yaw * half)};
  const Quat<T> q_HB{cos_half_pitch * cos_half_roll, cos_half_pitch * sin_half_roll,
                     sin_half_pitch * cos_half_roll, -(sin_half_pitch * sin_half_roll)};
  return q_WH * q_HB;
}

/// (O12) The direction of a force, a unit vector, and its time derivatives.
template <class T>
PROPWASH_FN Jet3<T> direction_of(const Jet3<T>& force) {
  const T length = max(norm(force.value), T(constant<T>(1e-3)));
  const T inverse = T(constant<T>(1)) / length;
  const Vec3<T> axis = force.value * inverse;
  const T length_dot = dot(axis, force.first);
  const Vec3<T> axis_dot = (force.first - axis * length_dot) * inverse;
  const T length_ddot = dot(axis_dot, force.first) + dot(axis, force.second);
  return {axis, axis_dot,
          (force.second - axis * length_ddot - axis_dot * (length_dot * constant<T>(2))) * inverse};
}

/// (O11), (O13), (O14): attitude, body rates and angular acceleration for a specific force
/// `force_W` [m/s^2] of the rotors and a heading. Singular at a roll angle of 90 degrees.
template <class T>
PROPWASH_FN FlatAttitude<T> flat_attitude(const Jet3<T>& force_W, const T& yaw, const T& yaw_rate,
                                          const T& yaw_acceleration) {
  const Jet3<T> axis_W = direction_of(force_W);
  const Quat<T> q_WB = attitude_towards(axis_W.value, yaw);
  const T cos_yaw = cos(yaw);
  const T sin_yaw = sin(yaw);
  const T forward = axis_W.value.x * cos_yaw + axis_W.value.y * sin_yaw;
  const T sin_roll = axis_W.value.x * sin_yaw - axis_W.value.y * cos_yaw;
  const T cos_roll =
      max(sqrt(forward * forward + axis_W.value.z * axis_W.value.z), T(constant<T>(0.05)));
  const T sin_pitch = forward / cos_roll;
  const T cos_pitch = axis_W.value.z / cos_roll;
  // (O13)
  const Vec3<T> axis_dot_B = rotate_inverse(q_WB, axis_W.first);
  const T rate_z = (yaw_rate * cos_pitch - axis_dot_B.x * sin_roll) / cos_roll;
  const Vec3<T> rates_B{-axis_dot_B.y, axis_dot_B.x, rate_z};
  // (O14)
  const Vec3<T> axis_ddot_B = rotate_inverse(q_WB, axis_W.second) - cross(rates_B, axis_dot_B);
  const T pitch_rate = rates_B.y * cos_roll - rates_B.z * sin_roll;
  const T roll_rate = rates_B.x + sin_pitch * yaw_rate;
  const T acceleration_z = (yaw_acceleration * cos_pitch - yaw_rate * sin_pitch * pitch_rate -
                            axis_ddot_B.x * sin_roll - roll_rate * pitch_rate) /
                           cos_roll;
  return {q_WB, rates_B, {-axis_ddot_B.y, axis_ddot_B.x, acceleration_z}};
}

}  // namespace propwash
