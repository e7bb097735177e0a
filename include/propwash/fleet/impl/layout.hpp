#pragma once
/// @file
/// Where the numbers of a fleet lie.
///
/// Vehicles are grouped in blocks of as many as a register has lanes. A block holds its fields one
/// after the other, each as one register: arrays of structures of arrays. The last block is padded
/// with vehicles that nobody sees.

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
      28;                                     ///< m/s^2, where the IMU is slower than the physics
  static constexpr int held_gyroscope = 31;   ///< rad/s
  static constexpr int wind = 34;             ///< m/s, mean wind, world frame
  static constexpr int turbulence = 37;       ///< the five numbers of a TurbulenceState
  static constexpr int voltage_ratio = 42;    ///< battery voltage over nominal voltage
  static constexpr int contact = 43;          ///< 1 where the floor was touched in the last call
  static constexpr int diverged = 44;         ///< 1 where a state is not finite
  static constexpr int external_force = 45;   ///< N, world frame
  static constexpr int external_torque = 48;  ///< N m, body frame
  static constexpr int rotor_speeds = 51;     ///< rad/s, `rotors` of them

  /// rad/s, what the motors were driven to in the last step.
  PROPWASH_FN constexpr int rotor_command() const { return rotor_speeds + rotors; }
  /// Factors that the constants of the rotors hold already.
  PROPWASH_FN constexpr int rotor_effectiveness() const { return rotor_speeds + 2 * rotors; }
  /// The number of fields.
  PROPWASH_FN constexpr int size() const { return rotor_speeds + 3 * rotors; }
};

}  // namespace propwash
