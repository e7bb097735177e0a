#pragma once
/// @file
/// The explicit Euler method. See docs/integrate.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// x(t + dt) = x + dt f(x); first order.
///
/// Integrators accept any derivative `f(x)` and any state with `x + x` and `x * dt`: a state of the
/// library, a double, an Eigen vector.
struct Euler {
  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    return x + f(x) * dt;
  }
};

}  // namespace propwash
