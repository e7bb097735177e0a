#pragma once
/// @file
/// What an integrator does with dx/dt = -rate x, as numbers: where it looks, and where it ends.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// The most derivatives that one step of an integrator of this library takes.
inline constexpr int max_stages = 4;

/// A decaying x of the library's integrators: each asks for the derivative at `factor` x_0, in
/// turn, and ends at `end` x_0. Linear equations of which nothing else feeds back into x need no
/// more than this; the numbers are the integrator's own, so nothing is approximated.
template <class P>
struct DecayStages {
  P factor[max_stages]{};  ///< x / x_0 at each derivative; the first is 1
  P slope[max_stages]{};   ///< 1/s, dx/dt / x_0 there
  P end{};                 ///< x / x_0 after the step
};

/// The stages of one step of dt [s] at `rate` [1/s], by taking the step.
template <class Method>
DecayStages<double> decay_stages(double rate, double dt, Method method = {}) {
  DecayStages<double> stages;
  int stage = 0;
  const auto derivative = [&](double x) {
    stages.factor[stage] = x;
    stages.slope[stage] = -rate * x;
    return stages.slope[stage++];
  };
  stages.end = method(derivative, 1.0, dt);
  return stages;
}

}  // namespace propwash
