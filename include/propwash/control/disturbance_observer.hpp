#pragma once
/// @file
/// Observer of the force and torque that the model of a controller lacks: the measured motion
/// minus that of the model at the present rotor speeds, through a low-pass filter.
///
/// Equations (O31) to (O33) of docs/control/disturbance_observer.md, after Tomic, Ott and Haddadin,
/// "External Wrench Estimation, Collision Detection, and Reflex Reaction for Flying Robots" (IEEE
/// Transactions on Robotics 33, 2017).

#include "propwash/control/tracking.hpp"

namespace propwash {

/// (O31) Acceleration [m/s^2, world frame] that the model lacks, for a measured specific force.
/// Drag is that of the desired motion, as the laws compensate it.
template <class T, class P>
PROPWASH_FN Vec3<T> unmodelled_acceleration(const ControlModel<P>& model, const T& mass,
                                            const MotionEstimate<T>& x,
                                            const TrajectoryPoint<T>& desired,
                                            const Wrench<T>& rotors,
                                            const Vec3<T>& specific_force_B) {
  return rotate(x.attitude, specific_force_B) -
         thrust_axis(x.attitude) * (rotors.thrust / mass - axial_drag(model, x)) +
         drag_on(model, mass, desired).value;
}

/// (O32) Torque [N m] about body x and y that the model lacks, for a measured angular acceleration
/// [rad/s^2]. About z it is zero, as the reaction of accelerating rotors would count as unmodelled.
template <class T, class P>
PROPWASH_FN Vec3<T> unmodelled_torque(const ControlModel<P>& model, const MotionEstimate<T>& x,
                                      const Wrench<T>& rotors,
                                      const Vec3<T>& angular_acceleration_B) {
  const Vec3<T> torque_B = torque_for(model, x, angular_acceleration_B) - rotors.torque_B;
  return {torque_B.x, torque_B.y, T(constant<T>(0))};
}

}  // namespace propwash
