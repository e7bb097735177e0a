#pragma once
/// @file
/// The symplectic (semi-implicit) Euler method. See docs/integrate.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Advances velocities, then positions with the new velocities. First order; the energy error of an
/// oscillation stays bounded. Needs two functions of the state, found by argument-dependent lookup:
///
///     kick(x, k, dt)   -> x with velocities advanced by k dt
///     drift(x, k, dt)  -> x with positions advanced by k dt
struct SymplecticEuler {
  template <class Derivative, class State, class Time>
  PROPWASH_FN State operator()(const Derivative& f, const State& x, const Time& dt) const {
    const State kicked = kick(x, f(x), dt);
    return drift(kicked, f(kicked), dt);
  }
};

}  // namespace propwash
