#pragma once
/// @file
/// Rotor thrust and torque for any number, position, orientation and spin of rotors.
///
/// Equations (2) to (5) and the rotors' part of (14) of Guerra et al., "FlightGoggles"
/// (arXiv 1905.11377); see docs/model/rotor.md. A rotor turns about its own z axis, `axis`;
/// positive speed gives thrust along +axis. The paper's sign s_i is -spin.

#include "propwash/math/small_array.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// What a vehicle file says of one rotor.
template <class P>
struct RotorParameters {
  Vec3<P> position{};      ///< m, r_i = p_BR_B: from the centre of mass to the rotor, body frame
  Vec3<P> axis{};          ///< unit vector of positive thrust, body frame (R_b^mi e_z)
  P spin{};                ///< +1 counter-clockwise seen against the axis, -1 clockwise; -s_i
  P thrust_coefficient{};  ///< N/(rad/s)^2, k_fT
  P torque_coefficient{};  ///< N m/(rad/s)^2, k_muT
  P inertia{};             ///< kg m^2, J_m about the axis
};

/// (4) thrust along the rotor's axis, N.
template <class T, class P>
PROPWASH_FN T rotor_thrust(const RotorParameters<P>& rotor, const T& speed) {
  return signed_square(speed) * rotor.thrust_coefficient;
}

/// (5) torque on the body about the rotor's axis, N m: aerodynamic and of the motor's acceleration.
template <class T, class P>
PROPWASH_FN T rotor_torque(const RotorParameters<P>& rotor, const T& speed, const T& acceleration) {
  return (signed_square(speed) * rotor.torque_coefficient + acceleration * rotor.inertia) *
         (-rotor.spin);
}

/// A rotor's angular momentum relative to the body along its axis, kg m^2/s; part of (14).
template <class T, class P>
PROPWASH_FN T rotor_momentum(const RotorParameters<P>& rotor, const T& speed) {
  return speed * (rotor.inertia * rotor.spin);
}

/// What all rotors together do to the body, in the body frame.
template <class Force, class Torque>
struct RotorWrench {
  Force force_B{};     ///< N, (2)
  Torque torque_B{};   ///< N m, (3)
  Force momentum_B{};  ///< kg m^2/s, the rotors' part of (14)
};

/// A RotorWrench of the types of its parts.
template <class Force, class Torque>
PROPWASH_FN RotorWrench<Force, Torque> make_rotor_wrench(const Force& force_B,
                                                         const Torque& torque_B,
                                                         const Force& momentum_B) {
  return {force_B, torque_B, momentum_B};
}

/// One rotor as the sums below use it: the products of its constants, made once. Force is Vec3<P>,
/// or AlongZ<P> where the rotor pushes along body z.
template <class P, class Force = Vec3<P>>
struct RotorCoefficients {
  Force force_B{};     ///< N/(rad/s)^2, of the signed square of speed, (2) and (4)
  Vec3<P> torque_B{};  ///< N m/(rad/s)^2, of the signed square of speed, (3) to (5)
  Force
      reaction_B{};  ///< kg m^2, torque of the rotor's acceleration, (5); momentum of -speed, (14)
};

/// The largest effectiveness that is accepted: far more than any rotor gains.
inline constexpr double max_effectiveness = 10.0;

/// A rotor that has lost some of its effect: thrust and aerodynamic torque are `effectiveness`
/// times those of the whole rotor; what its inertia does stays.
template <class P, class Force>
PROPWASH_FN RotorCoefficients<P, Force> degraded(const RotorCoefficients<P, Force>& rotor,
                                                 const P& effectiveness) {
  return {rotor.force_B * effectiveness, rotor.torque_B * effectiveness, rotor.reaction_B};
}

/// What one rotor at `speed` [rad/s] and `acceleration` [rad/s^2] adds to a sum.
template <class Force, class Torque, class T, class P>
PROPWASH_FN auto plus_rotor(const RotorWrench<Force, Torque>& sum, const RotorParameters<P>& rotor,
                            const T& speed, const T& acceleration) {
  const auto thrust_B = rotor.axis * rotor_thrust(rotor, speed);
  return make_rotor_wrench(sum.force_B + thrust_B,
                           (sum.torque_B + cross(rotor.position, thrust_B)) +
                               rotor.axis * rotor_torque(rotor, speed, acceleration),
                           sum.momentum_B + rotor.axis * rotor_momentum(rotor, speed));
}

/// Sums (2), (3) and the rotors' momentum over all rotors, of which there is at least one.
template <class T, int N, class P>
PROPWASH_FN auto rotor_wrench(const SmallArray<RotorParameters<P>, N>& rotors,
                              const SmallArray<T, N>& speeds,
                              const SmallArray<T, N>& accelerations) {
  // from nothing, not from zero: adding to zero is an operation
  auto sum = plus_rotor(RotorWrench<Zero3, Zero3>{}, rotors[0], speeds[0], accelerations[0]);
  for_each_index<N, 1>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    sum = plus_rotor(sum, rotors[i], speeds[i], accelerations[i]);
  });
  return sum;
}

/// What is linear in the rotors' `values`: torque of their accelerations (5), or, of their speeds
/// with the sign turned, their momentum (14).
template <class T, int N, class P, class Force>
PROPWASH_FN auto rotor_reaction(const SmallArray<RotorCoefficients<P, Force>, N>& rotors,
                                const SmallArray<T, N>& values) {
  auto sum = rotors[0].reaction_B * values[0];
  for_each_index<N, 1>(values.size(),
                       [&](int i) PROPWASH_LAMBDA { sum = sum + rotors[i].reaction_B * values[i]; });
  return sum;
}

/// The wrench of rotors at `speeds` whose reaction torque and momentum are known.
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

/// The sums of rotor_wrench from coefficients.
template <class T, int N, class P, class Force>
PROPWASH_FN auto rotor_wrench(const SmallArray<RotorCoefficients<P, Force>, N>& rotors,
                              const SmallArray<T, N>& speeds,
                              const SmallArray<T, N>& accelerations) {
  return rotor_wrench(rotors, speeds, rotor_reaction(rotors, accelerations),
                      -rotor_reaction(rotors, speeds));
}

/// The coefficients of a rotor: its equations at unit speed and at unit acceleration.
template <class P>
RotorCoefficients<P> rotor_coefficients(const RotorParameters<P>& rotor) {
  const RotorWrench<Zero3, Zero3> nothing{};
  const P zero(constant<P>(0));
  const P one(constant<P>(1));
  const auto turning = plus_rotor(nothing, rotor, one, zero);
  const auto accelerating = plus_rotor(nothing, rotor, zero, one);
  return {turning.force_B, turning.torque_B, accelerating.torque_B};
}

}  // namespace propwash
