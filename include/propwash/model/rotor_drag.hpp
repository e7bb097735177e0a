#pragma once
/// @file
/// Linear rotor drag and the blow-back moment of flapping rotors: extensions of the FlightGoggles
/// model, zero for the published vehicles. See docs/model/rotor_drag.md.
///
/// Linear drag: Faessler, Franchi and Scaramuzza, RA-L 2018, eq. (3), with constant coefficients.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Linear drag of the rotors.
template <class P>
struct RotorDragParameters {
  Vec3<P> linear{};  ///< 1/s, d: drag force per mass and speed, on each body axis
  P blow_back{};     ///< N m/(m/s), c: torque per lateral speed
  PROPWASH_MEMBERS(linear, blow_back)
};

/// f_B = -m diag(d) v_B [N]; `air_velocity_B` [m/s] is the velocity relative to the air.
template <class T, class P>
PROPWASH_FN Vec3<T> rotor_drag_force(const RotorDragParameters<P>& drag, const P& mass,
                                     const Vec3<T>& air_velocity_B) {
  return cwise_product(air_velocity_B, drag.linear) * (-mass);
}

/// mu_B = -c e_z x v_B [N m]: tilts the thrust away from the direction of flight.
template <class T, class P>
PROPWASH_FN Vec3<T> blow_back_torque(const RotorDragParameters<P>& drag,
                                     const Vec3<T>& air_velocity_B) {
  return Vec3<T>{air_velocity_B.y * drag.blow_back, air_velocity_B.x * (-drag.blow_back), T{}};
}

}  // namespace propwash
