#pragma once
/// @file
/// Backstepping control in Euler angles.
///
/// Sayre-McCord et al., "Visual-inertial navigation algorithm development using photorealistic
/// camera simulation in the loop" (ICRA 2018), equations (4) to (10), after Bouabdallah and
/// Siegwart (ICRA 2005), with moments for couples and the trajectory's acceleration fed forward;
/// see docs/control/outer-loops.md. Good for tilts well below 90 degrees.

#include "propwash/control/tracking.hpp"
#include "propwash/math/angle.hpp"

namespace propwash {

/// The gains alpha_n and alpha_ndot of a controlled quantity.
template <class P>
struct BacksteppingGains {
  P value{};       ///< 1/s, alpha_n
  P derivative{};  ///< 1/s, alpha_ndot
};

template <class P>
struct BacksteppingLaw {
  BacksteppingGains<P> position{};  ///< of x, y, z
  BacksteppingGains<P> tilt{};      ///< of roll and pitch
  BacksteppingGains<P> heading{};   ///< of yaw
  P reach{};                        ///< m, a position error counts for no more
  P tilt_sine{};                    ///< -, of the greatest wanted roll and pitch
  P gravity{};                      ///< m/s^2, > 0, downwards
  Mat3<P> inertia{};                ///< kg m^2, its diagonal counts
};

/// B_n = e_n - alpha_n (e_ndot + alpha_n e_n) - alpha_ndot e_ndot with e_ndot = ndot - ndot_d -
/// alpha_n e_n: the second derivative that brings n to n_d. `error` is e_n = n_d - n, `rate` is
/// ndot - ndot_d.
template <class T, class P>
PROPWASH_FN T backstepping(const BacksteppingGains<P>& gains, const T& error, const T& rate) {
  const T e = rate - error * gains.value;
  return error - (e + error * gains.value) * gains.value - e * gains.derivative;
}

/// Torque and thrust that keep a vehicle of `mass` [kg] on a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> backstepping_control(const BacksteppingLaw<P>& law, const T& mass,
                                           const MotionEstimate<T>& x,
                                           const TrajectoryPoint<T>& wanted) {
  const T one(constant<T>(1));
  const T least(constant<T>(0.1));
  const Quat<T>& q = x.attitude;
  // roll, pitch and yaw of q_WB
  const T sin_pitch = (q.w * q.y - q.z * q.x) * constant<T>(2);
  const T roll = atan2((q.w * q.x + q.y * q.z) * constant<T>(2),
                       one - (q.x * q.x + q.y * q.y) * constant<T>(2));
  const T pitch = asin(sin_pitch);
  const T yaw = atan2((q.w * q.z + q.x * q.y) * constant<T>(2),
                      one - (q.y * q.y + q.z * q.z) * constant<T>(2));
  const T sr = sin(roll), cr = cos(roll);
  const T cp = max(sqrt(max(one - sin_pitch * sin_pitch, T(constant<T>(0)))), least);
  const T about = x.rates.y * sr + x.rates.z * cr;
  const T yaw_rate = about / cp;
  const T roll_rate = x.rates.x + sin_pitch * yaw_rate;
  const T pitch_rate = x.rates.y * cr - x.rates.z * sr;

  const Vec3<T> error = limited_length(wanted.position - x.position, T(law.reach));
  const Vec3<T> rate = x.velocity - wanted.velocity;
  const auto b = [&](const T& e, const T& d, const T& feed) PROPWASH_LAMBDA {
    return backstepping(law.position, e, d) + feed;
  };
  const T up = max(b(error.z, rate.z, wanted.acceleration.z) + law.gravity, least * law.gravity);
  const T per_mass = up / max(cr * cp, least);                            // (4)
  const T across = b(error.x, rate.x, wanted.acceleration.x) / per_mass;  // (5)
  const T aside = b(error.y, rate.y, wanted.acceleration.y) / per_mass;
  const T sy = sin(yaw), cy = cos(yaw);
  const T limit(law.tilt_sine);
  const T sin_roll = clamp(across * sy - aside * cy, -limit, limit);
  const T roll_wanted = asin(sin_roll);  // (6)
  const T forward = (across * cy + aside * sy) / sqrt(one - sin_roll * sin_roll);
  const T pitch_wanted = asin(clamp(forward, -limit, limit));  // (7)

  const T turn = wanted.yaw - yaw;
  const T yaw_error = atan2(sin(turn), cos(turn));
  const T ix(law.inertia(0, 0)), iy(law.inertia(1, 1)), iz(law.inertia(2, 2));
  const Vec3<T> torque{ix * backstepping(law.tilt, roll_wanted - roll, roll_rate) -
                           (iy - iz) * pitch_rate * yaw_rate,  // (8)
                       iy * backstepping(law.tilt, pitch_wanted - pitch, pitch_rate) -
                           (iz - ix) * roll_rate * yaw_rate,  // (9)
                       iz * (backstepping(law.heading, yaw_error, yaw_rate - wanted.yaw_rate) +
                             wanted.yaw_acceleration) -
                           (ix - iy) * roll_rate * pitch_rate};  // (10)
  return {torque, mass * per_mass};
}

}  // namespace propwash
