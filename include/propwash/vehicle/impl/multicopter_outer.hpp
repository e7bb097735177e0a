#pragma once
// Outer loops of Multicopter; include propwash/vehicle/multicopter.hpp.

#include "propwash/vehicle/multicopter.hpp"

namespace propwash {

template <int N, class T>
OuterLoopParameters Multicopter<N, T>::outer_loops() const {
  return outer_is_set_ ? outer_parameters_ : outer_loops_for(control_vehicle(), memory_.dt);
}

template <int N, class T>
void Multicopter<N, T>::set_outer_loops(const OuterLoopParameters& parameters) {
  validate(parameters);
  validate_outer_loops(control_vehicle());
  outer_parameters_ = parameters;
  outer_is_set_ = true;
  outer_dt_ = 0.0;
}

/// Computes the constants of the outer loops for steps of step_.dt.
template <int N, class T>
void Multicopter<N, T>::prepare_outer() {
  if (!outer_is_set_) outer_parameters_ = outer_loops_for(control_vehicle(), step_.dt);
  outer_ = make_outer_loop_constants<T, N>(control_vehicle(), parameters_.imu, outer_parameters_,
                                           step_.dt);
  outer_dt_ = step_.dt;
}

template <int N, class T>
void Multicopter<N, T>::step(const OuterLoopCommand<T>& command, double dt,
                             const MotionEstimate<T>* estimate) {
  const bool by_rates = commands_rates(command.loop);
  if (outer_dt_ == 0.0) validate_outer_loops(control_vehicle());
  if (by_rates) validate_rate_loops(parameters_);
  prepare_step(dt);
  if (outer_dt_ != step_.dt) prepare_outer();
  const auto interval = static_cast<std::uint64_t>(outer_parameters_.interval);
  bool is_due = memory_.steps % interval == 0;
  if (memory_.outer_loop != static_cast<int>(command.loop)) {
    const bool keeps_state = by_rates && memory_.outer_loop >= 0 &&
                             commands_rates(static_cast<OuterLoop>(memory_.outer_loop));
    if (!keeps_state) memory_.outer = {};
    memory_.outer_loop = static_cast<int>(command.loop);
    is_due = true;
  }
  if (is_due) update_outer(command, estimate);
  advance(by_rates ? &memory_.held_rates : nullptr, &memory_.held_speeds);
}

template <int N, class T>
void Multicopter<N, T>::update_outer(const OuterLoopCommand<T>& command,
                                     const MotionEstimate<T>* estimate) {
  const State& x = memory_.state;
  OuterLoopInput<T> in;
  in.motion = estimate ? *estimate : MotionEstimate<T>{x.position, x.velocity, x.attitude, {}};
  in.motion.rates_B = memory_.controller.filter.value;
  in.mass = T(control_vehicle().body.mass);
  if (commands_rates(command.loop)) {
    memory_.held_rates = run_rate_loop(outer_.law, memory_.outer, in, command);
  } else {
    memory_.held_speeds = run_speed_loop(outer_, memory_.outer, in, command, imu(), x.rotor_speeds);
  }
}

}  // namespace propwash
