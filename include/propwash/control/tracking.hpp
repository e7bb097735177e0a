#pragma once
/// @file
/// What the controllers that follow a trajectory share: gains, what they know of the vehicle, what
/// they are told of its state.

#include "propwash/control/allocation.hpp"
#include "propwash/control/flatness.hpp"
#include "propwash/control/position_control.hpp"
#include "propwash/control/velocity_control.hpp"
#include "propwash/math/mat3.hpp"

namespace propwash {

/// What is known of a vehicle's motion.
template <class T>
struct MotionEstimate {
  Vec3<T> position{};                      ///< m, world frame
  Vec3<T> velocity{};                      ///< m/s, world frame
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB
  Vec3<T> rates{};                         ///< rad/s, body frame, filtered
};

/// Gains of geometric tracking and of incremental inversion, and the vehicle as they know it.
template <class P>
struct TrackingLaw {
  P position{};         ///< 1/s^2, on the position error
  P velocity{};         ///< 1/s, on the velocity error
  P reach{};            ///< m, a position error counts for no more
  Vec3<P> attitude{};   ///< 1/s^2, on the attitude error about each body axis
  Vec3<P> rates{};      ///< 1/s, on the error of the body rates
  Vec3<P> gravity_W{};  ///< m/s^2
  Mat3<P> inertia{};    ///< kg m^2
  P drag_quadratic{};   ///< 1/m, (6) per mass
  P drag_linear{};      ///< 1/s, linear rotor drag, mean of x and y
};

/// The acceleration that brings the vehicle back to a trajectory, its own included: m/s^2, world.
template <class T, class P>
PROPWASH_FN Vec3<T> tracking_acceleration(const TrackingLaw<P>& law, const MotionEstimate<T>& x,
                                          const TrajectoryPoint<T>& wanted) {
  return wanted.acceleration +
         limited_length(wanted.position - x.position, T(law.reach)) * law.position +
         (wanted.velocity - x.velocity) * law.velocity;
}

/// Angular acceleration [rad/s^2], body frame, that turns the vehicle to `wanted`: the moment of
/// Lee, Leok and McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)" (CDC 2010),
/// divided by the inertia and without the gyroscopic term. The attitude error is 1/2 (R_d^T R - R^T
/// R_d) as a vector.
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
