#pragma once
/// @file
/// One step of the multicopter's equations of motion, by any integrator.

#include "propwash/vehicle/tick_constants.hpp"

namespace propwash {

/// One step of dt [s], with what is done once after it.
template <class Method, class T, int N, class P, class Shape, class Wind, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> multicopter_step(const Method& method,
                                                    const MulticopterModel<P, N, Shape>& model,
                                                    const MulticopterState<T, N>& state,
                                                    const MulticopterInput<T, N, Wind, Held>& input,
                                                    const Time& dt) {
  const auto f = [&](const MulticopterState<T, N>& x) PROPWASH_LAMBDA {
    return multicopter_derivative(model, x, input);
  };
  return projected(model, method(f, state, dt));
}

/// The same step where the motors have one time constant. The distance of a rotor from its held
/// command decays independently of the body, so the integrator's stages for it are known before the
/// step (`lag`), and the torque and momentum that are linear in it are summed once a step.
template <class Method, class T, int N, class P, class Shape, class Wind, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> multicopter_step(const Method& method,
                                                    const MulticopterModel<P, N, Shape>& model,
                                                    const DecayStages<P>& lag,
                                                    const MulticopterState<T, N>& state,
                                                    const MulticopterInput<T, N, Wind, Held>& input,
                                                    const Time& dt) {
  const auto decayed = [&](const P& factor) PROPWASH_LAMBDA {
    return map(state.rotor_speeds, input.command,
               [&factor](const T& speed, const T& command) PROPWASH_LAMBDA {
                 return command + (speed - command) * factor;
               });
  };
  const auto at_command = rotor_reaction(model.rotors, input.command);
  const auto at_distance = rotor_reaction(
      model.rotors, map(state.rotor_speeds, input.command,
                        [](const T& speed, const T& command)
                                           PROPWASH_LAMBDA { return speed - command; }));
  int stage = 0;
  const auto f = [&](const RigidBodyState<T>& x) PROPWASH_LAMBDA {
    const P& factor = lag.factor[stage];
    const auto reaction = at_distance * lag.slope[stage];
    const auto momentum = -(at_command + at_distance * factor);
    const bool is_first = stage++ == 0;
    return rigid_body_derivative(
        model, x,
        is_first ? rotor_wrench(model.rotors, state.rotor_speeds, reaction, momentum)
                 : rotor_wrench(model.rotors, decayed(factor), reaction, momentum),
        input);
  };
  const RigidBodyState<T> end = method(f, rigid_body(state), dt);
  return projected(model, with_rotors(end, decayed(lag.end)));
}

/// The step of the constants' shape: with `lag` where they have it.
template <class Method, class T, int N, class P, class Shape, class Wind, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> multicopter_step(const Method& method,
                                                    const TickConstants<P, N, Shape>& c,
                                                    const MulticopterState<T, N>& state,
                                                    const MulticopterInput<T, N, Wind, Held>& input,
                                                    const Time& dt) {
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    return multicopter_step(method, c.model, c.lag, state, input, dt);
  } else {
    return multicopter_step(method, c.model, state, input, dt);
  }
}

}  // namespace propwash
