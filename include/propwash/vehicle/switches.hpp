#pragma once
/// @file
/// Which features of a step are enabled.

#include "propwash/math/members.hpp"

namespace propwash {

/// The features that a host of a step supports; fewer features need fewer registers.
enum class TickWork {
  physics,        ///< rotor speeds, no noise, still air
  process_noise,  ///< rotor speeds, process noise, still air
  everything      ///< all features of TickSwitches
};

/// The features on which a step branches, the same for all vehicles of a fleet.
struct TickSwitches {
  bool gyroscopic_term = true;   ///< of the inertia, in the angular acceleration
  bool has_lever_arm = false;    ///< the IMU is away from the centre of mass
  bool imu_is_rotated = false;   ///< against the body
  bool is_digital = false;       ///< readings are rounded and limited
  bool process_noise = false;    ///< force or torque
  bool imu_noise = false;        ///< white noise of the readings
  bool bias_walk = false;        ///< of the readings
  bool rotor_flow = false;       ///< inflow or ground effect
  bool induced_flow = false;     ///< of momentum theory
  bool residual = false;         ///< a residual force or torque
  bool contact = false;          ///< of feet with the ground
  bool imu_is_slower = false;    ///< than the steps
  bool turbulence = false;       ///< of the wind
  bool wind = false;             ///< any wind, mean or turbulence
  bool ground = false;           ///< a floor that stops vehicles
  bool battery = false;          ///< a voltage other than the nominal one
  bool battery_circuit = false;  ///< a voltage that depends on the charge and the current
  bool external_wrench = false;  ///< force or torque from outside

  PROPWASH_MEMBERS(gyroscopic_term, has_lever_arm, imu_is_rotated, is_digital, process_noise,
                   imu_noise, bias_walk, rotor_flow, induced_flow, residual, contact, imu_is_slower,
                   turbulence, wind, ground, battery, battery_circuit, external_wrench)

  /// Whether random numbers are drawn.
  PROPWASH_FN constexpr bool any_noise() const {
    return process_noise || imu_noise || bias_walk || turbulence;
  }
};

/// The switches that depend on a vehicle; those of a fleet are the union over its vehicles.
inline constexpr bool TickSwitches::* vehicle_switches[] = {
    &TickSwitches::gyroscopic_term, &TickSwitches::has_lever_arm,   &TickSwitches::imu_is_rotated,
    &TickSwitches::is_digital,      &TickSwitches::process_noise,   &TickSwitches::imu_noise,
    &TickSwitches::bias_walk,       &TickSwitches::imu_is_slower,   &TickSwitches::turbulence,
    &TickSwitches::battery,         &TickSwitches::battery_circuit, &TickSwitches::rotor_flow,
    &TickSwitches::induced_flow,    &TickSwitches::residual,        &TickSwitches::contact};

/// The features that either of two vehicles enables.
inline TickSwitches combined(TickSwitches a, const TickSwitches& b) {
  for (const auto each : vehicle_switches) a.*each |= b.*each;
  return a;
}
/// Whether two vehicles enable the same features.
inline bool have_same_features(const TickSwitches& a, const TickSwitches& b) {
  for (const auto each : vehicle_switches) {
    if (a.*each != b.*each) return false;
  }
  return true;
}

}  // namespace propwash
