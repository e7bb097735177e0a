#pragma once
// The steps of Fleet; include propwash/fleet/fleet.hpp.

#include <algorithm>
#include <stdexcept>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

template <class T, int N>
FleetBatch<T> Fleet<T, N>::batch() const {
  FleetBatch<T> batch;
  batch.state = const_cast<T*>(memory_.data());
  batch.constants = constants_.data();
  batch.constants_stride = own_parameters_ ? kernels_.constants_bytes : 0;
  batch.ids = ids_.data();
  batch.size = size_;
  batch.rotors = rotors_;
  batch.seed = options_.seed;
  batch.step = steps_;
  batch.dt = static_cast<T>(options_.dt);
  batch.switches = switches_;
  batch.floor = static_cast<T>(options_.floor);
  batch.reset_at = reset_at_.data();
  if (!motor_ring_.empty()) {
    batch.motor_delay = const_cast<T*>(motor_ring_.data());
    batch.motor_delay_slots = motor_slots();
    batch.motor_delay_steps = motor_delay_.steps;
    batch.motor_delay_fraction = static_cast<T>(motor_delay_.fraction);
  }
  if (!action_ring_.empty()) {
    batch.action_delay = const_cast<T*>(action_ring_.data());
    batch.action_delay_slots = action_slots();
    batch.action_delay_steps = action_delay_.data();
  }
  return batch;
}

template <class T, int N>
void Fleet<T, N>::require_rank() const {
  if (rank_ == 4) return;
  validate_allocation(vehicle_);
  PROPWASH_THROW(ParameterError("rotors, least rank of the vehicles' allocation matrices = " +
                                std::to_string(rank_) + ": expected 4; command rotor speeds"));
}

template <class T, int N>
void Fleet<T, N>::step(const FleetRateThrust<T>& command, int substeps, ExecutorRef executor) {
  require_rank();
  check_count(command.rates.size(), size_ * 3, 0, "rates");
  check_count(command.thrust.size(), size_, 0, "thrust");
  FleetBatch<T> batch = this->batch();
  batch.rates = command.rates.data();
  batch.thrust = command.thrust.data();
  step_under(batch, Level::rates, substeps, executor);
}

template <class T, int N>
void Fleet<T, N>::step(const FleetRotorSpeeds<T>& command, int substeps, ExecutorRef executor) {
  check_count(command.speeds.size(), size_ * static_cast<std::size_t>(rotors_), 0, "rotor speeds");
  FleetBatch<T> batch = this->batch();
  batch.speeds = command.speeds.data();
  step_under(batch, Level::speeds, substeps, executor);
}

/// The least kernel that has all that is asked for.
template <class T, int N>
typename FleetKernels<T>::Step Fleet<T, N>::kernel(Level level) const {
  const auto& s = switches_;
  auto work = FleetWork::everything;
  const bool plain = level == Level::speeds && !s.bias_walk && !s.wind && !s.ground && !s.battery &&
                     !s.external_wrench && motor_ring_.empty() && action_ring_.empty();
  if (plain) work = s.process_noise ? FleetWork::process_noise : FleetWork::physics;
  const auto& steps = options_.integrator == Integrator::euler ? kernels_.euler : kernels_.rk4;
  return steps[static_cast<int>(work)];
}

/// Steps under a command without outer loops.
template <class T, int N>
void Fleet<T, N>::step_under(FleetBatch<T>& batch, Level level, int substeps,
                             ExecutorRef executor) {
  if (substeps < 1) {
    PROPWASH_THROW(
        std::invalid_argument("substeps = " + std::to_string(substeps) + ": expected at least 1"));
  }
  outer_.loop = -1;
  begin(level);
  advance(batch, level, substeps, executor, [](std::size_t, std::size_t) {});
}

/// What is done once a call.
template <class T, int N>
void Fleet<T, N>::begin(Level level) {
  if (level != level_) {
    level_ = level;
    if (!action_ring_.empty()) {
      for (std::size_t i = 0; i < size_; ++i) fill_action_ring(i);
    }
  }
  if (switches_.ground) {
    for (std::size_t i = 0; i < size_; ++i) at(FleetLayout::contact, i) = T(0);
  }
}

/// How many of `substeps` steps are made before the next sample, at least 1.
template <class T, int N>
int Fleet<T, N>::steps_to_sample(int substeps) const {
  auto piece = static_cast<std::uint64_t>(substeps);
  for (const FleetSampler* sampler : samplers_) {
    const std::uint64_t next = sampler->next_step;
    piece = std::min(piece, next > steps_ ? next - steps_ : 1);
  }
  return static_cast<int>(piece);
}

template <class T, int N>
template <class Before>
void Fleet<T, N>::advance(FleetBatch<T>& batch, Level level, int substeps, ExecutorRef executor,
                          const Before& before) {
  bool is_first = true;
  const auto step = kernel(level);
  while (substeps > 0) {
    batch.step = steps_;
    batch.substeps = 0;
    double imu_phase = imu_phase_;
    bool is_due = false;
    const int piece = steps_to_sample(substeps);
    while (!is_due && batch.substeps < piece) {
      ++batch.substeps;
      is_due = switches_.imu_is_slower && sample_is_due(imu_phase, options_.dt, vehicle_.imu.rate);
    }
    in_chunks(static_cast<std::size_t>(batch.substeps), executor,
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
      measure(batch, memory_.data() + FleetLayout::held_accelerometer * kernels_.lanes,
              static_cast<std::size_t>(layout().size() * kernels_.lanes), executor);
    }
    for (FleetSampler* sampler : samplers_) {
      if (sampler->next_step <= steps_) sampler->sample(steps_);
    }
  }
}

/// f(first, last) over all blocks, in pieces that are worth a thread's while.
template <class T, int N>
template <class F>
void Fleet<T, N>::in_chunks(std::size_t cost_per_block, ExecutorRef executor, const F& f) const {
  const std::size_t all = blocks();
  const std::size_t least =
      std::max<std::size_t>(1, 160 / std::max<std::size_t>(1, cost_per_block));
  const std::size_t piece = std::max(least, all / 64);
  const std::size_t pieces = (all + piece - 1) / piece;
  if (pieces == 1) return f(std::size_t{0}, all);
  executor(pieces, [&](std::size_t i) { f(i * piece, std::min(all, (i + 1) * piece)); });
}

template <class T, int N>
void Fleet<T, N>::measure(const FleetBatch<T>& batch, T* readings, std::size_t stride,
                          ExecutorRef executor) const {
  in_chunks(4, executor, [&](std::size_t first, std::size_t last) {
    kernels_.measure(batch, first, last, readings, stride);
  });
}

}  // namespace propwash
