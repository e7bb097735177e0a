#pragma once
// State, resets and options of Fleet; include propwash/fleet/fleet.hpp.

#include <stdexcept>
#include <string>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

template <class T, int N>
void Fleet<T, N>::check_count(std::size_t count, std::size_t expected, std::size_t for_all,
                              const char* name) {
  if (count == expected || (for_all != 0 && count == for_all)) return;
  PROPWASH_THROW(std::invalid_argument(
      std::string(name) + ", their number = " + std::to_string(count) + ": expected " +
      std::to_string(expected) +
      (for_all != 0 ? ", or " + std::to_string(for_all) + " for all vehicles alike" : "")));
}

template <class T, int N>
void Fleet<T, N>::check_state(const FleetState<T>& state, Span<const bool> mask) const {
  const auto check = [this](Span<const T> rows, std::size_t width, const char* name) {
    if (!rows.empty()) check_count(rows.size(), size_ * width, width, name);
  };
  check(state.position, 3, "position");
  check(state.velocity, 3, "velocity");
  check(state.attitude, 4, "attitude");
  check(state.body_rates, 3, "body_rates");
  check(state.rotor_speeds, static_cast<std::size_t>(rotors_), "rotor_speeds");
  if (!mask.empty()) check_count(mask.size(), size_, 0, "mask");
  for (std::size_t i = 0; i < size_; ++i) {
    if (!mask.empty() && !mask[i]) continue;
    const auto finite = [&](Span<const T> rows, int width, const char* name) {
      if (!rows.empty()) detail::check_finite(row_of(rows, width, i), width, name);
    };
    finite(state.position, 3, "position");
    finite(state.velocity, 3, "velocity");
    finite(state.body_rates, 3, "body_rates");
    finite(state.rotor_speeds, rotors_, "rotor_speeds");
    if (!state.attitude.empty()) detail::checked_attitude(attitude_of(state, i), "attitude");
  }
}

template <class T, int N>
void Fleet<T, N>::write(int field, int width, Span<const T> rows, std::size_t vehicle) {
  if (rows.empty()) return;
  const T* const row = row_of(rows, width, vehicle);
  for (int i = 0; i < width; ++i) at(field + i, vehicle) = row[i];
}

template <class T, int N>
void Fleet<T, N>::write_state(std::size_t vehicle, const FleetState<T>& state) {
  write(FleetLayout::position, 3, state.position, vehicle);
  write(FleetLayout::velocity, 3, state.velocity, vehicle);
  if (!state.attitude.empty()) {
    const auto q = detail::checked_attitude(attitude_of(state, vehicle), "attitude");
    const T numbers[] = {q.w, q.x, q.y, q.z};
    write(FleetLayout::attitude, 4, {numbers, 4}, vehicle);
  }
  write(FleetLayout::body_rates, 3, state.body_rates, vehicle);
  write(FleetLayout::rotor_speeds, rotors_, state.rotor_speeds, vehicle);
  bool finite = true;
  for (int field = 0; field < FleetLayout::filter_value; ++field) {
    finite = finite && is_finite(at(field, vehicle));
  }
  for (int r = 0; r < rotors_; ++r) {
    finite = finite && is_finite(at(FleetLayout::rotor_speeds + r, vehicle));
  }
  at(FleetLayout::diverged, vehicle) = finite ? T(0) : T(1);
}

template <class T, int N>
T& Fleet<T, N>::ring_slot(detail::LineVector<T>& ring, int slots, int width, std::size_t vehicle,
                          int slot, int field) const {
  const auto block = vehicle / lanes();
  const auto row = (block * static_cast<std::size_t>(slots) + static_cast<std::size_t>(slot)) *
                       static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(field);
  return ring[row * lanes() + vehicle % lanes()];
}

template <class T, int N>
void Fleet<T, N>::fill_motor_ring(std::size_t vehicle) {
  const int width = rotors_;
  for (int slot = 0; slot < motor_slots(); ++slot) {
    for (int i = 0; i < rotors_; ++i) {
      ring_slot(motor_ring_, motor_slots(), width, vehicle, slot, i) =
          at(FleetLayout::rotor_speeds + i, vehicle);
    }
  }
}

