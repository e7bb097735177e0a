#pragma once
/// @file
/// The multicopter's equations of motion, put together from model/.
///
/// The physics stands once. `Shape` chooses the types of a vehicle's matrices, so that the usual
/// vehicle (diagonal inertia and drag, parallel rotors, one motor time constant, no rotor drag) is
/// not charged for products with zero.

#include <cstddef>
#include <type_traits>

#include "propwash/model/drag.hpp"
#include "propwash/model/motor.hpp"
#include "propwash/model/rigid_body.hpp"
#include "propwash/model/rotor.hpp"
#include "propwash/model/rotor_drag.hpp"
#include "propwash/vehicle/multicopter_state.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// The papers' vehicles: diagonal matrices, rotors along body z, motors that are alike.
struct ParallelShape {
  template <class P>
  using Body = RigidBody<P, Diag3<P>>;
  template <class P>
  using Matrix = Diag3<P>;
  template <class P>
  using Force = AlongZ<P>;
  template <class P>
  using Lag = MotorLag<P>;
  template <class X, int N>
  using EachRotor = AllRotors<X, N>;
  static constexpr bool has_rotor_drag = false;
  static constexpr double rate_unit = 1.0;  ///< rad/s, of the model's body rates
};

/// ParallelShape in units of the vehicle's own (PrincipalBody): forces per mass, torques per moment
/// of inertia, rates in half radians. The same motion with fewer products; what the fleet steps.
struct PrincipalShape : ParallelShape {
  template <class P>
  using Body = PrincipalBody<P>;
  static constexpr double rate_unit = 2.0;
};

/// Any vehicle: full matrices, tilted rotors, all terms.
struct GeneralShape {
  template <class P>
  using Body = RigidBody<P, Mat3<P>>;
  template <class P>
  using Matrix = Mat3<P>;
  template <class P>
  using Force = Vec3<P>;
  template <class P>
  using Lag = AsymmetricMotorLag<P>;
  template <class X, int N>
  using EachRotor = SmallArray<X, N>;
  static constexpr bool has_rotor_drag = true;
  static constexpr double rate_unit = 1.0;
};

/// The constants of the equations of motion; P is shared by all lanes (scalar) or one per lane.
template <class P, int N, class Shape>
struct MulticopterModel {
  using Matrix = typename Shape::template Matrix<P>;
  using Rotor = RotorCoefficients<P, typename Shape::template Force<P>>;

  typename Shape::template Body<P> body{};
  SmallArray<Rotor, N> rotors{};
  typename Shape::template EachRotor<typename Shape::template Lag<P>, N> motor{};
  typename Shape::template EachRotor<P, N> speed_min{};  ///< rad/s
  typename Shape::template EachRotor<P, N> speed_max{};  ///< rad/s
  DragParameters<P, Matrix> drag{};
  RotorDragParameters<P> rotor_drag{};
};

/// What acts on the vehicle and is held over a step. Wind and Held are Vec3<T>, or Zero3 where
/// there is none.
template <class T, int N, class Wind = Vec3<T>, class Held = Vec3<T>>
struct MulticopterInput {
  SmallArray<T, N> command{};  ///< rad/s, rotor speeds, within the limits
  Wind wind_W{};               ///< m/s, velocity of the air
  Held force_W{};              ///< N, external force and a sample of (10)
  Held torque_B{};             ///< N m, external torque and a sample of (10)
};

namespace detail {

/// Forces of the air on the body that do not come from the rotors' thrust, split by frame.
template <class T>
struct AirForces {
  Vec3<T> drag_W{};        ///< N, (6)
  Vec3<T> rotor_drag_B{};  ///< N
  Vec3<T> blow_back_B{};   ///< N m
};

template <class T, int N, class P, class Shape, class Wind>
PROPWASH_FN AirForces<T> air_forces(const MulticopterModel<P, N, Shape>& model,
                                    const Vec3<T>& velocity_W, const Quat<T>& q_WB,
                                    const Wind& wind_W) {
  AirForces<T> forces;
  const Vec3<T> air_velocity_W = velocity_W - wind_W;
  forces.drag_W = drag_force(model.drag, air_velocity_W);
  if constexpr (Shape::has_rotor_drag) {
    const Vec3<T> air_velocity_B = rotate_inverse(q_WB, air_velocity_W);
    forces.rotor_drag_B = rotor_drag_force(model.rotor_drag, model.body.mass, air_velocity_B);
    forces.blow_back_B = blow_back_torque(model.rotor_drag, air_velocity_B);
  }
  return forces;
}

}  // namespace detail

