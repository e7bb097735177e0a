#pragma once
/// @file
/// Gains and limits of the outer loops, and defaults derived from a vehicle.
///
/// For the sources of the defaults see docs/control/outer-loops.md and the page of each controller.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "propwash/control/make_allocation.hpp"
#include "propwash/control/outer_loops.hpp"
#include "propwash/model/rigid_body.hpp"

namespace propwash {

/// Gains and limits. Vectors are per axis: body axes for rates and attitude, world axes otherwise.
struct OuterLoopParameters {
  int interval = 4;  ///< physics steps between two updates

  // attitude: rates = gain * 2 sin(angle / 2)
  double tilt = 0.0;                ///< 1/s
  double heading = 0.0;             ///< 1/s
  double tilt_rate_limit = 0.0;     ///< rad/s
  double heading_rate_limit = 0.0;  ///< rad/s
  Vec3<double> rate_gain{};         ///< -, additional gain on the rate error

  Vec3<double> velocity{};                 ///< 1/s
  Vec3<double> velocity_integral{};        ///< 1/s^2
  Vec3<double> velocity_integral_bound{};  ///< m/s^2
  double tilt_limit = 0.0;                 ///< rad, below pi/2
  Vec3<double> position{};                 ///< 1/s
  double speed_limit = 0.0;                ///< m/s
  double thrust_min = 0.0;                 ///< N
  double thrust_max = 0.0;                 ///< N

  /// s, of the rotors with the lead of the trajectory controllers; at most that of the motors
  double motor_time_constant = 0.0;

  // geometric and incremental
  double tracking_position = 0.0;      ///< 1/s^2
  double tracking_velocity = 0.0;      ///< 1/s
  double tracking_reach = 0.0;         ///< m, limit on the norm of the position error
  Vec3<double> tracking_attitude{};    ///< 1/s^2
  Vec3<double> tracking_rates{};       ///< 1/s
  double tracking_tilt_limit = 0.0;    ///< rad, below pi/2; also for backstepping
  LowPassParameters<double> filter{};  ///< for gyroscope, accelerometer and rotors
  bool prioritised = true;             ///< allocate_prioritised, else allocate

  double disturbance_bandwidth = 0.0;  ///< 1/s, of the disturbance observer; 0: none

