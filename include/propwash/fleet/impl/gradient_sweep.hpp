#pragma once
// The derivatives of FleetGradient; include propwash/fleet/gradient.hpp.

#include <algorithm>

#include "propwash/fleet/impl/gradient_replay.hpp"

namespace propwash {

/// The derivatives of a group of vehicles: cotangents or tangents of all numbers that steps
/// carry on.
template <class T, int N>
struct FleetGradient<Multicopter<N>, T>::Sweep {
  Sweep(const FleetGradient& all, std::size_t group, bool is_pull)
      : g(all),
        replay(all, group),
        step(is_pull ? g.step_.pull : g.step_.push),
        limits(is_pull ? g.limits_.pull : g.limits_.push),
        loop(is_pull ? g.loop_.pull : g.loop_.push),
        state(rows(replay.state_width)),
        memory(rows(g.loop_memory_)),
        action(rows(replay.action_width)),
        held(rows(replay.action_width)),
        command(rows(g.command_width_)),
        numbers(rows(g.numbers_.requested)),
        motor_ring(rows(g.motor_slots_ * g.setting_.rotors)),
        action_ring(rows(g.action_slots_ * replay.action_width)) {
    const auto prepare = [&](detail::TraceCall& call, const detail::TraceFunction& f) {
      call.set(f.first_number(), replay.numbers.data(), f.numbers);
      call.set(f.moving, replay.environment.data(), f.fixed);
    };
    prepare(step, g.step_), prepare(limits, g.limits_), prepare(loop, g.loop_);
  }

  // ---- reverse ----

  void pull(const FleetRecord<const double>& cotangents, const FleetVariables<double>& to,
            std::size_t window) {
    for (std::size_t k = g.points_.size(); k-- > 0;) {
      add_cotangents(cotangents, k);
      pull_command(g.points_[k]);
      if (to.commands != nullptr) {
        scatter(command, g.command_width_, to.commands + k * g.size_ * command_columns());
      }
      if (window > 0 && k > 0 && k % window == 0) detach();
    }
    if (to.start != nullptr) scatter(state, g.state_width(), to.start);
    if (to.motor_commands != nullptr) add_motor_history(to.motor_commands);
    if (to.parameters != nullptr) add_parameters(to.parameters);
  }

  /// The same for one command, with the cotangents of the memory from and to the caller.
  void pull(const Point& point, const FleetRecord<const double>& cotangents, double* carried,
            const FleetVariables<double>& to) {
    const int width = g.memory_width();
    double* const own = carried + replay.first * static_cast<std::size_t>(width);
    add_cotangents(cotangents, 0);
    for_each_memory([&](Rows& numbers, int row, int count, int column) {
      gather(carried + column, count, numbers, row, width);
    });
    pull_command(point);
    std::fill_n(own, replay.present() * static_cast<std::size_t>(width), 0.0);
    for_each_memory([&](const Rows& numbers, int row, int count, int column) {
      scatter(numbers, count, carried + column, row, width);
    });
    if (to.commands != nullptr) scatter(command, g.command_width_, to.commands);
    if (to.start != nullptr) scatter(state, g.state_width(), to.start);
    if (to.parameters != nullptr) add_parameters(to.parameters);
  }

  /// Propagates the cotangents from the end of a command to its start.
  void pull_command(const Point& point) {
    replay.run(point);
    std::fill(command.begin(), command.end(), 0.0);
    for (int s = point.substeps - 1; s >= 0; --s) {
      pull_step(point.step + static_cast<std::uint64_t>(s), s);
      if (g.is_due(point, s)) pull_action(s);
    }
  }

