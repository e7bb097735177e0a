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

/// The papers' vehicles: diagonal matrices, rotors along body z.
struct ParallelShape {
  template <class P>
  using Matrix = Diag3<P>;
  template <class P>
  using Force = AlongZ<P>;
  template <class P>
  using Lag = MotorLag<P>;
  static constexpr bool has_rotor_drag = false;
};

/// Any vehicle: full matrices, tilted rotors, all terms.
struct GeneralShape {
  template <class P>
  using Matrix = Mat3<P>;
  template <class P>
  using Force = Vec3<P>;
  template <class P>
  using Lag = AsymmetricMotorLag<P>;
  static constexpr bool has_rotor_drag = true;
};

/// The constants of the equations of motion; P is shared by all lanes (scalar) or one per lane.
template <class P, int N, class Shape>
struct MulticopterModel {
  using Inertia = typename Shape::template Matrix<P>;
  using Rotor = RotorCoefficients<P, typename Shape::template Force<P>>;

  RigidBody<P, Inertia> body{};
  SmallArray<Rotor, N> rotors{};
  typename Shape::template Lag<P> motor{};
  P speed_min{};  ///< rad/s
  P speed_max{};  ///< rad/s
  DragParameters<P, typename Shape::template Matrix<P>> drag{};
  RotorDragParameters<P> rotor_drag{};
};

/// What acts on the vehicle from outside and is held over a step. Wind and Noise are Vec3<T>, or
/// Zero3 where there is none.
template <class T, int N, class Wind = Vec3<T>, class Noise = Vec3<T>>
struct MulticopterInput {
  SmallArray<T, N> command{};  ///< rad/s, rotor speeds, within the limits
  Wind wind{};                 ///< m/s, velocity of the air, world frame
  Noise noise_force{};         ///< N, sample of (10), world frame
  Noise noise_torque{};        ///< N m, sample of (10), body frame
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
                                    const MulticopterState<T, N>& state, const Wind& wind_W) {
  AirForces<T> forces;
  const Vec3<T> air_velocity_W = state.velocity - wind_W;
  forces.drag_W = drag_force(model.drag, air_velocity_W);
  if constexpr (Shape::has_rotor_drag) {
    const Vec3<T> air_velocity_B = rotate_inverse(state.attitude, air_velocity_W);
    forces.rotor_drag_B = rotor_drag_force(model.rotor_drag, model.body.mass, air_velocity_B);
    forces.blow_back_B = blow_back_torque(model.rotor_drag, air_velocity_B);
  }
  return forces;
}

}  // namespace detail

/// d/dt of the state: (1), (8), (9), (12) and (13).
template <class T, int N, class P, class Shape, class Wind, class Noise>
PROPWASH_FN MulticopterState<T, N> multicopter_derivative(
    const MulticopterModel<P, N, Shape>& model, const MulticopterState<T, N>& state,
    const MulticopterInput<T, N, Wind, Noise>& input) {
  MulticopterState<T, N> rate;
  rate.rotor_speeds =
      map(state.rotor_speeds, input.command, [&](const T& speed, const T& command) PROPWASH_LAMBDA {
        return rotor_acceleration(model.motor, speed, command);
      });
  const auto rotors = rotor_wrench(model.rotors, state.rotor_speeds, rate.rotor_speeds);
  const auto air = detail::air_forces(model, state, input.wind);

  Vec3<T> force_W;
  Vec3<T> torque_B = rotors.torque_B + input.noise_torque;
  if constexpr (Shape::has_rotor_drag) {
    force_W = rotate(state.attitude, rotors.force_B + air.rotor_drag_B);
    torque_B = torque_B + air.blow_back_B;
  } else {
    force_W = rotate(state.attitude, rotors.force_B);
  }

  rate.position = position_rate(state.velocity);
  rate.velocity = linear_acceleration(model.body, force_W, air.drag_W, input.noise_force);
  rate.attitude = attitude_rate(state.attitude, state.body_rates);
  rate.body_rates = angular_acceleration(model.body, torque_B, state.body_rates, rotors.momentum_B,
                                         drag_torque(model.drag, state.body_rates));
  return rate;
}

/// Specific force at the centre of mass, body frame, m/s^2: all force but gravity over the mass.
template <class T, int N, class P, class Shape, class Wind, class Noise>
PROPWASH_FN Vec3<T> specific_force(const MulticopterModel<P, N, Shape>& model,
                                   const MulticopterState<T, N>& state,
                                   const MulticopterInput<T, N, Wind, Noise>& input) {
  const auto air = detail::air_forces(model, state, input.wind);
  Vec3<T> force_B = rotate_inverse(state.attitude, air.drag_W + input.noise_force);
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
  MulticopterState<T, N> next = state;
  next.attitude = normalized(state.attitude);
  next.rotor_speeds = map(state.rotor_speeds, [&](const T& speed) PROPWASH_LAMBDA {
    return clamp(speed, model.speed_min, model.speed_max);
  });
  return next;
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
         vehicle.motor.time_constant_up == vehicle.motor.time_constant_down && air.blow_back == 0 &&
         air.linear.x == 0 && air.linear.y == 0 && air.linear.z == 0;
}

namespace detail {

template <class Matrix>
Matrix to_matrix_of(const Mat3<double>& m) {
  using P = typename Matrix::Scalar;
  if constexpr (std::is_same_v<Matrix, Diag3<P>>) {
    return {P(m(0, 0)), P(m(1, 1)), P(m(2, 2))};
  } else {
    return cast<P>(m);
  }
}

}  // namespace detail

/// The constants for a vehicle; its structure must be that of Shape.
template <class P, int N, class Shape>
MulticopterModel<P, N, Shape> make_model(const VehicleParameters& vehicle) {
  using Model = MulticopterModel<P, N, Shape>;
  Model model;
  const auto& body = vehicle.body;
  model.body.mass = P(body.mass);
  model.body.inverse_mass = P(1.0 / body.mass);
  model.body.inertia = detail::to_matrix_of<typename Model::Inertia>(body.inertia);
  model.body.inertia_inverse = detail::to_matrix_of<typename Model::Inertia>(inverse(body.inertia));
  model.body.gravity_W = cast<P>(body.gravity);

  model.rotors.resize(static_cast<int>(vehicle.rotors.size()));
  for (int i = 0; i < model.rotors.size(); ++i) {
    const auto from = rotor_coefficients(vehicle.rotors[static_cast<std::size_t>(i)]);
    auto& rotor = model.rotors[i];
    rotor.torque_B = cast<P>(from.torque_B);
    if constexpr (std::is_same_v<Shape, ParallelShape>) {
      rotor.force_B = {P(from.force_B.z)};
      rotor.reaction_B = {P(from.reaction_B.z)};
    } else {
      rotor.force_B = cast<P>(from.force_B);
      rotor.reaction_B = cast<P>(from.reaction_B);
    }
  }

  const auto& motor = vehicle.motor;
  if constexpr (std::is_same_v<Shape, ParallelShape>) {
    model.motor.rate = P(1.0 / motor.time_constant_up);
  } else {
    model.motor = {P(1.0 / motor.time_constant_up), P(1.0 / motor.time_constant_down)};
  }
  model.speed_min = P(motor.speed_min);
  model.speed_max = P(motor.speed_max);
  model.drag.translational = P(vehicle.drag.translational);
  model.drag.rotational = detail::to_matrix_of<typename Model::Inertia>(vehicle.drag.rotational);
  model.rotor_drag = {cast<P>(vehicle.rotor_drag.linear), P(vehicle.rotor_drag.blow_back)};
  return model;
}

}  // namespace propwash
