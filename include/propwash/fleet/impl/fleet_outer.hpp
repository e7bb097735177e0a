#pragma once
// The outer loops of Fleet; include propwash/fleet/fleet.hpp.

#include <algorithm>
#include <stdexcept>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

template <class T, int N>
void Fleet<T, N>::step(const FleetAttitudeThrust<T>& command, int substeps, ExecutorRef executor) {
  check_count(command.attitude.size(), size_ * 4, 0, "attitude");
  check_count(command.thrust.size(), size_, 0, "thrust");
  if (!command.yaw_rate.empty()) check_count(command.yaw_rate.size(), size_, 0, "yaw_rate");
  fly(detail::outer_rows(command), substeps, executor);
}

template <class T, int N>
void Fleet<T, N>::step(const FleetVelocityCommand<T>& command, int substeps, ExecutorRef executor) {
  check_count(command.velocity.size(), size_ * 3, 0, "velocity");
  if (!command.yaw.empty()) check_count(command.yaw.size(), size_, 0, "yaw");
  if (!command.yaw_rate.empty()) check_count(command.yaw_rate.size(), size_, 0, "yaw_rate");
  fly(detail::outer_rows(command), substeps, executor);
}

template <class T, int N>
void Fleet<T, N>::step(const FleetPositionCommand<T>& command, int substeps, ExecutorRef executor) {
  check_count(command.position.size(), size_ * 3, 0, "position");
  if (!command.yaw.empty()) check_count(command.yaw.size(), size_, 0, "yaw");
  fly(detail::outer_rows(command), substeps, executor);
}

template <class T, int N>
void Fleet<T, N>::step(const FleetTrajectoryCommand<T>& command, int substeps,
                       ExecutorRef executor) {
  const auto rows = detail::outer_rows(command);
  if (commands_rates(rows.loop)) {
    PROPWASH_THROW(std::invalid_argument(
        "controller: expected geometric, backstepping or incremental, which follow a trajectory"));
  }
  check_count(command.position.size(), size_ * 3, 0, "position");
  const char* const names[] = {"position", "velocity", "acceleration", "jerk", "snap"};
  for (int i = 1; i < 5; ++i) {
    if (!rows.point[i].empty()) check_count(rows.point[i].size(), size_ * 3, 0, names[i]);
  }
  const char* const headings[] = {"yaw", "yaw_rate", "yaw_acceleration"};
  for (int i = 0; i < 3; ++i) {
    if (!rows.heading[i].empty()) check_count(rows.heading[i].size(), size_, 0, headings[i]);
  }
  fly(rows, substeps, executor);
}

template <class T, int N>
OuterLoopParameters Fleet<T, N>::outer_loops() const {
  return outer_.is_ready ? outer_.parameters : outer_loops_for(vehicle_, options_.dt);
}

template <class T, int N>
void Fleet<T, N>::set_outer_loops(const OuterLoopParameters& parameters) {
  validate(parameters);
  prepare_outer(parameters);
}

/// Memory and constants of the loops; memory stays where there is some.
template <class T, int N>
void Fleet<T, N>::prepare_outer(const OuterLoopParameters& parameters) {
  validate_outer_loops(vehicle_);
  using Run = detail::OuterRun<T>;
  if (kernels_.lanes > Run::most_lanes || kernels_.lanes % Run::Real::lanes != 0) {
    PROPWASH_THROW(std::invalid_argument(
        "kernels, their lanes = " + std::to_string(kernels_.lanes) + ": expected a multiple of " +
        std::to_string(Run::Real::lanes) + ", at most " + std::to_string(Run::most_lanes) +
        ", for outer loops"));
  }
  const std::size_t numbers = blocks() * lanes() * detail::FleetOuter<T>::fields;
  const std::size_t held = size_ * static_cast<std::size_t>(action_width());
  if (outer_.memory.size() < numbers) {
    detail::LineVector<T> memory(numbers), rows(held);
    outer_.memory.swap(memory);
    outer_.held.swap(rows);
  }
  outer_.parameters = parameters;
  outer_.law = make_outer_loop_law<T>(vehicle_, parameters, options_.dt);
  outer_.allocation = make_allocation<T, Dynamic>(vehicle_.rotors, vehicle_.motor);
  outer_.law.prioritised = outer_.law.prioritised && can_prioritise(outer_.allocation);
  outer_.imu_attitude = cast<T>(vehicle_.imu.attitude);
  outer_.imu_position = cast<T>(vehicle_.imu.position);
  outer_.gravity = static_cast<T>(norm(vehicle_.body.gravity));
  outer_.is_ready = true;
}

