#pragma once
/// @file
/// The order of one step of a multicopter, as functions over the scalar type T of its state.
///
///     1. command        rate_loop: gyroscope reading of the end of the last step -> rate
///                       controller -> allocation; or `limited` rotor speeds
///     2. motors         drive_motors: command delay, battery voltage, limits
///     3. disturbances   noise_force, noise_torque, external wrench and wind, held over the step
///     4. motion         step_in_air: forces -> rigid body -> integrate -> project
///     5. sensors        imu_read, of the state at the end of the step
///
/// Multicopter (double, float), the kernels of a fleet (packs), Linearizer (dual numbers) and
/// OpenLoop (dual numbers of packs) call these functions; each owns its memory, its random draws
/// and the decision when a slow IMU samples.

#include "propwash/model/battery.hpp"
#include "propwash/vehicle/multicopter_step.hpp"
#include "propwash/vehicle/tick_constants.hpp"

namespace propwash {

/// Rotor speeds within the limits of the motors [rad/s].
template <class T, int N, class P, class Shape>
PROPWASH_FN SmallArray<T, N> limited(const MulticopterModel<P, N, Shape>& model,
                                     const SmallArray<T, N>& speeds) {
  return clamp(speeds, model.speed_min, model.speed_max);
}

/// (19) to (23): one update of the rate controller. Takes the gyroscope's reading [rad/s, sensor
/// axes], returns commanded rotor speeds [rad/s], which are within the limits of the motors.
template <class T, class P, int N, class Shape>
PROPWASH_FN SmallArray<T, N> rate_loop(const TickConstants<P, N, Shape>& c,
                                       RateControllerState<T>& controller,
                                       const Vec3<T>& gyroscope_S, const RateThrust<T>& command) {
  const Vec3<T> gyroscope_B =
      c.imu.is_turned ? rotate(c.imu.parameters.attitude, gyroscope_S) : gyroscope_S;
  const Vec3<T> torque_B = rate_control(c.law, controller, gyroscope_B, command.rates);
  return allocate(c.allocation, Wrench<T>{torque_B, command.thrust});
}

/// From commanded `speeds` within the limits to those that the motors are driven to [rad/s].
/// `delay` is a function that replaces an array of speeds by the delayed ones; `voltage_ratio` is
/// the battery's voltage over its nominal one.
template <class T, int N, class P, class Shape, class Delay>
PROPWASH_FN void drive_motors(const MulticopterModel<P, N, Shape>& model, SmallArray<T, N>& speeds,
                              const Delay& delay, bool has_battery, const T& voltage_ratio) {
  delay(speeds);
  if (!has_battery) return;
  for_each_index<N>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    speeds[i] =
        clamp(command_at_voltage(speeds[i], voltage_ratio), model.speed_min[i], model.speed_max[i]);
  });
}

/// (10) a sample of the process noise's force, world frame, in the model's unit, from the first
/// three of six standard normals z[0] to z[5].
template <class T, class P, int N, class Shape, class Normals>
PROPWASH_FN Vec3<T> noise_force(const TickConstants<P, N, Shape>& c, const Normals& z) {
  return triple<T>(z, 0) * c.force_deviation;
}
/// (10) the same of its torque, body frame, from the last three.
template <class T, class P, int N, class Shape, class Normals>
PROPWASH_FN Vec3<T> noise_torque(const TickConstants<P, N, Shape>& c, const Normals& z) {
  return cwise_product(triple<T>(z, 3), c.torque_deviation);
}

/// One step of dt [s] in air that moves with wind_W [m/s] over the step: a change of the frame of
/// reference. `motion` is a MulticopterModel, or TickConstants, whose decay stages are used where
/// it has them. Without `has_wind`, the air is still and wind_W is not read.
template <class Method, class Motion, class T, int N, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> step_in_air(const Method& method, const Motion& motion,
                                               MulticopterState<T, N> x,
                                               const MulticopterInput<T, N, Zero3, Held>& input,
                                               const Vec3<T>& wind_W, bool has_wind,
                                               const Time& dt) {
  if (has_wind) x.velocity = x.velocity - wind_W;
  auto next = multicopter_step(method, motion, x, input, dt);
  if (has_wind) {
    next.velocity = next.velocity + wind_W;
    next.position = next.position + wind_W * dt;
  }
  return next;
}

/// The IMU's reading of a state under what acts on the vehicle. Both are in the units of the model,
/// the reading is in SI.
template <class T, int N, class P, class Shape, class Q, class Wind, class Held>
PROPWASH_FN ImuReading<T> imu_read(const MulticopterModel<P, N, Shape>& model,
                                   const ImuDevice<Q>& imu, const MulticopterState<T, N>& x,
                                   const MulticopterInput<T, N, Wind, Held>& input,
                                   const ImuBias<T>& bias, const ImuNoise<T>& noise, double time) {
  constexpr auto unit = constant<T>(Shape::rate_unit);
  Vec3<T> angular_acceleration_B{};
  if (imu.has_lever_arm) {
    angular_acceleration_B = multicopter_derivative(model, x, input).body_rates * unit;
  }
  return imu_reading(imu, specific_force(model, x, input), x.body_rates * unit,
                     angular_acceleration_B, bias, noise, time);
}

}  // namespace propwash
