#pragma once
/// @file
/// Differential flatness: attitude, body rates and angular acceleration that follow from where the
/// thrust is to point, how that changes, and the heading.
///
/// Mellinger and Kumar, "Minimum snap trajectory generation and control for quadrotors" (ICRA
/// 2011), section III; see docs/control/outer-loops.md.

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
  Vec3<T> value{};
  Vec3<T> first{};
  Vec3<T> second{};
};

/// What a flat vehicle's attitude must be.
template <class T>
struct FlatAttitude {
  Quat<T> attitude{};              ///< q_WB
  Vec3<T> rates{};                 ///< rad/s, body frame
  Vec3<T> angular_acceleration{};  ///< rad/s^2, body frame
};

/// The drag per mass that a trajectory meets in still air, (6) and linear rotor drag taken as
/// isotropic, turned against: m/s^2 and its derivatives.
template <class T, class P>
PROPWASH_FN Jet3<T> drag_on(const TrajectoryPoint<T>& p, const P& quadratic, const P& linear) {
  const T n = max(norm(p.velocity), T(constant<T>(1e-3)));
  const T n1 = dot(p.velocity, p.acceleration) / n;
  const T n2 = (squared_norm(p.acceleration) + dot(p.velocity, p.jerk) - n1 * n1) /
               max(n, T(constant<T>(0.1)));
  const T a = n * quadratic + linear;
  const T a1 = n1 * quadratic;
  const T a2 = n2 * quadratic;
  return {p.velocity * a, p.acceleration * a + p.velocity * a1,
          p.jerk * a + p.acceleration * (a1 * constant<T>(2)) + p.velocity * a2};
}

/// The attitude whose thrust axis is direction_W, of length one, and whose body x has the heading
/// `yaw` [rad].
template <class T>
PROPWASH_FN Quat<T> attitude_towards(const Vec3<T>& direction_W, const T& yaw) {
  const T half(constant<T>(0.5));
  const T one(constant<T>(1));
  const T cy = cos(yaw);
  const T sy = sin(yaw);
  // in axes turned by yaw the direction is (sin(pitch) cos(roll), -sin(roll), cos(pitch) cos(roll))
  const T x = direction_W.x * cy + direction_W.y * sy;
  const T sin_roll = direction_W.x * sy - direction_W.y * cy;
  const T cos_roll = sqrt(x * x + direction_W.z * direction_W.z);
  const T within = max(cos_roll, T(constant<T>(1e-6)));
  const T cr = sqrt((one + cos_roll) * half);
  const T sr = sin_roll * half / cr;
  const T cp = sqrt(max((one + direction_W.z / within) * half, T(constant<T>(1e-12))));
  const T sp = (x / within) * half / cp;
  const Quat<T> turned{cos(yaw * half), T{}, T{}, sin(yaw * half)};
  return turned * Quat<T>{cp * cr, cp * sr, sp * cr, -(sp * sr)};
}

/// Attitude, rates and angular acceleration for a thrust along force_W [m/s^2, per mass] and a
/// heading. Singular where the vehicle rolls by 90 degrees.
template <class T>
PROPWASH_FN FlatAttitude<T> flat_attitude(const Jet3<T>& force_W, const T& yaw, const T& yaw_rate,
                                          const T& yaw_acceleration) {
  const T length = max(norm(force_W.value), T(constant<T>(1e-3)));
  const Vec3<T> s = force_W.value * (T(constant<T>(1)) / length);
  const T length1 = dot(s, force_W.first);
  const Vec3<T> s1 = (force_W.first - s * length1) * (T(constant<T>(1)) / length);
  const T length2 = dot(s1, force_W.first) + dot(s, force_W.second);
  const Vec3<T> s2 = (force_W.second - s * length2 - s1 * (length1 * constant<T>(2))) *
                     (T(constant<T>(1)) / length);

  FlatAttitude<T> flat;
  flat.attitude = attitude_towards(s, yaw);
  const T cy = cos(yaw);
  const T sy = sin(yaw);
  const T x = s.x * cy + s.y * sy;
  const T sin_roll = s.x * sy - s.y * cy;
  const T cos_roll = max(sqrt(x * x + s.z * s.z), T(constant<T>(0.05)));
  const T sin_pitch = x / cos_roll;
  const T cos_pitch = s.z / cos_roll;
  const Vec3<T> u = rotate_inverse(flat.attitude, s1);
  const T p = -u.y;
  const T q = u.x;
  const T r = (yaw_rate * cos_pitch - q * sin_roll) / cos_roll;
  flat.rates = {p, q, r};
  const Vec3<T> w = rotate_inverse(flat.attitude, s2) - cross(flat.rates, u);
  const T pitch_rate = q * cos_roll - r * sin_roll;
  const T roll_rate = p + sin_pitch * yaw_rate;
  const T r1 = (yaw_acceleration * cos_pitch - yaw_rate * sin_pitch * pitch_rate - w.x * sin_roll -
                roll_rate * pitch_rate) /
               cos_roll;
  flat.angular_acceleration = {-w.y, w.x, r1};
  return flat;
}

}  // namespace propwash
