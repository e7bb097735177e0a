#pragma once
/// @file
/// Computes the constants of a fleet's steps from the parameters of a vehicle.

#include <vector>

#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/switches.hpp"
#include "propwash/vehicle/turbulence.hpp"

namespace propwash {

/// What the constants depend on besides the parameters; the same for all vehicles of a fleet.
struct FleetSetting {
  Integrator integrator = Integrator::rk4;
  double dt = 1.0 / 960.0;  ///< s
  bool noise = true;
  DrydenParameters<double> turbulence{};  ///< wind_speed_6m 0: none
  double turbulence_heading = 0.0;        ///< rad, of the mean wind, from world x
  /// The vehicle that the controllers assume; null: the one that they control.
  const VehicleParameters* control_vehicle = nullptr;

  const VehicleParameters& assumed(const VehicleParameters& vehicle) const {
    return control_vehicle == nullptr ? vehicle : *control_vehicle;
  }
};

namespace detail {

template <class Shape>
TickConstants<double, Dynamic, Shape> make_fleet_constants(const VehicleParameters& vehicle,
                                                           const FleetSetting& setting) {
  auto c = make_tick_constants<double, Dynamic, Shape>(vehicle, setting.assumed(vehicle));
  set_time_step(c, vehicle, setting.integrator, setting.dt, setting.noise);
  c.turbulence =
      make_turbulence<double>(setting.turbulence, setting.turbulence_heading, setting.dt);
  return c;
}

/// The constants for PrincipalShape or GeneralShape, in the order of for_each_number.
inline std::vector<double> fleet_numbers(const VehicleParameters& vehicle,
                                         const FleetSetting& setting, bool is_principal) {
  std::vector<double> numbers;
  const auto add = [&](auto constants) {
    for_each_number(constants, [&](double x) { numbers.push_back(x); });
  };
  if (is_principal) {
    add(make_fleet_constants<PrincipalShape>(vehicle, setting));
  } else {
    add(make_fleet_constants<GeneralShape>(vehicle, setting));
  }
  return numbers;
}

/// The features that a vehicle enables.
inline TickSwitches fleet_switches(const VehicleParameters& vehicle, const FleetSetting& setting) {
  const auto device = make_imu_device<double>(vehicle.imu);
  const auto& imu = vehicle.imu;
  TickSwitches s;
  s.gyroscopic_term = vehicle.rate_controller.gyroscopic_term;
  s.has_lever_arm = device.has_lever_arm;
  s.imu_is_rotated = device.is_rotated;
  s.is_digital = device.is_digital;
  s.process_noise =
      setting.noise && (vehicle.process_noise.force > 0 || vehicle.process_noise.torque > 0);
  s.imu_noise = setting.noise && has_white_noise(imu);
  s.bias_walk = setting.noise && has_bias_walk(imu);
  s.imu_is_slower = is_slower_than_steps(imu.rate, setting.dt);
  s.turbulence = setting.turbulence.wind_speed_6m > 0.0;
  s.battery = vehicle.battery.nominal_voltage > 0.0;
  s.battery_circuit = vehicle.battery.cells > 0.0;
  s.rotor_flow = has_rotor_flow(vehicle);
  s.induced_flow = has_induced_flow(vehicle);
  s.residual = has_residual(vehicle);
  s.contact = has_contact(vehicle);
  return s;
}

}  // namespace detail

}  // namespace propwash
