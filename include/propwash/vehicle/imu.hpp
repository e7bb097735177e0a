#pragma once
/// @file
/// An inertial sensor by itself, for a host simulator that has its own dynamics.
///
///     Imu<> imu{vehicle.imu, seed, id};
///     ImuReading<double> reading = imu.read(specific_force_B, rates_B, angular_acceleration_B,
///     dt);
///
/// The equations are those of model/imu.hpp, the noise that of Multicopter: an Imu that is given
/// the true quantities of a Multicopter's steps reads the same bits.

#include <cstdint>
#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

namespace detail {
/// s, the papers' step: what sensors and controllers assume before their first step.
inline constexpr double first_dt = 1.0 / 960.0;
}  // namespace detail

/// Whether noise or bias can make a reading differ from the truth.
inline bool is_noisy(const ImuParameters<double>& imu) {
  return imu.accelerometer_noise_density > 0 || imu.gyroscope_noise_density > 0 ||
         imu.accelerometer_bias_walk > 0 || imu.gyroscope_bias_walk > 0 ||
         imu.accelerometer_bias_initial > 0 || imu.gyroscope_bias_initial > 0;
}

/// The biases at a reset when the counter of the noise is `step`, a draw of stream `initial_bias`.
template <class T>
ImuBias<T> initial_imu_bias(const ImuParameters<double>& imu, std::uint64_t seed, std::uint32_t id,
                            std::uint64_t step) {
  const ImuDeviations<T> deviations{T(imu.accelerometer_bias_initial),
                                    T(imu.gyroscope_bias_initial)};
  const auto drawn = imu_noise<T>(six_normals(seed, id, step, Stream::initial_bias), deviations);
  return {drawn.accelerometer, drawn.gyroscope};
}

/// All that the future of an Imu depends on.
template <class T>
struct ImuSnapshot {
  std::uint64_t sensor = 0;      ///< fingerprint of the parameters
  std::uint64_t noise = 0;       ///< whether there is any
  std::uint64_t seed = 0;        ///< key of the noise
  std::uint64_t id = 0;          ///< number of the vehicle
  ImuBias<T> bias{};             ///< biases of both sensors
  ImuReading<T> reading{};       ///< the last one taken
  std::int64_t has_reading = 0;  ///< whether there is one; as wide as a double, so without padding
  double phase = 0.0;            ///< of a sampling interval, in [0, 1) but for rounding
  double dt = 0.0;               ///< s, of the last step
  double time = 0.0;             ///< s
  std::uint64_t steps = 0;       ///< counter of the noise
};

/// An inertial sensor: lever arm, mounting, scale, bias, noise, quantisation, saturation and its
/// own rate. See docs/model/imu.md.
///
/// Time is that of the calls of read(). The noise of a reading is a function of seed, id and the
/// number of the step (random.md); copies read the same. read() allocates nothing.
template <class T = double>
class Imu {
 public:
  using Snapshot = ImuSnapshot<T>;  ///< everything that affects the future

  /// `noise` false turns noise and biases off. @throws ParameterError that lists every field out of
  /// its range.
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

  /// Starts again at time 0: draws the biases anew; there is no reading yet. The counter of the
  /// noise goes on, so that no two episodes are alike.
  void reset() {
    Snapshot fresh;
    fresh.sensor = memory_.sensor;
    fresh.noise = memory_.noise;
    fresh.seed = memory_.seed;
    fresh.id = memory_.id;
    fresh.steps = memory_.steps;
    fresh.dt = detail::first_dt;
    memory_ = fresh;
    if (is_noisy_) memory_.bias = initial_imu_bias<T>(parameters_, seed(), id(), memory_.steps);
    set_time_step(memory_.dt);
  }
  /// The same with this key of the noise and its counter at 0, as a new sensor.
  void reset(std::uint64_t seed) {
    memory_.seed = seed;
    memory_.steps = 0;
    reset();
  }

  /// Advances the sensor by a step of dt [s] and gives its reading at the end of the step.
  ///
  /// The arguments are the motion of the body at the end of the step, in body axes: the specific
  /// force at the centre of mass [m/s^2] (acceleration less gravity; +9.81 along z at rest on level
  /// ground), the rates [rad/s] and the angular acceleration [rad/s^2], which only a sensor with a
  /// lever arm uses. A sensor that is slower than the steps samples at the first step at or after
  /// each due time, counted from time 0, and gives its last reading in between; the first call
  /// gives a reading taken in that call. With dt = 0 nothing advances: a call before the first step
  /// takes the reading of time 0.
  /// @throws ParameterError for a dt that is negative, not finite, or so small that 1 / dt is not;
  /// nothing has changed then.
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

  /// The last reading taken.
  const ImuReading<T>& reading() const { return memory_.reading; }
  const ImuBias<T>& bias() const { return memory_.bias; }  ///< sensor axes
  double time() const { return memory_.time; }             ///< s, since reset
  /// Steps since construction or since a reset with a seed: the counter of the noise.
  std::uint64_t steps() const { return memory_.steps; }
  /// The parameters that the sensor was made with.
  const ImuParameters<double>& parameters() const { return parameters_; }
  /// Key of the noise.
  std::uint64_t seed() const { return memory_.seed; }
  /// Number of the sensor: sensors with one seed differ by it.
  std::uint32_t id() const { return static_cast<std::uint32_t>(memory_.id); }

  /// Everything that affects the future but parameters, and back: seed and id of the noise too.
  Snapshot snapshot() const { return memory_; }
  /// @throws std::invalid_argument for a snapshot of a sensor with other parameters or another
  /// noise switch, and for numbers that are not finite; nothing has changed then.
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
          std::invalid_argument("snapshot: expected what snapshot() gave, got a damaged one"));
    }
    memory_ = snapshot;
    set_time_step(memory_.dt);
  }

 private:
  static bool is_valid(double dt) { return is_finite(dt) && dt > 0.0 && is_finite(1.0 / dt); }
  void prepare(double dt) {
    if (!is_valid(dt)) {
      PROPWASH_THROW(ParameterError("dt = " + detail::formatted(dt) +
                                    ": expected 0, or a finite value whose inverse is finite [s]"));
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
      memory_.bias = walked(memory_.bias, deviations_, z);
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
  bool is_slower_ = false;         // than those steps: readings are held
  Snapshot memory_{};
};

}  // namespace propwash
