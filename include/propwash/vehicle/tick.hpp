#pragma once
/// @file
/// One step of a multicopter, tick(), over the scalar type T of its state:
///
///     1. command        rate_loop: gyroscope reading at the end of the previous step -> rate
///                       controller -> allocation; or commanded rotor speeds
///     2. motors         drive_motors: command delay, battery voltage, limits
///     3. disturbances   process noise, external wrench, bias walk, turbulence: constant in a step
///     4. motion         step_in_air: forces -> rigid body -> integrate -> project; floor
///     5. sensors        the host reads the IMU (imu_read) at the end of the step
///
/// Multicopter (double, float), the kernels of a fleet (packs), the traces of gradients, OpenLoop
/// (dual numbers of packs) and a GPU thread call tick() with a host: the class that supplies what
/// differs between them, see TickHost.

#include <type_traits>

#include "propwash/control/allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/integrate/decay.hpp"
#include "propwash/model/battery.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/model/ground.hpp"
#include "propwash/model/imu.hpp"
#include "propwash/random/normal.hpp"
#include "propwash/vehicle/multicopter_model.hpp"
#include "propwash/vehicle/switches.hpp"

namespace propwash {

/// The turbulence and the heading of the mean wind.
template <class P>
struct TurbulenceConstants {
  DrydenFilter<P> filter{};  ///< of the turbulence
  P cos_heading{};           ///< of the mean wind
  P sin_heading{};           ///< of the mean wind
  PROPWASH_MEMBERS(filter, cos_heading, sin_heading)
};

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
  TurbulenceConstants<P> turbulence{};               ///< for steps of dt
  PROPWASH_MEMBERS(model, lag, allocation, law, imu, per_force, per_torque, force_deviation,
                   torque_deviation, imu_deviations, battery, turbulence)
};

