#pragma once
// Repeats the steps of a command for a group of vehicles; include propwash/fleet/gradient.hpp.

#include <algorithm>

#include "propwash/fleet/gradient.hpp"

namespace propwash {

/// The inputs of the traced functions in the steps of a command, for trace_lanes vehicles. Rows
/// have a number for each of these vehicles; those beyond the last vehicle are zero.
template <class T, int N>
struct FleetGradient<Multicopter<N>, T>::Replay {
  Replay(const FleetGradient& all, std::size_t group)
      : g(all),
        first(group * lanes),
        lanes_of_block(g.fleet_lanes_),
        first_block(first / lanes_of_block),
        blocks(std::min(lanes / lanes_of_block,
                        (g.size_ + lanes_of_block - 1) / lanes_of_block - first_block)),
        state_width(g.setting_.state()),
        action_width(g.setting_.action()),
        delayed_width(g.setting_.delayed()),
        scratch(blocks * g.block_stride()),
        action_rows(lanes * static_cast<std::size_t>(action_width)),
        environment(size_of(g.setting_.environment())),
        numbers(size_of(g.numbers_.count())),
        held(size_of(action_width)),
        run_limits(g.limits_.run),
        run_loop(g.loop_.run) {
    std::copy_n(g.state_.data() + first_block * g.block_stride(), scratch.size(), scratch.data());
    read_environment();
    for (std::size_t lane = 0; lane < present(); ++lane) {
      const std::size_t row = g.is_individual_ ? first + lane : 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(g.numbers_.count()); ++k) {
        numbers[k * lanes + lane] =
            g.values_[row * static_cast<std::size_t>(g.numbers_.count()) + k];
      }
    }
    run_limits.set(g.limits_.first_number(), numbers.data(), g.limits_.numbers);
    run_loop.set(g.loop_.first_number(), numbers.data(), g.loop_.numbers);
    run_loop.set(g.loop_.moving, environment.data(), g.loop_.fixed);
  }

  /// Repeats the steps of a command.
  void run(const Point& point) {
    const auto count = static_cast<std::size_t>(point.substeps);
    states.resize(count * size_of(state_width));
    actions.resize(count * size_of(action_width));
    delayed.resize(count * size_of(delayed_width));
    loops.resize(count * size_of(g.loop_.moving));
    raw.resize(count * size_of(action_width));
    load(point);
    for (int s = 0; s < point.substeps; ++s) {
      const std::uint64_t step = point.step + static_cast<std::uint64_t>(s);
      read_state(state(s));
      if (g.loop_.moving > 0) {
        if (g.is_due(point, s)) update_loop(s);
        set_action(held.data(), s);
      } else if (s == 0) {
        std::copy_n(command.data(), size_of(action_width), held.data());
        set_action(held.data(), s);
      } else {
        std::copy_n(raw_action(0), size_of(action_width), raw_action(s));
        std::copy_n(action(0), size_of(action_width), action(s));
      }
      step_blocks(step);
      if (g.action_slots_ > 0) read_actions(step, action(s));
      if (delayed_width > 0) read_delayed(step, delayed.data() + at(s, delayed_width));
    }
  }

  double* state(int s) { return states.data() + at(s, state_width); }
  /// The action of a step, within the limits, after its delay.
  double* action(int s) { return actions.data() + at(s, action_width); }
  /// The action before limits and delay.
  double* raw_action(int s) { return raw.data() + at(s, action_width); }
  double* loop_inputs(int s) { return loops.data() + at(s, g.loop_.moving); }
  double* delayed_commands(int s) { return delayed.data() + at(s, delayed_width); }
  std::size_t present() const { return std::min(lanes, g.size_ - first); }
  static std::size_t size_of(int rows) { return static_cast<std::size_t>(rows) * lanes; }

  const FleetGradient& g;
  std::size_t first, lanes_of_block, first_block, blocks;
  int state_width, action_width, delayed_width;

 private:
  static std::size_t at(int s, int width) { return static_cast<std::size_t>(s) * size_of(width); }

