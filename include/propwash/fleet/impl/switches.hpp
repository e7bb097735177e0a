#pragma once
/// @file
/// What of the model a fleet needs.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// What decides which way a kernel goes: the same for all vehicles of a fleet.
struct FleetSwitches {
  bool gyroscopic_term = true;
  bool has_lever_arm = false;
  bool is_turned = false;
  bool is_digital = false;
  bool process_noise = false;  ///< force or torque
  bool imu_noise = false;      ///< white noise of the readings
  bool bias_walk = false;
  bool imu_is_slower = false;
  bool turbulence = false;
  bool wind = false;  ///< any wind, mean or turbulence
  bool ground = false;
  bool battery = false;
  bool external_wrench = false;

  PROPWASH_FN bool any_noise() const {
    return process_noise || imu_noise || bias_walk || turbulence;
  }
};

/// What either of two vehicles of one fleet needs.
inline FleetSwitches either(const FleetSwitches& a, const FleetSwitches& b) {
  FleetSwitches s = a;
  s.has_lever_arm |= b.has_lever_arm;
  s.is_turned |= b.is_turned;
  s.is_digital |= b.is_digital;
  s.process_noise |= b.process_noise;
  s.imu_noise |= b.imu_noise;
  s.bias_walk |= b.bias_walk;
  return s;
}

}  // namespace propwash
