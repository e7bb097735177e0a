#pragma once
/// @file
/// Gains and limits of the outer loops by name, and their validation.

#include <cstddef>

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// All parameters except `interval` and `prioritised`, a `std::array` of FieldView.
inline auto fields(OuterLoopParameters& p) {
  using namespace detail::schema;
  constexpr double max_value = 1e30;  // finite in float too
  constexpr double max_tilt = 1.5;    // rad, slightly below pi/2
  constexpr double max_bandwidth = 1e6;
  return std::array{
      field(p.tilt, {"tilt", "1/s", "gain from 2 sin(tilt error / 2) to rates about x and y",
                     not_negative, 0.0, max_value}),
      field(p.heading, {"heading", "1/s", "gain from 2 sin(heading error / 2) to the rate about z",
                        not_negative, 0.0, max_value}),
      field(p.tilt_rate_limit,
            {"tilt_rate_limit", "rad/s", "limit on the norm of the rates about x and y", positive,
             1e-9, max_value}),
      field(p.heading_rate_limit, {"heading_rate_limit", "rad/s", "limit on the rate about z",
                                   not_negative, 0.0, max_value}),
      field(p.rate_gain,
            {"rate_gain", "", "additional gain on the rate error", not_negative, 0.0, max_value}),
      field(p.velocity, {"velocity", "1/s", "gain from velocity error to acceleration",
                         not_negative, 0.0, max_value}),
      field(p.velocity_integral,
            {"velocity_integral", "1/s^2", "gain on the integral of the velocity error",
             not_negative, 0.0, max_value}),
      field(p.velocity_integral_bound,
            {"velocity_integral_bound", "m/s^2", "limit of the integral term", not_negative, 0.0,
             max_value}),
      field(p.tilt_limit, {"tilt_limit", "rad", "largest tilt of velocity and position control",
                           not_negative, 0.0, max_tilt}),
      field(p.position, {"position", "1/s", "gain from position error to velocity", not_negative,
                         0.0, max_value}),
      field(p.speed_limit,
            {"speed_limit", "m/s", "largest speed of position control", positive, 1e-9, max_value}),
      field(p.thrust_min,
            {"thrust_min", "N", "smallest thrust command", positive, 1e-9, max_value}),
      field(p.thrust_max, {"thrust_max", "N", "largest thrust command", positive, 1e-9, max_value}),
      field(p.motor_time_constant,
            {"motor_time_constant", "s",
             "of rotors with the lead of the trajectory controllers, at most that of the motors",
             positive, 1e-9, max_value}),
      field(p.tracking_position, {"tracking_position", "1/s^2",
                                  "gain on the position error, geometric and incremental control",
                                  not_negative, 0.0, max_value}),
      field(p.tracking_velocity, {"tracking_velocity", "1/s", "gain on the velocity error",
                                  not_negative, 0.0, max_value}),
      field(p.tracking_reach, {"tracking_reach", "m", "limit on the norm of the position error",
                               positive, 1e-9, max_value}),
      field(p.tracking_attitude, {"tracking_attitude", "1/s^2", "gain on the attitude error",
                                  not_negative, 0.0, max_value}),
      field(p.tracking_rates,
            {"tracking_rates", "1/s", "gain on the rate error", not_negative, 0.0, max_value}),
      field(p.tracking_tilt_limit,
            {"tracking_tilt_limit", "rad", "largest tilt of the trajectory controllers",
             not_negative, 0.0, max_tilt}),
      field(p.filter.stiffness,
            {"filter_stiffness", "1/s^2",
             "low-pass filter on gyroscope, accelerometer and rotors, p of eq. (19)", positive,
             1e-9, max_value}),
      field(p.filter.damping, {"filter_damping", "1/s", "the same filter, q of eq. (19)",
                               not_negative, 0.0, max_value}),
      field(p.disturbance_bandwidth,
            {"disturbance_bandwidth", "1/s",
             "of the disturbance observer of geometric and backstepping control; 0: none",
             not_negative, 0.0, max_bandwidth}),
      field(p.backstepping, {"backstepping", "1/s", "alpha of position; of roll and pitch; of yaw",
                             not_negative, 0.0, max_value}),
      field(p.backstepping_rate, {"backstepping_rate", "1/s", "alpha of their derivatives",
                                  not_negative, 0.0, max_value}),
  };
}

/// Whether all gains, limits and options are equal.
inline bool are_equal(const OuterLoopParameters& a, const OuterLoopParameters& b) {
  if (a.interval != b.interval || a.prioritised != b.prioritised) return false;
  const auto x = fields(a), y = fields(b);
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (int i = 0; i < x[k].size(); ++i) {
      if (x[k][i] != y[k][i]) return false;
    }
  }
  return true;
}

namespace detail {

template <class = void>  // a template so that propwash::static compiles it once
Violations violations_of(const OuterLoopParameters& parameters) {
  Violations violations;
  if (parameters.interval < 1 || parameters.interval > 10000) {
    violations.add("interval", parameters.interval, "1 to 10000 steps");
  }
  check_fields(fields(parameters), violations);
  if (violations.empty() && parameters.thrust_min > parameters.thrust_max) {
    violations.add("thrust_min", parameters.thrust_min,
                   "at most thrust_max = " + formatted(parameters.thrust_max) + " N");
  }
  return violations;
}

}  // namespace detail

/// @throws ParameterError that lists every gain out of range.
inline void validate(const OuterLoopParameters& parameters) {
  detail::violations_of(parameters).throw_if_any("outer loops");
}

/// Checks that the outer loops can control a vehicle.
/// @throws ParameterError if rates and thrust cannot be commanded, or gravity is not along -z.
inline void validate_outer_loops(const VehicleParameters& vehicle) {
  validate_allocation(vehicle);
  const auto& g = vehicle.body.gravity;
  if (g.x == 0.0 && g.y == 0.0 && g.z < 0.0) return;
  detail::Violations violations;
  violations.add("body.gravity", detail::formatted(g),
                 "gravity along -z for outer loops; command RateThrust or RotorSpeeds instead");
  violations.throw_if_any(detail::quoted(vehicle.name));
}

/// Checks that the rate controller can track the rates of attitude, velocity and position control.
/// @throws ParameterError if a proportional gain is zero.
inline void validate_rate_loops(const VehicleParameters& vehicle) {
  const auto& gains = vehicle.rate_controller.proportional;
  if (gains.x > 0.0 && gains.y > 0.0 && gains.z > 0.0) return;
  detail::Violations violations;
  violations.add("rate_controller.proportional", detail::formatted(gains),
                 "gains > 0 for attitude, velocity and position control");
  violations.throw_if_any(detail::quoted(vehicle.name));
}

#if defined(PROPWASH_STATIC)  // instantiated in src/vehicle.cpp
extern template detail::Violations detail::violations_of<void>(const OuterLoopParameters&);
#endif

}  // namespace propwash
