#pragma once
// The steps of Fleet; include propwash/fleet/multicopter_fleet.hpp.

#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash {

/// The arguments of kernels that read the state.
template <class T, int N>
FleetBatch<T> Fleet<Multicopter<N>, T>::view() const {
  FleetBatch<T> batch;
  batch.state = memory_.state.numbers.data();
  batch.constants = plan_.constants.data();
  batch.constants_stride = plan_.constants_stride();
  batch.ids = memory_.ids.data();
  batch.size = size();
  batch.rotors = rotors();
  batch.seed = options().seed;
  batch.step = steps_;
  batch.dt = static_cast<T>(options().dt);
  batch.switches = plan_.switches;
  batch.floor = static_cast<T>(options().floor);
  batch.reset_at = memory_.reset_at.data();
  return batch;
}

/// The arguments of kernels that step.
template <class T, int N>
FleetBatch<T> Fleet<Multicopter<N>, T>::batch() {
  FleetBatch<T> batch = view();
  batch.next_state = memory_.state.numbers.data();
  if (auto& ring = memory_.past_motor_commands; !ring.empty()) {
    batch.motor_delay = ring.numbers.data();
    batch.motor_delay_slots = ring.rows;
    batch.motor_delay_steps = plan_.motor_delay.steps;
    batch.motor_delay_fraction = static_cast<T>(plan_.motor_delay.fraction);
  }
  if (auto& ring = memory_.past_actions; !ring.empty()) {
    batch.action_delay = ring.numbers.data();
    batch.action_delay_slots = ring.rows;
    batch.action_delay_steps = memory_.action_delay.data();
  }
  return batch;
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::step(const FleetCommand<T>& command, int substeps,
                                    ExecutorRef executor, const FleetMotionEstimate<T>& estimate) {
  samplers_.require_idle();
  detail::check_substeps(substeps);
  const Span<const T>* rows = command.parts;
  for (const FleetCommandPart& part : parts_of(command.kind)) {
    const auto width = static_cast<std::size_t>(part.width_for(rotors()));
    if (!part.is_optional || !rows->empty()) {
      detail::check_count(rows->size(), size() * width, 0, part.name);
    }
    ++rows;
  }
  using Of = FleetCommandKind::Level;
  if (command.kind.level != Of::speeds) plan_.require_rank();
  if (command.kind.level == Of::outer) return step_outer(command, estimate, substeps, executor);
  FleetBatch<T> batch = this->batch();
  const bool has_rates = command.kind.level == Of::rates;
  if (has_rates) {
    batch.rates = command.parts[0].data(), batch.thrust = command.parts[1].data();
  } else {
    batch.speeds = command.parts[0].data();
  }
  const Level level = has_rates ? Level::rates : Level::speeds;
  outer_.loop = -1;
  begin(level);
  advance(batch, level, substeps, executor, [](std::size_t, std::size_t) {});
}

/// Prepares a call of step().
template <class T, int N>
void Fleet<Multicopter<N>, T>::begin(Level level) {
  if (level != level_) {
    level_ = level;
    for (std::size_t i = 0; i < size() && !memory_.past_actions.empty(); ++i) fill_actions(i);
  }
  if (plan_.switches.ground) {
    for (std::size_t i = 0; i < size(); ++i) memory_.at(FleetLayout::contact, i) = T(0);
  }
}

template <class T, int N>
template <class Before>
void Fleet<Multicopter<N>, T>::advance(FleetBatch<T>& batch, Level level, int substeps,
                                       ExecutorRef executor, const Before& before) {
  bool is_first = true;
  const auto step = plan_.kernel(level == Level::rates);
  while (substeps > 0) {
    batch.step = steps_;
    batch.substeps = 0;
    double imu_phase = imu_phase_;
    bool is_due = false;
    const int piece = samplers_.steps_to_next(steps_, substeps);
    while (!is_due && batch.substeps < piece) {
      ++batch.substeps;
      is_due = plan_.switches.imu_is_slower &&
               sample_is_due(imu_phase, options().dt, vehicle().imu.rate);
    }
    detail::in_chunks(memory_.blocks(), static_cast<std::size_t>(batch.substeps), executor,
                      [&](std::size_t first, std::size_t last) {
                        if (is_first) before(first, last);
                        step(batch, first, last);
                      });
    is_first = false;
    steps_ += static_cast<std::uint64_t>(batch.substeps);
    substeps -= batch.substeps;
    imu_phase_ = imu_phase;
    if (is_due) {
      batch.step = steps_;
      measure(batch, memory_.field(FleetLayout::held_accelerometer), memory_.stride(), executor);
    }
    samplers_.sample(steps_);
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::measure(const FleetBatch<T>& batch, T* readings, std::size_t stride,
                                       ExecutorRef executor) const {
  detail::in_chunks(memory_.blocks(), 4, executor, [&](std::size_t first, std::size_t last) {
    plan_.kernels.measure(batch, first, last, readings, stride);
  });
}

}  // namespace propwash
