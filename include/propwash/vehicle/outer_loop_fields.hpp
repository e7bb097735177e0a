#pragma once
/// @file
/// The gains of the outer loops by name, and what may be flown with them.

#include <string>
#include <vector>

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/math/config.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// What no gain or limit may be beyond, so that it is a number in float too.
inline constexpr double outer_loop_most = 1e30;

/// Some numbers of OuterLoopParameters: `count` doubles from `first`, in [low, high].
struct OuterLoopField {
  const char* name;
  double* first;
  int count;
  double low, high;
};

/// All numbers but `interval` and `prioritised`.
inline std::vector<OuterLoopField> fields(OuterLoopParameters& p) {
  constexpr double inf = outer_loop_most;
  constexpr double upright = 1.5;  // rad, a little below pi/2
  return {{"tilt", &p.tilt, 1, 0, inf},
          {"heading", &p.heading, 1, 0, inf},
          {"tilt_rate_limit", &p.tilt_rate_limit, 1, 1e-9, inf},
          {"heading_rate_limit", &p.heading_rate_limit, 1, 0, inf},
          {"rate_gain", &p.rate_gain.x, 3, 0, inf},
          {"velocity", &p.velocity.x, 3, 0, inf},
          {"velocity_integral", &p.velocity_integral.x, 3, 0, inf},
          {"velocity_integral_bound", &p.velocity_integral_bound.x, 3, 0, inf},
          {"tilt_limit", &p.tilt_limit, 1, 0, upright},
          {"position", &p.position.x, 3, 0, inf},
          {"speed_limit", &p.speed_limit, 1, 1e-9, inf},
          {"thrust_min", &p.thrust_min, 1, 1e-9, p.thrust_max},
          {"thrust_max", &p.thrust_max, 1, p.thrust_min, inf},
          {"motor_time_constant", &p.motor_time_constant, 1, 1e-9, inf},
          {"tracking_position", &p.tracking_position, 1, 0, inf},
          {"tracking_velocity", &p.tracking_velocity, 1, 0, inf},
          {"tracking_reach", &p.tracking_reach, 1, 1e-9, inf},
          {"tracking_attitude", &p.tracking_attitude.x, 3, 0, inf},
          {"tracking_rates", &p.tracking_rates.x, 3, 0, inf},
          {"tracking_tilt_limit", &p.tracking_tilt_limit, 1, 0, upright},
          {"filter_stiffness", &p.filter.stiffness, 1, 1e-9, inf},
          {"filter_damping", &p.filter.damping, 1, 0, inf},
          {"backstepping", &p.backstepping.x, 3, 0, inf},
          {"backstepping_rate", &p.backstepping_rate.x, 3, 0, inf}};
}

/// Throws ParameterError that lists every gain out of its range.
inline void validate(const OuterLoopParameters& parameters) {
  OuterLoopParameters p = parameters;
  detail::Complaints complaints;
  if (p.interval < 1 || p.interval > 10000) {
    complaints.add("interval", p.interval, "1 to 10000 steps");
  }
  for (const auto& field : fields(p)) {
    for (int i = 0; i < field.count; ++i) {
      const double x = field.first[i];
      if (is_within(x, field.low, field.high)) continue;
      const std::string name =
          field.count > 1 ? field.name + ("[" + std::to_string(i)) + "]" : field.name;
      complaints.add(name, x,
                     field.high >= outer_loop_most
                         ? "a finite number >= " + detail::formatted(field.low)
                         : "a number from " + detail::formatted(field.low) + " to " +
                               detail::formatted(field.high));
    }
  }
  if (complaints.texts.empty()) return;
  std::string message = "outer loops:";
  for (const auto& text : complaints.texts) message += " " + text + ";";
  message.pop_back();
  PROPWASH_THROW(ParameterError(message));
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
