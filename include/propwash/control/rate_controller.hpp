#pragma once
/// @file
/// The rate controller: low-pass on the gyroscope, PID, inversion of the body's dynamics.
///
/// Equations (19) to (23) of Guerra et al., "FlightGoggles" (arXiv 1905.11377), in the order of the
/// published node's tick; see docs/control/rate_controller.md.

#include <stdexcept>

#include "propwash/control/allocation.hpp"
#include "propwash/control/low_pass.hpp"
#include "propwash/control/pid.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// A command: body rates [rad/s] and thrust along body z [N].
template <class T = double>
struct RateThrust {
  Vec3<T> rates{};  ///< rad/s, body frame
  T thrust{};       ///< N
};
template <class T>
RateThrust(Vec3<T>, T) -> RateThrust<T>;

/// What a vehicle file says of its rate controller.
template <class P>
struct RateControllerParameters {
  Vec3<P> proportional{};    ///< 1/s, K_P on each axis
  Vec3<P> integral{};        ///< 1/s^2, K_I
  Vec3<P> derivative{};      ///< -, K_D on the filtered rates' derivative
  Vec3<P> integral_bound{};  ///< rad, bound of the integral of the rate error
  LowPassParameters<P> filter{P(35530.5758439217), P(266.572976289502)};  ///< (19), 30 Hz
  Discretisation discretisation = Discretisation::exact;
  bool gyroscopic_term = true;  ///< whether (22) has W x J W; the published node leaves it out
};

/// The controller's memory.
template <class T>
struct RateControllerState {
  LowPassState<Vec3<T>> filter{};  ///< filtered body rates [rad/s] and their derivative [rad/s^2]
  Vec3<T> integral{};              ///< rad, integral of the rate error
};

/// The controller's constants for one time step. Inertia is Mat3<P> or Diag3<P>.
template <class P, class Inertia = Mat3<P>>
struct RateControlLaw {
  PidParameters<P> pid[3];        ///< x, y, z
  LowPassCoefficients<P> filter;  ///< for a step of dt
  P dt{};                         ///< s
  Inertia inertia{};              ///< kg m^2
  bool gyroscopic_term = true;
};

/// One tick of (19) to (22): takes a gyroscope reading (body axes, rad/s), updates the filter,
/// advances and bounds the integrals, and gives the torque [N m] for (23).
template <class T, class P, class Inertia>
PROPWASH_FN Vec3<T> rate_control(const RateControlLaw<P, Inertia>& law,
                                 RateControllerState<T>& state, const Vec3<T>& gyroscope,
                                 const Vec3<T>& rates_command) {
  state.filter = low_pass(law.filter, state.filter, gyroscope);
  const Vec3<T>& rates = state.filter.value;
  const Vec3<T> error = rates_command - rates;
  Vec3<T> acceleration;
  for_each_index<3>(3, [&](int axis) PROPWASH_LAMBDA {
    state.integral[axis] = pid_integral(law.pid[axis], state.integral[axis], error[axis], law.dt);
    acceleration[axis] =
        pid_output(law.pid[axis], error[axis], state.integral[axis], state.filter.derivative[axis]);
  });
  const Vec3<T> torque = law.inertia * acceleration;  // (22)
  if (!law.gyroscopic_term) return torque;
  return torque + cross(rates, law.inertia * rates);
}

/// The constants for a step of dt [s] > 0.
template <class P, class Inertia>
RateControlLaw<P, Inertia> make_rate_control_law(const RateControllerParameters<double>& parameters,
                                                 const Inertia& inertia, double dt) {
  RateControlLaw<P, Inertia> law;
  for (int axis = 0; axis < 3; ++axis) {
    law.pid[axis] = {P(parameters.proportional[axis]), P(parameters.integral[axis]),
                     P(parameters.derivative[axis]), P(parameters.integral_bound[axis])};
  }
  const auto k = discretise(parameters.filter, dt, parameters.discretisation);
  law.filter = {P(k.value_from_value),           P(k.value_from_derivative),
                P(k.value_from_input),           P(k.derivative_from_value),
                P(k.derivative_from_derivative), P(k.derivative_from_input)};
  law.dt = P(dt);
  law.inertia = inertia;
  law.gyroscopic_term = parameters.gyroscopic_term;
  return law;
}

/// What one tick of the controller asks for, and what its rotors can give.
template <int N, class T>
struct RotorCommand {
  SmallArray<T, N> speeds{};  ///< rad/s, after the limits
  Wrench<T> wanted{};         ///< what the control law asked for
  Wrench<T> attained{};       ///< what the limited speeds give in steady state
};

/// The whole controller by itself, for a caller with a gyroscope and motors of their own:
/// filter -> PID -> inversion -> allocation -> limits.
///
///     RateController<4> controller{vehicles::flightgoggles(), 1.0 / 960};
///     auto speeds = controller.update(gyroscope, RateThrust{rates, thrust}).speeds;
template <int N = Dynamic, class T = double>
class RateController {
 public:
  /// `vehicle` is a VehicleParameters that has passed validate(), dt [s] the time between ticks.
  /// @throws std::invalid_argument where the rotors cannot control rates and thrust, or are not N,
  /// or dt is not > 0.
  template <class Vehicle>
  RateController(const Vehicle& vehicle, double dt)
      : law_(make_rate_control_law<T>(vehicle.rate_controller, cast<T>(vehicle.body.inertia), dt)),
        allocation_(make_allocation<T, N>(vehicle.rotors, vehicle.motor)) {
    if (allocation_.rank < 4) {
      throw std::invalid_argument(
          "rotors, rank of their allocation matrix: expected 4, so that torque on three axes and "
          "thrust can be commanded");
    }
    if (!(dt > 0.0)) throw std::invalid_argument("dt: expected a value > 0 s");
  }

  /// One tick: `gyroscope` in body axes, rad/s.
  RotorCommand<N, T> update(const Vec3<T>& gyroscope, const RateThrust<T>& command) {
    RotorCommand<N, T> result;
    result.wanted = {rate_control(law_, state_, gyroscope, command.rates), command.thrust};
    result.speeds = allocate(allocation_, result.wanted);
    result.attained = attained_wrench(allocation_, result.speeds);
    return result;
  }
  void reset() { state_ = {}; }
  const RateControllerState<T>& state() const { return state_; }
  void set_state(const RateControllerState<T>& state) { state_ = state; }
  const Allocation<T, N>& allocation() const { return allocation_; }

 private:
  RateControlLaw<T> law_;
  Allocation<T, N> allocation_;
  RateControllerState<T> state_{};
};

}  // namespace propwash
