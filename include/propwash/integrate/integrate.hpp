#pragma once
/// @file
/// The integrators, as types and as an enumeration, and a step for custom vehicles.

#include <type_traits>
#include <utility>

#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"
#include "propwash/integrate/symplectic_euler.hpp"
#include "propwash/math/members.hpp"

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

template <class State, class = void>
struct HasSum : std::false_type {};
template <class State>
struct HasSum<State,
              std::void_t<decltype(std::declval<const State&>() + std::declval<const State&>())>>
    : std::true_type {};

/// A state with the sum and the product of its members.
template <class State>
struct Memberwise {
  State state;

  PROPWASH_FN friend Memberwise operator+(Memberwise a, const Memberwise& b) {
    for_each_pair(a.state, b.state, [](auto& x, const auto& y) PROPWASH_LAMBDA { x = x + y; });
    return a;
  }
  template <class S>
  PROPWASH_FN friend Memberwise operator*(Memberwise a, const S& s) {
    for_each_number(a.state, [&](auto& x) PROPWASH_LAMBDA { x = x * s; });
    return a;
  }
};
}  // namespace detail

/// x(t + dt) for the derivative f(x). A state without `+` is a struct with PROPWASH_MEMBERS
/// (math/members.hpp), whose members are added.
template <class Method, class F, class State, class Time>
PROPWASH_FN State integrated(const Method& method, const F& f, const State& x, const Time& dt) {
  if constexpr (detail::HasSum<State>::value) {
    return method(f, x, dt);
  } else {
    using Sum = detail::Memberwise<State>;
    const auto of_members = [&](const Sum& at) PROPWASH_LAMBDA -> Sum { return {f(at.state)}; };
    return method(of_members, Sum{x}, dt).state;
  }
}

/// Advances a custom vehicle by dt [s].
///
/// `vehicle` is any type with `derivative(state, command) -> State`, and the state has `+` and
/// `* number`, or PROPWASH_MEMBERS (math/members.hpp). If the vehicle also has
/// `project(state) -> State`, that is applied once after the step, for example to normalise an
/// attitude or to limit a rotor speed. The command is constant during the step.
template <class Method = Rk4, class Vehicle, class State, class Command, class Time>
PROPWASH_FN State step(const Vehicle& vehicle, const State& state, const Command& command,
                       const Time& dt, Method method = {}) {
  const auto f = [&](const State& x)
                     PROPWASH_LAMBDA -> State { return vehicle.derivative(x, command); };
  const State next = integrated(method, f, state, dt);
  if constexpr (detail::HasProject<Vehicle, State>::value) {
    return vehicle.project(next);
  } else {
    return next;
  }
}

}  // namespace propwash
