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

  PROPWASH_FN bool any_noise() const {
    return process_noise || imu_noise || bias_walk || turbulence;
  }
};

/// What either of two vehicles needs.
inline FleetSwitches either(const FleetSwitches& a, const FleetSwitches& b) {
  return {a.gyroscopic_term,
          a.has_lever_arm || b.has_lever_arm,
          a.is_turned || b.is_turned,
          a.is_digital || b.is_digital,
          a.process_noise || b.process_noise,
          a.imu_noise || b.imu_noise,
          a.bias_walk || b.bias_walk,
          a.imu_is_slower,
          a.turbulence,
          a.wind,
          a.ground,
          a.battery};
}

}  // namespace propwash
