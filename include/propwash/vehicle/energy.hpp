#pragma once
/// @file
/// Energy and momentum of a multicopter, for checks of their conservation. See
/// docs/model/rigid_body.md for the laws.

#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// Mechanical energy [J] of a multicopter in the world frame.
template <class T>
struct MechanicalEnergy {
  T translational{};  ///< m v^2 / 2
  T rotational{};     ///< W . J W / 2: rotors at rest relative to the body
  T rotors{};         ///< added by their rotation: J_m w (w / 2 + W . spin axis) of each
  T potential{};      ///< -m g . x; 0 at the origin

  /// Translational energy and that of all rotations.
  T kinetic() const { return translational + rotational + rotors; }
  /// Kinetic and potential energy.
  T total() const { return kinetic() + potential; }
};

/// Linear and angular momentum of a multicopter with its rotors, world axes.
template <class T>
struct Momentum {
  Vec3<T> linear_W{};   ///< kg m/s
  Vec3<T> angular_W{};  ///< kg m^2/s, about the centre of mass
};

/// The mechanical energy in `state`.
/// @throws std::invalid_argument for a wrong number of rotors.
template <class T, int N>
MechanicalEnergy<T> energy(const VehicleParameters& vehicle, const MulticopterState<T, N>& state) {
  detail::require_rotors(state.rotor_speeds.size(), static_cast<int>(vehicle.rotors.size()));
  const auto half = constant<T>(0.5);
  const auto& body = vehicle.body;
  MechanicalEnergy<T> sum;
  sum.translational = squared_norm(state.velocity) * body.mass * half;
  sum.rotational = dot(state.body_rates, body.inertia * state.body_rates) * half;
  int i = 0;
  for (const auto& rotor : vehicle.rotors) {
    const T& speed = state.rotor_speeds[i++];
    sum.rotors = sum.rotors + speed * speed * (rotor.inertia * half) +
                 rotor_momentum(rotor, speed) * dot(state.body_rates, rotor.axis);
  }
  sum.potential = dot(state.position, body.gravity) * -body.mass;
  return sum;
}

/// The momentum in `state`; about the origin of the world, add cross(position, linear_W) to
/// angular_W.
/// @throws std::invalid_argument for a wrong number of rotors.
template <class T, int N>
Momentum<T> momentum(const VehicleParameters& vehicle, const MulticopterState<T, N>& state) {
  detail::require_rotors(state.rotor_speeds.size(), static_cast<int>(vehicle.rotors.size()));
  Vec3<T> angular_B = vehicle.body.inertia * state.body_rates;  // (14)
  int i = 0;
  for (const auto& rotor : vehicle.rotors) {
    angular_B += rotor.axis * rotor_momentum(rotor, state.rotor_speeds[i++]);
  }
  return {state.velocity * vehicle.body.mass, rotate(state.attitude, angular_B)};
}

}  // namespace propwash