  /// Copies a field of the blocks to a row.
  void read_field(const T* blocks_of, std::size_t stride, std::size_t field, double* to) const {
    for (std::size_t b = 0; b < blocks; ++b) {
      const T* const from = blocks_of + b * stride + field * lanes_of_block;
      std::copy_n(from, lanes_of_block, to + b * lanes_of_block);
    }
  }
  void read_fields(int field, int count, double* to) const {
    for (int k = 0; k < count; ++k) {
      read_field(scratch.data(), g.block_stride(), static_cast<std::size_t>(field + k),
                 to + size_of(k));
    }
  }

  void read_environment() {
    using Layout = FleetLayout;
    double* to = environment.data();
    const auto read = [&](bool is_on, int field, int count) {
      if (!is_on) return;
      read_fields(field, count, to);
      to += size_of(count);
    };
    read(g.setting_.switches.battery, Layout::voltage_ratio, 1);
    read(g.setting_.switches.wind, Layout::wind, 3);
    read(g.setting_.switches.external_wrench, Layout::external_force, 3);
    read(g.setting_.switches.external_wrench, Layout::external_torque, 3);
  }

  void load(const Point& point) {
    const std::size_t stride = g.point_stride(), head = g.point_head();
    for (std::size_t b = 0; b < blocks; ++b) {
      const T* const from = point.state.data() + (first_block + b) * stride;
      T* const to = scratch.data() + b * g.block_stride();
      std::copy_n(from, head, to);
      std::copy_n(from + head, stride - head,
                  to + static_cast<std::size_t>(FleetLayout::rotor_speeds) * lanes_of_block);
    }
    const auto part = [&](const Blocks& from, Blocks& to, std::size_t per_vehicle) {
      const std::size_t per_block = per_vehicle * lanes_of_block;
      to.assign(from.begin() + static_cast<std::ptrdiff_t>(first_block * per_block),
                from.begin() + static_cast<std::ptrdiff_t>((first_block + blocks) * per_block));
    };
    const int rotors = g.setting_.rotors;
    part(point.motor_delay, motor_ring, static_cast<std::size_t>(g.motor_slots_ * rotors));
    part(point.action_delay, action_ring,
         static_cast<std::size_t>(g.action_slots_ * std::max(4, rotors)));
    command.assign(size_of(g.command_width_), 0.0);
    const auto width = static_cast<std::size_t>(g.command_width_);
    for (std::size_t lane = 0; lane < present(); ++lane) {
      for (std::size_t c = 0; c < width; ++c) {
        command[c * lanes + lane] = point.command[(first + lane) * width + c];
      }
    }
    if (g.loop_.moving == 0) return;
    memory.assign(size_of(g.loop_memory_), 0.0);
    for (int k = 0; k < g.loop_memory_; ++k) {
      const auto used = static_cast<std::size_t>(g.loop_memory_) * lanes_of_block;
      read_field(point.memory.data() + first_block * used, used, static_cast<std::size_t>(k),
                 memory.data() + size_of(k));
    }
    for (std::size_t lane = 0; lane < present(); ++lane) {
      for (int i = 0; i < action_width && !point.starts_loop; ++i) {
        const std::size_t v = first + lane, k = static_cast<std::size_t>(i);
        const auto w = static_cast<std::size_t>(action_width);
        const bool is_thrust = g.setting_.has_rates && i == 3;
        held[k * lanes + lane] = static_cast<double>(point.held[!g.setting_.has_rates ? v * w + k
                                                                : is_thrust ? 3 * g.size_ + v
                                                                            : 3 * v + k]);
      }
    }
  }

  void read_state(double* to) const {
    const auto& setting = g.setting_;
    const auto read = [&](int field, int count) {
      read_fields(field, count, to);
      to += size_of(count);
    };
    read(FleetLayout::position, setting.body);
    read(FleetLayout::rotor_speeds, setting.rotors);
    read(FleetLayout::controller, setting.controller());
    read(g.layout_.rotor_command(), setting.kept_commands());
  }

  void update_loop(int s) {
    double* const inputs = loop_inputs(s);
    std::copy_n(state(s), size_of(state_width), inputs);
    std::copy_n(memory.data(), memory.size(), inputs + size_of(state_width));
    std::copy_n(command.data(), command.size(), inputs + size_of(state_width + g.loop_memory_));
    run_loop.set(0, inputs, g.loop_.moving);
    run_loop.run(g.runner_);
    run_loop.get(0, action_width, held.data());
    run_loop.get(action_width, g.loop_memory_, memory.data());
  }