  void pull_step(std::uint64_t at, int s) {
    const int rotors = g.setting_.rotors, delay = g.setting_.motor_delay_steps;
    const int action_at = replay.state_width, delayed_at = action_at + replay.action_width;
    const int numbers_at = delayed_at + replay.delayed_width;
    set_inputs(s);
    step.set(g.step_.first_seed(), state.data(), replay.state_width);
    if (g.motor_slots_ > 0) {
      double* const newest = motor_slot(at, 0);
      step.set(g.step_.first_seed() + replay.state_width, newest, rotors);
      std::fill_n(newest, rows(rotors), 0.0);
    }
    step.run(g.runner_);
    step.get(0, replay.state_width, state.data());
    if (replay.delayed_width > 0) {
      int from = delayed_at;
      for (int ago = delay == 0 ? 1 : delay; ago <= delay + 1; ++ago, from += rotors) {
        step.add(from, rotors, motor_slot(at, ago));
      }
    }
    step.add(numbers_at, g.numbers_.requested, numbers.data());
    if (g.action_slots_ == 0) return step.add(action_at, replay.action_width, action.data());
    for (std::size_t lane = 0; lane < replay.present(); ++lane) {
      double* const from = action_slot(at, g.action_delay_[replay.first + lane]);
      for (int i = 0; i < replay.action_width; ++i) {
        from[rows(i) + lane] += step.output(action_at + i)[lane];
      }
    }
    double* const newest = action_slot(at, 0);
    for (std::size_t i = 0; i < action.size(); ++i) action[i] += newest[i];
    std::fill_n(newest, action.size(), 0.0);
  }

  /// Propagates cotangents from the action to the command, through the outer loop if there is one.
  void pull_action(int s) {
    if (g.limits_.moving > 0) {
      limits.set(0, replay.raw_action(s), replay.action_width);
      limits.set(g.limits_.first_seed(), action.data(), replay.action_width);
      limits.run(g.runner_);
      limits.get(0, replay.action_width, action.data());
      limits.add(replay.action_width, g.numbers_.requested, numbers.data());
    }
    if (g.loop_.moving == 0) {
      for (std::size_t i = 0; i < action.size(); ++i) command[i] += action[i];
    } else {
      loop.set(0, replay.loop_inputs(s), g.loop_.moving);
      loop.set(g.loop_.first_seed(), action.data(), replay.action_width);
      loop.set(g.loop_.first_seed() + replay.action_width, memory.data(), g.loop_memory_);
      loop.run(g.runner_);
      loop.add(0, replay.state_width, state.data());
      loop.get(replay.state_width, g.loop_memory_, memory.data());
      loop.add(replay.state_width + g.loop_memory_, g.command_width_, command.data());
      loop.add(g.loop_.moving, g.numbers_.requested, numbers.data());
    }
    std::fill(action.begin(), action.end(), 0.0);
  }

  void detach() {
    for (Rows* each : {&state, &memory, &action, &motor_ring, &action_ring}) {
      std::fill(each->begin(), each->end(), 0.0);
    }
  }

  // ---- forward ----

  void push(const FleetVariables<const double>& tangents, const FleetRecord<double>& to) {
    read_tangents(tangents);
    for (std::size_t k = 0; k < g.points_.size(); ++k) {
      const Point& point = g.points_[k];
      replay.run(point);
      std::fill(command.begin(), command.end(), 0.0);
      if (tangents.commands != nullptr) {
        gather(tangents.commands + k * g.size_ * command_columns(), g.command_width_, command);
      }
      for (int s = 0; s < point.substeps; ++s) {
        if (g.is_due(point, s)) push_action(s);
        push_step(point.step + static_cast<std::uint64_t>(s), s);
      }
      write_tangents(to, k);
    }
  }

  void push_action(int s) {
    if (g.loop_.moving == 0) {
      std::copy(command.begin(), command.end(), held.begin());
    } else {
      const int seed = g.loop_.first_seed();
      loop.set(0, replay.loop_inputs(s), g.loop_.moving);
      loop.set(seed, state.data(), replay.state_width);
      loop.set(seed + replay.state_width, memory.data(), g.loop_memory_);
      loop.set(seed + replay.state_width + g.loop_memory_, command.data(), g.command_width_);
      loop.set(seed + g.loop_.moving, numbers.data(), g.numbers_.requested);
      loop.run(g.runner_);
      loop.get(0, replay.action_width, held.data());
      loop.get(replay.action_width, g.loop_memory_, memory.data());
    }
    if (g.limits_.moving == 0) return;
    limits.set(0, replay.raw_action(s), replay.action_width);
    limits.set(g.limits_.first_seed(), held.data(), replay.action_width);
    limits.set(g.limits_.first_seed() + replay.action_width, numbers.data(), g.numbers_.requested);
    limits.run(g.runner_);
    limits.get(0, replay.action_width, held.data());
  }

