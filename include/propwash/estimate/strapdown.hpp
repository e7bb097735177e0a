#pragma once
/// @file
/// Strapdown integration: the motion of an inertial sensor from its readings, and the derivatives
/// of a step with respect to the errors of its state. See docs/estimate.md, (E1) to (E7).
///
/// After Solà, "Quaternion kinematics for the error-state Kalman filter" (arXiv 1711.02508), with
/// attitude errors in body axes, and Trawny and Roumeliotis, "Indirect Kalman filter for 3D
/// attitude estimation" (2005). The origin of the motion is the sensor, so that a lever arm needs
/// no angular acceleration.

#include "propwash/math/mat3_algebra.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/imu.hpp"

namespace propwash {

/// Attitude of the body, motion of the inertial sensor, and its biases.
template <class T>
struct StrapdownState {
  Quat<T> q_WB = Quat<T>::identity();  ///< body to world
  Vec3<T> velocity_W{};                ///< m/s, of the sensor
  Vec3<T> position_W{};                ///< m, of the sensor
  Vec3<T> gyroscope_bias_S{};          ///< rad/s, sensor axes
  Vec3<T> accelerometer_bias_S{};      ///< m/s^2, sensor axes
};

/// What the filter knows of the inertial sensor and of gravity.
template <class P>
struct StrapdownModel {
  Mat3<P> gyroscope_BS = Mat3<P>::identity();      ///< mounting times inverse scale factors
  Mat3<P> accelerometer_BS = Mat3<P>::identity();  ///< mounting times inverse scale factors
  Vec3<P> position_B{};                            ///< m, p_BS_B, lever arm of the sensor
  Vec3<P> gravity_W{};                             ///< m/s^2
  P gyroscope_noise{};                             ///< rad^2/s, density squared
  P accelerometer_noise{};                         ///< m^2/s^3, density squared
  P gyroscope_walk{};                              ///< rad^2/s^3, density squared
  P accelerometer_walk{};                          ///< m^2/s^5, density squared
  P gyroscope_rounding{};                          ///< rad^2/s^2, variance of the quantisation
  P accelerometer_rounding{};                      ///< m^2/s^4, variance of the quantisation
};

/// The model of a sensor with valid parameters. The error of rounding to a resolution r has the
/// variance r^2 / 12.
template <class P>
StrapdownModel<P> make_strapdown_model(const ImuParameters<double>& imu,
                                       const Vec3<double>& gravity_W) {
  const auto corrected = [&](const Vec3<double>& scale) {
    const Mat3<double> inverse =
        Mat3<double>::diagonal(1.0 / scale.x, 1.0 / scale.y, 1.0 / scale.z);
    return cast<P>(to_matrix(imu.attitude) * inverse);
  };
  const auto squared = [](double x) { return P(x * x); };
  StrapdownModel<P> model;
  model.gyroscope_BS = corrected(imu.gyroscope_scale);
  model.accelerometer_BS = corrected(imu.accelerometer_scale);
  model.position_B = cast<P>(imu.position);
  model.gravity_W = cast<P>(gravity_W);
  model.gyroscope_noise = squared(imu.gyroscope_noise_density);
  model.accelerometer_noise = squared(imu.accelerometer_noise_density);
  model.gyroscope_walk = squared(imu.gyroscope_bias_walk);
  model.accelerometer_walk = squared(imu.accelerometer_bias_walk);
  model.gyroscope_rounding = squared(imu.gyroscope_resolution) / P(12);
  model.accelerometer_rounding = squared(imu.accelerometer_resolution) / P(12);
  return model;
}

/// (E1) angular rate [rad/s, body axes] of a reading.
template <class T, class P>
PROPWASH_FN Vec3<T> corrected_rate(const StrapdownModel<P>& model, const StrapdownState<T>& x,
                                   const ImuReading<T>& reading) {
  return model.gyroscope_BS * (reading.angular_rate - x.gyroscope_bias_S);
}
/// (E1) specific force [m/s^2, body axes] of a reading.
template <class T, class P>
PROPWASH_FN Vec3<T> corrected_force(const StrapdownModel<P>& model, const StrapdownState<T>& x,
                                    const ImuReading<T>& reading) {
  return model.accelerometer_BS * (reading.specific_force - x.accelerometer_bias_S);
}

/// The unit quaternion of a rotation vector [rad].
template <class T>
PROPWASH_FN Quat<T> from_rotation_vector(const Vec3<T>& rotation) {
  const T one(constant<T>(1));
  const T half = norm(rotation) * constant<T>(0.5);
  const auto is_small = half < T(constant<T>(1e-3));
  const T square = squared_norm(rotation) * constant<T>(0.25);
  const T series = one - square * (one - square * constant<T>(0.05)) * constant<T>(1.0 / 6.0);
  const T sinc = select(is_small, series, sin(half) / select(is_small, one, half));
  const Vec3<T> axis = rotation * (sinc * constant<T>(0.5));
  return {
      select(is_small, one - square * (one - square * constant<T>(1.0 / 12.0)) * constant<T>(0.5),
             cos(half)),
      axis.x, axis.y, axis.z};
}

/// One step and the quantities that its derivatives use.
template <class T>
struct StrapdownStep {
  StrapdownState<T> end;    ///< the state at the end of the step
  Quat<T> change;           ///< rotation of the body during the step, end to start
  Mat3<T> start_WB{};       ///< attitude at the start
  Mat3<T> end_WB{};         ///< attitude at the end
  Vec3<T> force_start_W{};  ///< m/s^2, specific force at the start
  Vec3<T> force_end_W{};    ///< m/s^2, specific force at the end
};

/// (E2) to (E4): a step of dt [s] between two readings, at its start and at its end; rate and
/// acceleration are linear in time between them.
template <class T, class P>
PROPWASH_FN StrapdownStep<T> strapdown_step(const StrapdownModel<P>& model,
                                            const StrapdownState<T>& x, const ImuReading<T>& start,
                                            const ImuReading<T>& stop, const T& dt) {
  const Vec3<T> rate_0_B = corrected_rate(model, x, start);
  const Vec3<T> rate_1_B = corrected_rate(model, x, stop);
  const Vec3<T> rotation_B = (rate_0_B + rate_1_B) * (dt * constant<T>(0.5)) +
                             cross(rate_0_B, rate_1_B) * (dt * dt * constant<T>(1.0 / 12.0));
  StrapdownStep<T> step{x, from_rotation_vector(rotation_B), {}, {}, {}, {}};
  step.end.q_WB = normalized(x.q_WB * step.change);
  step.start_WB = to_matrix(x.q_WB);
  step.end_WB = to_matrix(step.end.q_WB);
  step.force_start_W = step.start_WB * corrected_force(model, x, start);
  step.force_end_W = step.end_WB * corrected_force(model, x, stop);
  const Vec3<T> mean_W = (step.force_start_W + step.force_end_W) * constant<T>(0.5);
  const Vec3<T> early_W =
      step.force_start_W * constant<T>(2.0 / 3.0) + step.force_end_W * constant<T>(1.0 / 3.0);
  step.end.velocity_W = x.velocity_W + (mean_W + model.gravity_W) * dt;
  step.end.position_W =
      x.position_W + (x.velocity_W + (early_W + model.gravity_W) * (dt * constant<T>(0.5))) * dt;
  return step;
}

/// (E6) the blocks of the transition matrix of the errors that are neither zero nor identity. The
/// block of position and velocity is dt times the identity.
template <class T>
struct StrapdownTransition {
  Mat3<T> attitude_attitude;       ///< of the attitude error at the end, body axes
  Mat3<T> attitude_gyroscope;      ///< s
  Mat3<T> velocity_attitude;       ///< m/s
  Mat3<T> velocity_gyroscope;      ///< m
  Mat3<T> velocity_accelerometer;  ///< s
  Mat3<T> position_attitude;       ///< m
  Mat3<T> position_gyroscope;      ///< m s
  Mat3<T> position_accelerometer;  ///< s^2
  T dt{};                          ///< s
};

/// (E6) the derivatives of a step with respect to the errors at its start.
template <class T, class P>
PROPWASH_FN StrapdownTransition<T> strapdown_transition(const StrapdownModel<P>& model,
                                                        const StrapdownStep<T>& step, const T& dt) {
  const auto half = constant<T>(0.5);
  const T sixth = dt * dt * constant<T>(1.0 / 6.0);
  const Mat3<T> identity = Mat3<T>::identity();
  StrapdownTransition<T> f;
  f.dt = dt;
  f.attitude_attitude = to_matrix(conjugate(step.change));
  f.attitude_gyroscope = ((identity + f.attitude_attitude) * model.gyroscope_BS) * T(dt * -half);
  const Mat3<T> lever = skew(step.force_end_W) * step.end_WB * f.attitude_gyroscope;
  f.velocity_attitude =
      skew((step.force_start_W + step.force_end_W) * T(dt * -half)) * step.start_WB;
  f.velocity_gyroscope = lever * T(dt * -half);
  f.velocity_accelerometer = (step.start_WB + step.end_WB) * model.accelerometer_BS * T(dt * -half);
  f.position_attitude =
      skew((step.force_start_W * constant<T>(2) + step.force_end_W) * T(-sixth)) * step.start_WB;
  f.position_gyroscope = lever * T(-sixth);
  f.position_accelerometer =
      (step.start_WB * constant<T>(2) + step.end_WB) * model.accelerometer_BS * T(-sixth);
  return f;
}

}  // namespace propwash
