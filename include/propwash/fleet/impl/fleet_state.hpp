#pragma once
// Construction, state, resets and settings of Fleet; include propwash/fleet/multicopter_fleet.hpp.

#include <stdexcept>
#include <string>

#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash {

template <class T, int N>
Fleet<Multicopter<N>, T>::Fleet(const VehicleParameters& vehicle, std::size_t size,
                                const FleetOptions& options, FleetKernelSource<T> kernels)
    : plan_(vehicle, size, options, kernels, N),
      memory_(size, plan_.rotors, plan_.lanes(), options.first_id, plan_.motor_slots(),
              plan_.action_slots()) {
  reset({}, options.seed);
}

// ---- reading ----

// not in the class, as the units of the extension that call these are not optimised for loops
template <class T, int N>
void Fleet<Multicopter<N>, T>::read(FleetField field, Span<T> rows) const {
  memory_.read(field, rows);
  if (field != FleetField::battery_voltage) return;
  for (T& voltage : rows) voltage *= static_cast<T>(vehicle().battery.nominal_voltage);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                                               Span<T> body_rates) const {
  memory_.read_kinematics(position, velocity, attitude, body_rates);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::time(Span<double> seconds) const {
  detail::check_count(seconds.size(), size(), 0, "seconds");
  for (std::size_t i = 0; i < size(); ++i) {
    seconds[i] = static_cast<double>(steps_ - memory_.reset_at[i]) * options().dt;
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::read_imu(Span<T> specific_force, Span<T> angular_rate,
                                        ExecutorRef executor) const {
  detail::check_count(specific_force.size(), size() * 3, 0, "specific_force");
  detail::check_count(angular_rate.size(), size() * 3, 0, "angular_rate");
  const std::size_t lanes = memory_.lanes();
  const auto copy = [&](const T* readings, std::size_t stride) {
    detail::copy_rows(readings, stride, lanes, size(), 3, specific_force.data());
    detail::copy_rows(readings + 3 * lanes, stride, lanes, size(), 3, angular_rate.data());
  };
  if (plan_.switches.imu_is_slower) {
    return copy(memory_.field(FleetLayout::held_accelerometer), memory_.stride());
  }
  const std::size_t width = 6 * lanes;
  detail::LineVector<T> readings(memory_.blocks() * width);
  measure(view(), readings.data(), width, executor);
  copy(readings.data(), width);
}

template <class T, int N>
double Fleet<Multicopter<N>, T>::bytes_per_vehicle() const {
  const auto bytes = [](const auto& v) { return static_cast<double>(v.size() * sizeof v[0]); };
  return (bytes(memory_.state.numbers) + bytes(plan_.constants) + bytes(plan_.starts) +
          bytes(memory_.ids) + bytes(memory_.reset_at) +
          bytes(memory_.past_motor_commands.numbers) + bytes(memory_.past_actions.numbers) +
          bytes(memory_.action_delay) + bytes(outer_.memory) + bytes(outer_.held)) /
         static_cast<double>(size());
}

// ---- resets ----

/// Puts a vehicle at its start and draws its biases and the stationary turbulence.
template <class T, int N>
void Fleet<Multicopter<N>, T>::restart(std::size_t vehicle) {
  const T* const from = plan_.start(vehicle);
  memory_.restart(vehicle, from + plan_.start_hover, steps_);
  if (plan_.switches.battery_circuit) {
    memory_.at(FleetLayout::voltage_ratio, vehicle) = from[plan_.start_voltage];
  }
  if (vehicle >= size()) return;  // padding
  const auto at = [&](int field) -> T& { return memory_.at(field, vehicle); };
  for (int i = 0; i < 3 && options().noise; ++i) {
    at(FleetLayout::accelerometer_bias + i) = from[0];
    at(FleetLayout::gyroscope_bias + i) = from[1];
  }
  detail::draw_start<T>(at, options().noise, plan_.switches.turbulence, options().seed,
                        memory_.ids[vehicle], steps_);
}

/// Before its first command, a vehicle's delayed action is hover.
template <class T, int N>
void Fleet<Multicopter<N>, T>::fill_actions(std::size_t vehicle) {
  const T* const from = plan_.start(vehicle);
  const T hover[] = {T(0), T(0), T(0), from[plan_.start_weight]};
  if (level_ == Level::speeds) {
    memory_.fill_actions(vehicle, from + plan_.start_hover, rotors());
  } else {
    memory_.fill_actions(vehicle, hover, 4);
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::reset(const FleetState<T>& state, Span<const bool> mask) {
  samplers_.require_idle();
  memory_.check(state, mask);
  detail::LineVector<T> readings = readings_to_hold();
  reset(state, mask, readings);
}

/// Allocated before anything changes, because the allocation may fail.
template <class T, int N>
detail::LineVector<T> Fleet<Multicopter<N>, T>::readings_to_hold() const {
  return detail::LineVector<T>(plan_.switches.imu_is_slower ? memory_.padded() * 6 : 0);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::reset(const FleetState<T>& state, Span<const bool> mask,
                                     detail::LineVector<T>& readings) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!mask.empty() && !mask[i]) continue;
    restart(i);
    memory_.write(i, state);
    memory_.settle_motors(i);
    fill_actions(i);
    if (outer_.loop >= 0) restart_outer(i);
  }
  if (!readings.empty()) refresh_held_readings(mask, readings);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::reset(const FleetState<T>& state, std::uint64_t seed) {
  samplers_.require_idle();
  memory_.check(state, {});
  detail::LineVector<T> readings = readings_to_hold();
  plan_.options.seed = seed;
  steps_ = 0;
  imu_phase_ = 0.0;
  level_ = Level::none;
  outer_.loop = -1;
  for (std::size_t i = size(); i < memory_.padded(); ++i) restart(i);
  reset(state, Span<const bool>{}, readings);
  samplers_.restart(steps_);
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_state(const FleetState<T>& state, Span<const bool> mask) {
  samplers_.require_idle();
  memory_.check(state, mask);
  for (std::size_t i = 0; i < size(); ++i) {
    if (mask.empty() || mask[i]) memory_.write(i, state);
  }
}

/// Replaces readings from before the reset, which the IMU would hold until its next sample.
template <class T, int N>
void Fleet<Multicopter<N>, T>::refresh_held_readings(Span<const bool> mask,
                                                     detail::LineVector<T>& readings) {
  const std::size_t lanes = memory_.lanes(), width = 6 * lanes;
  measure(view(), readings.data(), width, {});
  for (std::size_t i = 0; i < size(); ++i) {
    if (!mask.empty() && !mask[i]) continue;
    for (std::size_t k = 0; k < 6; ++k) {
      memory_.at(FleetLayout::held_accelerometer + static_cast<int>(k), i) =
          readings[i / lanes * width + k * lanes + i % lanes];
    }
  }
}

// ---- settings ----

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_wind(Span<const T> wind) {
  samplers_.require_idle();
  detail::check_count(wind.size(), size() * 3, 3, "wind");
  for (std::size_t i = 0; i < size(); ++i) memory_.write(FleetLayout::wind, 3, wind, i);
  plan_.switches.wind = true;
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_battery_voltage(Span<const T> voltage) {
  samplers_.require_idle();
  detail::check_count(voltage.size(), size(), 1, "voltage");
  if (plan_.switches.battery_circuit) detail::refuse_battery(vehicle());
  const double nominal = vehicle().battery.nominal_voltage;
  if (!(nominal > 0.0)) return;
  for (std::size_t i = 0; i < size(); ++i) {
    const T volts = voltage[voltage.size() == 1 ? 0 : i];
    memory_.at(FleetLayout::voltage_ratio, i) =
        static_cast<T>(static_cast<double>(volts) / nominal);
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_state_of_charge(Span<const T> state_of_charge) {
  samplers_.require_idle();
  detail::check_count(state_of_charge.size(), size(), 1, "state_of_charge");
  if (!plan_.switches.battery_circuit) detail::refuse_battery(vehicle());
  for (const T& charge : state_of_charge) {
    if (is_within(charge, T(0), T(1))) continue;
    PROPWASH_THROW(std::invalid_argument(
        "state_of_charge = " + detail::formatted(static_cast<double>(charge)) +
        ": expected 0 to 1"));
  }
  for (std::size_t i = 0; i < size(); ++i) {
    memory_.set_charge(i, double(state_of_charge[state_of_charge.size() == 1 ? 0 : i]));
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_external_wrench(Span<const T> force_W, Span<const T> torque_B) {
  samplers_.require_idle();
  detail::check_count(force_W.size(), size() * 3, 3, "force_W");
  detail::check_count(torque_B.size(), size() * 3, 3, "torque_B");
  for (std::size_t i = 0; i < size(); ++i) {
    memory_.write(FleetLayout::external_force, 3, force_W, i);
    memory_.write(FleetLayout::external_torque, 3, torque_B, i);
  }
  plan_.switches.external_wrench = true;
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_rotor_effectiveness(Span<const T> factors) {
  samplers_.require_idle();
  const auto rotors = static_cast<std::size_t>(this->rotors());
  detail::check_count(factors.size(), size() * rotors, rotors, "factors");
  for (const T& factor : factors) {
    if (is_within(factor, T(0), T(max_effectiveness))) continue;
    PROPWASH_THROW(std::invalid_argument(
        "rotor effectiveness = " + detail::formatted(static_cast<double>(factor)) +
        ": expected 0 to " + detail::formatted(max_effectiveness)));
  }
  plan_.prepare_effectiveness();
  for (std::size_t i = 0; i < size(); ++i) {
    memory_.write(memory_.layout().rotor_effectiveness(), this->rotors(), factors, i);
    plan_.apply_effectiveness(i, memory_);
  }
}

template <class T, int N>
void Fleet<Multicopter<N>, T>::set_action_delay(Span<const std::uint32_t> steps) {
  samplers_.require_idle();
  detail::check_count(steps.size(), size(), 1, "steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] > static_cast<std::uint32_t>(options().max_action_delay)) {
      PROPWASH_THROW(std::invalid_argument("action delay of vehicle " + std::to_string(i) + " = " +
                                           std::to_string(steps[i]) + ": expected 0 to " +
                                           std::to_string(options().max_action_delay) +
                                           " steps, FleetOptions::max_action_delay"));
    }
  }
  for (std::size_t i = 0; i < memory_.action_delay.size() && i < size(); ++i) {
    memory_.action_delay[i] = steps[steps.size() == 1 ? 0 : i];
  }
}

}  // namespace propwash