  void push_step(std::uint64_t at, int s) {
    const int rotors = g.setting_.rotors, delay = g.setting_.motor_delay_steps;
    const double* now = held.data();
    if (g.action_slots_ > 0) {
      std::copy(held.begin(), held.end(), action_slot(at, 0));
      for (std::size_t lane = 0; lane < replay.present(); ++lane) {
        const double* const from = action_slot(at, g.action_delay_[replay.first + lane]);
        for (int i = 0; i < replay.action_width; ++i) action[rows(i) + lane] = from[rows(i) + lane];
      }
      now = action.data();
    }
    set_inputs(s);
    int seed = g.step_.first_seed();
    const auto set = [&](const double* from, int count) {
      step.set(seed, from, count);
      seed += count;
    };
    set(state.data(), replay.state_width);
    set(now, replay.action_width);
    if (replay.delayed_width > 0) {
      for (int ago = delay == 0 ? 1 : delay; ago <= delay + 1; ++ago)
        set(motor_slot(at, ago), rotors);
    }
    set(numbers.data(), g.numbers_.requested);
    step.run(g.runner_);
    step.get(0, replay.state_width, state.data());
    if (g.motor_slots_ > 0) step.get(replay.state_width, rotors, motor_slot(at, 0));
  }

 private:
  static std::size_t rows(int count) { return static_cast<std::size_t>(count) * lanes; }
  std::size_t command_columns() const { return static_cast<std::size_t>(g.command_width_); }
  static double* slot_of(Rows& ring, int slots, int width, std::uint64_t at, std::uint64_t ago) {
    const auto count = static_cast<std::uint64_t>(slots);
    return ring.data() + (at + count - ago) % count * rows(width);
  }
  double* motor_slot(std::uint64_t at, int ago) {
    return slot_of(motor_ring, g.motor_slots_, g.setting_.rotors, at,
                   static_cast<std::uint64_t>(ago));
  }
  double* action_slot(std::uint64_t at, std::uint64_t ago) {
    return slot_of(action_ring, g.action_slots_, replay.action_width, at, ago);
  }

  void set_inputs(int s) {
    step.set(0, replay.state(s), replay.state_width);
    step.set(replay.state_width, replay.action(s), replay.action_width);
    if (replay.delayed_width > 0) {
      step.set(replay.state_width + replay.action_width, replay.delayed_commands(s),
               replay.delayed_width);
    }
  }

  /// Calls f(rows, first row, count, column) for the numbers, besides the physical state, that a
  /// command leaves to the next one. column: of the caller's array.
  template <class F>
  void for_each_memory(const F& f) {
    const int kept = g.setting_.kept_commands();
    int column = 0;
    const auto part = [&](Rows& numbers, int row, int count) {
      if (count > 0) f(numbers, row, count, column);
      column += count;
    };
    part(motor_ring, 0, g.motor_slots_ * g.setting_.rotors);
    part(state, replay.state_width - kept, kept);
    part(state, g.state_width(), g.setting_.controller());
    if (g.loop_.moving > 0) part(memory, 0, g.loop_memory_), part(action, 0, replay.action_width);
    part(action_ring, 0, g.action_slots_ * replay.action_width);
  }

  /// scatter adds rows of numbers to `count` columns of an array (size, width); gather adds those
  /// columns to rows. width: `count` unless specified.
  void scatter(const Rows& from, int count, double* to, int first_row = 0, int width = 0) const {
    const auto columns = static_cast<std::size_t>(count);
    const auto stride = width > 0 ? static_cast<std::size_t>(width) : columns;
    for (std::size_t lane = 0; lane < replay.present(); ++lane) {
      for (std::size_t c = 0; c < columns; ++c) {
        to[(replay.first + lane) * stride + c] += from[rows(first_row) + c * lanes + lane];
      }
    }
  }
  void gather(const double* from, int count, Rows& to, int first_row = 0, int width = 0) const {
    const auto columns = static_cast<std::size_t>(count);
    const auto stride = width > 0 ? static_cast<std::size_t>(width) : columns;
    for (std::size_t lane = 0; lane < replay.present(); ++lane) {
      for (std::size_t c = 0; c < columns; ++c) {
        to[rows(first_row) + c * lanes + lane] += from[(replay.first + lane) * stride + c];
      }
    }
  }
  template <class Record, class F>
  void for_each_part(const Record& record, std::size_t k, const F& f) const {
    int row = 0;
    const auto part = [&](auto* numbers, int width) {
      if (numbers != nullptr)
        f(numbers + k * g.size_ * static_cast<std::size_t>(width), width, row);
      row += width;
    };
    part(record.position, 3), part(record.velocity, 3), part(record.attitude, 4);
    part(record.body_rates, 3), part(record.rotor_speeds, g.setting_.rotors);
  }
  void add_cotangents(const FleetRecord<const double>& from, std::size_t k) {
    for_each_part(from, k, [&](const double* numbers, int width, int row) {
      gather(numbers, width, state, row);
    });
  }
  void write_tangents(const FleetRecord<double>& to, std::size_t k) const {
    for_each_part(
        to, k, [&](double* numbers, int width, int row) { scatter(state, width, numbers, row); });
  }

