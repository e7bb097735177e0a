#pragma once
/// @file
/// The complete state of a Multicopter, and its validation.

#include <cmath>
#include <cstdint>
#include <limits>

#include "propwash/control/outer_commands.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/ranges.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// The complete state of a Multicopter; after restore() it continues bit for bit.
template <int N, class T>
struct MulticopterSnapshot {
  static constexpr int delay_capacity = max_delay_steps + 2;  ///< commands that a snapshot holds

  std::uint64_t vehicle = 0;            ///< fingerprint() of the parameters, with the turbulence
  std::uint32_t integrator = 0;         ///< integrator, as a number
  std::uint32_t noise = 0;              ///< 1: noise enabled
  std::uint64_t seed = 0;               ///< of all noise
  std::uint64_t id = 0;                 ///< vehicle id, selects the noise
  MulticopterState<T, N> state{};       ///< physical state
  RateControllerState<T> controller{};  ///< state of the rate controller
  ImuBias<T> bias{};                    ///< biases of the IMU
  /// Motor commands of the last step, wind, and the sum of external wrench and process noise.
  MulticopterInput<T, N> input{};
  Vec3<T> noise_force_W{};                 ///< N, process noise of the last step, (10)
  Vec3<T> noise_torque_B{};                ///< N m, process noise of the last step, (10)
  Vec3<T> external_force_W{};              ///< N
  Vec3<T> external_torque_B{};             ///< N m
  SmallArray<T, N> rotor_effectiveness{};  ///< factor on thrust and torque
  DelayLine<SmallArray<T, N>, delay_capacity> delay{};  ///< commands that have not acted yet
  ImuReading<T> held_reading{};                         ///< if the IMU is slower than the physics
  double imu_phase = 0.0;  ///< elapsed fraction of a sampling interval, in [0, 1) up to rounding
  double voltage = 0.0;    ///< V, of the battery
  BatteryState<T> battery = battery_at_rest<T>(1.0);  ///< of the battery circuit
  TurbulenceState<T> turbulence{};                    ///< of the wind
  double dt = 0.0;             ///< s, of the last step; it sets the bandwidth of the IMU noise
  double time = 0.0;           ///< s
  std::uint64_t steps = 0;     ///< counter of the noise since construction or a reset with a seed
  OuterLoopState<T> outer{};   ///< state of the outer loops
  int outer_loop = -1;         ///< the OuterLoop of the last step; -1: none
  RateThrust<T> held_rates{};  ///< last output of an outer loop
  SmallArray<T, N> held_speeds{};  ///< rad/s, the same for a loop that commands rotor speeds
  PROPWASH_MEMBERS(vehicle, integrator, noise, seed, id, state, controller, bias, input,
                   noise_force_W, noise_torque_B, external_force_W, external_torque_B,
                   rotor_effectiveness, delay, held_reading, imu_phase, voltage, battery,
                   turbulence, dt, time, steps, outer, outer_loop, held_rates, held_speeds)
};

/// Whether a snapshot is valid for a vehicle: array sizes match the number of rotors, all numbers
/// are finite, the attitude is normalised, and rotor speeds are near the limits of the motors.
template <int N, class T>
bool is_valid(const MulticopterSnapshot<N, T>& s, const VehicleParameters& vehicle) {
  const auto rotors = static_cast<std::int64_t>(vehicle.rotors.size());
  // the count itself, because size() truncates it to an int
  const auto complete = [&]([[maybe_unused]] const SmallArray<T, N>& speeds) {
    if constexpr (N == Dynamic) return speeds.count == rotors;
    return true;
  };
  bool valid = complete(s.state.rotor_speeds) && complete(s.input.command) &&
               complete(s.rotor_effectiveness) && complete(s.held_speeds) && s.delay.newest >= 0 &&
               s.delay.newest < s.delay.capacity && is_finite(s.dt) && s.dt >= min_time_step &&
               s.id <= std::numeric_limits<std::uint32_t>::max() && s.outer_loop >= -1 &&
               s.outer_loop <= static_cast<int>(OuterLoop::incremental);
  for (const auto& past : s.delay.history) valid = valid && complete(past);
  if (!valid) return false;
  for_each_number(s, [&](const auto& x) { valid = valid && is_finite(x); });
  for (int i = 0; valid && i < s.state.rotor_speeds.size(); ++i) {
    // with too long a dt, speeds can exceed the limits
    const double limit = 2.0 * detail::full_speed(vehicle.motor, i);
    valid = is_within(static_cast<double>(s.state.rotor_speeds[i]), -limit, limit) &&
            is_within(s.rotor_effectiveness[i], T(0), T(max_effectiveness));
  }
  const auto& q = s.state.attitude;
  return valid && std::abs(squared_norm(q) - T(1)) < T(1e-3);
}

}  // namespace propwash