/// Before its first command, an action that is late is hover.
template <class T, int N>
void Fleet<T, N>::fill_action_ring(std::size_t vehicle) {
  const T* const hover = start(vehicle);
  for (int slot = 0; slot < action_slots(); ++slot) {
    const auto place = [&](int i) -> T& {
      return ring_slot(action_ring_, action_slots(), action_width(), vehicle, slot, i);
    };
    if (level_ == Level::speeds) {
      for (int i = 0; i < rotors_; ++i) place(i) = hover[start_hover + i];
    } else {
      for (int i = 0; i < 3; ++i) place(i) = T(0);
      place(3) = hover[2];
    }
  }
}

template <class T, int N>
void Fleet<T, N>::start_again(std::size_t vehicle) {
  const T* const from = start(vehicle);
  for (int field = 0; field < FleetLayout::wind; ++field) at(field, vehicle) = T(0);
  at(FleetLayout::attitude, vehicle) = T(1);
  at(FleetLayout::contact, vehicle) = T(0);
  at(FleetLayout::diverged, vehicle) = T(0);
  for (int i = 0; i < rotors_; ++i) {
    at(FleetLayout::rotor_speeds + i, vehicle) = from[start_hover + i];
  }
  reset_at_[vehicle] = steps_;
}

/// What a vehicle draws at its reset: biases, and turbulence that has been there for long.
template <class T, int N>
void Fleet<T, N>::draw_start(std::size_t vehicle) {
  const auto draw = [&](Stream stream) {
    return six_normals(options_.seed, ids_[vehicle], steps_, stream);
  };
  if (options_.noise) {
    const T* const from = start(vehicle);
    const SixNormals z = draw(Stream::initial_bias);
    for (int i = 0; i < 3; ++i) {
      at(FleetLayout::accelerometer_bias + i, vehicle) = T(z[i]) * from[0];
      at(FleetLayout::gyroscope_bias + i, vehicle) = T(z[3 + i]) * from[1];
    }
  }
  if (switches_.turbulence) {
    const SixNormals z = draw(Stream::initial_turbulence);
    for (int i = 0; i < 5; ++i) at(FleetLayout::turbulence + i, vehicle) = T(z[i]);
  }
}

template <class T, int N>
void Fleet<T, N>::reset(const FleetState<T>& state, Span<const bool> mask) {
  check_state(state, mask);
  // before anything changes, as memory may be lacking
  detail::LineVector<T> readings(switches_.imu_is_slower ? blocks() * 6 * lanes() : 0);
  for (std::size_t i = 0; i < size_; ++i) {
    if (!mask.empty() && !mask[i]) continue;
    start_again(i);
    draw_start(i);
    write_state(i, state);
    for (int r = 0; r < rotors_; ++r) {
      at(layout().rotor_command() + r, i) = at(FleetLayout::rotor_speeds + r, i);
    }
    if (!motor_ring_.empty()) fill_motor_ring(i);
    if (!action_ring_.empty()) fill_action_ring(i);
    if (outer_.loop >= 0) restart_outer(i);
  }
  refresh_held_readings(mask, readings);
}

template <class T, int N>
void Fleet<T, N>::reset(const FleetState<T>& state, std::uint64_t seed) {
  check_state(state, {});
  options_.seed = seed;
  steps_ = 0;
  imu_phase_ = 0.0;
  level_ = Level::none;
  outer_.loop = -1;
  for (std::size_t i = size_; i < blocks() * lanes(); ++i) start_again(i);
  reset(state);
}

template <class T, int N>
void Fleet<T, N>::set_state(const FleetState<T>& state, Span<const bool> mask) {
  check_state(state, mask);
  for (std::size_t i = 0; i < size_; ++i) {
    if (mask.empty() || mask[i]) write_state(i, state);
  }
}

/// A reading that is held from before a reset would be of another flight.
template <class T, int N>
void Fleet<T, N>::refresh_held_readings(Span<const bool> mask, detail::LineVector<T>& readings) {
  if (!switches_.imu_is_slower) return;
  const std::size_t width = 6 * lanes();
  measure(batch(), readings.data(), width, {});
  for (std::size_t i = 0; i < size_; ++i) {
    if (!mask.empty() && !mask[i]) continue;
    for (std::size_t k = 0; k < 6; ++k) {
      at(FleetLayout::held_accelerometer + static_cast<int>(k), i) =
          readings[i / lanes() * width + k * lanes() + i % lanes()];
    }
  }
}

template <class T, int N>
void Fleet<T, N>::set_wind(Span<const T> wind) {
  check_count(wind.size(), size_ * 3, 3, "wind");
  for (std::size_t i = 0; i < size_; ++i) write(FleetLayout::wind, 3, wind, i);
  switches_.wind = true;
}

