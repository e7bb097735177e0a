#pragma once
/// @file
/// Computes the constants of the equations of motion from the parameters of a vehicle.

#include <cstddef>
#include <type_traits>

#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// Whether all motors are identical, with equal time constants up and down.
inline bool is_uniform(const MotorParameters<double>& motor) {
  return motor.time_constant_up.is_uniform() && motor.time_constant_down.is_uniform() &&
         motor.time_constant_up[0] == motor.time_constant_down[0] && motor.speed_min.is_uniform() &&
         motor.speed_max.is_uniform();
}

/// Whether a vehicle has inflow or ground effect.
inline bool has_rotor_flow(const VehicleParameters& vehicle) {
  const auto& ground = vehicle.ground_effect;
  bool has_flow = ground.radius != 0 && ground.coefficient != 0;
  for_each_number(vehicle.inflow, [&](double x) { has_flow = has_flow || x != 0; });
  return has_flow;
}

/// Whether momentum theory gives the induced velocity of a vehicle's rotors.
inline bool has_induced_flow(const VehicleParameters& vehicle) {
  return vehicle.inflow.radius != 0;
}

/// Whether a vehicle has a residual.
inline bool has_residual(const VehicleParameters& vehicle) {
  bool found = false;
  for_each_coefficients(vehicle.residual, [&](const auto& numbers) {
    for (const double x : numbers) found = found || x != 0;
  });
  return found;
}

/// Whether a vehicle has contact with the ground.
inline bool has_contact(const VehicleParameters& vehicle) { return vehicle.contact.frequency != 0; }

/// Whether a vehicle has the structure that ParallelShape requires, and no battery circuit.
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
         is_uniform(vehicle.motor) && vehicle.battery.cells == 0 && air.blow_back == 0 &&
         air.linear.x == 0 && air.linear.y == 0 && air.linear.z == 0 && !has_rotor_flow(vehicle) &&
         !has_contact(vehicle) && !has_residual(vehicle);
}

namespace detail {

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
  to = {P(from(0, 0)), P(from(1, 1)), P(from(2, 2))};
}

template <class Q, class P>
void make_lag(const MotorParameters<Q>& from, int rotor, MotorLag<P>& to) {
  to = {P(1.0 / from.time_constant_up[rotor])};
}
template <class Q, class P>
void make_lag(const MotorParameters<Q>& from, int rotor, AsymmetricMotorLag<P>& to) {
  to = {P(1.0 / from.time_constant_up[rotor]), P(1.0 / from.time_constant_down[rotor])};
}

/// Sets lags and speed limits of the motors; `model.rotors` must be set.
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

/// Computes the constants of a body.
template <class Q, class P, class Inertia>
void make_body(const RigidBodyParameters<Q>& from, RigidBody<P, Inertia>& to) {
  to = {P(from.mass), P(1.0 / from.mass), {}, {}, cast<P>(from.gravity)};
  make_matrix(from.inertia, to.inertia);
  make_matrix(inverse(from.inertia), to.inertia_inverse);
}

/// Sets the constants of the air at the rotors and of the feet; `model.rotors` must be set.
template <class Vehicle, class P, int N, class Shape>
void make_air_and_feet(const Vehicle& from, MulticopterModel<P, N, Shape>& model) {
  auto& air = model.air;
  auto& feet = model.feet;
  air.rotor_drag = {cast<P>(from.rotor_drag.linear), P(from.rotor_drag.blow_back)};
  air.flow.resize(model.rotors.size()), feet.rotors_B.resize(model.rotors.size());
  for (int i = 0; i < model.rotors.size(); ++i) {
    const auto& rotor = from.rotors[static_cast<std::size_t>(i)];
    feet.rotors_B[i] = cast<P>(rotor.position);
    auto inflow = from.inflow;
    inflow.axial = inflow.axial / rotor.thrust_coefficient;
    inflow.translational = inflow.translational / rotor.thrust_coefficient;
    auto& flow = air.flow[i];
    flow.position_B = cast<P>(rotor.position), flow.axis_B = cast<P>(rotor.axis);
    flow.spin = P(rotor.spin);
    for_each_pair(flow.inflow, inflow, [](P& to, const auto& number) { to = P(number); });
    flow.induced_in_hover = P(induced_in_hover(inflow.radius, rotor.thrust_coefficient));
  }
  air.ground_area = P(ground_effect_area(from.ground_effect));
  air.ground_height = P(from.ground_effect.height);
  const auto residual = with_inverse_axes(from.residual);
  for_each_pair(air.residual, residual, [](P& to, const auto& number) { to = P(number); });
  const auto& contact = from.contact;
  const auto foot = foot_constants(contact, from.body.mass, model.rotors.size());
  feet.foot = {P(foot.stiffness), P(foot.damping), P(foot.friction)};
  feet.leg = P(contact.leg);
  feet.ground_height = P(contact.height);
  if constexpr (std::is_same_v<Vehicle, VehicleParameters>) {
    air.has_flow = has_rotor_flow(from);
    air.has_induced_flow = has_induced_flow(from);
    air.has_residual = has_residual(from);
    feet.has_contact = has_contact(from);
  }
}

}  // namespace detail

/// The constants of a vehicle, which must have the structure of Shape. Vehicle is
/// VehicleParameters or DynamicsParameters, with which `air.has_flow`, `air.has_induced_flow`,
/// `air.has_residual` and `feet.has_contact` are false.
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
  if constexpr (Shape::has_rotor_air) detail::make_air_and_feet(vehicle, model);
  return model;
}

/// The constants of a parallel vehicle in the units of PrincipalShape. A force [N] times
/// `per_force` and a torque [N m] times `per_torque` are in these units.
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
  // (7) is quadratic in the rates, which are half as large in these units
  model.drag.rotational = {plain.drag.rotational.x * principal.per_torque.x * 4.0,
                           plain.drag.rotational.y * principal.per_torque.y * 4.0,
                           plain.drag.rotational.z * principal.per_torque.z * 4.0};
  return principal;
}

}  // namespace propwash