  // backstepping: alpha_n and alpha_ndot
  Vec3<double> backstepping{};       ///< 1/s, alpha: position; roll and pitch; yaw
  Vec3<double> backstepping_rate{};  ///< 1/s, alpha_ndot: the same order
};

namespace detail {

/// Angular acceleration [rad/s^2] about each body axis that is available in hover, in both
/// directions.
template <class Vehicle>
Vec3<double> max_angular_acceleration(const Vehicle& vehicle) {
  const auto a = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  const double weight = weight_of(vehicle.body);
  const auto low = [&](int i) { return signed_square(vehicle.motor.speed_min[i]); };
  const auto high = [&](int i) { return signed_square(vehicle.motor.speed_max[i]); };
  Vec3<double> result_B;
  for (int axis = 0; axis < 3; ++axis) {
    double torque = 1e30;
    for (int i = 0; i < a.rotors(); ++i) {
      const double hover = weight * a.squares_from_wrench[3][i];
      const double per_torque = std::abs(a.squares_from_wrench[axis][i]);
      torque =
          std::min(torque, std::min(hover - low(i), high(i) - hover) / std::max(per_torque, 1e-30));
    }
    result_B[axis] = std::max(torque, 0.0) / vehicle.body.inertia(axis, axis);
  }
  return result_B;
}

/// Total lag [s] of a loop: motors, command delay, low-pass filter, time between updates.
template <class Vehicle>
double loop_lag(const Vehicle& vehicle, double motor_time_constant, int interval, double dt) {
  const auto& filter = vehicle.rate_controller.filter;
  return motor_time_constant + vehicle.motor.command_delay + filter.damping / filter.stiffness +
         (0.5 * interval + 1.0) * dt;
}

/// Bandwidth [1/s] of a rate loop: a phase lag of 0.6 rad leaves a margin of about 55 degrees.
inline double loop_bandwidth(double lag) { return 0.6 / lag; }

/// The gains of geometric tracking, incremental inversion and backstepping.
template <class Vehicle>
void set_tracking(const Vehicle& vehicle, double dt, double max_yaw_acceleration,
                  OuterLoopParameters& p) {
  const auto& motor = vehicle.motor;
  // the rotor speed loop: twice its delay leaves a phase margin of about 60 degrees
  const double shortest = std::max(0.02, 2.0 * (motor.command_delay + p.interval * dt));
  p.motor_time_constant = std::min(max_of(motor.time_constant_up), shortest);
  const double bandwidth = loop_bandwidth(loop_lag(vehicle, p.motor_time_constant, p.interval, dt));
  const double attitude = bandwidth / 2.5;
  p.tracking_velocity = attitude / 2.0;
  p.tracking_position = p.tracking_velocity * p.tracking_velocity / 2.5;
  p.tracking_reach = p.speed_limit * p.tracking_velocity / p.tracking_position;
  const double yaw = std::min(bandwidth / 2.0, std::sqrt(max_yaw_acceleration));
  p.tracking_attitude = {bandwidth * attitude, bandwidth * attitude, yaw * yaw / 2.5};
  p.tracking_rates = {bandwidth, bandwidth, yaw};
  p.tracking_tilt_limit = 1.35;
  p.filter = vehicle.rate_controller.filter;
  p.backstepping = {p.tracking_velocity / 2.0, bandwidth / 2.0, yaw / 2.0};
  p.backstepping_rate = p.backstepping;
}

/// (O26) T_r [s] in hover.
template <class Vehicle>
double hover_reaction_time(const Vehicle& vehicle) {
  const auto a = make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
  const double weight = weight_of(vehicle.body);
  double time = 0.0;
  for (int i = 0; i < a.rotors(); ++i) {
    const auto& rotor = vehicle.rotors[static_cast<std::size_t>(i)];
    const double square = std::abs(weight * a.squares_from_wrench[3][i]);
    if (square <= 0.0) continue;
    const double per_torque = a.squares_from_wrench[2][i] / (2.0 * std::sqrt(square));
    time -= rotor.spin * rotor.inertia * rotor.axis.z * per_torque;
  }
  return std::max(time, 0.0);
}

/// (O25): the lead that gives the motors a time constant [s], for commands every `interval` [s].
template <class P, class Vehicle>
MotorLead<P> make_motor_lead(const Vehicle& vehicle, double time_constant, double interval) {
  const auto& motor = vehicle.motor;
  // ratio of the changes of speed within an interval, with lead and without
  const auto lead = [&](const PerRotor<double>& lag) {
    PerRotor<P> factors;
    factors.count = lag.count;
    for (int i = 0; i < static_cast<int>(lag.count); ++i) {
      const double factor = std::expm1(-interval / time_constant) / std::expm1(-interval / lag[i]);
      factors.values[i] = P(std::max(factor, 1.0));
    }
    return factors;
  };
  return {lead(motor.time_constant_up), lead(motor.time_constant_down),
          P(std::min(time_constant, max_of(motor.time_constant_up))),
          P(hover_reaction_time(vehicle)), P(weight_of(vehicle.body))};
}

}  // namespace detail

/// Default parameters for a vehicle that passes validate_allocation, for steps of dt [s].
///
/// The lag of motors, filters and sampling determines the bandwidth of the rate loop; each outer
/// loop is slower than the inner one by a ratio that gives sufficient damping. The trajectory
/// controllers use a higher bandwidth, because they compensate the motor lag.
template <class Vehicle>
OuterLoopParameters outer_loops_for(const Vehicle& vehicle, double dt) {
  OuterLoopParameters p;
  p.interval = static_cast<int>(clamp(std::round(1.0 / (240.0 * dt)), 1.0, 10000.0));
  const double bandwidth = detail::loop_bandwidth(
      detail::loop_lag(vehicle, max_of(vehicle.motor.time_constant_up), p.interval, dt));
  const auto& rate = vehicle.rate_controller;
  double rate_bandwidth = bandwidth;
  for (int axis = 0; axis < 2; ++axis) {
    const double inner = rate.proportional[axis] / (1.0 + rate.derivative[axis]);
    p.rate_gain[axis] = clamp(bandwidth / inner - 1.0, 0.0, 4.0);
    rate_bandwidth = std::min(rate_bandwidth, inner * (1.0 + p.rate_gain[axis]));
  }
  const double yaw_bandwidth = std::min(bandwidth, rate.proportional.z / (1.0 + rate.derivative.z));
  const Vec3<double> max_acceleration_B = detail::max_angular_acceleration(vehicle);
  p.tilt = rate_bandwidth / 2.5;
  p.heading = yaw_bandwidth / 4.0;
  p.tilt_rate_limit =
      clamp(std::min(max_acceleration_B.x, max_acceleration_B.y) / rate_bandwidth, 0.5, 10.0);
  p.heading_rate_limit = clamp(max_acceleration_B.z / yaw_bandwidth, 0.2, 3.0);

  const auto all = [](double x) { return Vec3<double>{x, x, x}; };
  const double velocity = p.tilt / 3.0;
  const double g = norm(vehicle.body.gravity);
  p.velocity = all(velocity);
  p.velocity_integral = all(velocity * velocity / 6.0);
  p.velocity_integral_bound = all(0.5 * g);
  p.tilt_limit = 0.7;
  p.position = all(velocity / 2.5);
  p.speed_limit = 5.0;
  double max_thrust = 0.0;
  int index = 0;
  for (const auto& rotor : vehicle.rotors) {
    max_thrust += rotor_thrust(rotor, vehicle.motor.speed_max[index++]) * rotor.axis.z;
  }
  const double weight = weight_of(vehicle.body);
  p.thrust_min = 0.2 * weight;
  p.thrust_max = weight + 0.9 * (max_thrust - weight);
  detail::set_tracking(vehicle, dt, max_acceleration_B.z, p);
  return p;
}

/// Linear drag and blow-back of all rotors at their mean speed in hover.
template <class Vehicle>
auto rotor_drag_in_hover(const Vehicle& vehicle) {
  auto drag = vehicle.rotor_drag;
  double coefficients = 0.0;
  for (const auto& rotor : vehicle.rotors) coefficients += rotor.thrust_coefficient;
  const double speeds = static_cast<double>(vehicle.rotors.size()) *
                        std::sqrt(weight_of(vehicle.body) / coefficients);
  const double lateral = vehicle.inflow.drag * speeds / vehicle.body.mass;
  drag.linear = drag.linear + Vec3<double>{lateral, lateral, 0.0};
  drag.blow_back += vehicle.inflow.flapping * speeds;
  return drag;
}

/// The model of a vehicle that the trajectory controllers invert.
template <class P, class Vehicle>
ControlModel<P> make_control_model(const Vehicle& vehicle) {
  const auto rotor_drag = rotor_drag_in_hover(vehicle);
  return {cast<P>(vehicle.body.gravity),
          cast<P>(vehicle.body.inertia),
          {P(vehicle.drag.translational), cast<P>(vehicle.drag.rotational)},
          {cast<P>(rotor_drag.linear), P(rotor_drag.blow_back)}};
}

/// The constants of the outer loops of a vehicle for steps of dt [s].
template <class P, class Vehicle>
OuterLoopLaw<P> make_outer_loop_law(const Vehicle& vehicle, const OuterLoopParameters& p,
                                    double dt) {
  const double interval = p.interval * dt;
  OuterLoopLaw<P> law;
  law.attitude = {P(p.tilt), P(p.heading), P(p.tilt_rate_limit), P(p.heading_rate_limit),
                  cast<P>(p.rate_gain)};
  Vec3<double> anti_windup{};
  for (int axis = 0; axis < 3; ++axis) {
    if (p.velocity[axis] > 0.0) anti_windup[axis] = p.velocity_integral[axis] / p.velocity[axis];
  }
  law.velocity = {cast<P>(p.velocity), cast<P>(p.velocity_integral), cast<P>(anti_windup),
                  cast<P>(p.velocity_integral_bound), P(interval)};
  law.position = {cast<P>(p.position), P(p.speed_limit)};
  law.tracking = {P(p.tracking_position), P(p.tracking_velocity), P(p.tracking_reach),
                  cast<P>(p.tracking_attitude), cast<P>(p.tracking_rates)};
  law.model = make_control_model<P>(vehicle);
  law.motor = detail::make_motor_lead<P>(vehicle, p.motor_time_constant, interval);
  const auto gains = [&](int i) -> BacksteppingGains<P> {
    return {P(p.backstepping[i]), P(p.backstepping_rate[i])};
  };
  law.backstepping = {gains(0), gains(1), gains(2), P(p.tracking_reach)};
  law.filter =
      cast_numbers<LowPassCoefficients<P>>(discretise(p.filter, interval, Discretisation::exact));
  const double b = p.disturbance_bandwidth;
  law.has_observer = b > 0.0;
  law.observer = cast_numbers<LowPassCoefficients<P>>(
      discretise({b * b, 2.0 * b}, interval, Discretisation::exact));
  law.thrust_min = P(p.thrust_min);
  law.thrust_max = P(p.thrust_max);
  law.tilt_tangent = P(std::tan(p.tilt_limit));
  law.tracking_tilt_tangent = P(std::tan(p.tracking_tilt_limit));
  law.prioritised = p.prioritised;
  return law;
}

/// The constants of the outer loops that assume the vehicle `control`, for steps of dt [s]. The
/// mounting of the IMU is that of `imu`, the sensor of the vehicle that they control.
template <class P, int N, class Vehicle>
OuterLoopConstants<P, N> make_outer_loop_constants(const Vehicle& control,
                                                   const ImuParameters<double>& imu,
                                                   const OuterLoopParameters& p, double dt) {
  OuterLoopConstants<P, N> c{make_outer_loop_law<P>(control, p, dt),
                             make_allocation<P, N>(control.rotors, control.motor),
                             cast<P>(imu.attitude), cast<P>(imu.position)};
  c.law.prioritised = c.law.prioritised && can_prioritise(c.allocation);
  return c;
}

}  // namespace propwash
