#pragma once
/// @file
/// Traces of a step of a fleet: the functions of vehicle/tick.hpp and of the outer loops, recorded
/// with traced numbers.

#include <vector>

#include "propwash/control/outer_loops.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/math/impl/trace_numbers.hpp"
#include "propwash/math/trace_program.hpp"
#include "propwash/model/delay.hpp"
#include "propwash/vehicle/switches.hpp"
#include "propwash/vehicle/tick.hpp"

namespace propwash::detail {

/// Options that determine a trace.
struct TraceSetting {
  int rotors = 0;
  bool is_principal = false;
  Integrator integrator = Integrator::rk4;
  double dt = 0.0;
  double floor = 0.0;
  TickSwitches switches{};
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
TickConstants<Traced, Dynamic, Shape> traced_constants(const TraceSetting& setting,
                                                       const std::vector<int>& numbers) {
  TickConstants<Traced, Dynamic, Shape> c;
  resize_arrays(c, setting.rotors);
  set_flags(c, setting.switches);
  auto next = numbers.begin();
  for_each_number(c, [&](Traced& x) { x = Traced::of(*next++); });
  return c;
}

/// The state of a vehicle that a trace reads.
struct TracedVehicle : TickMemory<Traced, Dynamic> {
  template <class Shape>
  void read(const TraceSetting& setting, TraceReader& from, Shape) {
    from.read(state.position), from.read(state.velocity), from.read(state.attitude);
    from.read(state.body_rates);
    if constexpr (Shape::rate_unit != 1.0) {
      state.body_rates = state.body_rates * (1.0 / Shape::rate_unit);
    }
    state.rotor_speeds = from.rotors<Dynamic>(setting.rotors);
    if (setting.has_rates) from.read(controller);
    input.command.resize(setting.rotors);
    if (setting.keeps_command) from.read(input.command);
  }
};

/// The host of a traced step: reads action, delayed motor commands and environment.
struct TraceHost : TickHost<Traced, Dynamic> {
  using Speeds = SmallArray<Traced, Dynamic>;

  const TraceSetting& setting;
  RateThrust<Traced> rates{};
  Speeds speeds{};
  Speeds newest{};  ///< the command that the motor delay stores
  Speeds later{}, earlier{};
  Traced ratio{};
  Vec3<Traced> wind{}, force_W{}, torque_B{};

  explicit TraceHost(const TraceSetting& of) : setting(of) {}
  TraceHost(const TraceSetting& of, TraceReader& read) : setting(of) {
    if (setting.has_rates) {
      read.read(rates);
    } else {
      speeds = read.rotors<Dynamic>(setting.rotors);
    }
    if (setting.motor_delay_steps > 0) later = read.rotors<Dynamic>(setting.rotors);
    if (setting.motor_delay_steps >= 0) earlier = read.rotors<Dynamic>(setting.rotors);
    read_environment(read);
  }
  void read_environment(TraceReader& read) {
    if (setting.switches.battery) read.read(ratio);
    if (setting.switches.wind) read.read(wind);
    if (setting.switches.external_wrench) read.read(force_W), read.read(torque_B);
  }

  const TickSwitches& switches() const { return setting.switches; }
  bool has_rates() const { return setting.has_rates; }
  const RateThrust<Traced>& rate_thrust() const { return rates; }
  const Speeds& rotor_speeds() const { return speeds; }
  void delay(Speeds& acting) {
    newest = acting;
    if (setting.motor_delay_steps < 0) return;
    if (setting.motor_delay_steps == 0) later = newest;
    for (int i = 0; i < setting.rotors; ++i) {
      acting[i] = mean_command(later[i], earlier[i], setting.motor_delay_fraction);
    }
  }
  Traced voltage_ratio() const { return ratio; }
  Vec3<Traced> external_force_W() const { return force_W; }
  Vec3<Traced> external_torque_B() const { return torque_B; }
  Vec3<Traced> wind_W() const { return wind; }
  double floor() const { return setting.floor; }
};

/// One step. `inputs`: state, action, delayed motor commands, environment. Returns the state and,
/// with a motor delay, the command that the delay stores.
template <class Shape>
std::vector<int> trace_step(const TraceSetting& setting, const std::vector<int>& numbers,
                            const std::vector<int>& inputs) {
  const auto c = traced_constants<Shape>(setting, numbers);
  TraceReader read(inputs);
  TracedVehicle vehicle;
  vehicle.read(setting, read, Shape{});
  TraceHost host(setting, read);
  if (setting.integrator == Integrator::euler) {
    tick(Euler{}, c, vehicle, host, setting.dt);
  } else {
    tick(Rk4{}, c, vehicle, host, setting.dt);
  }
  const auto& x = vehicle.state;
  std::vector<int> outputs;
  TraceWriter write{outputs};
  write.add(x.position), write.add(x.velocity), write.add(x.attitude);
  write.add(body_rates_of<Shape>(x)), write.add(x.rotor_speeds);
  if (setting.has_rates) write.add(vehicle.controller);
  if (setting.keeps_command) write.add(vehicle.input.command);
  if (setting.motor_delay_steps >= 0) write.add(host.newest);
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
  TracedVehicle vehicle;
  vehicle.read(setting, read, Shape{});
  TraceHost host(setting);
  host.read_environment(air);
  auto& input = vehicle.input;
  hold_wrench<Traced>(c, input, host);
  if (setting.switches.wind) input.wind_W = air_velocity<Traced>(c, host);
  return imu_read(c.model, c.imu, vehicle.state, input, ImuBias<Traced>{}, ImuNoise<Traced>{}, 0.0);
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
  TraceReader read(inputs);
  OuterLoopInput<Traced> in;
  TracedVehicle vehicle;
  vehicle.read(setting, read, Shape{});
  const auto& x = vehicle.state;
  in.motion = {x.position, x.velocity, x.attitude, vehicle.controller.filter.value};
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
    write.add(run_speed_loop(outer.constants, state, in, command, imu, x.rotor_speeds));
  }
  left = memory_numbers(outer.constants.law, outer.loop);
  for_each_number(state, [&](Traced& x) {
    if (left-- > 0) write.add(x);
  });
  return outputs;
}

}  // namespace propwash::detail
