#pragma once
/// @file
/// Incremental nonlinear dynamic inversion (INDI).
///
/// Tal and Karaman, "Accurate Tracking of Aggressive Quadrotor Trajectories using Incremental
/// Nonlinear Dynamic Inversion and Differential Flatness" (CDC 2018; IEEE TCST 29, 2021): what the
/// rotors give is known from their speeds and what comes of it is measured, so that only the
/// difference from what is wanted is asked for in addition. Forces and torques that no model has
/// are in the measurement. The rotors' torque includes that of their acceleration, (O7). All of it
/// goes through one low-pass; see docs/control/outer-loops.md.

#include "propwash/control/tracking.hpp"

namespace propwash {

/// Measured and low-passed alike.
template <class T>
struct MeasuredMotion {
  Vec3<T> acceleration{};          ///< m/s^2, world frame
  Vec3<T> thrust{};                ///< m/s^2, of the rotors, per mass, world frame
  Vec3<T> angular_acceleration{};  ///< rad/s^2, body frame
  Vec3<T> torque{};                ///< N m, of the rotors, body frame
};

/// Torque and thrust that keep a vehicle of `mass` [kg] on a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> incremental_control(const TrackingLaw<P>& law, const ControlModel<P>& model,
                                          const ForceLimits<T>& limits, const T& mass,
                                          const MotionEstimate<T>& x,
                                          const MeasuredMotion<T>& measured,
                                          const TrajectoryPoint<T>& wanted) {
  const Vec3<T> force_W = limited_force(
      limits, measured.thrust + tracking_acceleration(law, x, wanted) - measured.acceleration);
  const auto attitude = attitude_for_force(force_W, drag_on(model, mass, wanted), wanted);
  const Vec3<T> turning = turning_acceleration(law, x, attitude);
  return {measured.torque + model.inertia * (turning - measured.angular_acceleration),
          mass * dot(force_W, rotate(x.attitude, AlongZ<T>{T(constant<T>(1))}))};
}

}  // namespace propwash
