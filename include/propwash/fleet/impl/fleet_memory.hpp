#pragma once
/// @file
/// The memory of a fleet: state, delayed commands, ids and resets of its vehicles.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "propwash/fleet/fleet_types.hpp"
#include "propwash/fleet/impl/blocks.hpp"
#include "propwash/fleet/impl/layout.hpp"
#include "propwash/fleet/impl/restart.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash::detail {

template <class T>
Quat<T> attitude_of(const FleetState<T>& state, std::size_t vehicle) {
  const T* const q = row_of(state.attitude, 4, vehicle);
  return {q[0], q[1], q[2], q[3]};
}

/// The state and the inputs of a fleet's vehicles, except the state of the outer loops.
template <class T>
struct FleetMemory {
  struct Extent {
    int first, count;
  };

  std::size_t size;
  int rotors;
  FleetBlocks<T> state;                     ///< fields of FleetLayout
  FleetBlocks<T> past_motor_commands;       ///< ring buffer of past motor commands; empty: no delay
  FleetBlocks<T> past_actions;              ///< ring buffer of past actions; empty: no delay
  std::vector<std::uint32_t> action_delay;  ///< steps, of each vehicle
  std::vector<std::uint32_t> ids;           ///< of the vehicles, padded to whole blocks
  std::vector<std::uint64_t> reset_at;      ///< step of each vehicle's reset, padded

  /// Slots of the ring buffers; 0: no delay.
  FleetMemory(std::size_t vehicles, int rotor_count, std::size_t lanes, std::uint32_t first_id,
              int motor_slots, int action_slots)
      : size(vehicles), rotors(rotor_count) {
    const std::size_t padded = (size + lanes - 1) / lanes * lanes;
    state = {padded, lanes, 1, layout().size()};
    if (motor_slots > 0) past_motor_commands = {padded, lanes, motor_slots, rotors};
    if (action_slots > 0) {
      past_actions = {padded, lanes, action_slots, std::max(4, rotors)};
      action_delay.resize(padded);
    }
    ids.resize(padded);
    reset_at.resize(padded);
    for (std::size_t i = 0; i < padded; ++i) {
      ids[i] = first_id + static_cast<std::uint32_t>(i);
      at(FleetLayout::voltage_ratio, i) = T(1);
      at(FleetLayout::attitude, i) = T(1);
      for (int r = 0; r < rotors; ++r) at(layout().rotor_effectiveness() + r, i) = T(1);
    }
  }

  FleetLayout layout() const { return {rotors}; }
  std::size_t lanes() const { return state.lanes; }
  std::size_t padded() const { return ids.size(); }
  std::size_t blocks() const { return padded() / lanes(); }
  /// Numbers per block.
  std::size_t stride() const { return state.stride() * lanes(); }
  T& at(int field, std::size_t vehicle) { return state.at(vehicle, 0, field); }
  const T& at(int field, std::size_t vehicle) const { return state.at(vehicle, 0, field); }

  // ---- writing ----

  void write(int field, int width, Span<const T> rows, std::size_t vehicle) {
    if (rows.empty()) return;
    const T* const row = row_of(rows, width, vehicle);
    for (int i = 0; i < width; ++i) at(field + i, vehicle) = row[i];
  }

  void check(const FleetState<T>& parts, Span<const bool> mask) const {
    const auto count = [this](Span<const T> rows, std::size_t width, const char* name) {
      if (!rows.empty()) check_count(rows.size(), size * width, width, name);
    };
    count(parts.position, 3, "position");
    count(parts.velocity, 3, "velocity");
    count(parts.attitude, 4, "attitude");
    count(parts.body_rates, 3, "body_rates");
    count(parts.rotor_speeds, static_cast<std::size_t>(rotors), "rotor_speeds");
    if (!mask.empty()) check_count(mask.size(), size, 0, "mask");
    for (std::size_t i = 0; i < size; ++i) {
      if (!mask.empty() && !mask[i]) continue;
      const auto finite = [&](Span<const T> rows, int width, const char* name) {
        if (!rows.empty()) check_finite(row_of(rows, width, i), width, name);
      };
      finite(parts.position, 3, "position");
      finite(parts.velocity, 3, "velocity");
      finite(parts.body_rates, 3, "body_rates");
      finite(parts.rotor_speeds, rotors, "rotor_speeds");
      if (!parts.attitude.empty()) checked_attitude(attitude_of(parts, i), "attitude");
    }
  }

  void write(std::size_t vehicle, const FleetState<T>& parts) {
    const auto row = [&](Span<const T> rows, int width) {
      return rows.empty() ? nullptr : row_of(rows, width, vehicle);
    };
    write_state<T>([&](int field) -> T& { return at(field, vehicle); }, rotors,
                   {{row(parts.position, 3), row(parts.velocity, 3), row(parts.attitude, 4),
                     row(parts.body_rates, 3), row(parts.rotor_speeds, rotors)}});
  }

  /// Puts a vehicle at rest at the origin at step `now`, with the rotors at `speeds`; wind and
  /// other inputs stay.
  void restart(std::size_t vehicle, const T* speeds, std::uint64_t now) {
    for (int field = 0; field < FleetLayout::wind; ++field) at(field, vehicle) = T(0);
    at(FleetLayout::attitude, vehicle) = T(1);
    at(FleetLayout::contact, vehicle) = T(0);
    at(FleetLayout::diverged, vehicle) = T(0);
    for (int i = 0; i < rotors; ++i) at(FleetLayout::rotor_speeds + i, vehicle) = speeds[i];
    set_charge(vehicle, 1.0);
    reset_at[vehicle] = now;
  }

