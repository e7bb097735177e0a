#pragma once
/// @file
/// A slowly varying error: the first-order Gauss-Markov process,
///
///     db/dt = -b / tau + w,    w white of intensity 2 sigma^2 / tau
///
/// which is stationary with standard deviation sigma and correlation exp(-|t| / tau); see
/// docs/model/gnss.md. The step is its exact law, so that nothing depends on the step size.

#include <cmath>
#include <limits>

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Parameters of a first-order Gauss-Markov process.
template <class P>
struct GaussMarkovParameters {
  P deviation{};  ///< standard deviation sigma, in the unit of what errs
  P time{std::numeric_limits<value_type_t<P>>::infinity()};  ///< s, tau > 0; infinite: constant
};

/// The law for one step size.
template <class P>
struct GaussMarkovStep {
  P decay{};  ///< 1 - exp(-dt / tau): a small number by itself, which in a float 1 would swallow
  P noise{};  ///< sigma sqrt(1 - exp(-2 dt / tau))
};

/// The exact law over dt [s] >= 0.
inline GaussMarkovStep<double> make_gauss_markov_step(const GaussMarkovParameters<double>& process,
                                                      double dt) {
  const double passed = dt / process.time;
  return {-std::expm1(-passed), process.deviation * std::sqrt(-std::expm1(-2.0 * passed))};
}

/// A draw of the stationary process, for a start.
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
