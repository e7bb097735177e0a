#pragma once
/// @file
/// Memory layout of a fleet's state.
///
/// A block holds as many vehicles as a register has lanes, and stores its fields one after the
/// other, each as one register: an array of structures of arrays. The last block is padded with
/// vehicles that are never read.

#include <cstddef>

#include "propwash/control/rate_control.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_state.hpp"

namespace propwash {

namespace detail {

/// The fields of a vehicle that do not depend on its number of rotors.
template <class T>
struct FleetRecord {
  RigidBodyState<T> body{};
  RateControllerState<T> controller{};
  ImuBias<T> bias{};
  Vec3<T> held_accelerometer{};  ///< m/s^2, the last sample of an IMU slower than dt
  Vec3<T> held_gyroscope{};      ///< rad/s
  Vec3<T> wind_W{};              ///< m/s, mean wind
  TurbulenceState<T> turbulence{};
  T voltage_ratio{};  ///< battery voltage over nominal voltage
  BatteryState<T> battery{};
  T contact{};                  ///< 1 if it touched the floor in the last call
  T diverged{};                 ///< 1 if its state is not finite
  Vec3<T> external_force_W{};   ///< N
  Vec3<T> external_torque_B{};  ///< N m
  PROPWASH_MEMBERS(body, controller, bias, held_accelerometer, held_gyroscope, wind_W, turbulence,
                   voltage_ratio, battery, contact, diverged, external_force_W, external_torque_B)
};
static_assert(sizeof(FleetRecord<double>) == sizeof(double) * number_count<FleetRecord<double>>,
              "expected only numbers");

constexpr int field_at(std::size_t bytes) { return static_cast<int>(bytes / sizeof(double)); }

}  // namespace detail

/// The fields of a vehicle with `rotors` rotors, as offsets into its block in units of one
/// register.
struct FleetLayout {
  using Record = detail::FleetRecord<double>;
  int rotors = 0;

  static constexpr int position =
      detail::field_at(offsetof(Record, body) + offsetof(RigidBodyState<double>, position));
  static constexpr int velocity =
      detail::field_at(offsetof(Record, body) + offsetof(RigidBodyState<double>, velocity));
  static constexpr int attitude =
      detail::field_at(offsetof(Record, body) + offsetof(RigidBodyState<double>, attitude));
  static constexpr int body_rates =
      detail::field_at(offsetof(Record, body) + offsetof(RigidBodyState<double>, body_rates));
  static constexpr int controller = detail::field_at(offsetof(Record, controller));
  static constexpr int accelerometer_bias =
      detail::field_at(offsetof(Record, bias) + offsetof(ImuBias<double>, accelerometer));
  static constexpr int gyroscope_bias =
      detail::field_at(offsetof(Record, bias) + offsetof(ImuBias<double>, gyroscope));
  static constexpr int held_accelerometer = detail::field_at(offsetof(Record, held_accelerometer));
  static constexpr int held_gyroscope = detail::field_at(offsetof(Record, held_gyroscope));
  static constexpr int wind = detail::field_at(offsetof(Record, wind_W));
  static constexpr int turbulence = detail::field_at(offsetof(Record, turbulence));
  static constexpr int voltage_ratio = detail::field_at(offsetof(Record, voltage_ratio));
  static constexpr int battery = detail::field_at(offsetof(Record, battery));
  static constexpr int battery_current =
      detail::field_at(offsetof(Record, battery) + offsetof(BatteryState<double>, current));
  static constexpr int contact = detail::field_at(offsetof(Record, contact));
  static constexpr int diverged = detail::field_at(offsetof(Record, diverged));
  static constexpr int external_force = detail::field_at(offsetof(Record, external_force_W));
  static constexpr int external_torque = detail::field_at(offsetof(Record, external_torque_B));
  static constexpr int rotor_speeds = number_count<Record>;  ///< rad/s, `rotors` of them

  /// rad/s, motor commands of the last step.
  PROPWASH_FN constexpr int rotor_command() const { return rotor_speeds + rotors; }
  /// Factors, already applied to the constants of the rotors.
  PROPWASH_FN constexpr int rotor_effectiveness() const { return rotor_speeds + 2 * rotors; }
  /// The number of fields.
  PROPWASH_FN constexpr int size() const { return rotor_speeds + 3 * rotors; }
};

}  // namespace propwash