  /// Sets the battery to one at rest.
  void set_charge(std::size_t vehicle, double state_of_charge) {
    auto battery = battery_at_rest<T>(state_of_charge);
    int field = FleetLayout::battery;
    for_each_number(battery, [&](const T& number) { at(field++, vehicle) = number; });
  }

  /// Sets present and past motor commands to the present rotor speeds.
  void settle_motors(std::size_t vehicle) {
    detail::settle_motors<T>(
        [&](int field) -> T& { return at(field, vehicle); }, layout(), past_motor_commands.rows,
        [&](int slot, int r) -> T& { return past_motor_commands.at(vehicle, slot, r); });
  }
  /// Sets all past actions to one action of `count` numbers.
  void fill_actions(std::size_t vehicle, const T* action, int count) {
    for (int slot = 0; slot < past_actions.rows; ++slot) {
      for (int i = 0; i < count; ++i) past_actions.at(vehicle, slot, i) = action[i];
    }
  }

  // ---- reading ----

  /// The fields of a vehicle with `layout`.
  static Extent extent(FleetField field, FleetLayout layout) {
    switch (field) {
      case FleetField::position:
        return {FleetLayout::position, 3};
      case FleetField::velocity:
        return {FleetLayout::velocity, 3};
      case FleetField::attitude:
        return {FleetLayout::attitude, 4};
      case FleetField::body_rates:
        return {FleetLayout::body_rates, 3};
      case FleetField::rotor_speeds:
        return {FleetLayout::rotor_speeds, layout.rotors};
      case FleetField::rotor_command:
        return {layout.rotor_command(), layout.rotors};
      case FleetField::rotor_effectiveness:
        return {layout.rotor_effectiveness(), layout.rotors};
      case FleetField::wind:
        return {FleetLayout::wind, 3};
      case FleetField::external_force:
        return {FleetLayout::external_force, 3};
      case FleetField::external_torque:
        return {FleetLayout::external_torque, 3};
      case FleetField::accelerometer_bias:
        return {FleetLayout::accelerometer_bias, 3};
      case FleetField::gyroscope_bias:
        return {FleetLayout::gyroscope_bias, 3};
      case FleetField::battery_voltage:
        return {FleetLayout::voltage_ratio, 1};
      case FleetField::battery_current:
        return {FleetLayout::battery_current, 1};
      case FleetField::state_of_charge:
        return {FleetLayout::battery, 1};
      case FleetField::contact:
        return {FleetLayout::contact, 1};
      case FleetField::diverged:
        return {FleetLayout::diverged, 1};
    }
    return {0, 0};
  }

  /// The first number of a field in the first block.
  const T* field(int first) const {
    return state.numbers.data() + static_cast<std::size_t>(first) * lanes();
  }
  T* field(int first) { return state.numbers.data() + static_cast<std::size_t>(first) * lanes(); }

  void read(FleetField which, Span<T> rows) const {
    const Extent fields = extent(which, layout());
    check_count(rows.size(), size * static_cast<std::size_t>(fields.count), 0, "rows");
    copy_rows(field(fields.first), stride(), lanes(), size, fields.count, rows.data());
  }

  void read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                       Span<T> body_rates) const {
    check_count(position.size(), size * 3, 0, "position");
    check_count(velocity.size(), size * 3, 0, "velocity");
    check_count(attitude.size(), size * 4, 0, "attitude");
    check_count(body_rates.size(), size * 3, 0, "body_rates");
    for (std::size_t first = 0; first < size; first += lanes()) {
      const std::size_t block = first / lanes() * stride();
      const std::size_t present = std::min(lanes(), size - first);
      const auto copy = [&](int from, auto width, Span<T> to) {
        copy_block<width()>(field(from) + block, lanes(), present, width(),
                            to.data() + first * width());
      };
      using Three = std::integral_constant<std::size_t, 3>;
      copy(FleetLayout::position, Three{}, position);
      copy(FleetLayout::velocity, Three{}, velocity);
      copy(FleetLayout::attitude, std::integral_constant<std::size_t, 4>{}, attitude);
      copy(FleetLayout::body_rates, Three{}, body_rates);
    }
  }

  /// Visits every number of one vehicle, in an order that does not depend on the instruction set.
  /// Memory is FleetMemory<T>, const or not.
  template <class Memory, class Visit>
  static void visit(Memory& memory, std::size_t i, Visit& visit) {
    const FleetLayout layout = memory.layout();
    visit(memory.ids[i]);
    visit(memory.reset_at[i]);
    if (!memory.past_actions.empty()) visit(memory.action_delay[i]);
    for (int field = 0; field < layout.size(); ++field) visit(memory.at(field, i));
    for (auto* ring : {&memory.past_motor_commands, &memory.past_actions}) {
      for (int slot = 0; slot < ring->rows; ++slot) {
        for (int k = 0; k < ring->width; ++k) visit(ring->at(i, slot, k));
      }
    }
  }
  /// Bytes that visit() visits.
  std::size_t visited_bytes() const {
    const std::size_t numbers =
        state.stride() + past_motor_commands.stride() + past_actions.stride();
    const std::size_t delay = past_actions.empty() ? 0 : sizeof(std::uint32_t);
    return sizeof(std::uint32_t) + sizeof(std::uint64_t) + delay + numbers * sizeof(T);
  }
};

}  // namespace propwash::detail
