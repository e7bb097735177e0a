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

#include <type_traits>

#include "propwash/control/allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/integrate/decay.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_model.hpp"

namespace propwash {

/// The constants of a step: what follows from a vehicle's parameters for one time step. Made by
/// make_tick_constants.hpp. P is shared by all lanes (scalar) or one per lane (a pack).
template <class P, int N, class Shape>
struct TickConstants {
  MulticopterModel<P, N, Shape> model{};  ///< the vehicle's model
  DecayStages<P> lag{};                   ///< of the motors; PrincipalShape only
  /// The control allocation.
  Allocation<P, N, typename Shape::template EachRotor<P, N>> allocation{};
  RateControlLaw<P, typename Shape::template Matrix<P>> law{};  ///< the rate control law
  ImuDevice<P> imu{};                                           ///< the inertial measurement unit
  P per_force{};                      ///< the model's unit of force in a newton
  Vec3<P> per_torque{};               ///< the model's units of torque in a newton metre
  P force_deviation{};                ///< process noise held over dt, in the model's unit of force
  Vec3<P> torque_deviation{};         ///< the same, in the model's units of torque
  ImuDeviations<P> imu_deviations{};  ///< for steps of dt
};

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

/// One step of dt [s] in still air: integrate, project.
template <class Method, class T, int N, class P, class Shape, class Wind, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> multicopter_step(const Method& method,
                                                    const MulticopterModel<P, N, Shape>& model,
                                                    const MulticopterState<T, N>& state,
                                                    const MulticopterInput<T, N, Wind, Held>& input,
                                                    const Time& dt) {
  const auto f = [&](const MulticopterState<T, N>& x) PROPWASH_LAMBDA {
    return multicopter_derivative(model, x, input);
  };
  return projected(model, method(f, state, dt));
}

/// The same step where the motors have one time constant. The distance of a rotor from its held
/// command decays independently of the body, so the integrator's stages for it are known before the
/// step (`lag`), and the torque and momentum that are linear in it are summed once a step.
template <class Method, class T, int N, class P, class Shape, class Wind, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> multicopter_step(const Method& method,
                                                    const MulticopterModel<P, N, Shape>& model,
                                                    const DecayStages<P>& lag,
                                                    const MulticopterState<T, N>& state,
                                                    const MulticopterInput<T, N, Wind, Held>& input,
                                                    const Time& dt) {
  const auto decayed = [&](const P& factor) PROPWASH_LAMBDA {
    return map(state.rotor_speeds, input.command,
               [&factor](const T& speed, const T& command) PROPWASH_LAMBDA {
                 return command + (speed - command) * factor;
               });
  };
  const auto at_command = rotor_reaction(model.rotors, input.command);
  const auto at_distance = rotor_reaction(
      model.rotors, map(state.rotor_speeds, input.command,
                        [](const T& speed, const T& command)
                                           PROPWASH_LAMBDA { return speed - command; }));
  int stage = 0;
  const auto f = [&](const RigidBodyState<T>& x) PROPWASH_LAMBDA {
    const P& factor = lag.factor[stage];
    const auto reaction = at_distance * lag.slope[stage];
    const auto momentum = -(at_command + at_distance * factor);
    const bool is_first = stage++ == 0;
    return rigid_body_derivative(
        model, x,
        is_first ? rotor_wrench(model.rotors, state.rotor_speeds, reaction, momentum)
                 : rotor_wrench(model.rotors, decayed(factor), reaction, momentum),
        input);
  };
  const RigidBodyState<T> end = method(f, rigid_body(state), dt);
  return projected(model, with_rotors(end, decayed(lag.end)));
}

/// The step in air that moves with wind_W [m/s] over the step: a change of the frame of reference.
/// `lag` is read for PrincipalShape alone; without `has_wind`, the air is still.
template <class Method, class T, int N, class P, class Shape, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> step_in_air(const Method& method,
                                               const MulticopterModel<P, N, Shape>& model,
                                               const DecayStages<P>& lag, MulticopterState<T, N> x,
                                               const MulticopterInput<T, N, Zero3, Held>& input,
                                               const Vec3<T>& wind_W, bool has_wind,
                                               const Time& dt) {
  if (has_wind) x.velocity = x.velocity - wind_W;
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    x = multicopter_step(method, model, lag, x, input, dt);
  } else {
    x = multicopter_step(method, model, x, input, dt);
  }
  if (has_wind) {
    x.velocity = x.velocity + wind_W;
    x.position = x.position + wind_W * dt;
  }
  return x;
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
