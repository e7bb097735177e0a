#pragma once
/// @file
/// The classic Runge-Kutta method. See docs/integrate.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Kutta's fourth-order method (1901), four derivatives per step. Same arguments as Euler.
struct Rk4 {
  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    const auto half = dt * constant<Time>(0.5);
    const auto two = constant<Time>(2);
    // summed stage by stage, so that fewer states are live at once
    State k = f(x);
    State sum = k;
    k = f(State(x + k * half));
    sum = sum + k * two;
    k = f(State(x + k * half));
    sum = sum + k * two;
    k = f(State(x + k * dt));
    sum = sum + k;
    return x + sum * (dt * constant<Time>(1.0 / 6.0));
  }
};

}  // namespace propwash
