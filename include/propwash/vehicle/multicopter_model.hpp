#pragma once
/// @file
/// The equations of motion of a multicopter, composed of the models in model/.
///
/// `Shape` selects the types of matrices and rotors, so that a vehicle with diagonal inertia and
/// drag, parallel rotors, one motor time constant and thrust that does not depend on the air needs
/// no products with zero.

#include <type_traits>

#include "propwash/model/battery.hpp"
#include "propwash/model/contact.hpp"
#include "propwash/model/drag.hpp"
#include "propwash/model/ground_effect.hpp"
#include "propwash/model/inflow.hpp"
#include "propwash/model/motor.hpp"
#include "propwash/model/residual.hpp"
#include "propwash/model/rigid_body.hpp"
#include "propwash/model/rotor.hpp"
#include "propwash/model/rotor_drag.hpp"
#include "propwash/vehicle/multicopter_state.hpp"

namespace propwash {

/// The constants of inflow and ground effect for one rotor.
template <class P>
struct RotorFlow {
  Vec3<P> position_B{};          ///< m, from the centre of mass
  Vec3<P> axis_B{};              ///< unit vector of positive thrust
  P spin{};                      ///< as of RotorParameters
  InflowParameters<P> inflow{};  ///< `axial` and `translational` divided by the thrust coefficient
  P induced_in_hover{};          ///< m/s/(rad/s), 0 without momentum theory
  PROPWASH_MEMBERS(position_B, axis_B, spin, inflow, induced_in_hover)
};

namespace detail {

/// A flag that is never set, so that code which it would enable is not compiled.
struct Never {
  PROPWASH_FN constexpr operator bool() const { return false; }
  PROPWASH_FN constexpr Never& operator=(bool) { return *this; }
};
/// A flag, or one that is never set.
template <bool MayBeSet>
using Flag = std::conditional_t<MayBeSet, bool, Never>;

}  // namespace detail

/// The constants of the terms that depend on the air at the rotors. Flow, Residual: whether there
/// may be any.
template <class P, int N, bool Flow = true, bool Residual = true>
struct RotorAir {
  RotorDragParameters<P> rotor_drag{};    ///< linear drag of the rotors
  detail::Flag<Flow> has_flow{};          ///< whether there is inflow or ground effect
  detail::Flag<Flow> has_induced_flow{};  ///< whether momentum theory gives the induced velocity
  SmallArray<RotorFlow<P>, N> flow{};     ///< in the order of the rotors
  P ground_area{};                        ///< m^2, of ground_effect_factor
  P ground_height{};                      ///< m, world frame
  detail::Flag<Residual> has_residual{};  ///< whether there is a residual
  ResidualParameters<P> residual{};       ///< that of with_inverse_axes
  PROPWASH_MEMBERS(rotor_drag, has_flow, has_induced_flow, flow, ground_area, ground_height,
                   has_residual, residual)
};

/// No such terms.
struct NoRotorAir {};

/// The constants of the feet, one below each rotor. Contact: whether there may be any.
template <class P, int N, bool Contact = true>
struct Feet {
  detail::Flag<Contact> has_contact{};  ///< whether they touch the ground
  SmallArray<Vec3<P>, N> rotors_B{};    ///< m, from the centre of mass to the rotor above each foot
  P leg{};                              ///< m, from a rotor down to its foot
  FootConstants<P> foot{};              ///< the same for all feet
  P ground_height{};                    ///< m, world frame
  PROPWASH_MEMBERS(has_contact, rotors_B, leg, foot, ground_height)
};

/// A vehicle without feet.
struct NoFeet {};

/// The vehicles of the papers: diagonal matrices, rotor axes along body z, identical motors.
struct ParallelShape {
  /// Mass and inertia.
  template <class P>
  using Body = RigidBody<P, Diag3<P>>;
  /// A matrix such as the inertia.
  template <class P>
  using Matrix = Diag3<P>;
  /// A force of the rotors.
  template <class P>
  using Force = AlongZ<P>;
  /// The motor model.
  template <class P>
  using Lag = MotorLag<P>;
  /// One value per rotor.
  template <class X, int N>
  using EachRotor = AllRotors<X, N>;
  /// The battery circuit.
  template <class P, int N>
  using Battery = NoBatteryCircuit;
  static constexpr bool has_battery_circuit = false;  ///< whether Battery is a BatteryCircuit
  /// The air at the rotors.
  template <class P, int N>
  using Air = NoRotorAir;
  /// The feet.
  template <class P, int N>
  using FeetOf = NoFeet;
  static constexpr bool has_rotor_air = false;  ///< whether the model has RotorAir and Feet
  static constexpr double rate_unit = 1.0;      ///< rad/s, unit of body rates in the model
};

/// ParallelShape in the normalised units of PrincipalBody: the same motion with fewer products.
/// Used by the kernels of a fleet.
struct PrincipalShape : ParallelShape {
  /// Mass and inertia.
  template <class P>
  using Body = PrincipalBody<P>;
  /// rad/s, unit of body rates in the state that is integrated
  static constexpr double rate_unit = 2.0;
};

/// Any vehicle: full matrices, tilted rotors, all terms.
struct GeneralShape {
  /// Mass and inertia.
  template <class P>
  using Body = RigidBody<P, Mat3<P>>;
  /// A matrix such as the inertia.
  template <class P>
  using Matrix = Mat3<P>;
  /// A force of the rotors.
  template <class P>
  using Force = Vec3<P>;
  /// The motor model.
  template <class P>
  using Lag = AsymmetricMotorLag<P>;
  /// One value per rotor.
  template <class X, int N>
  using EachRotor = SmallArray<X, N>;
  /// The battery circuit.
  template <class P, int N>
  using Battery = BatteryCircuit<P, N>;
  static constexpr bool has_battery_circuit = true;  ///< whether Battery is a BatteryCircuit
  /// The air at the rotors.
  template <class P, int N>
  using Air = RotorAir<P, N>;
  /// The feet.
  template <class P, int N>
  using FeetOf = Feet<P, N>;
  static constexpr bool has_rotor_air = true;  ///< whether the model has RotorAir and Feet
  /// rad/s, unit of body rates in the state that is integrated
  static constexpr double rate_unit = 1.0;
};

/// GeneralShape with some of its further terms: each takes registers of a thread of a GPU, whether
/// a vehicle has it or not. The numbers are those of GeneralShape.
template <bool Flow, bool Residual, bool Contact>
struct GeneralShapeWith : GeneralShape {
  /// The air at the rotors.
  template <class P, int N>
  using Air = RotorAir<P, N, Flow, Residual>;
  /// The feet.
  template <class P, int N>
  using FeetOf = Feet<P, N, Contact>;
};

/// The constants of the equations of motion. P is a scalar, common to all lanes, or a pack.
template <class P, int N, class Shape>
struct MulticopterModel {
  using Matrix = typename Shape::template Matrix<P>;  ///< A matrix such as the inertia.
  /// Coefficients of a rotor.
  using Rotor = RotorCoefficients<P, typename Shape::template Force<P>>;

