#pragma once
// The definitions of OpenLoop's members; include propwash/fleet/open_loop.hpp.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "propwash/fleet/open_loop.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/vehicle/dynamics_parameters.hpp"
#include "propwash/vehicle/make_model.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

namespace detail {

/// The model constants of a vehicle with their derivatives; `slopes` may be null.
inline auto moving_model(const VehicleParameters& vehicle, const VehicleParameters* slopes) {
  using Slope = Dual<double, 1>;
  DynamicsParameters<Slope> parameters;
  for_each_dynamics_pair(parameters, vehicle, [](Slope& number, double x) { number = Slope(x); });
  if (slopes != nullptr) {
    for_each_dynamics_pair(parameters, *slopes,
                           [](Slope& number, double x) { number.partials[0] = x; });
  }
  return make_model<Slope, Dynamic, GeneralShape>(parameters);
}

/// All constants (layer 0), or their derivatives (layer 1).
inline std::vector<double> layer_of_model(
    MulticopterModel<Dual<double, 1>, Dynamic, GeneralShape>& model, int layer) {
  std::vector<double> numbers;
  for_each_number(model, [&](const Dual<double, 1>& x) { numbers.push_back(layer_of(x, layer)); });
  return numbers;
}

}  // namespace detail

inline OpenLoop::OpenLoop(const VehicleParameters& vehicle,
                          const std::vector<VehicleParameters>& slopes, OpenLoopKernelSource source)
    : kernel_(source(vehicle.rotors.size())),
      imu_(make_imu_device<double>(vehicle.imu)),
      unknowns_(slopes.size()),
      nominal_voltage_(vehicle.battery.nominal_voltage) {
  validate(vehicle);
  imu_.is_digital = false;
  for (const auto& slope : slopes) {
    if (slope.rotors.size() == vehicle.rotors.size()) continue;
    PROPWASH_THROW(std::invalid_argument(
        "number of rotors of slopes = " + std::to_string(slope.rotors.size()) + ": expected " +
        std::to_string(vehicle.rotors.size())));
  }
  if (slopes.empty()) motors_.push_back(detail::moving_model(vehicle, nullptr));
  for (const auto& slope : slopes) motors_.push_back(detail::moving_model(vehicle, &slope));
  delays_.resize(motors_.size(), Slope(vehicle.motor.command_delay));
  offsets_.resize(motors_.size(), Slope(vehicle.motor.speed_offset));
  for (std::size_t i = 0; i < unknowns_; ++i) {
    delays_[i].partials[0] = slopes[i].motor.command_delay;
    offsets_[i].partials[0] = slopes[i].motor.speed_offset;
  }
  // values, then the derivatives with respect to each unknown
  std::vector<std::vector<double>> constants{detail::layer_of_model(motors_.front(), 0)};
  for (std::size_t i = 0; i < unknowns_; ++i) {
    constants.push_back(detail::layer_of_model(motors_[i], 1));
  }
  const std::size_t groups = (motors_.size() + kernel_.group - 1) / kernel_.group;
  kernel_constants_.resize(groups * kernel_.constants_bytes);
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<const double*> layers{constants[0].data()};
    for (std::size_t i = group * kernel_.group + 1; layers.size() <= kernel_.group; ++i) {
      layers.push_back(i < constants.size() ? constants[i].data() : nullptr);
    }
    kernel_.set_constants(kernel_constants_.data() + group * kernel_.constants_bytes,
                          static_cast<int>(vehicle.rotors.size()), layers.data());
  }
}

inline void OpenLoop::fly(const OpenLoopFlight& flight, const OpenLoopRecord& record,
                          ExecutorRef executor) const {
  if (!is_finite(flight.period) || flight.period <= 0.0 || flight.substeps < 1) {
    PROPWASH_THROW(std::invalid_argument("period, substeps = " + std::to_string(flight.period) +
                                         ", " + std::to_string(flight.substeps) +
                                         ": expected a finite time > 0 s and at least 1"));
  }
  for (std::size_t w = 0; w < flight.windows; ++w) {
    if (flight.samples < flight.rows && flight.starts[w] < flight.rows - flight.samples) continue;
    PROPWASH_THROW(std::invalid_argument(
        "window " + std::to_string(w) + ": expected it to end by row " +
        std::to_string(flight.rows - 1) + ", got " + std::to_string(flight.samples) +
        " samples after row " + std::to_string(flight.starts[w])));
  }
  if (flight.windows == 0) return;
  const auto speeds = run_motors(flight, executor);
  const std::size_t bytes = kernel_.constants_bytes;
  const OpenLoopBatch batch{
      flight, record, unknowns(), rotors(), speeds.data(), kernel_constants_.data(), bytes, imu_};
  const std::size_t groups = kernel_constants_.size() / bytes;
  const std::size_t blocks = (flight.windows + kernel_.lanes - 1) / kernel_.lanes;
  executor(blocks * groups, [&](std::size_t task) {
    kernel_.fly(batch, task / blocks, (task % blocks) * kernel_.lanes);
  });
}

