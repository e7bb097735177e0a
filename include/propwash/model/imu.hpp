#pragma once
/// @file
/// Inertial measurement unit: specific force and angular rate, with lever arm, mounting, scale
/// factors, bias, noise, quantisation and saturation.
///
/// Equations (15) to (18) of Guerra et al., "FlightGoggles" (arXiv 1905.11377), and the device
/// model of Laechele et al., "SwarmSimX" (SIMPAR 2012), steps 1 to 3; see docs/model/imu.md. Sensor
/// frame S: origin at p_BS_B from the centre of mass, attitude q_BS. The accelerometer measures
/// specific force: +9.81 m/s^2 along body z in hover.

#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/sample_schedule.hpp"

namespace propwash {

/// Noise is specified as densities: after averaging, it does not depend on the sampling rate.
template <class P>
struct ImuParameters {
  P accelerometer_noise_density{};  ///< m/s^2/sqrt(Hz), white
  P gyroscope_noise_density{};      ///< rad/s/sqrt(Hz), white
  P accelerometer_bias_walk{};      ///< m/s^3/sqrt(Hz), random walk of the bias
  P gyroscope_bias_walk{};          ///< rad/s^2/sqrt(Hz), random walk of the bias
  P accelerometer_bias_initial{};   ///< m/s^2, standard deviation of the bias at reset
  P gyroscope_bias_initial{};       ///< rad/s, standard deviation of the bias at reset

