#pragma once
/// @file
/// The parts of one step of a multicopter, as functions over the scalar type T of its state.
///
///     1. command        rate_loop: gyroscope reading at the end of the previous step -> rate
///                       controller -> allocation; or `limited` for commanded rotor speeds
///     2. motors         drive_motors: command delay, battery voltage, limits
///     3. disturbances   noise_force, noise_torque, external wrench, wind: constant in a step
///     4. motion         step_in_air: forces -> rigid body -> integrate -> project
///     5. sensors        imu_read: the state at the end of the step
///
/// Multicopter (double, float), the kernels of a fleet (packs), Linearizer (dual numbers) and
/// OpenLoop (dual numbers of packs) call these functions. Each of them holds the state, draws the
/// random numbers and schedules the samples of a slow IMU.

#include <type_traits>

#include "propwash/control/allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/integrate/decay.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/vehicle/multicopter_model.hpp"

namespace propwash {

/// The constants of a step, from the parameters of a vehicle and dt; see make_tick_constants.hpp. P
/// is a scalar, common to all lanes, or a pack with one number per lane.
template <class P, int N, class Shape>
struct TickConstants {
  MulticopterModel<P, N, Shape> model{};  ///< the vehicle's model
  DecayStages<P> lag{};                   ///< motor lag; PrincipalShape only
  /// The control allocation.
  Allocation<P, N, typename Shape::template EachRotor<P, N>> allocation{};
  RateControlLaw<P, typename Shape::template Matrix<P>> law{};  ///< the rate control law
  ImuDevice<P> imu{};                                           ///< the inertial measurement unit
  P per_force{};                      ///< factor from N to the force unit of the model
  Vec3<P> per_torque{};               ///< factors from N m to the torque units of the model
  P force_deviation{};                ///< process noise held for dt, force unit of the model
  Vec3<P> torque_deviation{};         ///< process noise held for dt, torque units of the model
  ImuDeviations<P> imu_deviations{};  ///< for steps of dt
  typename Shape::template Battery<P, N> battery{};  ///< for steps of dt
};

/// Rotor speeds [rad/s] limited to the range of the motors.
template <class T, int N, class P, class Shape>
PROPWASH_FN SmallArray<T, N> limited(const MulticopterModel<P, N, Shape>& model,
                                     const SmallArray<T, N>& speeds) {
  return clamp(speeds, model.speed_min, model.speed_max);
}

/// (19) to (23): one update of the rate controller with a gyroscope reading [rad/s, sensor frame].
/// Returns commanded rotor speeds [rad/s] within the limits of the motors.
template <class T, class P, int N, class Shape>
PROPWASH_FN SmallArray<T, N> rate_loop(const TickConstants<P, N, Shape>& c,
                                       RateControllerState<T>& controller,
                                       const Vec3<T>& gyroscope_S, const RateThrust<T>& command) {
  const Vec3<T> gyroscope_B =
      c.imu.is_rotated ? rotate(c.imu.parameters.attitude, gyroscope_S) : gyroscope_S;
  const Vec3<T> torque_B = rate_control(c.law, controller, gyroscope_B, command.rates);
  return allocate(c.allocation, Wrench<T>{torque_B, command.thrust});
}

/// Applies command delay and battery voltage to commanded `speeds` [rad/s] within the limits.
/// `delay(speeds)` replaces an array of speeds by the delayed one; `ratio_at(speeds)`, called only
/// if `has_battery`, returns voltage over nominal voltage under the delayed commands.
template <class T, int N, class P, class Shape, class Delay, class RatioAt>
PROPWASH_FN void drive_motors(const MulticopterModel<P, N, Shape>& model, SmallArray<T, N>& speeds,
                              const Delay& delay, bool has_battery, const RatioAt& ratio_at) {
  delay(speeds);
  if (!has_battery) return;
  const T voltage_ratio = ratio_at(speeds);
  for_each_index<N>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    speeds[i] =
        clamp(command_at_voltage(speeds[i], voltage_ratio), model.speed_min[i], model.speed_max[i]);
  });
}

