#pragma once
/// @file
/// The rate control law: low-pass filter on the gyroscope, PID, inversion of the body dynamics.
///
/// Equations (19) to (22) of Guerra et al., "FlightGoggles" (arXiv 1905.11377), evaluated in the
/// order of the published node; see docs/control/rate_controller.md.

#include "propwash/control/low_pass.hpp"
#include "propwash/control/pid.hpp"
#include "propwash/math/mat3.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// A command of body rates and thrust along body z.
template <class T = double>
struct RateThrust {
  Vec3<T> rates{};  ///< rad/s, body frame
  T thrust{};       ///< N
  PROPWASH_MEMBERS(rates, thrust)
};
template <class T>
RateThrust(Vec3<T>, T) -> RateThrust<T>;

/// Parameters of the rate controller.
template <class P>
struct RateControllerParameters {
  Vec3<P> proportional{};    ///< 1/s, K_P on each axis
  Vec3<P> integral{};        ///< 1/s^2, K_I
  Vec3<P> derivative{};      ///< -, K_D, on the derivative of the filtered rates
  Vec3<P> integral_bound{};  ///< rad, limit of the integral of the rate error, +-bound
  LowPassParameters<P> filter{P(35530.5758439217), P(266.572976289502)};  ///< (19), 30 Hz
  Discretisation discretisation = Discretisation::exact;                  ///< of the filter
  bool gyroscopic_term = true;  ///< whether (22) includes W x J W; the published node omits it
};

/// The state of the controller.
template <class T>
struct RateControllerState {
  LowPassState<Vec3<T>> filter{};  ///< filtered body rates [rad/s] and their derivative [rad/s^2]
  Vec3<T> integral{};              ///< rad, integral of the rate error
  PROPWASH_MEMBERS(filter, integral)
};

/// The constants of the controller for one time step. Inertia is Mat3<P> or Diag3<P>.
template <class P, class Inertia = Mat3<P>>
struct RateControlLaw {
  PidParameters<P> pid[3];        ///< x, y, z
  LowPassCoefficients<P> filter;  ///< for a step of dt
  P dt{};                         ///< s
  Inertia inertia{};              ///< kg m^2
  bool gyroscopic_term = true;    ///< whether (22) has W x J W
  PROPWASH_MEMBERS(pid, filter, dt, inertia, gyroscopic_term)
};

/// One update of (19) to (22) with a gyroscope reading [rad/s, body frame]: updates filter and
/// integrals, returns the torque [N m] for (23).
template <class T, class P, class Inertia>
PROPWASH_FN Vec3<T> rate_control(const RateControlLaw<P, Inertia>& law,
                                 RateControllerState<T>& state, const Vec3<T>& gyroscope_B,
                                 const Vec3<T>& rates_command_B) {
  state.filter = low_pass(law.filter, state.filter, gyroscope_B);
  const Vec3<T>& rates_B = state.filter.value;
  const Vec3<T> error_B = rates_command_B - rates_B;
  Vec3<T> acceleration_B;
  for_each_index<3>(3, [&](int axis) PROPWASH_LAMBDA {
    state.integral[axis] = pid_integral(law.pid[axis], state.integral[axis], error_B[axis], law.dt);
    acceleration_B[axis] = pid_output(law.pid[axis], error_B[axis], state.integral[axis],
                                      state.filter.derivative[axis]);
  });
  const Vec3<T> torque_B = law.inertia * acceleration_B;  // (22)
  if (!law.gyroscopic_term) return torque_B;
  return torque_B + cross(rates_B, law.inertia * rates_B);
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
  law.filter = cast_numbers<LowPassCoefficients<P>>(
      discretise(parameters.filter, dt, parameters.discretisation));
  law.dt = P(dt);
  law.inertia = inertia;
  law.gyroscopic_term = parameters.gyroscopic_term;
  return law;
}

}  // namespace propwash
