#pragma once
/// @file
/// Battery voltage in the map from command to rotor speed: a term beyond the FlightGoggles papers.
/// See docs/model/battery.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Parameters of the battery.
template <class P>
struct BatteryParameters {
  /// V, voltage at which a commanded rotor speed is reached; 0: speed control, no dependence.
  P nominal_voltage{};
};

/// The rotor speed that a command reaches at the present voltage: speed follows duty cycle times
/// voltage, rad/s. `voltage_ratio` is voltage / nominal_voltage.
template <class T, class P>
PROPWASH_FN T command_at_voltage(const T& command, const P& voltage_ratio) {
  return command * voltage_ratio;
}

}  // namespace propwash
