#pragma once
/// @file
/// Memory layout of a fleet's state.
///
/// A block holds as many vehicles as a register has lanes, and stores its fields one after the
/// other, each as one register: an array of structures of arrays. The last block is padded with
/// vehicles that are never read.

#include "propwash/math/scalar.hpp"

namespace propwash {

/// The fields of a vehicle with `rotors` rotors, as offsets into its block in units of one
/// register.
struct FleetLayout {
  int rotors = 0;

  static constexpr int position = 0;             ///< m, world frame
  static constexpr int velocity = 3;             ///< m/s, world frame
  static constexpr int attitude = 6;             ///< q_WB, w x y z
  static constexpr int body_rates = 10;          ///< rad/s, body frame
  static constexpr int filter_value = 13;        ///< rad/s, of the rate controller's low-pass
  static constexpr int filter_derivative = 16;   ///< rad/s^2
  static constexpr int integral = 19;            ///< rad, of the rate error
  static constexpr int accelerometer_bias = 22;  ///< m/s^2, sensor axes
  static constexpr int gyroscope_bias = 25;      ///< rad/s, sensor axes
  static constexpr int held_accelerometer =
      28;                                     ///< m/s^2, the last sample of an IMU slower than dt
  static constexpr int held_gyroscope = 31;   ///< rad/s
  static constexpr int wind = 34;             ///< m/s, mean wind, world frame
  static constexpr int turbulence = 37;       ///< the five numbers of a TurbulenceState
  static constexpr int voltage_ratio = 42;    ///< battery voltage over nominal voltage
  static constexpr int battery = 43;          ///< the four numbers of a BatteryState
  static constexpr int contact = 47;          ///< 1 if it touched the floor in the last call
  static constexpr int diverged = 48;         ///< 1 if its state is not finite
  static constexpr int external_force = 49;   ///< N, world frame
  static constexpr int external_torque = 52;  ///< N m, body frame
  static constexpr int rotor_speeds = 55;     ///< rad/s, `rotors` of them

  /// rad/s, motor commands of the last step.
  PROPWASH_FN constexpr int rotor_command() const { return rotor_speeds + rotors; }
  /// Factors, already applied to the constants of the rotors.
  PROPWASH_FN constexpr int rotor_effectiveness() const { return rotor_speeds + 2 * rotors; }
  /// The number of fields.
  PROPWASH_FN constexpr int size() const { return rotor_speeds + 3 * rotors; }
};

}  // namespace propwash
