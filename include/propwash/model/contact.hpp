#pragma once
/// @file
/// Ground contact: a spring, a damper and friction at a foot below each rotor. An extension of the
/// FlightGoggles model, off for the published vehicles. See docs/model/contact.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Parameters of the contact with the ground, the same for all feet.
template <class P>
struct ContactParameters {
  P frequency{};       ///< Hz, undamped vertical oscillation on all feet; 0: no contact
  P damping{P(0.7)};   ///< of this oscillation, fraction of the critical damping
  P friction{P(0.6)};  ///< Coulomb coefficient
  P leg{};             ///< m, from a rotor down to its foot, along body -z
  P height{};          ///< m, of the ground, world frame
  PROPWASH_MEMBERS(frequency, damping, friction, leg, height)
};

/// The constants of a foot.
template <class P>
struct FootConstants {
  P stiffness{};  ///< N/m
  P damping{};    ///< N/(m/s), in all directions
  P friction{};   ///< Coulomb coefficient
  PROPWASH_MEMBERS(stiffness, damping, friction)
};

/// The constants of one of `feet` feet of a vehicle of `mass` [kg].
template <class P>
PROPWASH_FN FootConstants<P> foot_constants(const ContactParameters<P>& contact, const P& mass,
                                            int feet) {
  const P rate = contact.frequency * constant<P>(6.283185307179586);  // rad/s
  const P per_foot = mass * rate * constant<P>(1.0 / feet);
  return {per_foot * rate, per_foot * contact.damping * constant<P>(2), contact.friction};
}

/// Force [N] of the ground on a foot, in the frame of `up`, the unit vector normal to the ground,
/// and of `velocity` [m/s], relative to the ground. `height` [m] is that of the foot above the
/// ground. Continuous, zero above the ground, and dissipative except for the spring.
template <class T, class P>
PROPWASH_FN Vec3<T> foot_force(const FootConstants<P>& foot, const Vec3<T>& up, const T& height,
                               const Vec3<T>& velocity) {
  const T zero(constant<T>(0));
  const T vertical = dot(up, velocity);
  const Vec3<T> sliding = velocity - up * vertical;
  // constant beyond a depth of 1 m, so that no depth gives unlimited forces
  const T spring = clamp(-height, zero, T(constant<T>(1))) * foot.stiffness;
  // the damper neither pulls the foot down nor exceeds three times the spring
  const T normal = spring + clamp(vertical * -foot.damping, -spring, spring * constant<T>(3));
  const T speed = sqrt(squared_norm(sliding) + constant<T>(1e-12));
  const T viscous = min(T(foot.damping), normal * foot.friction / speed);
  return up * normal - sliding * viscous;
}

}  // namespace propwash