template <class T, int N>
void Fleet<T, N>::set_battery_voltage(Span<const T> voltage) {
  check_count(voltage.size(), size_, 1, "voltage");
  const double nominal = vehicle_.battery.nominal_voltage;
  if (!(nominal > 0.0)) return;
  for (std::size_t i = 0; i < size_; ++i) {
    const T volts = voltage[voltage.size() == 1 ? 0 : i];
    at(FleetLayout::voltage_ratio, i) = static_cast<T>(static_cast<double>(volts) / nominal);
  }
}

template <class T, int N>
void Fleet<T, N>::set_external_wrench(Span<const T> force_W, Span<const T> torque_B) {
  check_count(force_W.size(), size_ * 3, 3, "force_W");
  check_count(torque_B.size(), size_ * 3, 3, "torque_B");
  for (std::size_t i = 0; i < size_; ++i) {
    write(FleetLayout::external_force, 3, force_W, i);
    write(FleetLayout::external_torque, 3, torque_B, i);
  }
  switches_.external_wrench = true;
}

template <class T, int N>
void Fleet<T, N>::set_rotor_effectiveness(Span<const T> factors) {
  const auto rotors = static_cast<std::size_t>(rotors_);
  check_count(factors.size(), size_ * rotors, rotors, "rotor effectiveness");
  for (const T& factor : factors) {
    if (is_within(factor, T(0), T(max_effectiveness))) continue;
    PROPWASH_THROW(std::invalid_argument(
        "rotor effectiveness = " + detail::formatted(static_cast<double>(factor)) +
        ": expected factors from 0 to " + detail::formatted(max_effectiveness)));
  }
  prepare_effectiveness();
  for (std::size_t i = 0; i < size_; ++i) {
    write(layout().rotor_effectiveness(), rotors_, factors, i);
    apply_effectiveness(i);
  }
}

/// Makes constants for each vehicle, whose rotors may then differ in effectiveness.
template <class T, int N>
void Fleet<T, N>::prepare_effectiveness() {
  if (!whole_rotors_.empty()) return;
  std::vector<T> whole(size_ * static_cast<std::size_t>(rotors_ * detail::numbers_of_rotor));
  if (!own_parameters_) {
    prepare([this](std::size_t) -> const VehicleParameters& { return vehicle_; }, true);
  }
  whole_rotors_.swap(whole);
  for (std::size_t i = 0; i < size_; ++i) read_whole_rotors(i);
}

template <class T, int N>
void Fleet<T, N>::read_whole_rotors(std::size_t vehicle) {
  const auto width = static_cast<std::size_t>(rotors_ * detail::numbers_of_rotor);
  kernels_.read_rotors(constants_.data() + vehicle / lanes() * kernels_.constants_bytes,
                       static_cast<int>(vehicle % lanes()), rotors_,
                       whole_rotors_.data() + vehicle * width);
}

template <class T, int N>
void Fleet<T, N>::apply_effectiveness(std::size_t vehicle) {
  const auto width = static_cast<std::size_t>(rotors_ * detail::numbers_of_rotor);
  T factors[max_size];
  for (int r = 0; r < rotors_; ++r) factors[r] = at(layout().rotor_effectiveness() + r, vehicle);
  kernels_.set_rotors(constants_.data() + vehicle / lanes() * kernels_.constants_bytes,
                      static_cast<int>(vehicle % lanes()), rotors_,
                      whole_rotors_.data() + vehicle * width, factors);
}

template <class T, int N>
std::string Fleet<T, N>::warning() const {
  T fastest = start(0)[3];
  for (std::size_t i = 1; i < size_ && own_parameters_; ++i) {
    fastest = std::min(fastest, start(i)[3]);
  }
  return time_step_warning(static_cast<double>(fastest), options_.integrator, options_.dt);
}

template <class T, int N>
void Fleet<T, N>::set_action_delay(Span<const std::uint32_t> steps) {
  check_count(steps.size(), size_, 1, "action delay");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] > static_cast<std::uint32_t>(options_.max_action_delay)) {
      PROPWASH_THROW(std::invalid_argument("action delay of vehicle " + std::to_string(i) + " = " +
                                           std::to_string(steps[i]) + ": expected 0 to " +
                                           std::to_string(options_.max_action_delay) +
                                           ", FleetOptions::max_action_delay"));
    }
  }
  for (std::size_t i = 0; i < action_delay_.size() && i < size_; ++i) {
    action_delay_[i] = steps[steps.size() == 1 ? 0 : i];
  }
}

}  // namespace propwash
