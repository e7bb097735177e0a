#pragma once
/// @file
/// Backstepping control in Euler angles.
///
/// Equations (O22) to (O24) of docs/control/backstepping_control.md, after (4) to (10) of
/// Sayre-McCord et al., "Visual-inertial navigation algorithm development using photorealistic
/// camera simulation in the loop" (ICRA 2018), and Bouabdallah and Siegwart (ICRA 2005).
/// Extensions: feed-forward of the trajectory's derivatives and of aerodynamic forces and torques,
/// exact kinematics of the Euler angles, inertias that are not diagonal. For tilts below 90
/// degrees.

#include "propwash/control/tracking.hpp"
#include "propwash/math/euler_angles.hpp"

namespace propwash {

/// The gains alpha_n and alpha_ndot of a controlled quantity n.
template <class P>
struct BacksteppingGains {
  P value{};       ///< 1/s, alpha_n
  P derivative{};  ///< 1/s, alpha_ndot
};

/// Gains of backstepping control.
template <class P>
struct BacksteppingLaw {
  BacksteppingGains<P> position{};  ///< x, y and z
  BacksteppingGains<P> tilt{};      ///< roll and pitch
  BacksteppingGains<P> heading{};   ///< yaw
  P reach{};                        ///< m, limit on the norm of the position error
};

/// (O22) B_n: correction of the second derivative of n that drives n to n_d. `error` is
/// e_n = n_d - n, `rate` is ndot - ndot_d.
template <class T, class P>
PROPWASH_FN T backstepping(const BacksteppingGains<P>& gains, const T& error, const T& rate) {
  const T rate_error = rate - error * gains.value;
  return error - (rate_error + error * gains.value) * gains.value - rate_error * gains.derivative;
}

/// (O24) Second derivatives [rad/s^2] of roll, pitch and yaw that drive roll and pitch to those of
/// `desired`, which has the heading of the vehicle, and yaw to that of the trajectory.
template <class T, class P>
PROPWASH_FN Vec3<T> backstepping_angles(const BacksteppingLaw<P>& law, const EulerAngles<T>& angles,
                                        const Vec3<T>& angle_rates, const FlatAttitude<T>& desired,
                                        const TrajectoryPoint<T>& point) {
  const EulerAngles<T> goal = euler_angles(desired.attitude);
  const Vec3<T> goal_rates = euler_rates(goal, desired.rates_B);
  const Vec3<T> goal_accelerations =
      euler_rates(goal, desired.angular_acceleration_B - euler_coupling(goal, goal_rates));
  const T unwrapped = point.yaw - angles.yaw;
  const T yaw_error = atan2(sin(unwrapped), cos(unwrapped));
  return {backstepping(law.tilt, goal.roll - angles.roll, angle_rates.x - goal_rates.x) +
              goal_accelerations.x,
          backstepping(law.tilt, goal.pitch - angles.pitch, angle_rates.y - goal_rates.y) +
              goal_accelerations.y,
          backstepping(law.heading, yaw_error, angle_rates.z - point.yaw_rate) +
              point.yaw_acceleration};
}

/// Torque (O24), (O18) and thrust (O23) for a vehicle of `mass` [kg] to follow a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> backstepping_control(const BacksteppingLaw<P>& law,
                                           const ControlModel<P>& model,
                                           const ForceLimits<T>& limits, const T& mass,
                                           const MotionEstimate<T>& x,
                                           const TrajectoryPoint<T>& desired,
                                           const DisturbanceEstimate<T>& disturbance_W = {}) {
  const EulerAngles<T> angles = euler_angles(x.attitude);
  const Vec3<T> angle_rates = euler_rates(angles, x.rates_B);
  const Vec3<T> error_W = limited_length(desired.position - x.position, T(law.reach));
  const Vec3<T> rate_W = x.velocity - desired.velocity;
  const Vec3<T> correction_W{backstepping(law.position, error_W.x, rate_W.x),
                             backstepping(law.position, error_W.y, rate_W.y),
                             backstepping(law.position, error_W.z, rate_W.z)};
  const Jet3<T> drag_W = resistance_on(model, mass, desired, disturbance_W);
  const Vec3<T> force_W =
      limited_force(limits, correction_W + desired.acceleration + drag_W.value - model.gravity_W);
  // (O11): roll and pitch for this force at the present heading
  TrajectoryPoint<T> at_heading = desired;
  at_heading.yaw = angles.yaw;
  const FlatAttitude<T> attitude = attitude_for_force(force_W, drag_W, at_heading);
  const Vec3<T> angle_accelerations =
      backstepping_angles(law, angles, angle_rates, attitude, desired);
  const T cos_tilt = max(angles.cos_roll * angles.cos_pitch, T(constant<T>(0.1)));
  const Vec3<T> angular_acceleration_B =
      body_rates_of(angles, angle_accelerations) + euler_coupling(angles, angle_rates);
  return {torque_for(model, x, angular_acceleration_B),
          mass * (force_W.z / cos_tilt + axial_drag(model, x))};  // (O23)
}

}  // namespace propwash
