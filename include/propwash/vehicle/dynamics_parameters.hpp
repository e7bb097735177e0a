#pragma once
/// @file
/// The parameters of the equations of motion in any scalar type, for make_model.

#include <cstddef>
#include <type_traits>
#include <vector>

#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// The members of VehicleParameters that determine the motion under given rotor commands.
template <class P>
struct DynamicsParameters {
  RigidBodyParameters<P> body;              ///< mass, inertia and gravity
  std::vector<RotorParameters<P>> rotors;   ///< 1 to 12
  MotorParameters<P> motor;                 ///< motors
  DragParameters<P> drag;                   ///< quadratic drag of the body
  RotorDragParameters<P> rotor_drag;        ///< linear drag of the rotors
  InflowParameters<P> inflow;               ///< inflow of the rotors
  GroundEffectParameters<P> ground_effect;  ///< ground effect
  ContactParameters<P> contact;             ///< contact with the ground
};

namespace detail {

/// Sets each number of the struct `to` to f(k, x), where x is number k of `from`, the same struct
/// of doubles.
template <class P, class To, class From, class F>
void convert_numbers(To& to, const From& from, const F& f) {
  constexpr std::size_t count = sizeof(From) / sizeof(double);
  static_assert(sizeof(From) == count * sizeof(double) && sizeof(To) == count * sizeof(P) &&
                    std::is_standard_layout_v<From> && std::is_standard_layout_v<To>,
                "expected structs of the same numbers");
  const auto* const values = reinterpret_cast<const double*>(&from);
  auto* const numbers = reinterpret_cast<P*>(&to);
  for (std::size_t k = 0; k < count; ++k) numbers[k] = f(k, values[k]);
}

}  // namespace detail

}  // namespace propwash
