#pragma once
/// @file
/// Backstepping control in Euler angles.
///
/// Sayre-McCord et al., "Visual-inertial navigation algorithm development using photorealistic
/// camera simulation in the loop" (ICRA 2018), equations (4) to (10), after Bouabdallah and
/// Siegwart (ICRA 2005). Beyond the papers: the derivatives of the trajectory and the forces and
/// torques of the air are fed forward, the kinematics of the angles is exact, moments stand for
/// couples; see docs/control/outer-loops.md. For tilts below 90 degrees.

#include "propwash/control/tracking.hpp"
#include "propwash/math/euler_angles.hpp"

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
  P reach{};                        ///< m, the length at which a position error is limited
};

/// B_n = e_n - alpha_n (e_ndot + alpha_n e_n) - alpha_ndot e_ndot with e_ndot = ndot - ndot_d -
/// alpha_n e_n: the second derivative that brings n to n_d. `error` is e_n = n_d - n, `rate` is
/// ndot - ndot_d.
template <class T, class P>
PROPWASH_FN T backstepping(const BacksteppingGains<P>& gains, const T& error, const T& rate) {
  const T e = rate - error * gains.value;
  return error - (e + error * gains.value) * gains.value - e * gains.derivative;
}

/// (O5) The accelerations of roll, pitch and yaw that bring an attitude to `wanted`, whose heading
/// is that of the vehicle, and the heading to that of the trajectory: B_n of each angle plus the
/// acceleration that the trajectory asks for. rad/s^2.
template <class T, class P>
PROPWASH_FN Vec3<T> backstepping_angles(const BacksteppingLaw<P>& law, const EulerAngles<T>& angles,
                                        const Vec3<T>& rates, const FlatAttitude<T>& wanted,
                                        const TrajectoryPoint<T>& point) {
  const EulerAngles<T> goal = euler_angles(wanted.attitude);
  const Vec3<T> goal_rates = euler_rates(goal, wanted.rates);
  const Vec3<T> goal_accelerations =
      euler_rates(goal, wanted.angular_acceleration - euler_coupling(goal, goal_rates));
  const T turn = point.yaw - angles.yaw;
  const T yaw_error = atan2(sin(turn), cos(turn));
  return {backstepping(law.tilt, goal.roll - angles.roll, rates.x - goal_rates.x) +
              goal_accelerations.x,
          backstepping(law.tilt, goal.pitch - angles.pitch, rates.y - goal_rates.y) +
              goal_accelerations.y,
          backstepping(law.heading, yaw_error, rates.z - point.yaw_rate) + point.yaw_acceleration};
}

/// Torque and thrust that keep a vehicle of `mass` [kg] on a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> backstepping_control(const BacksteppingLaw<P>& law,
                                           const ControlModel<P>& model,
                                           const ForceLimits<T>& limits, const T& mass,
                                           const MotionEstimate<T>& x,
                                           const TrajectoryPoint<T>& wanted) {
  const EulerAngles<T> angles = euler_angles(x.attitude);
  const Vec3<T> rates = euler_rates(angles, x.rates);
  const Vec3<T> error = limited_length(wanted.position - x.position, T(law.reach));
  const Vec3<T> rate = x.velocity - wanted.velocity;
  const Vec3<T> correction{backstepping(law.position, error.x, rate.x),
                           backstepping(law.position, error.y, rate.y),
                           backstepping(law.position, error.z, rate.z)};
  const Jet3<T> drag = drag_on(model, mass, wanted);
  const Vec3<T> force_W =
      limited_force(limits, correction + wanted.acceleration + drag.value - model.gravity_W);
  // (5) to (7): roll and pitch that point the thrust along the force at the present heading
  TrajectoryPoint<T> headed = wanted;
  headed.yaw = angles.yaw;
  const FlatAttitude<T> attitude = attitude_for_force(force_W, drag, headed);
  // (8) to (10), for any angle
  const Vec3<T> turning = backstepping_angles(law, angles, rates, attitude, wanted);
  const T upright = max(angles.cos_roll * angles.cos_pitch, T(constant<T>(0.1)));
  return {torque_for(model, x, body_rates_of(angles, turning) + euler_coupling(angles, rates)),
          mass * (force_W.z / upright + axial_drag(model, x))};  // (4)
}

}  // namespace propwash
