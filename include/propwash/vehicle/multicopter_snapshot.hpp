#pragma once
/// @file
/// The memory of a Multicopter as one value, and what makes one valid.

#include <cmath>
#include <cstdint>
#include <limits>

#include "propwash/control/outer_commands.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/ranges.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// Everything that the future of a multicopter depends on; `restore` continues bit for bit.
template <int N, class T>
struct MulticopterSnapshot {
  static constexpr int delay_capacity = max_delay_steps + 2;  ///< commands that a snapshot holds

  std::uint64_t vehicle = 0;            ///< fingerprint of the parameters
  std::uint32_t integrator = 0;         ///< integrator, as a number
  std::uint32_t noise = 0;              ///< 0 or 1
  std::uint64_t seed = 0;               ///< key of all noise
  std::uint64_t id = 0;                 ///< number of the vehicle
  MulticopterState<T, N> state{};       ///< physical state
  RateControllerState<T> controller{};  ///< memory of the rate controller
  ImuBias<T> bias{};                    ///< biases of the IMU
  /// Commanded speeds of the last step, wind, and the sum of external wrench and process noise.
  MulticopterInput<T, N> input{};
  Vec3<T> noise_force_W{};                 ///< N, sample of (10) during the last step
  Vec3<T> noise_torque_B{};                ///< N m, sample of (10)
  Vec3<T> external_force_W{};              ///< N
  Vec3<T> external_torque_B{};             ///< N m
  SmallArray<T, N> rotor_effectiveness{};  ///< 1: thrust and torque as in the parameters
  DelayLine<SmallArray<T, N>, delay_capacity> delay{};  ///< commands that have not acted yet
  ImuReading<T> held_reading{};  ///< where the IMU is slower than the physics
  double imu_phase = 0.0;        ///< of an IMU sampling interval, in [0, 1) but for rounding
  double voltage = 0.0;          ///< V, of the battery
  double dt = 0.0;               ///< s, of the last step: the rate of an IMU that reads every step
  double time = 0.0;             ///< s
  std::uint64_t steps = 0;       ///< counter of the noise
  OuterLoopState<T> outer{};     ///< memory of the outer loops
  int outer_loop = -1;           ///< the OuterLoop flown last; -1: none
  RateThrust<T> held_rates{};    ///< what an outer loop gave last
  SmallArray<T, N> held_speeds{};  ///< rad/s, the same of one that commands rotors
};

/// Whether a snapshot is one that a vehicle of finite state can have: as many numbers as rotors,
/// all finite, an attitude of unit length, rotor speeds near the motors' limits.
template <int N, class T>
bool is_sound(const MulticopterSnapshot<N, T>& s, const VehicleParameters& vehicle) {
  const auto rotors = static_cast<std::int64_t>(vehicle.rotors.size());
  // the count itself: size() would cut it to an int
  const auto complete = [&]([[maybe_unused]] const SmallArray<T, N>& speeds) {
    if constexpr (N == Dynamic) return speeds.count == rotors;
    return true;
  };
  bool sound = complete(s.state.rotor_speeds) && complete(s.input.command) &&
               complete(s.rotor_effectiveness) && complete(s.held_speeds) && s.delay.newest >= 0 &&
               s.delay.newest < s.delay.capacity && is_finite(s.dt) && s.dt >= min_time_step &&
               s.id <= std::numeric_limits<std::uint32_t>::max() && s.outer_loop >= -1 &&
               s.outer_loop <= static_cast<int>(OuterLoop::incremental);
  for (const auto& past : s.delay.history) sound = sound && complete(past);
  if (!sound) return false;
  for (const double x : {s.held_reading.time, s.imu_phase, s.voltage, s.time}) {
    sound = sound && is_finite(x);
  }
  sound = sound && is_finite(s.held_rates.thrust);
  auto outer = s.outer;
  for_each_number(outer, [&](const T& x) { sound = sound && is_finite(x); });
  for (const auto& v :
       {s.state.position, s.state.velocity, s.state.body_rates, s.controller.filter.value,
        s.controller.filter.derivative, s.controller.integral, s.bias.accelerometer,
        s.bias.gyroscope, s.input.wind_W, s.noise_force_W, s.noise_torque_B, s.external_force_W,
        s.external_torque_B, s.held_reading.specific_force, s.held_reading.angular_rate,
        s.held_rates.rates}) {
    sound = sound && is_finite(v);
  }
  const auto add_speeds = [&](const SmallArray<T, N>& speeds) {
    for (const T& speed : speeds) sound = sound && is_finite(speed);
  };
  for (const auto& speeds : {s.state.rotor_speeds, s.input.command, s.held_speeds}) {
    add_speeds(speeds);
  }
  for (const auto& past : s.delay.history) add_speeds(past);
  for (int i = 0; sound && i < s.state.rotor_speeds.size(); ++i) {
    // steps that are too long exceed the limits
    const double limit = 2.0 * detail::full_speed(vehicle.motor, i);
    sound = is_within(static_cast<double>(s.state.rotor_speeds[i]), -limit, limit) &&
            is_within(s.rotor_effectiveness[i], T(0), T(max_effectiveness));
  }
  const auto& q = s.state.attitude;
  return sound && is_finite(q) && std::abs(squared_norm(q) - T(1)) < T(1e-3);
}

}  // namespace propwash
