#pragma once
/// @file
/// Integrators, chosen at compile time by type or at run time by name, and a step for any vehicle.

#include <type_traits>
#include <utility>

#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"
#include "propwash/integrate/symplectic_euler.hpp"

namespace propwash {

/// The integrators by name.
enum class Integrator { euler, rk4, symplectic_euler };

namespace detail {
template <class Vehicle, class State, class = void>
struct HasProject : std::false_type {};
template <class Vehicle, class State>
struct HasProject<
    Vehicle, State,
    std::void_t<decltype(std::declval<const Vehicle&>().project(std::declval<const State&>()))>>
    : std::true_type {};
}  // namespace detail

/// Advances a vehicle of the caller's own by dt [s].
///
/// `vehicle` is any type with `derivative(state, command) -> State`. Where it has
/// `project(state) -> State`, that is applied once after the step: to renormalise an attitude, to
/// limit a rotor speed. The command is held over the step.
template <class Method = Rk4, class Vehicle, class State, class Command, class Time>
PROPWASH_FN State step(const Vehicle& vehicle, const State& state, const Command& command,
                       const Time& dt, Method method = {}) {
  const auto f = [&](const State& x)
                     PROPWASH_LAMBDA -> State { return vehicle.derivative(x, command); };
  const State next = method(f, state, dt);
  if constexpr (detail::HasProject<Vehicle, State>::value) {
    return vehicle.project(next);
  } else {
    return next;
  }
}

}  // namespace propwash