  typename Shape::template Body<P> body{};  ///< mass and inertia
  SmallArray<Rotor, N> rotors{};            ///< in the order of the vehicle
  typename Shape::template EachRotor<typename Shape::template Lag<P>, N> motor{};  ///< motor lag
  typename Shape::template EachRotor<P, N> speed_min{};                            ///< rad/s
  typename Shape::template EachRotor<P, N> speed_max{};                            ///< rad/s
  DragParameters<P, Matrix> drag{};              ///< quadratic drag of the body
  typename Shape::template Air<P, N> air{};      ///< the air at the rotors
  typename Shape::template FeetOf<P, N> feet{};  ///< the feet
  PROPWASH_MEMBERS(body, rotors, motor, speed_min, speed_max, drag, air, feet)

  /// Whether detail::further_wrench may differ from zero.
  PROPWASH_FN bool has_further_wrench() const {
    if constexpr (Shape::has_rotor_air) {
      return air.has_flow || air.has_residual || feet.has_contact;
    }
    return false;
  }
};

/// The inputs, constant during a step. Wind and Held are Vec3<T>, or Zero3 if absent.
template <class T, int N, class Wind = Vec3<T>, class Held = Vec3<T>>
struct MulticopterInput {
  SmallArray<T, N> command{};  ///< rad/s, rotor speeds, within the limits
  Wind wind_W{};               ///< m/s, velocity of the air
  Held force_W{};              ///< N, external force plus process noise (10)
  Held torque_B{};             ///< N m, external torque plus process noise (10)
  PROPWASH_MEMBERS(command, wind_W, force_W, torque_B)
};

namespace detail {

/// Aerodynamic forces and torques except the wrench of the rotors and the drag torque (7).
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
  if constexpr (Shape::has_rotor_air) {
    const Vec3<T> air_velocity_B = rotate_inverse(q_WB, air_velocity_W);
    const auto& rotor_drag = model.air.rotor_drag;
    forces.rotor_drag_B = rotor_drag_force(rotor_drag, model.body.mass, air_velocity_B);
    forces.blow_back_B = blow_back_torque(rotor_drag, air_velocity_B);
  }
  return forces;
}

/// Force and torque of the rotors.
template <class T>
struct ForceTorque {
  Vec3<T> force_B{};   ///< N
  Vec3<T> torque_B{};  ///< N m
};

/// Force and torque of the ground on the feet.
template <class T, int N, class P, class Shape>
PROPWASH_FN ForceTorque<T> contact_wrench(const MulticopterModel<P, N, Shape>& model,
                                          const MulticopterState<T, N>& state) {
  const T zero(constant<T>(0));
  const Vec3<T> velocity_B = rotate_inverse(state.attitude, state.velocity);
  const Vec3<T> up_B = rotate_inverse(state.attitude, Vec3<T>{zero, zero, T(constant<T>(1))});
  const auto& feet = model.feet;
  const T height = state.position.z - feet.ground_height;
  ForceTorque<T> sum;
  for (int i = 0; i < state.rotor_speeds.size(); ++i) {
    Vec3<P> foot_B = feet.rotors_B[i];
    foot_B.z = foot_B.z - feet.leg;
    const Vec3<T> force_B = foot_force(feet.foot, up_B, height + dot(up_B, foot_B),
                                       velocity_B + cross(state.body_rates, foot_B));
    sum.force_B = sum.force_B + force_B;
    sum.torque_B = sum.torque_B + cross(foot_B, force_B);
  }
  return sum;
}

/// residual_wrench(), not inlined: four copies in a step would slow down vehicles without a
/// residual. Static on a CPU: no linker may merge those of two instruction sets.
template <class T, class P>
#if defined(__CUDACC__)
__attribute__((noinline)) PROPWASH_FN
#elif defined(__GNUC__)
[[gnu::noinline]] static
#else
PROPWASH_FN
#endif
    ResidualWrench<T> outlined_residual(const ResidualParameters<P>& residual,
                                        const Vec3<T>& velocity_B, const Vec3<T>& rates_B,
                                        const T& thrust, const Vec3<T>& torque_B) {
  return residual_wrench(residual, velocity_B, rates_B, thrust, torque_B);
}

/// The residual of a vehicle that has one.
template <class T, int N, class P, class Shape, class Wind>
PROPWASH_FN ForceTorque<T> residual_wrench_of(const MulticopterModel<P, N, Shape>& model,
                                              const MulticopterState<T, N>& state,
                                              const Wind& wind_W) {
  T thrust(constant<T>(0));
  Vec3<T> torque_B{};
  // copies: the state itself stays in registers
  const SmallArray<T, N> speeds = state.rotor_speeds;
  const Vec3<T> rates_B = state.body_rates;
  for (int i = 0; i < speeds.size(); ++i) {
    const T square = signed_square(speeds[i]);
    thrust = thrust + model.rotors[i].force_B.z * square;
    torque_B = torque_B + model.rotors[i].torque_B * square;
  }
  const Vec3<T> air_velocity_B = rotate_inverse(state.attitude, state.velocity - wind_W);
  const auto wrench =
      outlined_residual(model.air.residual, air_velocity_B, rates_B, thrust, torque_B);
  return {wrench.force_B, wrench.torque_B};
}

/// The contact, the residual, and what inflow and ground effect add to the wrench of the rotors, in
/// one function, so that vehicles without any of them have one branch. `state` moves relative to
/// the ground.
template <class T, int N, class P, class Shape, class Wind>
PROPWASH_FN ForceTorque<T> further_wrench(const MulticopterModel<P, N, Shape>& model,
                                          const MulticopterState<T, N>& state, const Wind& wind_W) {
  ForceTorque<T> sum;
  if (model.feet.has_contact) sum = contact_wrench(model, state);
  if (model.air.has_residual) {
    const auto residual = residual_wrench_of(model, state, wind_W);
    sum.force_B = sum.force_B + residual.force_B;
    sum.torque_B = sum.torque_B + residual.torque_B;
  }
  if (!model.air.has_flow) return sum;
  const T zero(constant<T>(0));
  const Vec3<T> air_velocity_B = rotate_inverse(state.attitude, state.velocity - wind_W);
  const Vec3<T> up_B = rotate_inverse(state.attitude, Vec3<T>{zero, zero, T(constant<T>(1))});
  const T height = state.position.z - model.air.ground_height;
  // a plain loop over a copy: unrolled, it would slow down the general kernels of other vehicles
  const SmallArray<T, N> speeds = state.rotor_speeds;
  for (int i = 0; i < speeds.size(); ++i) {
    const auto& rotor = model.air.flow[i];
    const T& speed = speeds[i];
    const T in_still_air = signed_square(speed);
    const Vec3<T> hub_velocity_B = air_velocity_B + cross(state.body_rates, rotor.position_B);
    const Vec3<T> flow_B = limited_flow(hub_velocity_B);
    T excess = zero;
    if (model.air.has_induced_flow) {
      excess = induced_excess(rotor.inflow, rotor.induced_in_hover, rotor.axis_B, speed, flow_B);
    }
    const T change = inflow_change(rotor.inflow, rotor.axis_B, speed, hub_velocity_B, excess);
    const T factor = ground_effect_factor(
        model.air.ground_area, height + dot(up_B, rotor.position_B), dot(up_B, rotor.axis_B));
    const Vec3<T> force_B =
        model.rotors[i].force_B * ((in_still_air + change) * factor - in_still_air) +
        lateral_rotor_force(rotor.inflow, rotor.axis_B, speed, flow_B);
    sum.force_B = sum.force_B + force_B;
    sum.torque_B = sum.torque_B + cross(rotor.position_B, force_B) +
                   flapping_torque(rotor.inflow, rotor.axis_B, speed, flow_B);
    if (model.air.has_induced_flow) {
      const T torque =
          induced_torque(rotor.induced_in_hover, rotor.axis_B, speed, flow_B, change, excess);
      sum.torque_B = sum.torque_B - model.rotors[i].force_B * (torque * rotor.spin);
    }
  }
  return sum;
}

}  // namespace detail