/// Sets the flags of constants.
template <class P, int N, class Shape>
PROPWASH_FN void set_flags(TickConstants<P, N, Shape>& c, const TickSwitches& switches) {
  c.imu.has_lever_arm = switches.has_lever_arm;
  c.imu.is_rotated = switches.imu_is_rotated;
  c.imu.is_digital = switches.is_digital;
  c.law.gyroscopic_term = switches.gyroscopic_term;
  if constexpr (Shape::has_rotor_air) {
    c.model.air.has_flow = switches.rotor_flow;
    c.model.air.has_induced_flow = switches.induced_flow;
    c.model.air.has_residual = switches.residual;
    c.model.feet.has_contact = switches.contact;
  }
}

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
/// in that of the ground for a vehicle with inflow, ground effect, contact or residual.
/// `lag` is used for PrincipalShape only. If `has_wind` is false, the air is still.
template <class Method, class T, int N, class P, class Shape, class Held, class Time>
PROPWASH_FN MulticopterState<T, N> step_in_air(const Method& method,
                                               const MulticopterModel<P, N, Shape>& model,
                                               const DecayStages<P>& lag, MulticopterState<T, N> x,
                                               const MulticopterInput<T, N, Zero3, Held>& input,
                                               const Vec3<T>& wind_W, bool has_wind,
                                               const Time& dt) {
  if constexpr (Shape::has_rotor_air) {
    // most of these terms depend on the motion relative to the ground, which moves relative to the
    // air
    if (has_wind && model.has_further_wrench()) {
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

/// The state that tick() changes; everything else that changes belongs to the host.
template <class T, int N, class Input = MulticopterInput<T, N>>
struct TickMemory {
  MulticopterState<T, N> state{};       ///< in the units of the model
  RateControllerState<T> controller{};  ///< state of the rate controller
  ImuBias<T> bias{};                    ///< biases of the IMU
  Input input{};                        ///< motor commands, force and torque of the last step
};

/// The base class of hosts of tick(): what a host may supply, and the defaults. tick() calls only
/// the functions of enabled features.
template <class T, int N>
struct TickHost {
  using Held = Vec3<T>;  ///< of the force and torque that are constant in a step; Zero3: none
  /// Features that the host supports. With less than everything, memory.input.command are the
  /// motor commands.
  static constexpr TickWork work = TickWork::everything;
  /// Whether the commands of the motors are computed by a function, not inline.
  static constexpr bool is_compact = false;

  PROPWASH_FN static constexpr TickSwitches switches() { return {}; }  ///< enabled features

  // 1. command
  PROPWASH_FN void begin() {}                                       ///< called first
  PROPWASH_FN static constexpr bool has_rates() { return false; }   ///< rates and thrust, or speeds
  PROPWASH_FN RateThrust<T> rate_thrust() const { return {}; }      ///< with has_rates()
  PROPWASH_FN SmallArray<T, N> rotor_speeds() const { return {}; }  ///< rad/s, within the limits
  PROPWASH_FN Vec3<T> held_angular_rate() const { return {}; }      ///< of a slow IMU, rad/s
  PROPWASH_FN Vec3<T> gyroscope_noise() const { return {}; }        ///< rad/s

  // 2. motors
  PROPWASH_FN void delay(SmallArray<T, N>&) {}          ///< replaces commands by the delayed ones
  PROPWASH_FN T voltage_ratio() { return T{}; }         ///< voltage over nominal voltage
  PROPWASH_FN BatteryState<T> battery() { return {}; }  ///< of the circuit
  /// Stores the circuit's next state, and voltage over nominal voltage.
  PROPWASH_FN void set_battery(const BatteryState<T>&, const T& /*voltage_ratio*/) {}
  /// Factors on the thrusts.
  PROPWASH_FN SmallArray<T, N> rotor_effectiveness() const { return {}; }

  // 3. disturbances
  PROPWASH_FN NormalsOf<T> normals(Stream) const { return {}; }  ///< of this step
  /// Stores the process noise, N and N m, for the accelerometer.
  PROPWASH_FN void keep_noise(const Vec3<T>& /*force_W*/, const Vec3<T>& /*torque_B*/) {}
  PROPWASH_FN Vec3<T> external_force_W() const { return {}; }       ///< N
  PROPWASH_FN Vec3<T> external_torque_B() const { return {}; }      ///< N m
  PROPWASH_FN Vec3<T> wind_W() const { return {}; }                 ///< m/s, mean wind
  PROPWASH_FN TurbulenceState<T> turbulence() const { return {}; }  ///< before this step
  /// Stores the state after this step.
  PROPWASH_FN void set_turbulence(const TurbulenceState<T>&) {}

  // 4. motion
  PROPWASH_FN value_type_t<T> floor() const { return {}; }  ///< m, world frame
  template <class Mask>
  PROPWASH_FN void touch(const Mask&) {}  ///< which vehicles the floor has stopped

  // 5. sensors
  PROPWASH_FN void end() {}  ///< called last
};

/// Body rates [rad/s] of a state in the units of the model.
template <class Shape, class T, int N>
PROPWASH_FN Vec3<T> body_rates_of(const MulticopterState<T, N>& x) {
  if constexpr (Shape::rate_unit == 1.0) return x.body_rates;
  return x.body_rates * constant<T>(Shape::rate_unit);
}

/// The force and the torque that are held in a step: process noise and external wrench.
template <class T, class P, int N, class Shape, class Input, class Host>
PROPWASH_FN void hold_wrench(const TickConstants<P, N, Shape>& c, Input& input, Host& host) {
  const auto& on = host.switches();
  if (on.process_noise) {
    const auto& z = host.normals(Stream::process_noise);
    input.force_W = noise_force<T>(c, z);
    input.torque_B = noise_torque<T>(c, z);
    host.keep_noise(input.force_W, input.torque_B);
  }
  if constexpr (Host::work == TickWork::everything) {
    if (!on.external_wrench) return;
    Vec3<T> force_W = host.external_force_W() * c.per_force;
    Vec3<T> torque_B = cwise_product(host.external_torque_B(), c.per_torque);
    if (on.process_noise) {
      force_W = force_W + input.force_W;
      torque_B = torque_B + input.torque_B;
    }
    input.force_W = force_W;
    input.torque_B = torque_B;
  }
}

/// The velocity [m/s] of the gusts.
template <class T, class P>
PROPWASH_FN Vec3<T> gust_velocity(const TurbulenceConstants<P>& air,
                                  const TurbulenceState<T>& state) {
  return turbulence_in_world(turbulence_velocity(air.filter, state), air.cos_heading,
                             air.sin_heading);
}

/// The velocity [m/s] of the air: mean wind and turbulence.
template <class T, class P, int N, class Shape, class Host>
PROPWASH_FN Vec3<T> air_velocity(const TickConstants<P, N, Shape>& c, const Host& host) {
  const Vec3<T> wind_W = host.wind_W();
  if (!host.switches().turbulence) return wind_W;
  return wind_W + gust_velocity<T>(c.turbulence, host.turbulence());
}

namespace detail {

/// Copies packs element by element, because GCC copies an array of packs through memory; an array
/// of numbers is copied faster as a whole.
template <class T, int N>
PROPWASH_FN void assign(SmallArray<T, N>& a, const SmallArray<T, N>& next) {
  if constexpr (std::is_floating_point_v<T>) {
    a = next;
  } else {
    for_each_index<N>(next.size(), [&](int i) PROPWASH_LAMBDA { a[i] = next[i]; });
  }
}
template <class T, int N>
PROPWASH_FN void assign(MulticopterState<T, N>& x, const MulticopterState<T, N>& next) {
  x.position = next.position;
  x.velocity = next.velocity;
  x.attitude = next.attitude;
  x.body_rates = next.body_rates;
  assign(x.rotor_speeds, next.rotor_speeds);
}

/// The commands of the motors in this step.
template <class T, class P, int N, class Shape, class Model, class Memory, class Host>
PROPWASH_FN void command_motors(const TickConstants<P, N, Shape>& c, const Model& model,
                                Memory& memory, Host& host) {
  const auto& on = host.switches();
  host.begin();
  auto& command = memory.input.command;
  if (host.has_rates()) {
    const Vec3<T> gyroscope_S = on.imu_is_slower
                                    ? host.held_angular_rate()
                                    : read_body_rates(c.imu, body_rates_of<Shape>(memory.state),
                                                      memory.bias, host.gyroscope_noise());
    assign(command, rate_loop(c, memory.controller, gyroscope_S, host.rate_thrust()));
  } else {
    assign(command, host.rotor_speeds());
  }
  drive_motors(
      model, command, [&](SmallArray<T, N>& speeds) PROPWASH_LAMBDA { host.delay(speeds); }, on.battery,
      [&]([[maybe_unused]] const SmallArray<T, N>& speeds) PROPWASH_LAMBDA {
        if constexpr (Shape::has_battery_circuit) {
          if (on.battery_circuit) {
            BatteryState<T> battery = host.battery();
            const T ratio = discharge(c, battery, host.voltage_ratio(), memory.state.rotor_speeds,
                                      speeds, host.rotor_effectiveness());
            host.set_battery(battery, ratio);
            return ratio;
          }
        }
        return host.voltage_ratio();
      });
}

/// The same, compiled once for all integrators.
template <class T, class Constants, class Model, class Memory, class Host>
void command_motors_apart(const Constants& c, const Model& model, Memory& memory, Host& host) {
  command_motors<T>(c, model, memory, host);
}

/// The input of step_in_air, which subtracts the wind itself.
template <class Held, class T, int N, class Wind, class Kept>
PROPWASH_FN decltype(auto) in_still_air(const MulticopterInput<T, N, Wind, Kept>& input) {
  if constexpr (std::is_same_v<Wind, Zero3> && std::is_same_v<Held, Kept>) {
    return (input);
  } else {
    MulticopterInput<T, N, Zero3, Held> still;
    still.command = input.command;
    if constexpr (!std::is_same_v<Held, Zero3>) {
      still.force_W = input.force_W;
      still.torque_B = input.torque_B;
    }
    return still;
  }
}

}  // namespace detail

/// One step of dt [s]. Constants are TickConstants, for hosts of less than everything only its
/// `lag`. `model` is that of the constants, or the same vehicle in another Shape. Memory has the
/// members of TickMemory.
template <class Method, class Constants, class P, int N, class Shape, class Memory, class Host,
          class Time>
PROPWASH_FN void tick(const Method& method, const Constants& c,
                      const MulticopterModel<P, N, Shape>& model, Memory& memory, Host& host,
                      const Time& dt) {
  auto& x = memory.state;
  using T = std::decay_t<decltype(x.position.x)>;
  using Held = typename Host::Held;
  constexpr bool everything = Host::work == TickWork::everything;
  const auto& on = host.switches();
  if constexpr (everything && Host::is_compact) {
    detail::command_motors_apart<T>(c, model, memory, host);
  } else if constexpr (everything) {
    detail::command_motors<T>(c, model, memory, host);
  }
  if constexpr (!std::is_same_v<Held, Zero3>) hold_wrench<T>(c, memory.input, host);
  Vec3<T> wind_W{};
  if constexpr (everything) {
    if (on.bias_walk) {
      memory.bias = random_walk(memory.bias, c.imu_deviations, host.normals(Stream::imu_bias_walk));
    }
    if (on.turbulence) {
      const auto& z = host.normals(Stream::turbulence);
      const T five[5] = {T(z[0]), T(z[1]), T(z[2]), T(z[3]), T(z[4])};
      host.set_turbulence(turbulence_step(c.turbulence.filter, host.turbulence(), five));
    }
    if (on.wind) wind_W = air_velocity<T>(c, host);
  }
  detail::assign(x, step_in_air(method, model, c.lag, x, detail::in_still_air<Held>(memory.input),
                                wind_W, everything && on.wind, dt));
  if constexpr (everything) {
    if (on.ground) host.touch(stop_at_ground(x.position, x.velocity, x.body_rates, host.floor()));
  }
  host.end();
}
template <class Method, class Constants, class Memory, class Host, class Time>
PROPWASH_FN void tick(const Method& method, const Constants& c, Memory& memory, Host& host,
                      const Time& dt) {
  tick(method, c, c.model, memory, host, dt);
}

}  // namespace propwash
