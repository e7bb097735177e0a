#pragma once
/// @file
/// Traces of a step of a fleet: the functions of vehicle/tick.hpp and of the outer loops, recorded
/// with traced numbers.

#include <vector>

#include "propwash/control/outer_loops.hpp"
#include "propwash/fleet/impl/constants.hpp"
#include "propwash/fleet/impl/switches.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/impl/trace_numbers.hpp"
#include "propwash/math/trace_program.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/model/ground.hpp"

namespace propwash::detail {

/// Options that determine a trace.
struct TraceSetting {
  int rotors = 0;
  bool is_principal = false;
  Integrator integrator = Integrator::rk4;
  double dt = 0.0;
  double floor = 0.0;
  FleetSwitches switches{};
  bool has_rates = false;      ///< the action is rates and thrust, not rotor speeds
  bool keeps_command = false;  ///< the outer loop reads the motor command of the step before
  int motor_delay_steps = -1;  ///< -1: no delay
  double motor_delay_fraction = 0.0;

  static constexpr int body = 13;  ///< position, velocity, attitude, body rates
  /// Filter and integrals of the rate controller.
  int controller() const { return has_rates ? 9 : 0; }
  /// Motor commands in the state.
  int kept_commands() const { return keeps_command ? rotors : 0; }
  /// The numbers of a vehicle that a step carries on: body, rotor speeds, rate controller, motor
  /// commands.
  int state() const { return body + rotors + controller() + kept_commands(); }
  int action() const { return has_rates ? 4 : rotors; }
  /// Numbers that the motor delay reads: the commands of `motor_delay_steps` steps ago, unless that
  /// is 0, and of the step before.
  int delayed() const {
    return motor_delay_steps < 0 ? 0 : motor_delay_steps == 0 ? rotors : 2 * rotors;
  }
  /// Inputs besides state and action: voltage ratio, wind, external force and torque, if enabled.
  int environment() const {
    return (switches.battery ? 1 : 0) + (switches.wind ? 3 : 0) +
           (switches.external_wrench ? 6 : 0);
  }
};

template <class Shape>
FleetConstants<Traced, Dynamic, Shape> traced_constants(const TraceSetting& setting,
                                                        const std::vector<int>& numbers) {
  FleetConstants<Traced, Dynamic, Shape> c;
  resize_rotors(c, setting.rotors);
  c.imu.has_lever_arm = setting.switches.has_lever_arm;
  c.imu.is_rotated = setting.switches.imu_is_rotated;
  c.imu.is_digital = setting.switches.is_digital;
  c.law.gyroscopic_term = setting.switches.gyroscopic_term;
  if constexpr (Shape::has_rotor_air) {
    c.model.has_flow = setting.switches.rotor_flow;
    c.model.has_contact = setting.switches.contact;
  }
  auto next = numbers.begin();
  for_each_number(c, [&](Traced& x) { x = Traced::of(*next++); });
  return c;
}

/// One step. `inputs`: state, action, delayed motor commands, environment. Returns the state and,
/// with a motor delay, the command that the delay stores.
template <class Shape>
std::vector<int> trace_step(const TraceSetting& setting, const std::vector<int>& numbers,
                            const std::vector<int>& inputs) {
  const int rotors = setting.rotors;
  const auto c = traced_constants<Shape>(setting, numbers);
  constexpr double rate_unit = Shape::rate_unit;
  TraceReader read(inputs);
  MulticopterState<Traced, Dynamic> x;
  x.position = read.vector(), x.velocity = read.vector(), x.attitude = read.quaternion();
  const Vec3<Traced> body_rates = read.vector();
  x.body_rates = body_rates * (1.0 / rate_unit);
  x.rotor_speeds = read.rotors<Dynamic>(rotors);
  RateControllerState<Traced> controller;
  if (setting.has_rates) {
    controller.filter.value = read.vector(), controller.filter.derivative = read.vector();
    controller.integral = read.vector();
  }
  if (setting.keeps_command) read.rotors<Dynamic>(rotors);  // no effect on a step

  MulticopterInput<Traced, Dynamic, Zero3, Vec3<Traced>> input;
  if (setting.has_rates) {
    const Vec3<Traced> rates = read.vector();
    const auto gyroscope_S = read_body_rates(c.imu, body_rates, ImuBias<Traced>{}, Vec3<Traced>{});
    input.command = rate_loop(c, controller, gyroscope_S, RateThrust<Traced>{rates, read.number()});
  } else {
    input.command = read.rotors<Dynamic>(rotors);
  }
  const SmallArray<Traced, Dynamic> newest = input.command;
  const auto delay = [&](SmallArray<Traced, Dynamic>& speeds) {
    if (setting.motor_delay_steps < 0) return;
    const auto later = setting.motor_delay_steps == 0 ? newest : read.rotors<Dynamic>(rotors);
    const auto earlier = read.rotors<Dynamic>(rotors);
    for (int i = 0; i < rotors; ++i) {
      speeds[i] = mean_command(later[i], earlier[i], setting.motor_delay_fraction);
    }
  };
  drive_motors(c.model, input.command, delay, setting.switches.battery,
               [&](const SmallArray<Traced, Dynamic>&) { return read.number(); });
  const Vec3<Traced> wind_W = setting.switches.wind ? read.vector() : Vec3<Traced>{};
  if (setting.switches.external_wrench) {
    input.force_W = read.vector() * c.per_force;
    input.torque_B = cwise_product(read.vector(), c.per_torque);
  }
  const auto step = [&](const auto& method) {
    return step_in_air(method, c.model, c.lag, x, input, wind_W, setting.switches.wind, setting.dt);
  };
  x = setting.integrator == Integrator::euler ? step(Euler{}) : step(Rk4{});
  if (setting.switches.ground) stop_at_ground(x.position, x.velocity, x.body_rates, setting.floor);

  std::vector<int> outputs;
  TraceWriter write{outputs};
  write.add(x.position), write.add(x.velocity), write.add(x.attitude);
  write.add(x.body_rates * rate_unit), write.add(x.rotor_speeds);
  if (setting.has_rates) {
    write.add(controller.filter.value), write.add(controller.filter.derivative);
    write.add(controller.integral);
  }
  if (setting.keeps_command) write.add(input.command);
  if (setting.motor_delay_steps >= 0) write.add(newest);
  return outputs;
}

/// The limits of commanded rotor speeds.
template <class Shape>
std::vector<int> trace_limits(const TraceSetting& setting, const std::vector<int>& numbers,
                              const std::vector<int>& speeds) {
  const auto c = traced_constants<Shape>(setting, numbers);
  std::vector<int> outputs;
  TraceWriter{outputs}.add(limited(c.model, TraceReader(speeds).rotors<Dynamic>(setting.rotors)));
  return outputs;
}

/// The readings of the IMU, with the environment of trace_step, in sensor axes.
template <class Shape>
ImuReading<Traced> trace_imu(const TraceSetting& setting, const std::vector<int>& numbers,
                             const std::vector<int>& state, const std::vector<int>& environment) {
  const auto c = traced_constants<Shape>(setting, numbers);
  TraceReader read(state), air(environment);
  MulticopterState<Traced, Dynamic> x;
  x.position = read.vector(), x.velocity = read.vector(), x.attitude = read.quaternion();
  x.body_rates = read.vector() * (1.0 / Shape::rate_unit);
  x.rotor_speeds = read.rotors<Dynamic>(setting.rotors);
  for (int i = 0; i < setting.controller(); ++i) read.number();
  MulticopterInput<Traced, Dynamic> input;
  input.command = read.rotors<Dynamic>(setting.rotors);
  if (setting.switches.battery) air.number();
  if (setting.switches.wind) input.wind_W = air.vector();
  if (setting.switches.external_wrench) {
    input.force_W = air.vector() * c.per_force;
    input.torque_B = cwise_product(air.vector(), c.per_torque);
  }
  return imu_read(c.model, c.imu, x, input, ImuBias<Traced>{}, ImuNoise<Traced>{}, 0.0);
}

/// The constants of the outer loops.
struct TraceOuter {
  OuterLoop loop = OuterLoop::attitude;
  bool free_heading = false;
  OuterLoopConstants<double, Dynamic> constants;