/// d/dt of the rigid body: (8), (9), (12) and (13), for what the rotors do to it.
template <class T, int N, class P, class Shape, class Wrench, class Wind, class Held>
PROPWASH_FN RigidBodyState<T> rigid_body_derivative(
    const MulticopterModel<P, N, Shape>& model, const RigidBodyState<T>& state,
    const Wrench& rotors, const MulticopterInput<T, N, Wind, Held>& input) {
  const auto air = detail::air_forces(model, state.velocity, state.attitude, input.wind_W);
  Vec3<T> force_W;
  Vec3<T> torque_B = rotors.torque_B + input.torque_B;
  if constexpr (Shape::has_rotor_drag) {
    force_W = rotate(state.attitude, rotors.force_B + air.rotor_drag_B);
    torque_B = torque_B + air.blow_back_B;
  } else {
    force_W = rotate(state.attitude, rotors.force_B);
  }

  RigidBodyState<T> rate;
  rate.position = position_rate(state.velocity);
  rate.velocity = linear_acceleration(model.body, force_W, air.drag_W, input.force_W);
  rate.attitude = attitude_rate(model.body, state.attitude, state.body_rates);
  rate.body_rates = angular_acceleration(model.body, torque_B, state.body_rates, rotors.momentum_B,
                                         drag_torque(model.drag, state.body_rates));
  return rate;
}

/// d/dt of the state: (1), (8), (9), (12) and (13).
template <class T, int N, class P, class Shape, class Wind, class Held>
PROPWASH_FN MulticopterState<T, N> multicopter_derivative(
    const MulticopterModel<P, N, Shape>& model, const MulticopterState<T, N>& state,
    const MulticopterInput<T, N, Wind, Held>& input) {
  SmallArray<T, N> accelerations;
  accelerations.resize(state.rotor_speeds.size());
  for_each_index<N>(state.rotor_speeds.size(), [&](int i) PROPWASH_LAMBDA {
    accelerations[i] = rotor_acceleration(model.motor[i], state.rotor_speeds[i], input.command[i]);
  });
  const auto rotors = rotor_wrench(model.rotors, state.rotor_speeds, accelerations);
  return with_rotors(rigid_body_derivative(model, rigid_body(state), rotors, input), accelerations);
}

/// Specific force at the centre of mass, body frame, m/s^2: all force but gravity over the mass.
template <class T, int N, class P, class Shape, class Wind, class Held>
PROPWASH_FN Vec3<T> specific_force(const MulticopterModel<P, N, Shape>& model,
                                   const MulticopterState<T, N>& state,
                                   const MulticopterInput<T, N, Wind, Held>& input) {
  const auto air = detail::air_forces(model, state.velocity, state.attitude, input.wind_W);
  Vec3<T> force_B = rotate_inverse(state.attitude, air.drag_W + input.force_W);
  if constexpr (Shape::has_rotor_drag) force_B = force_B + air.rotor_drag_B;
  for_each_index<N>(state.rotor_speeds.size(), [&](int i) PROPWASH_LAMBDA {
    force_B = force_B + model.rotors[i].force_B * signed_square(state.rotor_speeds[i]);
  });
  return force_B * model.body.inverse_mass;
}

/// What is done once after each step: the attitude back to unit length, rotor speeds within limits.
template <class T, int N, class P, class Shape>
PROPWASH_FN MulticopterState<T, N> projected(const MulticopterModel<P, N, Shape>& model,
                                             const MulticopterState<T, N>& state) {
  return {state.position, state.velocity, normalized(state.attitude), state.body_rates,
          clamp(state.rotor_speeds, model.speed_min, model.speed_max)};
}

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
  MulticopterModel<double, N, PrincipalShape> model{};
  double per_force{};         ///< 1/kg
  Vec3<double> per_torque{};  ///< 1/(kg m^2), half an inverse moment of inertia
};

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
