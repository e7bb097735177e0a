#pragma once
/// @file
/// Trajectory tracking: geometric control on SE(3), incremental nonlinear dynamic inversion (INDI),
/// and the vehicle model that these and backstepping control invert.
///
/// Equations (O15) to (O19) of docs/control/geometric_control.md, after Lee, Leok and McClamroch,
/// "Geometric tracking control of a quadrotor UAV on SE(3)" (CDC 2010); (O20) and (O21) of
/// docs/control/incremental_control.md, after Tal and Karaman, "Accurate Tracking of Aggressive
/// Quadrotor Trajectories using Incremental Nonlinear Dynamic Inversion and Differential Flatness"
/// (CDC 2018; IEEE TCST 29, 2021).

#include "propwash/control/allocation.hpp"
#include "propwash/control/flatness.hpp"
#include "propwash/control/low_pass.hpp"
#include "propwash/control/position_control.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/model/drag.hpp"
#include "propwash/model/rotor_drag.hpp"

namespace propwash {

/// The motion of a vehicle, as estimated by a controller.
template <class T>
struct MotionEstimate {
  Vec3<T> position{};                      ///< m, world frame
  Vec3<T> velocity{};                      ///< m/s, world frame
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB
  Vec3<T> rates_B{};                       ///< rad/s, filtered
};

/// The vehicle model that the trajectory controllers invert; mass is a separate argument.
template <class P>
struct ControlModel {
  Vec3<P> gravity_W{};                  ///< m/s^2
  Mat3<P> inertia{};                    ///< kg m^2
  DragParameters<P> drag{};             ///< quadratic drag of the body
  RotorDragParameters<P> rotor_drag{};  ///< linear drag of the rotors

