#pragma once
/// @file
/// The integrators, as types and as an enumeration, and a step for custom vehicles.

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

/// Advances a custom vehicle by dt [s].
///
/// `vehicle` is any type with `derivative(state, command) -> State`. If it also has
/// `project(state) -> State`, that is applied once after the step, for example to normalise an
/// attitude or to limit a rotor speed. The command is constant during the step.
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