  /// Limits an action, and passes it to the kernels.
  void set_action(const double* values, int s) {
    std::copy_n(values, size_of(action_width), raw_action(s));
    if (g.limits_.moving == 0) {
      std::copy_n(values, size_of(action_width), action(s));
    } else {
      run_limits.set(0, values, action_width);
      run_limits.run(g.runner_);
      run_limits.get(0, action_width, action(s));
    }
    const auto width = static_cast<std::size_t>(action_width);
    const bool has_rates = g.setting_.has_rates;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t k = 0; k < width; ++k) {
        const std::size_t to = !has_rates ? lane * width + k
                               : k == 3   ? 3 * lanes + lane
                                          : 3 * lane + k;
        action_rows[to] = static_cast<T>(values[k * lanes + lane]);
      }
    }
  }

  void step_blocks(std::uint64_t step) {
    FleetBatch<T> batch = g.batch_;
    batch.step = step;
    const auto rotors = static_cast<std::size_t>(g.setting_.rotors);
    for (std::size_t b = 0; b < blocks; ++b) {
      batch.state = batch.next_state = scratch.data() + b * g.block_stride();
      batch.constants = g.constants_.data() + (first_block + b) * batch.constants_stride;
      const T* const rows = action_rows.data();
      if (g.setting_.has_rates) {
        batch.rates = rows + b * lanes_of_block * 3;
        batch.thrust = rows + 3 * lanes + b * lanes_of_block;
      } else {
        batch.speeds = rows + b * lanes_of_block * rotors;
      }
      if (g.motor_slots_ > 0)
        batch.motor_delay = motor_ring.data() + b * motor_ring.size() / blocks;
      if (g.action_slots_ > 0) {
        batch.action_delay = action_ring.data() + b * action_ring.size() / blocks;
        batch.action_delay_steps = g.action_delay_.data() + (first_block + b) * lanes_of_block;
      }
      g.kernel_(batch, 0, 1);
    }
  }

  void read_actions(std::uint64_t step, double* to) const {
    const std::size_t width = static_cast<std::size_t>(std::max(4, g.setting_.rotors));
    const auto slots = static_cast<std::uint64_t>(g.action_slots_);
    for (std::size_t lane = 0; lane < blocks * lanes_of_block; ++lane) {
      const std::size_t b = lane / lanes_of_block, l = lane % lanes_of_block;
      const std::uint64_t slot = (step + slots - g.action_delay_[first + lane]) % slots;
      for (std::size_t k = 0; k < static_cast<std::size_t>(action_width); ++k) {
        to[k * lanes + lane] =
            static_cast<double>(action_ring[((b * slots + slot) * width + k) * lanes_of_block + l]);
      }
    }
  }

  void read_delayed(std::uint64_t step, double* to) const {
    const int delay = g.setting_.motor_delay_steps, rotors = g.setting_.rotors;
    const auto slots = static_cast<std::uint64_t>(g.motor_slots_);
    const std::size_t stride = motor_ring.size() / blocks;
    for (int ago = delay == 0 ? 1 : delay; ago <= delay + 1; ++ago) {
      const std::uint64_t slot = (step + slots - static_cast<std::uint64_t>(ago)) % slots;
      for (int k = 0; k < rotors; ++k, to += lanes) {
        read_field(motor_ring.data(), stride,
                   static_cast<std::size_t>(slot) * static_cast<std::size_t>(rotors) +
                       static_cast<std::size_t>(k),
                   to);
      }
    }
  }

  Blocks scratch, motor_ring, action_ring, action_rows;

 public:
  Rows environment, numbers;

 private:
  Rows command, memory, held, states, actions, raw, delayed, loops;
  detail::TraceCall run_limits, run_loop;
};

template <class T, int N>
bool FleetGradient<Multicopter<N>, T>::is_due(const Point& point, int substep) const {
  if (loop_.moving == 0) return substep == 0;
  return (point.step + static_cast<std::uint64_t>(substep)) % interval_ == 0 ||
         (substep == 0 && point.starts_loop);
}

}  // namespace propwash