/// (8), (9), (12), (13): time derivative of the rigid-body state for a wrench of the rotors.
template <class T, int N, class P, class Shape, class Wrench, class Wind, class Held>
PROPWASH_FN RigidBodyState<T> rigid_body_derivative(
    const MulticopterModel<P, N, Shape>& model, const RigidBodyState<T>& state,
    const Wrench& rotors, const MulticopterInput<T, N, Wind, Held>& input) {
  const auto air = detail::air_forces(model, state.velocity, state.attitude, input.wind_W);
  Vec3<T> force_W;
  Vec3<T> torque_B = rotors.torque_B + input.torque_B;
  if constexpr (Shape::has_rotor_air) {
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

/// (1), (8), (9), (12), (13): time derivative of the state.
template <class T, int N, class P, class Shape, class Wind, class Held>
PROPWASH_FN MulticopterState<T, N> multicopter_derivative(
    const MulticopterModel<P, N, Shape>& model, const MulticopterState<T, N>& state,
    const MulticopterInput<T, N, Wind, Held>& input) {
  SmallArray<T, N> accelerations;
  accelerations.resize(state.rotor_speeds.size());
  for_each_index<N>(state.rotor_speeds.size(), [&](int i) PROPWASH_LAMBDA {
    accelerations[i] = rotor_acceleration(model.motor[i], state.rotor_speeds[i], input.command[i]);
  });
  auto rotors = rotor_wrench(model.rotors, state.rotor_speeds, accelerations);
  if constexpr (Shape::has_rotor_air) {
    if (model.has_further_wrench()) {
      const auto further = detail::further_wrench(model, state, input.wind_W);
      rotors.force_B = rotors.force_B + further.force_B;
      rotors.torque_B = rotors.torque_B + further.torque_B;
    }
  }
  return with_rotors(rigid_body_derivative(model, rigid_body(state), rotors, input), accelerations);
}

/// Specific force [m/s^2, body frame] at the centre of mass: all forces except gravity, divided by
/// mass.
template <class T, int N, class P, class Shape, class Wind, class Held>
PROPWASH_FN Vec3<T> specific_force(const MulticopterModel<P, N, Shape>& model,
                                   const MulticopterState<T, N>& state,
                                   const MulticopterInput<T, N, Wind, Held>& input) {
  const auto air = detail::air_forces(model, state.velocity, state.attitude, input.wind_W);
  Vec3<T> force_B = rotate_inverse(state.attitude, air.drag_W + input.force_W);
  if constexpr (Shape::has_rotor_air) {
    force_B = force_B + air.rotor_drag_B;
    if (model.has_further_wrench()) {
      force_B = force_B + detail::further_wrench(model, state, input.wind_W).force_B;
    }
  }
  for_each_index<N>(state.rotor_speeds.size(), [&](int i) PROPWASH_LAMBDA {
    force_B = force_B + model.rotors[i].force_B * signed_square(state.rotor_speeds[i]);
  });
  return force_B * model.body.inverse_mass;
}

/// Applied after each step: normalises the attitude and limits rotor speeds.
template <class T, int N, class P, class Shape>
PROPWASH_FN MulticopterState<T, N> projected(const MulticopterModel<P, N, Shape>& model,
                                             const MulticopterState<T, N>& state) {
  return {state.position, state.velocity, normalized(state.attitude), state.body_rates,
          clamp(state.rotor_speeds, model.speed_min, model.speed_max)};
}

}  // namespace propwash