/// Battery circuit: discharges `battery` over a step in which its output is held, and returns
/// voltage over nominal voltage. The current follows from the rotors' `speeds` [rad/s] and their
/// accelerations under `commands` [rad/s] at the last `voltage_ratio`.
template <class T, class P, int N, class Shape>
PROPWASH_FN T discharge(const TickConstants<P, N, Shape>& c, BatteryState<T>& battery,
                        const T& voltage_ratio, const SmallArray<T, N>& speeds,
                        const SmallArray<T, N>& commands, const SmallArray<T, N>& effectiveness) {
  T power(constant<T>(0));
  for_each_index<N>(speeds.size(), [&](int i) PROPWASH_LAMBDA {
    const T command = clamp(command_at_voltage(commands[i], voltage_ratio), c.model.speed_min[i],
                            c.model.speed_max[i]);
    const T acceleration = rotor_acceleration(c.model.motor[i], speeds[i], command);
    power = power + rotor_power(c.battery.shafts[i], effectiveness[i], speeds[i], acceleration);
  });
  const BatteryOutput<T> output = battery_output(c.battery, battery, power);
  battery = discharged(c.battery, battery, output.current);
  return output.voltage * c.battery.inverse_nominal;
}

/// (10) process noise force [world frame, unit of the model], from the first three of six standard
/// normals z[0] to z[5].
template <class T, class P, int N, class Shape, class Normals>
PROPWASH_FN Vec3<T> noise_force(const TickConstants<P, N, Shape>& c, const Normals& z) {
  return triple<T>(z, 0) * c.force_deviation;
}
/// (10) process noise torque [body frame, units of the model], from the last three.
template <class T, class P, int N, class Shape, class Normals>
PROPWASH_FN Vec3<T> noise_torque(const TickConstants<P, N, Shape>& c, const Normals& z) {
  return cwise_product(triple<T>(z, 3), c.torque_deviation);
}

/// One step of dt [s] in still air: integration and projection.
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

/// The same for motors with one common time constant. The difference of rotor speed and command
/// decays independently of the rigid-body state, so its values at the integrator stages are known
/// in advance (`lag`), and the torque and momentum that are linear in it are summed once per step.
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
  const auto of_command = rotor_reaction(model.rotors, input.command);
  const auto of_difference = rotor_reaction(
      model.rotors, map(state.rotor_speeds, input.command,
                        [](const T& speed, const T& command)
                                           PROPWASH_LAMBDA { return speed - command; }));
  int stage = 0;
  const auto f = [&](const RigidBodyState<T>& x) PROPWASH_LAMBDA {
    const P& factor = lag.factor[stage];
    const auto reaction = of_difference * lag.slope[stage];
    const auto momentum = -(of_command + of_difference * factor);
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

/// One step in air that moves with a constant `wind_W` [m/s], computed in the frame of the air, or
/// in that of the ground for a vehicle with inflow, ground effect or contact.
/// `lag` is used for PrincipalShape only. If `has_wind` is false, the air is still.
template <class Method, class T, int N, class P, class Shape, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> step_in_air(const Method& method,
                                               const MulticopterModel<P, N, Shape>& model,
                                               const DecayStages<P>& lag, MulticopterState<T, N> x,
                                               const MulticopterInput<T, N, Zero3, Held>& input,
                                               const Vec3<T>& wind_W, bool has_wind,
                                               const Time& dt) {
  if constexpr (Shape::has_rotor_air) {
    // these terms depend on the motion relative to the ground, which moves relative to the air
    if (has_wind && model.has_flow) {
      const MulticopterInput<T, N, Vec3<T>, Held> in_world{input.command, wind_W, input.force_W,
                                                           input.torque_B};
      return multicopter_step(method, model, x, in_world, dt);
    }
  }
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

/// The IMU reading [SI] for a state and inputs in the units of the model.
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
