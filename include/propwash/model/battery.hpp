#pragma once
/// @file
/// Dependence of rotor speed on battery voltage: an extension of the FlightGoggles model. See
/// docs/model/battery.md.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Parameters of the battery.
template <class P>
struct BatteryParameters {
  /// V, voltage at which the commanded rotor speed is reached; 0: closed-loop speed control, no
  /// dependence on voltage.
  P nominal_voltage{};
};

/// Rotor speed [rad/s] reached at the present voltage by an open-loop command [rad/s]: speed is
/// proportional to duty cycle times voltage. `voltage_ratio` is voltage / nominal_voltage.
template <class T, class P>
PROPWASH_FN T command_at_voltage(const T& command, const P& voltage_ratio) {
  return command * voltage_ratio;
}

}  // namespace propwash
