#pragma once
/// @file
/// A stand-alone inertial measurement unit, for a host simulator with its own dynamics.
///
///     Imu<> imu{vehicle.imu, seed, id};
///     auto reading = imu.read(specific_force_B, rates_B, angular_acceleration_B, dt);
///
/// Uses the equations of model/imu.hpp and the noise of Multicopter: with the true motion of a
/// Multicopter as input, the readings have the same bits.

#include <cstdint>
#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

namespace detail {
/// The time step [s] of the papers, assumed before the first step.
inline constexpr double default_dt = 1.0 / 960.0;
}  // namespace detail

/// Random biases at a reset with noise counter `step`, from the stream `initial_bias`.
template <class T>
ImuBias<T> initial_imu_bias(const ImuParameters<double>& imu, std::uint64_t seed, std::uint32_t id,
                            std::uint64_t step) {
  const ImuDeviations<T> deviations{T(imu.accelerometer_bias_initial),
                                    T(imu.gyroscope_bias_initial)};
  const auto noise = imu_noise<T>(six_normals(seed, id, step, Stream::initial_bias), deviations);
  return {noise.accelerometer, noise.gyroscope};
}

/// The complete state of an Imu.
template <class T>
struct ImuSnapshot {
  std::uint64_t sensor = 0;      ///< fingerprint() of the parameters
  std::uint64_t noise = 0;       ///< 1: noise enabled
  std::uint64_t seed = 0;        ///< of the noise
  std::uint64_t id = 0;          ///< vehicle id
  ImuBias<T> bias{};             ///< biases of both sensors
  ImuReading<T> reading{};       ///< last sample
  std::int64_t has_reading = 0;  ///< 1 after the first sample; 64 bits wide to avoid padding
  double phase = 0.0;       ///< elapsed fraction of a sampling interval, in [0, 1) up to rounding
  double dt = 0.0;          ///< s, of the last step
  double time = 0.0;        ///< s
  std::uint64_t steps = 0;  ///< counter of the noise
};

/// An inertial measurement unit with lever arm, mounting, scale factors, bias, noise, quantisation,
/// saturation and sampling rate. See docs/model/imu.md.
///
/// Each call of read() advances time by its dt. Noise is a function of seed, id and step number
/// (docs/random.md), so copies give the same readings. read() does not allocate.
template <class T = double>
class Imu {
 public:
  using Snapshot = ImuSnapshot<T>;  ///< the complete state

  /// If `noise` is false, there is no noise and no bias.
  /// @throws ParameterError that lists every field out of range.
  explicit Imu(const ImuParameters<double>& parameters, std::uint64_t seed = 0,
               std::uint32_t id = 0, bool noise = true)
      : parameters_(parameters) {
    validate(parameters);
    device_ = make_imu_device<T>(parameters);
    is_noisy_ = noise && is_noisy(parameters);
    memory_.sensor = fingerprint(parameters);
    memory_.noise = noise ? 1 : 0;
    memory_.seed = seed;
    memory_.id = id;
    reset();
  }

  /// Restarts at time 0 with new biases and without a reading. The noise counter continues, so that
  /// episodes differ.
  void reset() {
    const std::uint64_t steps = memory_.steps;
    memory_ = {memory_.sensor, memory_.noise, memory_.seed, memory_.id};
    memory_.steps = steps;
    memory_.dt = detail::default_dt;
    if (is_noisy_) memory_.bias = initial_imu_bias<T>(parameters_, seed(), id(), memory_.steps);
    set_time_step(memory_.dt);
  }
  /// The same with a new seed and the noise counter at 0, like a new sensor.
  void reset(std::uint64_t seed) {
    memory_.seed = seed;
    memory_.steps = 0;
    reset();
  }

  /// Advances the sensor by dt [s] and returns its reading at the end of the step.
  ///
  /// The arguments are the motion at the end of the step, in body axes: specific force at the
  /// centre of mass [m/s^2] (acceleration minus gravity; +9.81 along z at rest on level ground),
  /// body rates [rad/s] and angular acceleration [rad/s^2], which only a sensor with a lever arm
  /// uses. A sensor that is slower than the steps samples at the first step at or after each
  /// sampling time and returns its last sample in between; the first call always samples. dt = 0
  /// does not advance time: before the first step, it gives the reading at time 0.
  /// @throws ParameterError for a dt that is negative, not finite, or so small that 1 / dt is not
  /// finite; the object is then unchanged.
  ImuReading<T> read(const Vec3<T>& specific_force_B, const Vec3<T>& rates_B,
                     const Vec3<T>& angular_acceleration_B, double dt) {
    bool is_due = !is_slower_;
    if (!is_finite(dt) || dt != 0.0) {
      if (!same_bits(dt, memory_.dt)) prepare(dt);
      advance(dt);
      is_due = !is_slower_ || sample_is_due(memory_.phase, dt, parameters_.rate);
    }
    if (is_due || memory_.has_reading == 0) {
      take(specific_force_B, rates_B, angular_acceleration_B);
    }
    return memory_.reading;
  }

