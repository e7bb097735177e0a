#pragma once
/// @file
/// Which features of the model are enabled in a fleet.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Feature flags on which kernels branch, the same for all vehicles of a fleet.
struct FleetSwitches {
  bool gyroscopic_term = true;
  bool has_lever_arm = false;
  bool imu_is_rotated = false;
  bool is_digital = false;
  bool process_noise = false;  ///< force or torque
  bool imu_noise = false;      ///< white noise of the readings
  bool bias_walk = false;
  bool rotor_flow = false;  ///< inflow, ground effect or contact
  bool contact = false;     ///< of feet with the ground
  bool imu_is_slower = false;
  bool turbulence = false;
  bool wind = false;  ///< any wind, mean or turbulence
  bool ground = false;
  bool battery = false;
  bool battery_circuit = false;
  bool external_wrench = false;

  PROPWASH_FN bool any_noise() const {
    return process_noise || imu_noise || bias_walk || turbulence;
  }
};

/// The switches that depend on a vehicle; those of a fleet are the union over its vehicles.
inline constexpr bool FleetSwitches::* vehicle_switches[] = {
    &FleetSwitches::gyroscopic_term, &FleetSwitches::has_lever_arm,
    &FleetSwitches::imu_is_rotated,  &FleetSwitches::is_digital,
    &FleetSwitches::process_noise,   &FleetSwitches::imu_noise,
    &FleetSwitches::bias_walk,       &FleetSwitches::imu_is_slower,
    &FleetSwitches::turbulence,      &FleetSwitches::battery,
    &FleetSwitches::battery_circuit, &FleetSwitches::rotor_flow,
    &FleetSwitches::contact};

/// The features that either of two vehicles enables.
inline FleetSwitches combined(FleetSwitches a, const FleetSwitches& b) {
  for (const auto each : vehicle_switches) a.*each |= b.*each;
  return a;
}
/// Whether two vehicles enable the same features.
inline bool have_same_features(const FleetSwitches& a, const FleetSwitches& b) {
  for (const auto each : vehicle_switches) {
    if (a.*each != b.*each) return false;
  }
  return true;
}

}  // namespace propwash