inline void OpenLoop::drive(const OpenLoopDuty& log, double* commands, double* slopes) const {
  const std::size_t size = (log.rows - 1) * rotors();
  for (std::size_t i = 0; i < motors_.size(); ++i) {
    drive(log, i, i == 0 ? commands : nullptr, i < unknowns_ ? slopes + i * size : nullptr);
  }
}

/// The commands and their derivatives for one unknown; null: not requested.
inline void OpenLoop::drive(const OpenLoopDuty& log, std::size_t unknown, double* values,
                            double* slopes) const {
  using Speeds = SmallArray<Slope, Dynamic>;
  const auto& model = motors_[unknown];
  const std::size_t held = log.rows - 1;
  const Slope delay = delays_[unknown] / Slope(log.period);
  const double whole = std::floor(delay.value);
  const auto steps = static_cast<std::size_t>(std::min(whole, double(held)));
  Speeds speeds, earlier;
  speeds.resize(static_cast<int>(rotors()));
  for (std::size_t row = 0; row < held; ++row) {
    const double* const duty = log.duty + (row > steps ? row - steps : 0) * rotors();
    for (int k = 0; k < speeds.size(); ++k) {
      speeds[k] = speed_at_duty(Slope(duty[k]), model.speed_max[k], offsets_[unknown]);
    }
    const auto delayed = [&](Speeds& acting) {
      const Speeds later = limited(model, acting);
      acting = mean_command(later, row == 0 ? later : earlier, delay - whole);
      earlier = later;
    };
    Slope ratio(1.0);
    if (log.voltage != nullptr) ratio.value = log.voltage[row] / nominal_voltage_;
    if (log.voltage_slopes != nullptr && unknown < unknowns_) {
      ratio.partials[0] = log.voltage_slopes[unknown * held + row] / nominal_voltage_;
    }
    drive_motors(model, speeds, delayed, log.voltage != nullptr && nominal_voltage_ > 0.0,
                 [&](const Speeds&) { return ratio; });
    for (int k = 0; k < speeds.size(); ++k) {
      if (values != nullptr) *values++ = speeds[k].value;
      if (slopes != nullptr) *slopes++ = speeds[k].partials[0];
    }
  }
}

/// Rotor speeds do not depend on the body's state, so all windows share those of the whole log.
inline std::vector<double> OpenLoop::run_motors(const OpenLoopFlight& flight,
                                                const ExecutorRef& executor) const {
  const std::size_t size = flight.rows * rotors();
  std::vector<double> speeds((1 + unknowns()) * size);
  executor(motors_.size(), [&](std::size_t i) {
    if (i > 0 && !moves_motors(flight, i)) return;
    run_motors(flight, i, i == 0 ? speeds.data() : nullptr,
               i < unknowns() ? speeds.data() + (1 + i) * size : nullptr);
  });
  return speeds;
}

inline bool OpenLoop::moves_motors(const OpenLoopFlight& flight, std::size_t unknown) const {
  const auto& model = motors_[unknown];
  for (int k = 0; k < model.rotors.size(); ++k) {
    const Slope constants[] = {model.motor[k].rate_up, model.motor[k].rate_down, model.speed_min[k],
                               model.speed_max[k]};
    for (const auto& x : constants) {
      if (x.partials[0] != 0.0) return true;
    }
  }
  if (flight.slopes == nullptr) return false;
  const std::size_t held = (flight.rows - 1) * rotors();
  const double* const from = flight.slopes + unknown * held;
  return std::any_of(from, from + held, [](double x) { return x != 0.0; });
}

/// The rotor speeds and their derivatives for one unknown; null: not requested.
inline void OpenLoop::run_motors(const OpenLoopFlight& flight, std::size_t unknown, double* values,
                                 double* slopes) const {
  const auto& model = motors_[unknown];
  const std::size_t held = (flight.rows - 1) * rotors();
  const double dt = flight.period / flight.substeps;
  for (std::size_t k = 0; k < rotors(); ++k) {
    const auto command_of = [&](std::size_t row) {
      const std::size_t place = row * rotors() + k;
      Slope command(flight.commands[place]);
      if (slopes != nullptr && flight.slopes != nullptr) {
        command.partials[0] = flight.slopes[unknown * held + place];
      }
      return command;
    };
    const int rotor = static_cast<int>(k);
    const Slope &low = model.speed_min[rotor], &high = model.speed_max[rotor];
    Slope speed = clamp(command_of(0), low, high);
    for (std::size_t row = 0; row < flight.rows; ++row) {
      if (row > 0) {
        const Slope command = command_of(row - 1);
        const auto f = [&](const Slope& x) PROPWASH_LAMBDA {
          return rotor_acceleration(model.motor[rotor], x, command);
        };
        for (int step = 0; step < flight.substeps; ++step) {
          speed = clamp(Rk4{}(f, speed, dt), low, high);
        }
      }
      if (values != nullptr) values[row * rotors() + k] = speed.value;
      if (slopes != nullptr) slopes[row * rotors() + k] = speed.partials[0];
    }
  }
}

}  // namespace propwash
