#pragma once
/// @file
/// What the controllers that follow a trajectory share: gains, the vehicle model that they invert,
/// and the motion that they correct.
///
/// Equations (O1) to (O4) of docs/control/outer-loops.md. Forces and torques of the air are fed
/// forward: drag with its derivatives from the trajectory (Faessler, Franchi and Scaramuzza, RA-L
/// 2018), blow-back and rotational drag from the present motion.

#include "propwash/control/allocation.hpp"
#include "propwash/control/flatness.hpp"
#include "propwash/control/position_control.hpp"
#include "propwash/control/velocity_control.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/model/drag.hpp"
#include "propwash/model/rotor_drag.hpp"

namespace propwash {

/// What is known of a vehicle's motion.
template <class T>
struct MotionEstimate {
  Vec3<T> position{};                      ///< m, world frame
  Vec3<T> velocity{};                      ///< m/s, world frame
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB
  Vec3<T> rates{};                         ///< rad/s, body frame, filtered
};

/// The vehicle model that the trajectory controllers invert. Its mass is an input of each law.
template <class P>
struct ControlModel {
  Vec3<P> gravity_W{};  ///< m/s^2
  Mat3<P> inertia{};    ///< kg m^2
  DragParameters<P> drag{};
  RotorDragParameters<P> rotor_drag{};

  /// 1/s, linear rotor drag across the thrust axis: the mean of body x and y.
  PROPWASH_FN P lateral_drag() const {
    return (rotor_drag.linear.x + rotor_drag.linear.y) * constant<P>(0.5);
  }
};

/// Gains of geometric tracking and of incremental inversion.
template <class P>
struct TrackingLaw {
  P position{};        ///< 1/s^2, on the position error
  P velocity{};        ///< 1/s, on the velocity error
  P reach{};           ///< m, the length at which a position error is limited
  Vec3<P> attitude{};  ///< 1/s^2, on the attitude error about each body axis
  Vec3<P> rates{};     ///< 1/s, on the error of the body rates
};

/// The acceleration that brings the vehicle back to a trajectory, its own included: m/s^2, world.
template <class T, class P>
PROPWASH_FN Vec3<T> tracking_acceleration(const TrackingLaw<P>& law, const MotionEstimate<T>& x,
                                          const TrajectoryPoint<T>& wanted) {
  return wanted.acceleration +
         limited_length(wanted.position - x.position, T(law.reach)) * law.position +
         (wanted.velocity - x.velocity) * law.velocity;
}

/// The drag per mass of a trajectory in still air, turned against: (6) and the linear rotor drag
/// across the thrust axis, taken as isotropic. m/s^2 and its derivatives.
template <class T, class P>
PROPWASH_FN Jet3<T> drag_on(const ControlModel<P>& model, const T& mass,
                            const TrajectoryPoint<T>& wanted) {
  return drag_on(wanted, T(model.drag.translational) / mass, T(model.lateral_drag()));
}

/// (O1) The attitude for a force per mass force_W [m/s^2] of the rotors, whose derivatives are
/// those of the trajectory and of its drag, `drag`.
template <class T>
PROPWASH_FN FlatAttitude<T> attitude_for_force(const Vec3<T>& force_W, const Jet3<T>& drag,
                                               const TrajectoryPoint<T>& wanted) {
  const Jet3<T> force{force_W, wanted.jerk + drag.first, wanted.snap + drag.second};
  return flat_attitude(force, wanted.yaw, wanted.yaw_rate, wanted.yaw_acceleration);
}

/// (O2) The rotors' torque [N m], body frame, for an angular acceleration [rad/s^2]: Euler's
/// equation less what the air adds, blow-back and rotational drag (7) in still air.
template <class T, class P>
PROPWASH_FN Vec3<T> torque_for(const ControlModel<P>& model, const MotionEstimate<T>& x,
                               const Vec3<T>& angular_acceleration) {
  const Vec3<T> velocity_B = rotate_inverse(x.attitude, x.velocity);
  return model.inertia * angular_acceleration + cross(x.rates, model.inertia * x.rates) -
         blow_back_torque(model.rotor_drag, velocity_B) - drag_torque(model.drag, x.rates);
}

/// (O3) What the thrust per mass [m/s^2] must have in addition to the force that drag_on is part
/// of, where the linear rotor drag along the thrust axis is another than across it.
template <class T, class P>
PROPWASH_FN T axial_drag(const ControlModel<P>& model, const MotionEstimate<T>& x) {
  const Vec3<T> axis_W = rotate(x.attitude, AlongZ<T>{T(constant<T>(1))});
  return dot(x.velocity, axis_W) * (model.rotor_drag.linear.z - model.lateral_drag());
}

/// (O4) Angular acceleration [rad/s^2], body frame, that turns the vehicle to `wanted`: the moment
/// of Lee, Leok and McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)" (CDC
/// 2010), divided by the inertia and without the gyroscopic term. The attitude error is 1/2 (R_d^T
/// R - R^T R_d) as a vector.
template <class T, class P>
PROPWASH_FN Vec3<T> turning_acceleration(const TrackingLaw<P>& law, const MotionEstimate<T>& x,
                                         const FlatAttitude<T>& wanted) {
  const Quat<T> e = conjugate(wanted.attitude) * x.attitude;
  const Vec3<T> attitude_error = Vec3<T>{e.x, e.y, e.z} * (e.w * constant<T>(2));
  const Vec3<T> rates = rotate_inverse(e, wanted.rates);
  return rotate_inverse(e, wanted.angular_acceleration) - cross(x.rates, rates) -
         cwise_product(attitude_error, law.attitude) - cwise_product(x.rates - rates, law.rates);
}

}  // namespace propwash
