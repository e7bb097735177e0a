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

namespace detail {

/// Calls f(speed, inertia about the axis, angular momentum per speed, axis) for each rotor.
template <class T, int N, class F>
void for_each_rotor(const VehicleParameters& vehicle, const MulticopterState<T, N>& state,
                    const F& f) {
  require_rotors(state.rotor_speeds.size(), static_cast<int>(vehicle.rotors.size()));
  int i = 0;
  for (const auto& rotor : vehicle.rotors) {
    f(state.rotor_speeds[i++], constant<T>(rotor.inertia), constant<T>(rotor_momentum(rotor, 1.0)),
      cast<value_type_t<T>>(rotor.axis));
  }
}

}  // namespace detail

/// The mechanical energy in `state`.
/// @throws std::invalid_argument for a wrong number of rotors.
template <class T, int N>
MechanicalEnergy<T> energy(const VehicleParameters& vehicle, const MulticopterState<T, N>& state) {
  const auto half = constant<T>(0.5);
  const auto mass = constant<T>(vehicle.body.mass);
  const auto inertia = cast<value_type_t<T>>(vehicle.body.inertia);
  const auto gravity_W = cast<value_type_t<T>>(vehicle.body.gravity);
  MechanicalEnergy<T> sum;
  sum.translational = squared_norm(state.velocity) * mass * half;
  sum.rotational = dot(state.body_rates, inertia * state.body_rates) * half;
  detail::for_each_rotor(vehicle, state,
                         [&](const T& speed, auto about_axis, auto per_speed, const auto& axis_B) {
                           sum.rotors = sum.rotors + speed * speed * (about_axis * half) +
                                        speed * per_speed * dot(state.body_rates, axis_B);
                         });
  sum.potential = dot(state.position, gravity_W) * -mass;
  return sum;
}

/// The momentum in `state`; about the origin of the world, add cross(position, linear_W) to
/// angular_W.
/// @throws std::invalid_argument for a wrong number of rotors.
template <class T, int N>
Momentum<T> momentum(const VehicleParameters& vehicle, const MulticopterState<T, N>& state) {
  Vec3<T> angular_B = cast<value_type_t<T>>(vehicle.body.inertia) * state.body_rates;  // (14)
  detail::for_each_rotor(vehicle, state,
                         [&](const T& speed, auto, auto per_speed, const auto& axis_B) {
                           angular_B += axis_B * (speed * per_speed);
                         });
  return {state.velocity * constant<T>(vehicle.body.mass), rotate(state.attitude, angular_B)};
}

}  // namespace propwash
