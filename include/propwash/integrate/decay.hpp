#pragma once
/// @file
/// The stages of an integrator for exponential decay, dx/dt = -rate x.

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// The largest number of derivative evaluations in a step of this library's integrators.
inline constexpr int max_stages = 4;

/// One step of an integrator for dx/dt = -rate x, relative to the initial x_0: the derivative is
/// evaluated at factor[0] x_0, factor[1] x_0, …, and the result is end x_0. The numbers are those
/// that the integrator computes, not the exact exponential.
template <class P>
struct DecayStages {
  P factor[max_stages]{};  ///< x / x_0 at each stage; the first is 1
  P slope[max_stages]{};   ///< 1/s, (dx/dt) / x_0 at each stage
  P end{};                 ///< x / x_0 after the step
  PROPWASH_MEMBERS(factor, slope, end)
};

/// The stages of a step of dt [s] at `rate` [1/s], recorded from the integrator itself.
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