  int held(int rotors) const { return commands_rates(loop) ? 4 : rotors; }
};

/// The numbers of a command to an outer loop, part by part in the order of its class.
inline OuterLoopCommand<Traced> trace_command(const TraceOuter& outer, TraceReader& read) {
  OuterLoopCommand<Traced> command;
  command.loop = outer.loop;
  command.free_heading = outer.free_heading;
  auto& point = command.point;
  if (outer.loop == OuterLoop::attitude) {
    command.attitude = normalized(read.quaternion());
    command.thrust = read.number(), point.yaw_rate = read.number();
  } else if (outer.loop == OuterLoop::velocity) {
    point.velocity = read.vector(), point.yaw = read.number(), point.yaw_rate = read.number();
  } else if (outer.loop == OuterLoop::position) {
    point.position = read.vector(), point.yaw = read.number();
  } else {
    point.position = read.vector(), point.velocity = read.vector();
    point.acceleration = read.vector(), point.jerk = read.vector(), point.snap = read.vector();
    point.yaw = read.number(), point.yaw_rate = read.number();
    point.yaw_acceleration = read.number();
  }
  return command;
}

/// One update of an outer loop. `inputs`: state, memory of the loops, command, environment; the
/// last of `numbers` is the mass. Returns the held output, then the memory.
template <class Shape>
std::vector<int> trace_outer(const TraceSetting& setting, const TraceOuter& outer,
                             const std::vector<int>& numbers, const std::vector<int>& inputs) {
  const int rotors = setting.rotors;
  TraceReader read(inputs);
  OuterLoopInput<Traced> in;
  in.motion.position = read.vector(), in.motion.velocity = read.vector();
  in.motion.attitude = read.quaternion();
  read.vector();
  const auto speeds = read.rotors<Dynamic>(rotors);
  if (setting.has_rates) {
    in.motion.rates_B = read.vector();  // filtered
    read.vector(), read.vector();
  }
  if (setting.keeps_command) read.rotors<Dynamic>(rotors);
  in.mass = Traced::of(numbers.back());

  OuterLoopState<Traced> state;
  int left = memory_numbers(outer.constants.law, outer.loop);
  for_each_number(state, [&](Traced& x) { x = left-- > 0 ? read.number() : Traced(); });
  const auto command = trace_command(outer, read);
  std::vector<int> outputs;
  TraceWriter write{outputs};
  if (commands_rates(outer.loop)) {
    const auto out = run_rate_loop(outer.constants.law, state, in, command);
    write.add(out.rates), write.add(out.thrust);
  } else {
    const auto first = inputs.end() - setting.environment();
    const auto imu = trace_imu<Shape>(setting, numbers, inputs, {first, inputs.end()});
    write.add(run_speed_loop(outer.constants, state, in, command, imu, speeds));
  }
  left = memory_numbers(outer.constants.law, outer.loop);
  for_each_number(state, [&](Traced& x) {
    if (left-- > 0) write.add(x);
  });
  return outputs;
}

}  // namespace propwash::detail
