#pragma once
/// @file
/// The first-order Gauss-Markov process, a model of slowly varying errors:
///
///     db/dt = -b / tau + w,    w white of intensity 2 sigma^2 / tau
///
/// Its stationary standard deviation is sigma, its correlation exp(-|t| / tau); see
/// docs/model/gnss.md. A step is exact for any step size.

#include <cmath>
#include <limits>

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Parameters of a first-order Gauss-Markov process.
template <class P>
struct GaussMarkovParameters {
  P deviation{};  ///< standard deviation sigma, in the unit of the error
  P time{std::numeric_limits<value_type_t<P>>::infinity()};  ///< s, tau > 0; infinite: constant
};

/// The coefficients of a step of one size.
template <class P>
struct GaussMarkovStep {
  P decay{};  ///< 1 - exp(-dt / tau); exp(-dt / tau) itself would be rounded to 1 in float
  P noise{};  ///< sigma sqrt(1 - exp(-2 dt / tau))
};

/// The coefficients for dt [s] >= 0.
inline GaussMarkovStep<double> make_gauss_markov_step(const GaussMarkovParameters<double>& process,
                                                      double dt) {
  const double x = dt / process.time;
  return {-std::expm1(-x), process.deviation * std::sqrt(-std::expm1(-2.0 * x))};
}

/// Initial state: a sample of the stationary process, from a standard normal.
template <class T, class P>
PROPWASH_FN T gauss_markov_start(const P& deviation, const T& normal) {
  return normal * deviation;
}

/// One step with a standard normal.
template <class T, class P>
PROPWASH_FN T gauss_markov_next(const GaussMarkovStep<P>& step, const T& state, const T& normal) {
  return state + (normal * step.noise - state * step.decay);
}

}  // namespace propwash
