#pragma once
/// @file
/// Simulation of one Dubins car.

#include <cmath>
#include <cstdint>

#include "propwash/integrate/integrate.hpp"
#include "propwash/math/config.hpp"
#include "propwash/model/car.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/custom_vehicle.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A command of speed along the heading and yaw rate.
template <class T = double>
struct SpeedYawRate {
  T speed{};     ///< m/s
  T yaw_rate{};  ///< rad/s, counter-clockwise positive
  PROPWASH_MEMBERS(speed, yaw_rate)
};
template <class T>
SpeedYawRate(T, T) -> SpeedYawRate<T>;

/// The constants of a step of a car.
template <class P>
struct CarConstants {
  P speed_min{};          ///< m/s
  P speed_max{};          ///< m/s
  P yaw_rate_limit{};     ///< rad/s
  P forward_deviation{};  ///< m/s, process noise held for dt, along the heading
  P left_deviation{};     ///< m/s, process noise held for dt, to the left
  PROPWASH_MEMBERS(speed_min, speed_max, yaw_rate_limit, forward_deviation, left_deviation)

  /// (24) to (26): the state after a step of dt [s] with a constant command, which is limited to
  /// the range of the car.
  template <class Method, class T, class Host, class Time>
  PROPWASH_FN CarState<T> tick(const Method& method, const CarState<T>& state,
                               const SpeedYawRate<T>& command, const Host& host,
                               const Time& dt) const {
    const T speed = clamp(command.speed, speed_min, speed_max);
    const T yaw_rate = clamp(command.yaw_rate, P(-yaw_rate_limit), yaw_rate_limit);
    const auto z = host.normals(Stream::process_noise);  // (26)
    const T forward = z[0] * forward_deviation;
    const T left = z[1] * left_deviation;
    const auto f = [&](const CarState<T>& x) PROPWASH_LAMBDA {
      return car_derivative(x, speed, yaw_rate, forward, left);
    };
    return method(f, state, dt);
  }
};

/// Options of a Car.
struct CarOptions {
  Integrator integrator = Integrator::rk4;  ///< euler or rk4
  std::uint64_t seed = 0;                   ///< seed of the noise
  std::uint32_t id = 0;                     ///< vehicle id, selects the noise
  bool noise = true;                        ///< false: no process noise
};

/// The FlightGoggles car, equations (24) to (26). Commands are limited and act without delay.
template <class T = double>
class Car {
 public:
  /// What Fleet<Car<>> and linearize<Car<>>() need; see vehicle/custom_vehicle.hpp.
  using Parameters = CarParameters;
  template <class U>
  using State = CarState<U>;  ///< pose in the plane
  template <class U>
  using Command = SpeedYawRate<U>;  ///< speed and yaw rate
  template <class P>
  using Constants = CarConstants<P>;  ///< limits and noise
  /// @throws ParameterError for invalid parameters.
  static Constants<double> constants(const CarParameters& parameters, double dt) {
    validate(parameters);
    return constants_of(parameters, dt);
  }

  /// The complete state without parameters.
  struct Snapshot {
    CarState<T> state{};      ///< pose in the plane
    double time = 0.0;        ///< s
    std::uint64_t steps = 0;  ///< counter of the noise
    std::uint64_t seed = 0;   ///< seed of the noise
    std::uint64_t id = 0;     ///< vehicle id
  };

  /// @throws ParameterError for invalid parameters, or symplectic_euler.
  explicit Car(const CarParameters& parameters, const CarOptions& options = {})
      : parameters_(parameters), options_(options) {
    validate(parameters);
    if (options.integrator == Integrator::symplectic_euler) {
      PROPWASH_THROW(
          ParameterError("integrator = symplectic_euler: expected euler or rk4, because the state "
                         "of a car has no velocity"));
    }
    reset({}, options.seed);
  }

  /// The pose after the last step.
  const CarState<T>& state() const { return memory_.state; }
  /// Replaces the state; time and noise are unchanged.
  void set_state(const CarState<T>& state) { memory_.state = state; }
  /// Restarts at time 0. The noise counter continues, so that episodes differ.
  void reset(const CarState<T>& state = {}) {
    memory_.state = state;
    memory_.time = 0.0;
  }
  /// The same with a new seed and the noise counter at 0, like a new car.
  void reset(const CarState<T>& state, std::uint64_t seed) {
    options_.seed = seed;
    memory_ = {state, 0.0, 0, seed, options_.id};
  }

  /// Advances by dt [s] > 0 with a constant command, which is limited to the range of the car.
  template <class U>
  void step(const SpeedYawRate<U>& command, double dt) {
    const auto constants = cast_numbers<CarConstants<T>>(constants_of(parameters_, dt));
    const NoiseHost<T> host{options_.seed, options_.id, memory_.steps, options_.noise};
    const SpeedYawRate<T> cast{T(command.speed), T(command.yaw_rate)};
    memory_.state = options_.integrator == Integrator::euler
                        ? constants.tick(Euler{}, memory_.state, cast, host, T(dt))
                        : constants.tick(Rk4{}, memory_.state, cast, host, T(dt));
    ++memory_.steps;
    memory_.time += dt;
  }

  double time() const { return memory_.time; }  ///< s, since reset
  /// Number of steps since construction or a reset with a seed; also the noise counter.
  std::uint64_t steps() const { return memory_.steps; }
  /// The parameters that the car was constructed with.
  const CarParameters& parameters() const { return parameters_; }
  /// The options that the car was constructed with.
  const CarOptions& options() const { return options_; }
  /// The complete state without parameters, including seed and id; restore() continues bit for bit.
  Snapshot snapshot() const { return memory_; }
  /// Continues from a snapshot.
  void restore(const Snapshot& snapshot) {
    memory_ = snapshot;
    options_.seed = snapshot.seed;
    options_.id = static_cast<std::uint32_t>(snapshot.id);
  }

 private:
  static CarConstants<double> constants_of(const CarParameters& of, double dt) {
    return {of.speed_min, of.speed_max, of.yaw_rate_limit,
            held_noise_deviation(of.process_noise_forward, dt),
            held_noise_deviation(of.process_noise_left, dt)};
  }

  CarParameters parameters_;
  CarOptions options_;
  Snapshot memory_{};
};

}  // namespace propwash