  /// Linear rotor drag [1/s] perpendicular to the thrust axis: the mean of body x and y.
  PROPWASH_FN P lateral_drag() const {
    return (rotor_drag.linear.x + rotor_drag.linear.y) * constant<P>(0.5);
  }
};

/// Gains of geometric and incremental control.
template <class P>
struct TrackingLaw {
  P position{};        ///< 1/s^2, on the position error
  P velocity{};        ///< 1/s, on the velocity error
  P reach{};           ///< m, limit on the norm of the position error
  Vec3<P> attitude{};  ///< 1/s^2, on the attitude error about each body axis
  Vec3<P> rates{};     ///< 1/s, on the error of the body rates
};

/// (O10) with the drag coefficients of a model.
template <class T, class P>
PROPWASH_FN Jet3<T> drag_on(const ControlModel<P>& model, const T& mass,
                            const TrajectoryPoint<T>& desired) {
  return drag_on(desired, T(model.drag.translational) / mass, T(model.lateral_drag()));
}

/// (O15) Commanded acceleration [m/s^2, world frame]: that of the trajectory plus feedback of
/// position and velocity errors.
template <class T, class P>
PROPWASH_FN Vec3<T> tracking_acceleration(const TrackingLaw<P>& law, const MotionEstimate<T>& x,
                                          const TrajectoryPoint<T>& desired) {
  return desired.acceleration +
         limited_length(desired.position - x.position, T(law.reach)) * law.position +
         (desired.velocity - x.velocity) * law.velocity;
}

/// (O16) Attitude, body rates and angular acceleration for a specific force `force_W` [m/s^2] of
/// the rotors. Its derivatives are jerk and snap of the trajectory plus those of `drag_W`.
template <class T>
PROPWASH_FN FlatAttitude<T> attitude_for_force(const Vec3<T>& force_W, const Jet3<T>& drag_W,
                                               const TrajectoryPoint<T>& desired) {
  const Jet3<T> force{force_W, desired.jerk + drag_W.first, desired.snap + drag_W.second};
  return flat_attitude(force, desired.yaw, desired.yaw_rate, desired.yaw_acceleration);
}

/// (O17) Angular acceleration [rad/s^2, body frame] for tracking `desired`: the moment of Lee, Leok
/// and McClamroch divided by the inertia, without the gyroscopic term.
template <class T, class P>
PROPWASH_FN Vec3<T> geometric_attitude_control(const TrackingLaw<P>& law,
                                               const MotionEstimate<T>& x,
                                               const FlatAttitude<T>& desired) {
  const Quat<T> q_DB = conjugate(desired.attitude) * x.attitude;
  // 1/2 (R_DB - R_DB^T) as a vector; D is the desired body frame
  const Vec3<T> error_B = Vec3<T>{q_DB.x, q_DB.y, q_DB.z} * (q_DB.w * constant<T>(2));
  const Vec3<T> desired_rates_B = rotate_inverse(q_DB, desired.rates_B);
  return rotate_inverse(q_DB, desired.angular_acceleration_B) - cross(x.rates_B, desired_rates_B) -
         cwise_product(error_B, law.attitude) -
         cwise_product(x.rates_B - desired_rates_B, law.rates);
}

/// (O18) Rotor torque [N m, body frame] for an angular acceleration [rad/s^2]: Euler's equation,
/// compensating blow-back and rotational drag (7) in still air.
template <class T, class P>
PROPWASH_FN Vec3<T> torque_for(const ControlModel<P>& model, const MotionEstimate<T>& x,
                               const Vec3<T>& angular_acceleration_B) {
  const Vec3<T> velocity_B = rotate_inverse(x.attitude, x.velocity);
  return model.inertia * angular_acceleration_B + cross(x.rates_B, model.inertia * x.rates_B) -
         blow_back_torque(model.rotor_drag, velocity_B) - drag_torque(model.drag, x.rates_B);
}

/// The last term of (O19), thrust per mass [m/s^2]: compensates the difference of linear rotor drag
/// along and perpendicular to the thrust axis.
template <class T, class P>
PROPWASH_FN T axial_drag(const ControlModel<P>& model, const MotionEstimate<T>& x) {
  return dot(x.velocity, thrust_axis(x.attitude)) *
         (model.rotor_drag.linear.z - model.lateral_drag());
}

/// The motion of a vehicle on a trajectory.
template <class T>
struct FlatMotion {
  Vec3<T> force_W{};         ///< m/s^2, specific force of the rotors, (O16)
  FlatAttitude<T> attitude;  ///< with body rates and angular acceleration
  Wrench<T> rotors{};        ///< torque and thrust of the rotors, (O18) and (O19)
};

/// (O10) to (O14), (O16), (O18), (O19): the motion of a vehicle of `mass` [kg] on a trajectory in
/// still air, with all drag terms and without limits.
template <class T, class P>
PROPWASH_FN FlatMotion<T> flat_motion(const ControlModel<P>& model, const T& mass,
                                      const TrajectoryPoint<T>& point) {
  const Jet3<T> drag_W = drag_on(model, mass, point);
  const Vec3<T> force_W = point.acceleration + drag_W.value - model.gravity_W;
  const FlatAttitude<T> flat = attitude_for_force(force_W, drag_W, point);
  const MotionEstimate<T> x{point.position, point.velocity, flat.attitude, flat.rates_B};
  return {force_W,
          flat,
          {torque_for(model, x, flat.angular_acceleration_B),
           mass * (norm(force_W) + axial_drag(model, x))}};
}

/// An estimated disturbance of the acceleration [m/s^2, world frame], with its derivative.
template <class T>
using DisturbanceEstimate = LowPassState<Vec3<T>>;

/// (O10) with the disturbance, which is compensated as drag is.
template <class T, class P>
PROPWASH_FN Jet3<T> resistance_on(const ControlModel<P>& model, const T& mass,
                                  const TrajectoryPoint<T>& desired,
                                  const DisturbanceEstimate<T>& disturbance_W) {
  const Jet3<T> drag_W = drag_on(model, mass, desired);
  return {drag_W.value - disturbance_W.value, drag_W.first - disturbance_W.derivative,
          drag_W.second};
}

/// (O15) to (O19): torque and thrust for a vehicle of `mass` [kg] to follow a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> geometric_control(const TrackingLaw<P>& law, const ControlModel<P>& model,
                                        const ForceLimits<T>& limits, const T& mass,
                                        const MotionEstimate<T>& x,
                                        const TrajectoryPoint<T>& desired,
                                        const DisturbanceEstimate<T>& disturbance_W = {}) {
  const Jet3<T> drag_W = resistance_on(model, mass, desired, disturbance_W);
  const Vec3<T> force_W = limited_force(
      limits, tracking_acceleration(law, x, desired) + drag_W.value - model.gravity_W);
  const auto attitude = attitude_for_force(force_W, drag_W, desired);
  return {torque_for(model, x, geometric_attitude_control(law, x, attitude)),
          mass * (dot(force_W, thrust_axis(x.attitude)) + axial_drag(model, x))};
}

/// The measurements of incremental control, all with the same low-pass filter. The torque includes
/// the reaction torque of rotor accelerations, (O26).
template <class T>
struct MeasuredMotion {
  Vec3<T> acceleration_W{};          ///< m/s^2
  Vec3<T> thrust_W{};                ///< m/s^2, of the rotors, per mass
  Vec3<T> angular_acceleration_B{};  ///< rad/s^2
  Vec3<T> torque_B{};                ///< N m, of the rotors
};

/// (O20), (O21): torque and thrust for a vehicle of `mass` [kg] to follow a trajectory, as
/// increments of the measured ones, which include forces and torques that are not modelled.
template <class T, class P>
PROPWASH_FN Wrench<T> incremental_control(const TrackingLaw<P>& law, const ControlModel<P>& model,
                                          const ForceLimits<T>& limits, const T& mass,
                                          const MotionEstimate<T>& x,
                                          const MeasuredMotion<T>& measured,
                                          const TrajectoryPoint<T>& desired) {
  const Vec3<T> force_W = limited_force(
      limits, measured.thrust_W + tracking_acceleration(law, x, desired) - measured.acceleration_W);
  const auto attitude = attitude_for_force(force_W, drag_on(model, mass, desired), desired);
  const Vec3<T> angular_acceleration_B = geometric_attitude_control(law, x, attitude);
  return {measured.torque_B +
              model.inertia * (angular_acceleration_B - measured.angular_acceleration_B),
          mass * dot(force_W, thrust_axis(x.attitude))};
}

}  // namespace propwash