  Vec3<P> position{};                             ///< m, p_BS_B: lever arm from the centre of mass
  Quat<P> attitude{P(1), P(0), P(0), P(0)};       ///< q_BS: from the sensor frame to the body frame
  Vec3<P> accelerometer_scale{P(1), P(1), P(1)};  ///< -, scale factors s_a
  Vec3<P> gyroscope_scale{P(1), P(1), P(1)};      ///< -, scale factors s_W
  P accelerometer_resolution{};                   ///< m/s^2, quantisation step; 0: none
  P gyroscope_resolution{};                       ///< rad/s, quantisation step; 0: none
  P accelerometer_range{
      std::numeric_limits<value_type_t<P>>::infinity()};  ///< m/s^2, saturates at +-range
  P gyroscope_range{
      std::numeric_limits<value_type_t<P>>::infinity()};  ///< rad/s, saturates at +-range
  P rate{};  ///< Hz, sampling rate; 0: one sample per physics step
  PROPWASH_MEMBERS(accelerometer_noise_density, gyroscope_noise_density, accelerometer_bias_walk,
                   gyroscope_bias_walk, accelerometer_bias_initial, gyroscope_bias_initial,
                   position, attitude, accelerometer_scale, gyroscope_scale,
                   accelerometer_resolution, gyroscope_resolution, accelerometer_range,
                   gyroscope_range, rate)
};

/// The biases, the state of the device.
template <class T>
struct ImuBias {
  Vec3<T> accelerometer{};  ///< m/s^2, b_a, sensor axes
  Vec3<T> gyroscope{};      ///< rad/s, b_W, sensor axes
  PROPWASH_MEMBERS(accelerometer, gyroscope)
};

/// A sample of the white noise.
template <class T>
struct ImuNoise {
  Vec3<T> accelerometer{};  ///< m/s^2, sensor axes
  Vec3<T> gyroscope{};      ///< rad/s, sensor axes
};

/// Standard deviations of the random numbers of one step.
template <class P>
struct ImuDeviations {
  P accelerometer{};       ///< m/s^2, white noise of a sample
  P gyroscope{};           ///< rad/s, white noise of a sample
  P accelerometer_walk{};  ///< m/s^2, bias increment
  P gyroscope_walk{};      ///< rad/s, bias increment
  PROPWASH_MEMBERS(accelerometer, gyroscope, accelerometer_walk, gyroscope_walk)
};

/// One measurement, in sensor axes.
template <class T>
struct ImuReading {
  Vec3<T> specific_force{};  ///< m/s^2
  Vec3<T> angular_rate{};    ///< rad/s
  double time = 0.0;         ///< s, time of the sample
  PROPWASH_MEMBERS(specific_force, angular_rate, time)
};

/// The parameters, and flags that let ideal properties be skipped.
template <class P>
struct ImuDevice {
  ImuParameters<P> parameters{};  ///< the sensor's parameters
  bool has_lever_arm = false;     ///< position is not zero
  bool is_rotated = false;        ///< attitude is not the identity
  bool is_digital = false;        ///< a resolution or a range is set
  PROPWASH_MEMBERS(parameters, has_lever_arm, is_rotated, is_digital)
};

/// Whether readings have white noise.
inline bool has_white_noise(const ImuParameters<double>& imu) {
  return imu.accelerometer_noise_density > 0 || imu.gyroscope_noise_density > 0;
}
/// Whether the biases change in a step.
inline bool has_bias_walk(const ImuParameters<double>& imu) {
  return imu.accelerometer_bias_walk > 0 || imu.gyroscope_bias_walk > 0;
}
/// Whether readings have noise or bias.
inline bool is_noisy(const ImuParameters<double>& imu) {
  return has_white_noise(imu) || has_bias_walk(imu) || imu.accelerometer_bias_initial > 0 ||
         imu.gyroscope_bias_initial > 0;
}

/// Converts parameters to type P and sets the flags.
template <class P>
ImuDevice<P> make_imu_device(const ImuParameters<double>& from) {
  ImuDevice<P> device;
  device.parameters = cast_numbers<ImuParameters<P>>(from);
  device.has_lever_arm = squared_norm(from.position) > 0;
  device.is_rotated = from.attitude.x != 0 || from.attitude.y != 0 || from.attitude.z != 0;
  device.is_digital = from.accelerometer_resolution > 0 || from.gyroscope_resolution > 0 ||
                      is_finite(from.accelerometer_range) || is_finite(from.gyroscope_range);
  return device;
}

/// The deviations for steps of dt [s]; zero if `noise` is false. The bandwidth of the white noise
/// is the sampling rate: that of the sensor, or 1 / dt if the sensor samples at every step.
template <class P>
ImuDeviations<P> make_imu_deviations(const ImuParameters<double>& imu, double dt, bool noise) {
  const double on = noise ? 1.0 : 0.0;
  const double bandwidth = is_slower_than_steps(imu.rate, dt) ? imu.rate : 1.0 / dt;
  const double per_reading = on * sqrt(bandwidth);
  const double per_step = sqrt(dt);
  return {P(per_reading * imu.accelerometer_noise_density),
          P(per_reading * imu.gyroscope_noise_density),
          P(on * imu.accelerometer_bias_walk * per_step),
          P(on * imu.gyroscope_bias_walk * per_step)};
}

/// (15) without errors: specific force [m/s^2, sensor frame] at the sensor; step 1 of SwarmSimX.
/// `specific_force_B` is that of the centre of mass: all forces except gravity, divided by mass.
template <class T, class P>
PROPWASH_FN Vec3<T> specific_force_at_sensor(const ImuDevice<P>& imu,
                                             const Vec3<T>& specific_force_B,
                                             const Vec3<T>& rates_B,
                                             const Vec3<T>& angular_acceleration_B) {
  Vec3<T> force_B = specific_force_B;
  if (imu.has_lever_arm) {
    const Vec3<P>& p_BS_B = imu.parameters.position;
    const Vec3<T> centripetal_B = cross(rates_B, cross(rates_B, p_BS_B));
    force_B = force_B + centripetal_B + cross(angular_acceleration_B, p_BS_B);
  }
  return imu.is_rotated ? rotate_inverse(imu.parameters.attitude, force_B) : force_B;
}

/// (16) without errors: angular rate [rad/s, sensor frame].
template <class T, class P>
PROPWASH_FN Vec3<T> angular_rate_at_sensor(const ImuDevice<P>& imu, const Vec3<T>& rates_B) {
  return imu.is_rotated ? rotate_inverse(imu.parameters.attitude, rates_B) : rates_B;
}

/// Steps 2 and 3 of SwarmSimX: applies scale factors and adds bias and a sample of white noise, of
/// standard deviation density * sqrt(rate); then rounds to multiples of the resolution (0: no
/// rounding) and limits to +-range.
template <class T, class P>
PROPWASH_FN Vec3<T> with_errors(const Vec3<T>& truth_S, const Vec3<P>& scale, const Vec3<T>& bias,
                                const Vec3<T>& noise, bool is_digital, const P& resolution,
                                const P& range) {
  const Vec3<T> value = cwise_product(truth_S, scale) + bias + noise;
  if (!is_digital) return value;
  return map(value, [&](const T& x) PROPWASH_LAMBDA {
    const T step(max(resolution, P(constant<P>(1e-30))));
    const T rounded = select(T(resolution) > T(constant<T>(0)), round(x / step) * step, x);
    return max(min(rounded, T(range)), T(-range));
  });
}

/// Accelerometer reading [m/s^2, sensor frame] of a specific force.
template <class T, class P>
PROPWASH_FN Vec3<T> accelerometer_reading(const ImuDevice<P>& imu, const Vec3<T>& truth_S,
                                          const ImuBias<T>& bias, const Vec3<T>& noise) {
  const auto& p = imu.parameters;
  return with_errors(truth_S, p.accelerometer_scale, bias.accelerometer, noise, imu.is_digital,
                     p.accelerometer_resolution, p.accelerometer_range);
}

/// Gyroscope reading [rad/s, sensor frame] of an angular rate.
template <class T, class P>
PROPWASH_FN Vec3<T> gyroscope_reading(const ImuDevice<P>& imu, const Vec3<T>& truth_S,
                                      const ImuBias<T>& bias, const Vec3<T>& noise) {
  const auto& p = imu.parameters;
  return with_errors(truth_S, p.gyroscope_scale, bias.gyroscope, noise, imu.is_digital,
                     p.gyroscope_resolution, p.gyroscope_range);
}

/// Gyroscope reading [rad/s, sensor frame] of body rates [rad/s].
template <class T, class P>
PROPWASH_FN Vec3<T> read_body_rates(const ImuDevice<P>& imu, const Vec3<T>& rates_B,
                                    const ImuBias<T>& bias, const Vec3<T>& noise) {
  return gyroscope_reading(imu, angular_rate_at_sensor(imu, rates_B), bias, noise);
}

/// (15), (16): both readings, from specific force [m/s^2] at the centre of mass, body rates [rad/s]
/// and angular acceleration [rad/s^2], which only a sensor with a lever arm uses.
template <class T, class P>
PROPWASH_FN ImuReading<T> imu_reading(const ImuDevice<P>& imu, const Vec3<T>& specific_force_B,
                                      const Vec3<T>& rates_B, const Vec3<T>& angular_acceleration_B,
                                      const ImuBias<T>& bias, const ImuNoise<T>& noise,
                                      double time) {
  const Vec3<T> force_S =
      specific_force_at_sensor(imu, specific_force_B, rates_B, angular_acceleration_B);
  ImuReading<T> reading;
  reading.specific_force = accelerometer_reading(imu, force_S, bias, noise.accelerometer);
  reading.angular_rate = read_body_rates(imu, rates_B, bias, noise.gyroscope);
  reading.time = time;
  return reading;
}

/// White noise from six standard normals z[0] to z[5].
template <class T, class Normals, class P>
PROPWASH_FN ImuNoise<T> imu_noise(const Normals& z, const ImuDeviations<P>& deviations) {
  return {triple<T>(z, 0) * deviations.accelerometer, triple<T>(z, 3) * deviations.gyroscope};
}

/// (17), (18) a step of the bias random walk, an increment of variance walk^2 dt. `deviation` is
/// walk * sqrt(dt), `normal` three standard normals.
template <class T, class P>
PROPWASH_FN Vec3<T> random_walk(const Vec3<T>& bias, const P& deviation, const Vec3<T>& normal) {
  return bias + normal * deviation;
}
/// The same for both biases, with six standard normals z[0] to z[5].
template <class T, class Normals, class P>
PROPWASH_FN ImuBias<T> random_walk(const ImuBias<T>& bias, const ImuDeviations<P>& deviation,
                                   const Normals& z) {
  return {random_walk(bias.accelerometer, deviation.accelerometer_walk, triple<T>(z, 0)),
          random_walk(bias.gyroscope, deviation.gyroscope_walk, triple<T>(z, 3))};
}

}  // namespace propwash
