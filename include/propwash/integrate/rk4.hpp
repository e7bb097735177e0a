#pragma once
/// @file
/// The classic Runge-Kutta method. See docs/integrate.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Rk4 or Euler, selected at run time. It evaluates the derivative in a loop over the stages, which
/// compiles it once for both methods. Same arguments as Euler, and the same bits as either method.
struct Rk4OrEuler {
  bool is_euler = false;

  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    const auto half = dt * constant<Time>(0.5);
    const auto two = constant<Time>(2);
    // summed stage by stage, so that fewer states are live at once
    State sum = x;
    State y = x;
    for (int stage = 0;; ++stage) {
      const State k = f(y);
      if (is_euler) return x + k * dt;
      if (stage == 3) return x + (sum + k) * (dt * constant<Time>(1.0 / 6.0));
      sum = stage == 0 ? k : State(sum + k * two);
      y = x + k * (stage == 2 ? dt : half);
    }
  }
};

/// Kutta's fourth-order method (1901), four derivatives per step. Same arguments as Euler.
struct Rk4 {
  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    return Rk4OrEuler{}(f, x, dt);
  }
};

}  // namespace propwash
