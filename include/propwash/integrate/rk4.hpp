#pragma once
/// @file
/// The classic Runge-Kutta method. See docs/integrate.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Kutta's method of fourth order (1901), four derivatives a step. Takes what Euler takes.
struct Rk4 {
  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    const auto half = dt * constant<Time>(0.5);
    const auto two = constant<Time>(2);
    // the sum is kept up as the stages come: fewer states are alive at once
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
