#pragma once
/// @file
/// Thrust, torque and angular momentum of rotors in any number, position, orientation and spin.
///
/// Equations (2) to (5) and the rotor terms of (14) of Guerra et al., "FlightGoggles"
/// (arXiv 1905.11377); see docs/model/rotor.md. A rotor rotates about `axis`; positive speed gives
/// thrust along +axis. The sign s_i of the paper is -spin.

#include "propwash/math/small_array.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// Parameters of one rotor.
template <class P>
struct RotorParameters {
  Vec3<P> position{};      ///< m, r_i = p_BR_B: from the centre of mass, body frame
  Vec3<P> axis{};          ///< unit vector of positive thrust, body frame (R_b^mi e_z)
  P spin{};                ///< +1: counter-clockwise seen from the tip of `axis`; -1: clockwise
  P thrust_coefficient{};  ///< N/(rad/s)^2, k_fT
  P torque_coefficient{};  ///< N m/(rad/s)^2, k_muT
  P inertia{};             ///< kg m^2, J_m about the axis
  PROPWASH_MEMBERS(position, axis, spin, thrust_coefficient, torque_coefficient, inertia)
};

/// (4) thrust [N] along the rotor axis at a speed [rad/s].
template <class T, class P>
PROPWASH_FN T rotor_thrust(const RotorParameters<P>& rotor, const T& speed) {
  return signed_square(speed) * rotor.thrust_coefficient;
}

/// (5) torque [N m] on the body about the rotor axis: aerodynamic torque and reaction to the
/// angular acceleration [rad/s^2] of the rotor.
template <class T, class P>
PROPWASH_FN T rotor_torque(const RotorParameters<P>& rotor, const T& speed, const T& acceleration) {
  return (signed_square(speed) * rotor.torque_coefficient + acceleration * rotor.inertia) *
         (-rotor.spin);
}

/// (14) angular momentum [kg m^2/s] of a rotor relative to the body, along its axis.
template <class T, class P>
PROPWASH_FN T rotor_momentum(const RotorParameters<P>& rotor, const T& speed) {
  return speed * (rotor.inertia * rotor.spin);
}

/// Force, torque and angular momentum of all rotors, body frame.
template <class Force, class Torque>
struct RotorWrench {
  Force force_B{};     ///< N, (2)
  Torque torque_B{};   ///< N m, (3)
  Force momentum_B{};  ///< kg m^2/s, rotor term of (14)
};

/// A RotorWrench of the types of its parts.
template <class Force, class Torque>
PROPWASH_FN RotorWrench<Force, Torque> make_rotor_wrench(const Force& force_B,
                                                         const Torque& torque_B,
                                                         const Force& momentum_B) {
  return {force_B, torque_B, momentum_B};
}

/// Precomputed coefficients of one rotor. Force is Vec3<P>, or AlongZ<P> for thrust along body z.
template <class P, class Force = Vec3<P>>
struct RotorCoefficients {
  Force force_B{};     ///< N/(rad/s)^2, of speed |speed|, (2) and (4)
  Vec3<P> torque_B{};  ///< N m/(rad/s)^2, of speed |speed|, (3) to (5)
  Force reaction_B{};  ///< kg m^2, of acceleration in (5), of -speed in (14)
  PROPWASH_MEMBERS(force_B, torque_B, reaction_B)
};

/// The largest accepted rotor effectiveness.
inline constexpr double max_effectiveness = 10.0;

/// A rotor with its thrust and aerodynamic torque multiplied by `effectiveness`; effects of its
/// inertia are unchanged.
template <class P, class Force>
PROPWASH_FN RotorCoefficients<P, Force> degraded(const RotorCoefficients<P, Force>& rotor,
                                                 const P& effectiveness) {
  return {rotor.force_B * effectiveness, rotor.torque_B * effectiveness, rotor.reaction_B};
}

