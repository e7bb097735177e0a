#pragma once
/// @file
/// Rotor thrust and torque for any number, position, orientation and spin of rotors.
///
/// Equations (2) to (5) and the rotors' part of (14) of Guerra et al., "FlightGoggles"
/// (arXiv 1905.11377); see docs/model/rotor.md. A rotor turns about its own z axis, `axis`;
/// positive speed gives thrust along +axis. The paper's sign s_i is -spin.

#include <type_traits>

#include "propwash/math/small_array.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// One rotor. Axis is Vec3<P> in general, UnitZ where all rotors push along body z.
template <class P, class Axis = Vec3<P>>
struct RotorParameters {
  Vec3<P> position{};      ///< m, r_i = p_BR_B: from the centre of mass to the rotor, body frame
  Axis axis{};             ///< unit vector of positive thrust, body frame (R_b^mi e_z)
  P spin{};                ///< +1 counter-clockwise seen against the axis, -1 clockwise; -s_i
  P thrust_coefficient{};  ///< N/(rad/s)^2, k_fT
  P torque_coefficient{};  ///< N m/(rad/s)^2, k_muT
  P inertia{};             ///< kg m^2, J_m about the axis
};

/// (4) thrust along the rotor's axis, N.
template <class T, class P, class Axis>
PROPWASH_FN T rotor_thrust(const RotorParameters<P, Axis>& rotor, const T& speed) {
  return signed_square(speed) * rotor.thrust_coefficient;
}

/// (5) torque on the body about the rotor's axis, N m: aerodynamic and of the motor's acceleration.
template <class T, class P, class Axis>
PROPWASH_FN T rotor_torque(const RotorParameters<P, Axis>& rotor, const T& speed,
                           const T& acceleration) {
  return (signed_square(speed) * rotor.torque_coefficient + acceleration * rotor.inertia) *
         (-rotor.spin);
}

/// A rotor's angular momentum relative to the body along its axis, kg m^2/s; part of (14).
template <class T, class P, class Axis>
PROPWASH_FN T rotor_momentum(const RotorParameters<P, Axis>& rotor, const T& speed) {
  return speed * (rotor.inertia * rotor.spin);
}

/// What all rotors together do to the body, in the body frame.
template <class Force, class Torque>
struct RotorWrench {
  Force force_B{};     ///< N, (2)
  Torque torque_B{};   ///< N m, (3)
  Force momentum_B{};  ///< kg m^2/s, the rotors' part of (14)
};

/// Sums (2), (3) and the rotors' momentum over all rotors, of which there is at least one.
/// `torque_B` [N m], Vec3<T> or Zero3, is what the sum of the torques begins with.
template <class T, int N, class Rotor, class Torque = Zero3>
PROPWASH_FN auto rotor_wrench(const SmallArray<Rotor, N>& rotors, const SmallArray<T, N>& speeds,
                              const SmallArray<T, N>& accelerations, const Torque& torque_B = {}) {
  const auto thrust_B = [&](int i) PROPWASH_LAMBDA {
    return rotors[i].axis * rotor_thrust(rotors[i], speeds[i]);
  };
  const auto plus_torque = [&](const auto& sum, int i) PROPWASH_LAMBDA {
    return (sum + cross(rotors[i].position, thrust_B(i))) +
           rotors[i].axis * rotor_torque(rotors[i], speeds[i], accelerations[i]);
  };
  const auto momentum_B = [&](int i) PROPWASH_LAMBDA {
    return rotors[i].axis * rotor_momentum(rotors[i], speeds[i]);
  };
  // from the first rotor on, not from zero: adding to zero is an operation
  RotorWrench<std::decay_t<decltype(thrust_B(0))>, Vec3<T>> sum{
      thrust_B(0), plus_torque(torque_B, 0), momentum_B(0)};
  for_each_index<N, 1>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    sum.force_B += thrust_B(i);
    sum.torque_B = plus_torque(sum.torque_B, i);
    sum.momentum_B += momentum_B(i);
  });
  return sum;
}

}  // namespace propwash