  /// The last sample.
  const ImuReading<T>& reading() const { return memory_.reading; }
  const ImuBias<T>& bias() const { return memory_.bias; }  ///< sensor axes
  double time() const { return memory_.time; }             ///< s, since reset
  /// Number of steps since construction or a reset with a seed; also the noise counter.
  std::uint64_t steps() const { return memory_.steps; }
  /// The parameters that the sensor was constructed with.
  const ImuParameters<double>& parameters() const { return parameters_; }
  /// Key of the noise.
  std::uint64_t seed() const { return memory_.seed; }
  /// Distinguishes sensors with the same seed.
  std::uint32_t id() const { return static_cast<std::uint32_t>(memory_.id); }

  /// The complete state without parameters, including seed and id of the noise; see restore().
  Snapshot snapshot() const { return memory_; }
  /// Continues bit for bit from a snapshot.
  /// @throws std::invalid_argument for a snapshot of a sensor with other parameters or another
  /// noise option, and for invalid numbers; the object is then unchanged.
  void restore(const Snapshot& snapshot) {
    if (snapshot.sensor != memory_.sensor || snapshot.noise != memory_.noise) {
      PROPWASH_THROW(
          std::invalid_argument("snapshot: expected one of a sensor with the same parameters, " +
                                std::string(memory_.noise != 0 ? "with" : "without") + " noise"));
    }
    const auto& bias = snapshot.bias;
    const auto& reading = snapshot.reading;
    if (!is_finite(bias.accelerometer) || !is_finite(bias.gyroscope) ||
        !is_finite(reading.specific_force) || !is_finite(reading.angular_rate) ||
        !is_finite(reading.time) || !is_sample_phase(snapshot.phase) || !is_finite(snapshot.time) ||
        !is_valid(snapshot.dt) || snapshot.id > std::numeric_limits<std::uint32_t>::max()) {
      PROPWASH_THROW(
          std::invalid_argument("snapshot: expected the result of snapshot(), got invalid data"));
    }
    memory_ = snapshot;
    set_time_step(memory_.dt);
  }

 private:
  static bool is_valid(double dt) { return is_finite(dt) && dt > 0.0 && is_finite(1.0 / dt); }
  void prepare(double dt) {
    if (!is_valid(dt)) {
      PROPWASH_THROW(ParameterError("dt = " + detail::formatted(dt) +
                                    ": expected 0, or a finite value > 0 s with finite 1 / dt"));
    }
    const bool was_slower = is_slower_;
    set_time_step(dt);
    if (is_slower_ && !was_slower) memory_.phase = 0.0;
    memory_.dt = dt;
  }
  void set_time_step(double dt) {
    is_slower_ = is_slower_than_steps(parameters_.rate, dt);
    deviations_ = make_imu_deviations<T>(parameters_, dt, memory_.noise != 0);
  }
  void advance(double dt) {
    if (is_noisy_) {
      const auto z = six_normals(seed(), id(), memory_.steps, Stream::imu_bias_walk);
      memory_.bias = random_walk(memory_.bias, deviations_, z);
    }
    ++memory_.steps;
    memory_.time += dt;
  }
  void take(const Vec3<T>& specific_force_B, const Vec3<T>& rates_B,
            const Vec3<T>& angular_acceleration_B) {
    ImuNoise<T> noise{};
    if (is_noisy_) {
      const auto z = six_normals(seed(), id(), memory_.steps, Stream::imu_noise);
      noise = imu_noise<T>(z, deviations_);
    }
    memory_.reading = imu_reading(device_, specific_force_B, rates_B, angular_acceleration_B,
                                  memory_.bias, noise, memory_.time);
    memory_.has_reading = 1;
  }

  ImuParameters<double> parameters_;
  bool is_noisy_ = false;
  ImuDevice<T> device_{};
  ImuDeviations<T> deviations_{};  // for steps of memory_.dt
  bool is_slower_ = false;         // than the steps, so that readings are held
  Snapshot memory_{};
};

}  // namespace propwash