  void add_motor_history(double* to) const {
    const int rotors = g.setting_.rotors;
    for (int slot = 0; slot < g.motor_slots_; ++slot)
      scatter(motor_ring, rotors, to, slot * rotors);
    const int kept = g.setting_.kept_commands();
    if (kept > 0) scatter(state, kept, to, replay.state_width - kept);
  }
  template <class F>
  void for_each_slope(const F& f) const {
    const auto count = static_cast<std::size_t>(g.numbers_.requested);
    const auto width = static_cast<std::size_t>(g.parameter_width_);
    for (std::size_t lane = 0; lane < replay.present(); ++lane) {
      const std::size_t vehicle = g.is_individual_ ? replay.first + lane : 0;
      for (std::size_t w = 0; w < count; ++w) {
        for (std::size_t p = 0; p < width; ++p) {
          f(w * lanes + lane, (replay.first + lane) * width + p,
            g.slopes_[(vehicle * count + w) * width + p]);
        }
      }
    }
  }
  void add_parameters(double* to) const {
    for_each_slope([&](std::size_t number, std::size_t parameter, double slope) {
      to[parameter] += numbers[number] * slope;
    });
  }
  void read_tangents(const FleetVariables<const double>& from) {
    if (from.start != nullptr) gather(from.start, g.state_width(), state);
    if (from.motor_commands != nullptr) {
      const int rotors = g.setting_.rotors;
      for (int slot = 0; slot < g.motor_slots_; ++slot) {
        gather(from.motor_commands, rotors, motor_ring, slot * rotors);
      }
      const int kept = g.setting_.kept_commands();
      if (kept > 0) gather(from.motor_commands, kept, state, replay.state_width - kept);
    }
    if (from.parameters == nullptr) return;
    for_each_slope([&](std::size_t number, std::size_t parameter, double slope) {
      numbers[number] += from.parameters[parameter] * slope;
    });
  }

  const FleetGradient& g;
  Replay replay;
  detail::TraceCall step, limits, loop;
  Rows state, memory, action, held, command, numbers, motor_ring, action_ring;
};

template <class T, int N>
void FleetGradient<Multicopter<N>, T>::pull(const FleetRecord<const double>& cotangents,
                                            const FleetVariables<double>& to, std::size_t window,
                                            ExecutorRef executor) const {
  executor(group_count(),
           [&](std::size_t group) { Sweep(*this, group, true).pull(cotangents, to, window); });
}

template <class T, int N>
void FleetGradient<Multicopter<N>, T>::pull(const Point& point,
                                            const FleetRecord<const double>& cotangents,
                                            double* memory, const FleetVariables<double>& to,
                                            ExecutorRef executor) const {
  executor(group_count(), [&](std::size_t group) {
    Sweep(*this, group, true).pull(point, cotangents, memory, to);
  });
}

template <class T, int N>
int FleetGradient<Multicopter<N>, T>::memory_width() const {
  const int of_loop = loop_.moving > 0 ? loop_memory_ + setting_.action() : 0;
  return history_width() + setting_.controller() + of_loop + action_slots_ * setting_.action();
}

template <class T, int N>
void FleetGradient<Multicopter<N>, T>::push(const FleetVariables<const double>& tangents,
                                            const FleetRecord<double>& to,
                                            ExecutorRef executor) const {
  executor(group_count(),
           [&](std::size_t group) { Sweep(*this, group, false).push(tangents, to); });
}

}  // namespace propwash
