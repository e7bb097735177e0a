#pragma once
/// @file
/// The parameters of the equations of motion in any scalar type, for make_model.

#include <cstddef>
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
  ResidualParameters<P> residual;           ///< what the other terms leave
};

/// Calls f(a, b) with corresponding numbers of the parameters, after setting the number of rotors.
template <class P, class F>
void for_each_dynamics_pair(DynamicsParameters<P>& to, const VehicleParameters& from, const F& f) {
  to.rotors.resize(from.rotors.size());
  for (std::size_t i = 0; i < to.rotors.size(); ++i) for_each_pair(to.rotors[i], from.rotors[i], f);
  for_each_pair(to.body, from.body, f), for_each_pair(to.motor, from.motor, f);
  for_each_pair(to.drag, from.drag, f), for_each_pair(to.rotor_drag, from.rotor_drag, f);
  for_each_pair(to.inflow, from.inflow, f), for_each_pair(to.contact, from.contact, f);
  for_each_pair(to.ground_effect, from.ground_effect, f);
  for_each_pair(to.residual, from.residual, f);
}

}  // namespace propwash
