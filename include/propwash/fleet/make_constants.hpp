#pragma once
/// @file
/// From parameters to the numbers of FleetConstants, for one vehicle.

#include <cmath>
#include <vector>

#include "propwash/control/make_allocation.hpp"
#include "propwash/fleet/constants.hpp"
#include "propwash/fleet/switches.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// What all vehicles of a fleet share beside their parameters.
struct FleetSetting {
  Integrator integrator = Integrator::rk4;
  double dt = 1.0 / 960.0;  ///< s
  bool noise = true;
  DrydenParameters<double> turbulence{};  ///< wind_speed_6m 0: none
  double turbulence_heading = 0.0;        ///< rad, of the mean wind, from world x
  /// Whose rotors, motors and inertia the rate controllers go by; null: each vehicle's own.
  const VehicleParameters* controller = nullptr;
};

namespace detail {

inline DecayStages<double> motor_stages(Integrator integrator, double rate, double dt) {
  return integrator == Integrator::euler ? decay_stages<Euler>(rate, dt)
                                         : decay_stages<Rk4>(rate, dt);
}

template <class Shape>
void make_fleet_model(const VehicleParameters& vehicle, const FleetSetting& setting,
                      FleetConstants<double, Dynamic, Shape>& to) {
  to.per_force = 1.0;
  to.per_torque = {1.0, 1.0, 1.0};
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    const auto principal = make_principal_model<Dynamic>(vehicle);
    to.model = principal.model;
    to.lag = motor_stages(setting.integrator, to.model.motor[0].rate, setting.dt);
    to.per_force = principal.per_force;
    to.per_torque = principal.per_torque;
  } else {
    to.model = make_model<double, Dynamic, Shape>(vehicle);
  }
  const double on = setting.noise ? 1.0 : 0.0;
  const auto& noise = vehicle.process_noise;
  to.force_deviation = on * held_noise_deviation(noise.force, setting.dt) * to.per_force;
  to.torque_deviation = to.per_torque * (on * held_noise_deviation(noise.torque, setting.dt));
}

template <class Shape>
FleetConstants<double, Dynamic, Shape> make_fleet_constants(const VehicleParameters& vehicle,
                                                            const FleetSetting& setting) {
  FleetConstants<double, Dynamic, Shape> c;
  make_fleet_model(vehicle, setting, c);
  const double dt = setting.dt;
  const VehicleParameters& known = setting.controller == nullptr ? vehicle : *setting.controller;
  auto within = known.motor;  // what a controller may command, of what the motors can do
  within.speed_min = clamp(within.speed_min, vehicle.motor.speed_min, vehicle.motor.speed_max);
  within.speed_max = clamp(within.speed_max, vehicle.motor.speed_min, vehicle.motor.speed_max);
  using Limits = typename Shape::template EachRotor<double, Dynamic>;
  c.allocation = make_allocation<double, Dynamic, Limits>(known.rotors, within);
  typename Shape::template Matrix<double> inertia;
  make_matrix(known.body.inertia, inertia);
  c.law = make_rate_control_law<double>(vehicle.rate_controller, inertia, dt);
  c.imu = make_imu_device<double>(vehicle.imu);
  const auto& imu = vehicle.imu;
  const double on = setting.noise ? 1.0 : 0.0;
  const bool slower = imu.rate > 0.0 && imu.rate * dt < 1.0 - 1e-9;
  const double per_reading = on * std::sqrt(slower ? imu.rate : 1.0 / dt);
  c.accelerometer_deviation = per_reading * imu.accelerometer_noise_density;
  c.gyroscope_deviation = per_reading * imu.gyroscope_noise_density;
  c.accelerometer_walk = on * imu.accelerometer_bias_walk * std::sqrt(dt);
  c.gyroscope_walk = on * imu.gyroscope_bias_walk * std::sqrt(dt);
  if (setting.turbulence.wind_speed_6m > 0.0) {
    c.turbulence = make_dryden_filter(setting.turbulence, dt);
  }
  c.turbulence_cos = std::cos(setting.turbulence_heading);
  c.turbulence_sin = std::sin(setting.turbulence_heading);
  return c;
}

/// The numbers in the order of for_each_number.
template <class Shape>
void fleet_numbers(const VehicleParameters& vehicle, const FleetSetting& setting,
                   std::vector<double>& numbers) {
  auto constants = make_fleet_constants<Shape>(vehicle, setting);
  numbers.clear();
  for_each_number(constants, [&](double x) { numbers.push_back(x); });
}

/// What of a vehicle decides which way a kernel goes.
inline FleetSwitches fleet_switches(const VehicleParameters& vehicle, const FleetSetting& setting) {
  const auto device = make_imu_device<double>(vehicle.imu);
  const auto& imu = vehicle.imu;
  FleetSwitches s;
  s.gyroscopic_term = vehicle.rate_controller.gyroscopic_term;
  s.has_lever_arm = device.has_lever_arm;
  s.is_turned = device.is_turned;
  s.is_digital = device.is_digital;
  s.process_noise =
      setting.noise && (vehicle.process_noise.force > 0 || vehicle.process_noise.torque > 0);
  s.imu_noise =
      setting.noise && (imu.accelerometer_noise_density > 0 || imu.gyroscope_noise_density > 0);
  s.bias_walk = setting.noise && (imu.accelerometer_bias_walk > 0 || imu.gyroscope_bias_walk > 0);
  s.imu_is_slower = imu.rate > 0.0 && imu.rate * setting.dt < 1.0 - 1e-9;
  s.turbulence = setting.turbulence.wind_speed_6m > 0.0;
  s.battery = vehicle.battery.nominal_voltage > 0.0;
  return s;
}

}  // namespace detail

}  // namespace propwash
