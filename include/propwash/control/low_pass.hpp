#pragma once
/// @file
/// A second-order low-pass filter, discretised exactly or by backward Euler.
///
/// Equation (19) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/control/low_pass.md.

#include <cmath>

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// (19) d^2y/dt^2 = -q dy/dt + p (u - y).
template <class P>
struct LowPassParameters {
  P stiffness{};  ///< 1/s^2, p
  P damping{};    ///< 1/s, q
  PROPWASH_MEMBERS(stiffness, damping)
};

/// The Butterworth filter with its -3 dB point at `cutoff` [Hz]: p = (2 pi fc)^2,
/// q = sqrt(2) 2 pi fc.
inline LowPassParameters<double> butterworth(double cutoff) {
  const double omega = 2.0 * 3.14159265358979323846 * cutoff;
  return {omega * omega, std::sqrt(2.0) * omega};
}

/// The filter's output and its time derivative. V is a scalar or a Vec3.
template <class V>
struct LowPassState {
  V value{};       ///< output
  V derivative{};  ///< 1/s times the unit of the output
  PROPWASH_MEMBERS(value, derivative)
};

/// Discretisation methods for (19).
enum class Discretisation {
  exact,          ///< exact for an input that is constant during a step
  backward_euler  ///< as in the published node
};

/// One step of the filter as a linear map of (value, derivative, input).
template <class P>
struct LowPassCoefficients {
  P value_from_value{}, value_from_derivative{}, value_from_input{};  ///< row of the next value
  /// Row of the next derivative.
  P derivative_from_value{}, derivative_from_derivative{}, derivative_from_input{};
  PROPWASH_MEMBERS(value_from_value, value_from_derivative, value_from_input, derivative_from_value,
                   derivative_from_derivative, derivative_from_input)
};

/// The coefficients for a step of dt [s]; dt > 0, stiffness > 0, damping >= 0.
inline LowPassCoefficients<double> discretise(const LowPassParameters<double>& filter, double dt,
                                              Discretisation method) {
  const double p = filter.stiffness;
  const double q = filter.damping;
  if (method == Discretisation::backward_euler) {
    const double d = 1.0 + q * dt + p * dt * dt;
    return {(1.0 + q * dt) / d, dt / d, p * dt * dt / d, -p * dt / d, 1.0 / d, p * dt / d};
  }
  // exp(A dt) of y'' + q y' + p y = 0, from its modes exp(-q/2 t) {cos, sin, cosh, sinh}(b t)
  const double a = 0.5 * q;
  const double discriminant = p - a * a;
  const double b = std::sqrt(std::abs(discriminant));
  const double decay = std::exp(-a * dt);
  double c;
  double s_over_b;
  if (b * dt < 1e-6) {
    c = decay;
    s_over_b = decay * dt;
  } else if (discriminant > 0.0) {
    c = decay * std::cos(b * dt);
    s_over_b = decay * std::sin(b * dt) / b;
  } else {
    // cosh(b dt) could overflow although its product with the decay does not
    const double slow = std::exp((b - a) * dt);
    const double fast = std::exp(-(a + b) * dt);
    c = 0.5 * (slow + fast);
    s_over_b = 0.5 * (slow - fast) / b;
  }
  const double value_from_value = c + a * s_over_b;
  return {value_from_value, s_over_b,         1.0 - value_from_value,
          -p * s_over_b,    c - a * s_over_b, p * s_over_b};
}

/// One step: returns the next state of the filter.
template <class V, class P>
PROPWASH_FN LowPassState<V> low_pass(const LowPassCoefficients<P>& k, const LowPassState<V>& y,
                                     const V& input) {
  return {y.value * k.value_from_value + y.derivative * k.value_from_derivative +
              input * k.value_from_input,
          y.value * k.derivative_from_value + y.derivative * k.derivative_from_derivative +
              input * k.derivative_from_input};
}

/// A stand-alone filter for one signal.
///
///     LowPass filter{butterworth(30.0), 1.0 / 960};
///     double smooth = filter.update(raw);
class LowPass {
 public:
  /// dt [s] > 0: time between updates.
  LowPass(const LowPassParameters<double>& parameters, double dt,
          Discretisation method = Discretisation::exact)
      : coefficients_(discretise(parameters, dt, method)) {}

  /// Advances by one sample and returns the output.
  double update(double input) {
    state_ = low_pass(coefficients_, state_, input);
    return state_.value;
  }
  /// Sets the output to `value` and its derivative to zero.
  void reset(double value = 0.0) { state_ = {value, 0.0}; }
  /// The output and its derivative after the last update.
  const LowPassState<double>& state() const { return state_; }
  /// Replaces the output and its derivative.
  void set_state(const LowPassState<double>& state) { state_ = state; }
  /// The coefficients of one step.
  const LowPassCoefficients<double>& coefficients() const { return coefficients_; }

 private:
  LowPassCoefficients<double> coefficients_;
  LowPassState<double> state_;
};

}  // namespace propwash