/// `sum` plus the contribution of a rotor at `speed` [rad/s] and `acceleration` [rad/s^2].
template <class Force, class Torque, class T, class P>
PROPWASH_FN auto plus_rotor(const RotorWrench<Force, Torque>& sum, const RotorParameters<P>& rotor,
                            const T& speed, const T& acceleration) {
  const auto thrust_B = rotor.axis * rotor_thrust(rotor, speed);
  return make_rotor_wrench(sum.force_B + thrust_B,
                           (sum.torque_B + cross(rotor.position, thrust_B)) +
                               rotor.axis * rotor_torque(rotor, speed, acceleration),
                           sum.momentum_B + rotor.axis * rotor_momentum(rotor, speed));
}

/// (2), (3) and the rotor term of (14), summed over one or more rotors.
template <class T, int N, class P>
PROPWASH_FN auto rotor_wrench(const SmallArray<RotorParameters<P>, N>& rotors,
                              const SmallArray<T, N>& speeds,
                              const SmallArray<T, N>& accelerations) {
  // starts from Zero3: an addition of 0.0 may not be optimised away
  auto sum = plus_rotor(RotorWrench<Zero3, Zero3>{}, rotors[0], speeds[0], accelerations[0]);
  for_each_index<N, 1>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    sum = plus_rotor(sum, rotors[i], speeds[i], accelerations[i]);
  });
  return sum;
}

/// The terms that are linear in `values`: for rotor accelerations, the reaction torque of (5); for
/// negated rotor speeds, the angular momentum of (14).
template <class T, int N, class P, class Force>
PROPWASH_FN auto rotor_reaction(const SmallArray<RotorCoefficients<P, Force>, N>& rotors,
                                const SmallArray<T, N>& values) {
  auto sum = rotors[0].reaction_B * values[0];
  for_each_index<N, 1>(values.size(),
                       [&](int i) PROPWASH_LAMBDA { sum = sum + rotors[i].reaction_B * values[i]; });
  return sum;
}

/// The wrench of rotors at `speeds` [rad/s] for a known reaction torque and angular momentum.
template <class T, int N, class P, class Force, class Reaction>
PROPWASH_FN auto rotor_wrench(const SmallArray<RotorCoefficients<P, Force>, N>& rotors,
                              const SmallArray<T, N>& speeds, const Reaction& reaction_B,
                              const Reaction& momentum_B) {
  const T first = signed_square(speeds[0]);
  auto force_B = rotors[0].force_B * first;
  auto torque_B = rotors[0].torque_B * first;
  for_each_index<N, 1>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    const T square = signed_square(speeds[i]);
    force_B = force_B + rotors[i].force_B * square;
    torque_B = torque_B + rotors[i].torque_B * square;
  });
  return make_rotor_wrench(force_B, torque_B + reaction_B, momentum_B);
}

/// (2), (3) and the rotor term of (14), from coefficients.
template <class T, int N, class P, class Force>
PROPWASH_FN auto rotor_wrench(const SmallArray<RotorCoefficients<P, Force>, N>& rotors,
                              const SmallArray<T, N>& speeds,
                              const SmallArray<T, N>& accelerations) {
  return rotor_wrench(rotors, speeds, rotor_reaction(rotors, accelerations),
                      -rotor_reaction(rotors, speeds));
}

/// The coefficients of a rotor: its equations evaluated at unit speed and at unit acceleration.
template <class P>
RotorCoefficients<P> rotor_coefficients(const RotorParameters<P>& rotor) {
  const RotorWrench<Zero3, Zero3> nothing{};
  const P zero(constant<P>(0));
  const P one(constant<P>(1));
  const auto at_speed = plus_rotor(nothing, rotor, one, zero);
  const auto at_acceleration = plus_rotor(nothing, rotor, zero, one);
  return {at_speed.force_B, at_speed.torque_B, at_acceleration.torque_B};
}

}  // namespace propwash