/// Loops start without memory, unless velocity's integral goes on in a loop of the same kind.
template <class T, int N>
void Fleet<T, N>::begin_outer(OuterLoop loop) {
  const bool goes_on = outer_.loop >= 0 && commands_rates(loop) &&
                       commands_rates(static_cast<OuterLoop>(outer_.loop));
  outer_.loop = static_cast<int>(loop);
  if (!goes_on) std::fill(outer_.memory.begin(), outer_.memory.end(), T(0));
}

/// After a reset a vehicle's loops have no memory, and until they run again they hold hover.
template <class T, int N>
void Fleet<T, N>::restart_outer(std::size_t vehicle) {
  for (int field = 0; field < detail::FleetOuter<T>::fields; ++field) {
    outer_at(field, vehicle) = T(0);
  }
  const T* const hover = start(vehicle);
  for (int i = 0; i < held_width(); ++i) {
    if (commands_rates(static_cast<OuterLoop>(outer_.loop))) {
      held_at(vehicle, i) = i == 3 ? hover[2] : T(0);
    } else {
      held_at(vehicle, i) = hover[start_hover + i];
    }
  }
}

template <class T, int N>
T& Fleet<T, N>::outer_at(int field, std::size_t vehicle) {
  constexpr auto width = static_cast<std::size_t>(detail::FleetOuter<T>::fields);
  return outer_.memory[(vehicle / lanes() * width + static_cast<std::size_t>(field)) * lanes() +
                       vehicle % lanes()];
}

/// Number i of what is held for a vehicle: rates, then thrust, or rotor speeds.
template <class T, int N>
T& Fleet<T, N>::held_at(std::size_t vehicle, int i) {
  const auto k = static_cast<std::size_t>(i);
  if (!commands_rates(static_cast<OuterLoop>(outer_.loop))) {
    return outer_.held[vehicle * static_cast<std::size_t>(rotors_) + k];
  }
  return outer_.held[i == 3 ? 3 * size_ + vehicle : 3 * vehicle + k];
}

/// Runs of the physics under what a loop holds, and the loop between them.
template <class T, int N>
void Fleet<T, N>::fly(const detail::OuterRows<T>& command, int substeps, ExecutorRef executor) {
  if (substeps < 1) {
    PROPWASH_THROW(
        std::invalid_argument("substeps = " + std::to_string(substeps) + ": expected at least 1"));
  }
  require_rank();
  if (!gravity_is_shared_) {
    PROPWASH_THROW(ParameterError("body.gravity: expected that of the fleet's vehicle for all, " +
                                  detail::formatted(vehicle_.body.gravity) +
                                  ", against which outer loops hold them"));
  }
  const bool by_rates = commands_rates(command.loop);
  if (by_rates) validate_rate_loops(vehicle_);
  if (!outer_.is_ready) prepare_outer(outer_loops_for(vehicle_, options_.dt));
  const auto interval = static_cast<std::uint64_t>(outer_.parameters.interval);
  bool is_due = outer_.loop != static_cast<int>(command.loop);
  if (is_due) begin_outer(command.loop);
  FleetBatch<T> batch = this->batch();
  if (by_rates) {
    batch.rates = outer_.held.data();
    batch.thrust = outer_.held.data() + 3 * size_;
  } else {
    batch.speeds = outer_.held.data();
  }
  const Level level = by_rates ? Level::rates : Level::speeds;
  begin(level);
  const detail::OuterJob<T> job{outer_,         command,
                                starts_.data(), own_parameters_ ? start_width() : 0,
                                kernels_.lanes, kernels_.measure};
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
