#pragma once
/// @file
/// The gains and limits of the outer loops by name, and what may be flown with them.

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// All numbers but `interval` and `prioritised`, a `std::array` of FieldView.
inline auto fields(OuterLoopParameters& p) {
  using namespace detail::schema;
  constexpr double most = 1e30;    // a number in float too
  constexpr double upright = 1.5;  // rad, a little below pi/2
  return std::array{
      field(p.tilt, {"tilt", "1/s", "rates about x and y for 2 sin(angle / 2) of tilt",
                     not_negative, 0.0, most}),
      field(p.heading, {"heading", "1/s", "the same about z", not_negative, 0.0, most}),
      field(p.tilt_rate_limit, {"tilt_rate_limit", "rad/s", "of the rates about x and y together",
                                positive, 1e-9, most}),
      field(p.heading_rate_limit,
            {"heading_rate_limit", "rad/s", "of the rate about z", not_negative, 0.0, most}),
      field(p.rate_gain,
            {"rate_gain", "", "on the rate error, in addition to the rate controller's own 1",
             not_negative, 0.0, most}),
      field(p.velocity, {"velocity", "1/s", "acceleration for velocity", not_negative, 0.0, most}),
      field(p.velocity_integral,
            {"velocity_integral", "1/s^2", "acceleration for the integral of velocity",
             not_negative, 0.0, most}),
      field(p.velocity_integral_bound, {"velocity_integral_bound", "m/s^2",
                                        "the integral stays within", not_negative, 0.0, most}),
      field(p.tilt_limit, {"tilt_limit", "rad", "what velocity and position ask for at most",
                           not_negative, 0.0, upright}),
      field(p.position, {"position", "1/s", "velocity for position", not_negative, 0.0, most}),
      field(p.speed_limit,
            {"speed_limit", "m/s", "what position asks for at most", positive, 1e-9, most}),
      field(p.thrust_min,
            {"thrust_min", "N", "what the loops command at least", positive, 1e-9, most}),
      field(p.thrust_max,
            {"thrust_max", "N", "what the loops command at most", positive, 1e-9, most}),
      field(p.motor_time_constant,
            {"motor_time_constant", "s",
             "of the rotors under the trajectory controllers; no longer than the motors' own",
             positive, 1e-9, most}),
      field(p.tracking_position,
            {"tracking_position", "1/s^2",
             "gain on the position error, of the geometric and the incremental controller",
             not_negative, 0.0, most}),
      field(p.tracking_velocity,
            {"tracking_velocity", "1/s", "gain on the velocity error", not_negative, 0.0, most}),
      field(p.tracking_reach,
            {"tracking_reach", "m", "a position error counts for no more", positive, 1e-9, most}),
      field(p.tracking_attitude,
            {"tracking_attitude", "1/s^2", "gain on the attitude error", not_negative, 0.0, most}),
      field(p.tracking_rates,
            {"tracking_rates", "1/s", "gain on the error of the rates", not_negative, 0.0, most}),
      field(p.tracking_tilt_limit, {"tracking_tilt_limit", "rad", "of the trajectory controllers",
                                    not_negative, 0.0, upright}),
      field(p.filter.stiffness,
            {"filter_stiffness", "1/s^2",
             "of the low-pass on gyroscope, accelerometer and rotors, as p of eq. (19)", positive,
             1e-9, most}),
      field(p.filter.damping,
            {"filter_damping", "1/s", "as q of eq. (19)", not_negative, 0.0, most}),
      field(p.backstepping, {"backstepping", "1/s", "alpha of position, of roll and pitch, of yaw",
                             not_negative, 0.0, most}),
      field(p.backstepping_rate,
            {"backstepping_rate", "1/s", "alpha of their derivatives", not_negative, 0.0, most}),
  };
}

/// Throws ParameterError that lists every gain out of its range.
inline void validate(const OuterLoopParameters& parameters) {
  detail::Complaints complaints;
  if (parameters.interval < 1 || parameters.interval > 10000) {
    complaints.add("interval", parameters.interval, "1 to 10000 steps");
  }
  detail::check_fields(fields(parameters), complaints);
  if (complaints.texts.empty() && parameters.thrust_min > parameters.thrust_max) {
    complaints.add("thrust_min", parameters.thrust_min,
                   "at most thrust_max = " + detail::formatted(parameters.thrust_max) + " N");
  }
  if (!complaints.texts.empty()) detail::refuse_subject("outer loops", complaints.texts);
}

/// Throws ParameterError where no outer loop can fly a vehicle: its rates cannot be commanded, or
/// it does not weigh downwards.
inline void validate_outer_loops(const VehicleParameters& vehicle) {
  validate_allocation(vehicle);
  const auto& g = vehicle.body.gravity;
  if (g.x == 0.0 && g.y == 0.0 && g.z < 0.0) return;
  detail::Complaints complaints;
  complaints.add("body.gravity", detail::formatted(g),
                 "one along -z, against which outer loops hold a vehicle; command RateThrust or "
                 "RotorSpeeds");
  detail::refuse(vehicle.name, complaints.texts);
}

/// Throws ParameterError where the rate controller does not follow what an outer loop asks of it.
inline void validate_rate_loops(const VehicleParameters& vehicle) {
  const auto& gains = vehicle.rate_controller.proportional;
  if (gains.x > 0.0 && gains.y > 0.0 && gains.z > 0.0) return;
  detail::Complaints complaints;
  complaints.add("rate_controller.proportional", detail::formatted(gains),
                 "gains > 0, as attitude, velocity and position are flown by body rates");
  detail::refuse(vehicle.name, complaints.texts);
}

}  // namespace propwash
