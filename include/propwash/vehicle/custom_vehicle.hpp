#pragma once
/// @file
/// What a vehicle supplies to Fleet, FleetGradient and linearize(). docs/custom-vehicle.md has an
/// example.
///
///     struct Glider {
///       struct Parameters;                        // in double
///       template <class T> struct State;          // T{} members; the default is the start
///       template <class T> struct Command;
///       template <class P> struct Constants {
///         State<T> derivative(const State<T>&, const Command<T>&) const;
///         State<T> project(const State<T>&) const;                       // optional
///         State<T> tick(method, const State<T>&, const Command<T>&, const Host&, dt) const;
///       };
///       static Constants<double> constants(const Parameters&, double dt);
///     };
///
/// State, Command and Constants contain numbers only and list them with PROPWASH_MEMBERS.
/// Constants<P> is a custom vehicle of integrate/integrate.hpp, in which T is P or a type that is
/// constructible from it. It supplies either `derivative` and `project`, with which step() advances
/// the state, or its own `tick`, which returns the next state and may use noise:
/// `host.normals(stream)[0 … 5]` are standard normals of the step.

#include <cstdint>
#include <type_traits>
#include <utility>

#include "propwash/integrate/integrate.hpp"
#include "propwash/math/members.hpp"
#include "propwash/random/normal.hpp"

namespace propwash {

/// Count of numbers in the state of a vehicle.
template <class Vehicle>
inline constexpr int state_width = number_count<typename Vehicle::template State<double>>;
/// Count of numbers in the command of a vehicle.
template <class Vehicle>
inline constexpr int command_width = number_count<typename Vehicle::template Command<double>>;
/// Count of numbers in the constants of a vehicle.
template <class Vehicle>
inline constexpr int constants_width = number_count<typename Vehicle::template Constants<double>>;

/// The host of Constants::tick without noise.
template <class T>
struct QuietHost {
  PROPWASH_FN NormalsOf<T> normals(Stream) const { return {}; }  ///< zeros
};

/// The host of Constants::tick for one vehicle.
template <class T>
struct NoiseHost {
  std::uint64_t seed = 0;  ///< key of the noise
  std::uint32_t id = 0;    ///< of the vehicle
  std::uint64_t step = 0;  ///< counter of the noise
  bool noise = true;       ///< false: zeros

  /// Six standard normals.
  PROPWASH_FN NormalsOf<T> normals(Stream stream) const {
    NormalsOf<T> result{};
    if (!noise) return result;
    const SixNormals z = six_normals(seed, id, step, stream);
    for (int i = 0; i < 6; ++i) result.value[i] = static_cast<T>(z[i]);
    return result;
  }
};

namespace detail {

template <class Constants, class State, class Command, class = void>
struct HasDerivative : std::false_type {};
template <class Constants, class State, class Command>
struct HasDerivative<Constants, State, Command,
                     std::void_t<decltype(std::declval<const Constants&>().derivative(
                         std::declval<const State&>(), std::declval<const Command&>()))>>
    : std::true_type {};

template <class Constants, class State, class Command, class = void>
struct HasTick : std::false_type {};
template <class Constants, class State, class Command>
struct HasTick<Constants, State, Command,
               std::void_t<decltype(std::declval<const Constants&>().tick(
                   Rk4{}, std::declval<const State&>(), std::declval<const Command&>(),
                   QuietHost<double>{}, 0.0))>> : std::true_type {};

/// Whether all of X are numbers that it lists.
template <class X>
inline constexpr bool is_numbers =
    std::is_empty_v<X> || sizeof(X) == sizeof(double) * std::size_t{number_count<X>};

/// Whether a vehicle has a derivative, not a tick.
template <class Vehicle>
constexpr bool has_derivative() {
  using State = typename Vehicle::template State<double>;
  using Command = typename Vehicle::template Command<double>;
  using Constants = typename Vehicle::template Constants<double>;
  static_assert(is_numbers<State> && is_numbers<Command> && is_numbers<Constants>,
                "State, Command and Constants of a vehicle: expected numbers alone, listed with "
                "PROPWASH_MEMBERS; see propwash/vehicle/custom_vehicle.hpp");
  constexpr bool result = HasDerivative<Constants, State, Command>::value;
  static_assert(result != HasTick<Constants, State, Command>::value,
                "Constants of a vehicle: expected either a derivative or a tick with the arguments "
                "that propwash/vehicle/custom_vehicle.hpp lists");
  return result;
}

}  // namespace detail

/// The state of a vehicle after a step of dt [s]. T is the scalar of state and command, P that of
/// the constants.
template <class Vehicle, class Method, class Constants, class State, class Command, class Host,
          class Time>
PROPWASH_FN State vehicle_step(const Method& method, const Constants& constants, const State& state,
                               const Command& command, const Host& host, const Time& dt) {
  if constexpr (detail::has_derivative<Vehicle>()) {
    return step(constants, state, command, dt, method);
  } else {
    return constants.tick(method, state, command, host, dt);
  }
}

}  // namespace propwash
