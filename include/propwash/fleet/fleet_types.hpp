#pragma once
/// @file
/// Options, commands, states and fields of a fleet.

#include <cstdint>
#include <limits>
#include <optional>

#include "propwash/integrate/integrate.hpp"
#include "propwash/math/span.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash {

/// Options of a fleet, fixed at its construction.
struct FleetOptions {
  Integrator integrator = Integrator::rk4;  ///< rk4 or euler
  double dt = 1.0 / 960.0;                  ///< s, of every step
  std::uint64_t seed = 0;                   ///< key of all noise
  std::uint32_t first_id = 0;               ///< id of vehicle 0 for its noise; the others follow
  bool noise = true;  ///< false: process noise, IMU noise and bias are off; turbulence is not
  double floor = -std::numeric_limits<double>::infinity();  ///< m, height of the ground
  /// {wind_speed_6m, altitude, airspeed}; wind_speed_6m 0: none.
  DrydenParameters<double> turbulence{};
  double turbulence_heading = 0.0;  ///< rad, where the mean wind blows to, from world x
  int max_action_delay = 0;         ///< steps, the limit of set_action_delay
  /// The vehicle that all controllers assume; none: the vehicle that they control. See
  /// docs/control/control-vehicle.md.
  std::optional<VehicleParameters> control_vehicle{};
};

/// Commanded body rates and thrust of a fleet. Commands are views of the caller's memory.
template <class T>
struct FleetRateThrust {
  Span<const T> rates;   ///< rad/s, body frame, (size, 3)
  Span<const T> thrust;  ///< N, (size)
};
/// Commanded rotor speeds of a fleet.
template <class T>
struct FleetRotorSpeeds {
  Span<const T> speeds;  ///< rad/s, (size, rotors)
};

/// Parts of the state of a fleet: (size, width), (width) for all vehicles, or empty to leave out.
template <class T>
struct FleetState {
  Span<const T> position;      ///< m, world frame, width 3
  Span<const T> velocity;      ///< m/s, world frame, width 3
  Span<const T> attitude;      ///< q_WB, unit, w x y z, width 4
  Span<const T> body_rates;    ///< rad/s, body frame, width 3
  Span<const T> rotor_speeds;  ///< rad/s, width rotors
};

/// Quantities that can be read from a fleet, one row per vehicle.
enum class FleetField {
  position,             ///< m, world frame, 3
  velocity,             ///< m/s, world frame, 3
  attitude,             ///< q_WB, w x y z, 4
  body_rates,           ///< rad/s, body frame, 3
  rotor_speeds,         ///< rad/s, one per rotor
  rotor_command,        ///< rad/s, motor commands of the last step
  rotor_effectiveness,  ///< factors on thrust and torque, one per rotor
  wind,                 ///< m/s, mean wind, world frame, 3
  external_force,       ///< N, world frame, 3
  external_torque,      ///< N m, body frame, 3
  accelerometer_bias,   ///< m/s^2, sensor axes, 3
  gyroscope_bias,       ///< rad/s, sensor axes, 3
  battery_voltage,      ///< V, 1; of the last step with a battery circuit, 0 without battery
  battery_current,      ///< A, in the last step, 1; 0 without a battery circuit
  state_of_charge,      ///< remaining fraction of the capacity, 1; 1 without a battery circuit
  contact,              ///< 1 if it touched the floor during the last call, 1
  diverged              ///< 1 if its state is not finite, 1
};

/// Samples a fleet between its steps, as a sensor does.
class FleetSampler {
 public:
  virtual ~FleetSampler() = default;
  /// Called on the thread that steps the fleet when Fleet::steps() has reached `next_step`. It may
  /// read the fleet, which throws std::logic_error on any change, and sets `next_step` to its next
  /// sample. After an exception the fleet remains at this step, all samplers that were due have
  /// been called, and the rest of the call is not simulated.
  virtual void sample(std::uint64_t step) = 0;
  /// Called when reset() with a seed or restore() has changed the step counter.
  virtual void restarted(std::uint64_t step) { next_step = step + 1; }

  std::uint64_t next_step = 0;  ///< Fleet::steps() at which the next sample is due
};

}  // namespace propwash
