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
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A command of speed along the heading and yaw rate.
template <class T = double>
struct SpeedYawRate {
  T speed{};     ///< m/s
  T yaw_rate{};  ///< rad/s, counter-clockwise positive
};
template <class T>
SpeedYawRate(T, T) -> SpeedYawRate<T>;

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
  using State = CarState<T>;  ///< pose in the plane
  /// The complete state without parameters.
  struct Snapshot {
    State state{};            ///< pose in the plane
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
  const State& state() const { return memory_.state; }
  /// Replaces the state; time and noise are unchanged.
  void set_state(const State& state) { memory_.state = state; }
  /// Restarts at time 0. The noise counter continues, so that episodes differ.
  void reset(const State& state = {}) {
    memory_.state = state;
    memory_.time = 0.0;
  }
  /// The same with a new seed and the noise counter at 0, like a new car.
  void reset(const State& state, std::uint64_t seed) {
    options_.seed = seed;
    memory_ = {state, 0.0, 0, seed, options_.id};
  }

  /// Advances by dt [s] > 0 with a constant command, which is limited to the range of the car.
  template <class U>
  void step(const SpeedYawRate<U>& command, double dt) {
    const T speed = clamp(T(command.speed), T(parameters_.speed_min), T(parameters_.speed_max));
    const T limit = static_cast<T>(parameters_.yaw_rate_limit);
    const T yaw_rate = clamp(T(command.yaw_rate), -limit, limit);
    T forward{};
    T left{};
    if (options_.noise) {  // (26)
      const SixNormals z =
          six_normals(options_.seed, options_.id, memory_.steps, Stream::process_noise);
      forward = T(z[0]) * T(held_noise_deviation(parameters_.process_noise_forward, dt));
      left = T(z[1]) * T(held_noise_deviation(parameters_.process_noise_left, dt));
    }
    const auto f = [&](const State& x) PROPWASH_LAMBDA {
      return car_derivative(x, speed, yaw_rate, forward, left);
    };
    memory_.state = options_.integrator == Integrator::euler ? Euler{}(f, memory_.state, T(dt))
                                                             : Rk4{}(f, memory_.state, T(dt));
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
  CarParameters parameters_;
  CarOptions options_;
  Snapshot memory_{};
};

}  // namespace propwash
