#pragma once
/// @file
/// From the parameters of a vehicle to the constants of its equations of motion.

#include <cstddef>

#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// Whether all motors are alike, and as fast up as down.
inline bool is_uniform(const MotorParameters<double>& motor) {
  return motor.time_constant_up.is_uniform() && motor.time_constant_down.is_uniform() &&
         motor.time_constant_up[0] == motor.time_constant_down[0] && motor.speed_min.is_uniform() &&
         motor.speed_max.is_uniform();
}

/// Whether a vehicle has the structure of ParallelShape.
inline bool is_parallel(const VehicleParameters& vehicle) {
  const auto diagonal = [](const Mat3<double>& m) {
    return m(0, 1) == 0 && m(0, 2) == 0 && m(1, 0) == 0 && m(1, 2) == 0 && m(2, 0) == 0 &&
           m(2, 1) == 0;
  };
  for (const auto& rotor : vehicle.rotors) {
    if (rotor.axis.x != 0 || rotor.axis.y != 0 || rotor.axis.z != 1) return false;
  }
  const auto& air = vehicle.rotor_drag;
  return diagonal(vehicle.body.inertia) && diagonal(vehicle.drag.rotational) &&
         is_uniform(vehicle.motor) && air.blow_back == 0 && air.linear.x == 0 &&
         air.linear.y == 0 && air.linear.z == 0;
}

namespace detail {

template <class P, class Q>
Diag3<P> diagonal_of(const Mat3<Q>& m) {
  return {P(m(0, 0)), P(m(1, 1)), P(m(2, 2))};
}

template <class Q, class P>
void make_rotor(const RotorCoefficients<Q>& from, RotorCoefficients<P, Vec3<P>>& to) {
  to = {cast<P>(from.force_B), cast<P>(from.torque_B), cast<P>(from.reaction_B)};
}
template <class Q, class P>
void make_rotor(const RotorCoefficients<Q>& from, RotorCoefficients<P, AlongZ<P>>& to) {
  to = {{P(from.force_B.z)}, cast<P>(from.torque_B), {P(from.reaction_B.z)}};
}

template <class Q, class P>
void make_matrix(const Mat3<Q>& from, Mat3<P>& to) {
  to = cast<P>(from);
}
template <class Q, class P>
void make_matrix(const Mat3<Q>& from, Diag3<P>& to) {
  to = diagonal_of<P>(from);
}

template <class Q, class P>
void make_lag(const MotorParameters<Q>& from, int rotor, MotorLag<P>& to) {
  to = {P(1.0 / from.time_constant_up[rotor])};
}
template <class Q, class P>
void make_lag(const MotorParameters<Q>& from, int rotor, AsymmetricMotorLag<P>& to) {
  to = {P(1.0 / from.time_constant_up[rotor]), P(1.0 / from.time_constant_down[rotor])};
}

/// Lags and limits of the motors of `model.rotors`.
template <class Q, class P, int N, class Shape>
void make_motors(const MotorParameters<Q>& from, MulticopterModel<P, N, Shape>& model) {
  const int rotors = model.rotors.size();
  model.motor.resize(rotors);
  model.speed_min.resize(rotors);
  model.speed_max.resize(rotors);
  for (int i = 0; i < rotors; ++i) {
    make_lag(from, i, model.motor[i]);
    model.speed_min[i] = P(from.speed_min[i]);
    model.speed_max[i] = P(from.speed_max[i]);
  }
}

/// A body as its shape holds it.
template <class Q, class P>
void make_body(const RigidBodyParameters<Q>& from, RigidBody<P, Mat3<P>>& to) {
  to = {P(from.mass), P(1.0 / from.mass), cast<P>(from.inertia), cast<P>(inverse(from.inertia)),
        cast<P>(from.gravity)};
}
template <class Q, class P>
void make_body(const RigidBodyParameters<Q>& from, RigidBody<P, Diag3<P>>& to) {
  to = {P(from.mass), P(1.0 / from.mass), diagonal_of<P>(from.inertia),
        diagonal_of<P>(inverse(from.inertia)), cast<P>(from.gravity)};
}

}  // namespace detail

/// The constants for a vehicle; its structure must be that of Shape. Vehicle is VehicleParameters,
/// or has its parts body, rotors, motor, drag and rotor_drag in other numbers.
template <class P, int N, class Shape, class Vehicle>
MulticopterModel<P, N, Shape> make_model(const Vehicle& vehicle) {
  MulticopterModel<P, N, Shape> model;
  detail::make_body(vehicle.body, model.body);
  model.rotors.resize(static_cast<int>(vehicle.rotors.size()));
  for (int i = 0; i < model.rotors.size(); ++i) {
    detail::make_rotor(rotor_coefficients(vehicle.rotors[static_cast<std::size_t>(i)]),
                       model.rotors[i]);
  }

  detail::make_motors(vehicle.motor, model);
  detail::make_matrix(vehicle.drag.rotational, model.drag.rotational);
  model.drag.translational = P(vehicle.drag.translational);
  model.rotor_drag = {cast<P>(vehicle.rotor_drag.linear), P(vehicle.rotor_drag.blow_back)};
  return model;
}

/// The constants in the units of PrincipalShape, for a vehicle of parallel structure: `per_force`
/// and `per_torque` bring a force [N] and a torque [N m] into them.
template <int N>
struct PrincipalModel {
  /// The model with principal axes as body axes.
  MulticopterModel<double, N, PrincipalShape> model{};
  double per_force{};         ///< 1/kg
  Vec3<double> per_torque{};  ///< 1/(kg m^2), half an inverse moment of inertia
};

/// The model of a vehicle of parallel structure.
template <int N>
PrincipalModel<N> make_principal_model(const VehicleParameters& vehicle) {
  const auto plain = make_model<double, N, ParallelShape>(vehicle);
  const auto& inverse_inertia = plain.body.inertia_inverse;
  PrincipalModel<N> principal;
  auto& model = principal.model;
  principal.per_force = plain.body.inverse_mass;
  principal.per_torque =
      Vec3<double>{inverse_inertia.x, inverse_inertia.y, inverse_inertia.z} * 0.5;
  model.body = principal_body(plain.body);
  model.rotors.resize(plain.rotors.size());
  for (int i = 0; i < model.rotors.size(); ++i) {
    auto& to = model.rotors[i];
    const auto& from = plain.rotors[i];
    to.force_B = from.force_B * principal.per_force;
    to.torque_B = cwise_product(from.torque_B, principal.per_torque);
    to.reaction_B = from.reaction_B * principal.per_torque.z;
  }
  model.motor = plain.motor;
  model.speed_min = plain.speed_min;
  model.speed_max = plain.speed_max;
  model.drag.translational = plain.drag.translational * principal.per_force;
  // (7) is of second degree in the rates, which are half as large
  model.drag.rotational = {plain.drag.rotational.x * principal.per_torque.x * 4.0,
                           plain.drag.rotational.y * principal.per_torque.y * 4.0,
                           plain.drag.rotational.z * principal.per_torque.z * 4.0};
  return principal;
}

}  // namespace propwash
