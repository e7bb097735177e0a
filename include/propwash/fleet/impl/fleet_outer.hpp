#pragma once
// The outer loops of Fleet; include propwash/fleet/multicopter_fleet.hpp.

#include <algorithm>
#include <stdexcept>

#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash {

template <class T, int N>
OuterLoopParameters Fleet<Multicopter<N>, T>::outer_loops() const {
  return outer_.is_ready ? outer_.parameters : outer_loops_for(control_vehicle(), options().dt);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_outer_loops(const OuterLoopParameters& parameters) {
  samplers_.require_idle();
  validate(parameters);
  prepare_outer(parameters);
}

/// Computes the constants of the loops; allocates their state if absent.
template <class T, int N>
void Fleet<Multicopter<N>, T>::prepare_outer(const OuterLoopParameters& parameters) {
  validate_outer_loops(control_vehicle());
  using Run = detail::OuterRun<T>;
  if (plan_.kernels.lanes > Run::max_lanes || plan_.kernels.lanes % Run::Real::lanes != 0) {
    PROPWASH_THROW(
        std::invalid_argument("lanes of the kernels = " + std::to_string(plan_.kernels.lanes) +
                              ": expected a multiple of " + std::to_string(Run::Real::lanes) +
                              ", at most " + std::to_string(Run::max_lanes) + ", for outer loops"));
  }
  const std::size_t numbers = memory_.padded() * detail::FleetOuter<T>::fields;
  const std::size_t held = size() * static_cast<std::size_t>(std::max(4, rotors()));
  if (outer_.memory.size() < numbers) {
    detail::LineVector<T> memory(numbers), rows(held);
    outer_.memory.swap(memory);
    outer_.held.swap(rows);
  }
  outer_.parameters = parameters;
  outer_.constants = make_outer_loop_constants<T, Dynamic>(control_vehicle(), vehicle().imu,
                                                           parameters, options().dt);
  outer_.gravity = static_cast<T>(norm(control_vehicle().body.gravity));
  outer_.is_ready = true;
}

/// Clears the state of the loops, unless both loops command rates and share the velocity integral.
template <class T, int N>
void Fleet<Multicopter<N>, T>::begin_outer(OuterLoop loop) {
  const bool continues = outer_.loop >= 0 && commands_rates(loop) && outer_.holds_rates();
  outer_.loop = static_cast<int>(loop);
  if (!continues) std::fill(outer_.memory.begin(), outer_.memory.end(), T(0));
}

/// Clears the state of a vehicle's loops, and sets their held output to hover.
template <class T, int N>
void Fleet<Multicopter<N>, T>::restart_outer(std::size_t vehicle) {
  for (int field = 0; field < outer_.fields; ++field) {
    outer_.memory[outer_.memory_at(vehicle, field, memory_.lanes())] = T(0);
  }
  const T* const from = plan_.start(vehicle);
  const T hover[] = {T(0), T(0), T(0), from[plan_.start_weight]};
  const T* const action = outer_.holds_rates() ? hover : from + plan_.start_hover;
  for (int i = 0; i < outer_.held_width(rotors()); ++i) {
    outer_.held[outer_.held_at(vehicle, i, size(), rotors())] = action[i];
  }
}

/// Steps with the held output of a loop, and runs the loop when it is due.
template <class T, int N>
void Fleet<Multicopter<N>, T>::step_outer(const FleetCommand<T>& of,
                                          const FleetMotionEstimate<T>& estimate, int substeps,
                                          ExecutorRef executor) {
  const detail::OuterRows<T> command(of);
  const auto require = [this](Span<const T> rows, std::size_t width, const char* name) {
    if (!rows.empty()) detail::check_count(rows.size(), size() * width, 0, name);
  };
  require(estimate.position, 3, "position of the estimate");
  require(estimate.velocity, 3, "velocity of the estimate");
  require(estimate.attitude, 4, "attitude of the estimate");
  if (!plan_.gravity_is_shared && !options().control_vehicle) {
    PROPWASH_THROW(ParameterError("body.gravity: expected that of the fleet's vehicle, " +
                                  detail::formatted(vehicle().body.gravity) +
                                  ", for all vehicles, because the outer loops use it"));
  }
  const bool by_rates = commands_rates(command.loop);
  if (by_rates) validate_rate_loops(vehicle());
  if (!outer_.is_ready) prepare_outer(outer_loops());
  const auto interval = static_cast<std::uint64_t>(outer_.parameters.interval);
  bool is_due = outer_.loop != static_cast<int>(command.loop);
  if (is_due) begin_outer(command.loop);
  FleetBatch<T> batch = this->batch();
  if (by_rates) {
    batch.rates = outer_.held.data();
    batch.thrust = outer_.held.data() + 3 * size();
  } else {
    batch.speeds = outer_.held.data();
  }
  const Level level = by_rates ? Level::rates : Level::speeds;
  begin(level);
  const detail::OuterJob<T> job{outer_,
                                command,
                                estimate,
                                plan_.starts.data() + plan_.start_assumed_weight,
                                plan_.start_stride(),
                                plan_.kernels.lanes,
                                plan_.kernels.measure};
  const auto run = [&](std::size_t first, std::size_t last) {
    if (!is_due) return;
    const detail::OuterRun<T> outer(job, batch);
    for (std::size_t block = first; block < last; ++block) outer.block(block);
  };
  for (int left = substeps; left > 0;) {
    const std::uint64_t phase = steps_ % interval;
    is_due = is_due || phase == 0;
    const int now = static_cast<int>(std::min(static_cast<std::uint64_t>(left), interval - phase));
    advance(batch, level, now, executor, run);
    is_due = false;
    left -= now;
  }
}

}  // namespace propwash
