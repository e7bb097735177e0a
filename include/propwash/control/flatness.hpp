#pragma once
/// @file
/// Differential flatness: attitude, body rates and angular acceleration from the direction of the
/// thrust, its derivatives and the heading.
///
/// Equations (O10) to (O14) of docs/control/flatness.md, after Mellinger and Kumar, "Minimum snap
/// trajectory generation and control for quadrotors" (ICRA 2011), section III; drag after Faessler,
/// Franchi and Scaramuzza, "Differential Flatness of Quadrotor Dynamics Subject to Rotor Drag for
/// Accurate Tracking of High-Speed Trajectories" (IEEE RA-L 3, 2018).

#include "propwash/math/quat.hpp"

namespace propwash {

/// A point of a trajectory, world frame; the heading is that of body x, ZYX Euler angle psi.
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

/// A vector and its first two derivatives in time.
template <class T>
struct Jet3 {
  Vec3<T> value{};   ///< the vector
  Vec3<T> first{};   ///< its first derivative, 1/s
  Vec3<T> second{};  ///< its second derivative, 1/s^2
};

/// The rotational motion that flatness gives.
template <class T>
struct FlatAttitude {
  Quat<T> attitude{};                ///< q_WB
  Vec3<T> rates_B{};                 ///< rad/s
  Vec3<T> angular_acceleration_B{};  ///< rad/s^2
};

/// The thrust axis R e_z of an attitude, world frame.
template <class T>
PROPWASH_FN Vec3<T> thrust_axis(const Quat<T>& q_WB) {
  return rotate(q_WB, AlongZ<T>{T(constant<T>(1))});
}

/// (O10) The specific force that balances the drag along a trajectory in still air, quadratic as
/// (6) and linear, taken as isotropic: m/s^2, world frame, with its derivatives.
template <class T, class P>
PROPWASH_FN Jet3<T> drag_on(const TrajectoryPoint<T>& point, const P& quadratic, const P& linear) {
  const T speed = max(norm(point.velocity), T(constant<T>(1e-3)));
  const T speed1 = dot(point.velocity, point.acceleration) / speed;
  const T speed2 =
      (squared_norm(point.acceleration) + dot(point.velocity, point.jerk) - speed1 * speed1) /
      max(speed, T(constant<T>(0.1)));
  const T gain = speed * quadratic + linear;
  const T gain1 = speed1 * quadratic;
  const T gain2 = speed2 * quadratic;
  return {
      point.velocity * gain, point.acceleration * gain + point.velocity * gain1,
      point.jerk * gain + point.acceleration * (gain1 * constant<T>(2)) + point.velocity * gain2};
}

/// (O11) The attitude whose thrust axis is `axis_W`, of length one, and whose body x has the
/// heading `yaw` [rad].
template <class T>
PROPWASH_FN Quat<T> attitude_towards(const Vec3<T>& axis_W, const T& yaw) {
  const T half(constant<T>(0.5));
  const T one(constant<T>(1));
  const T cos_yaw = cos(yaw);
  const T sin_yaw = sin(yaw);
  // in axes H, turned by yaw: (sin(pitch) cos(roll), -sin(roll), cos(pitch) cos(roll))
  const T forward = axis_W.x * cos_yaw + axis_W.y * sin_yaw;
  const T sin_roll = axis_W.x * sin_yaw - axis_W.y * cos_yaw;
  const T cos_roll = sqrt(forward * forward + axis_W.z * axis_W.z);
  const T divisor = max(cos_roll, T(constant<T>(1e-6)));
  // cosines and sines of half the angles
  const T cr = sqrt((one + cos_roll) * half);
  const T sr = sin_roll * half / cr;
  const T cp = sqrt(max((one + axis_W.z / divisor) * half, T(constant<T>(1e-12))));
  const T sp = (forward / divisor) * half / cp;
  const Quat<T> q_WH{cos(yaw * half), T{}, T{}, sin(yaw * half)};
  return q_WH * Quat<T>{cp * cr, cp * sr, sp * cr, -(sp * sr)};
}

/// (O12) The direction of a force, of length one, and its derivatives.
template <class T>
PROPWASH_FN Jet3<T> direction_of(const Jet3<T>& force) {
  const T length = max(norm(force.value), T(constant<T>(1e-3)));
  const T inverse = T(constant<T>(1)) / length;
  const Vec3<T> axis = force.value * inverse;
  const T length1 = dot(axis, force.first);
  const Vec3<T> axis1 = (force.first - axis * length1) * inverse;
  const T length2 = dot(axis1, force.first) + dot(axis, force.second);
  return {axis, axis1,
          (force.second - axis * length2 - axis1 * (length1 * constant<T>(2))) * inverse};
}

/// (O11), (O13) and (O14): attitude, rates and angular acceleration for a specific force `force_W`
/// [m/s^2] of the rotors and a heading. Singular where the vehicle rolls by 90 degrees.
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
  const Vec3<T> axis1_B = rotate_inverse(q_WB, axis_W.first);
  const T p = -axis1_B.y;
  const T q = axis1_B.x;
  const T r = (yaw_rate * cos_pitch - q * sin_roll) / cos_roll;
  const Vec3<T> rates_B{p, q, r};
  // (O14)
  const Vec3<T> axis2_B = rotate_inverse(q_WB, axis_W.second) - cross(rates_B, axis1_B);
  const T pitch_rate = q * cos_roll - r * sin_roll;
  const T roll_rate = p + sin_pitch * yaw_rate;
  const T r1 = (yaw_acceleration * cos_pitch - yaw_rate * sin_pitch * pitch_rate -
                axis2_B.x * sin_roll - roll_rate * pitch_rate) /
               cos_roll;
  return {q_WB, rates_B, {-axis2_B.y, axis2_B.x, r1}};
}

}  // namespace propwash
