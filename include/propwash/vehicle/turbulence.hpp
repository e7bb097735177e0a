#pragma once
/// @file
/// Turbulence of a vehicle's wind: validation, and the constants of a step.

#include <cmath>
#include <string>

#include "propwash/math/finite.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/vehicle/tick.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// `heading` [rad]: where the mean wind blows to, from world x.
/// @throws ParameterError for values out of range.
inline void validate_turbulence(const DrydenParameters<double>& air, double heading) {
  const auto refuse = [](const std::string& name, double value, const char* expected) {
    PROPWASH_THROW(
        ParameterError(name + " = " + detail::formatted(value) + ": expected " + expected));
  };
  if (!is_finite(air.wind_speed_6m) || air.wind_speed_6m < 0.0) {
    refuse("turbulence.wind_speed_6m", air.wind_speed_6m, "a finite value >= 0 m/s");
  }
  if (air.wind_speed_6m > 0.0 && (!is_finite(air.airspeed) || air.airspeed <= 0.0)) {
    refuse("turbulence.airspeed", air.airspeed,
           "a finite value > 0 m/s; use the mean wind speed, for example");
  }
  if (air.wind_speed_6m > 0.0 && !is_finite(air.altitude)) {
    refuse("turbulence.altitude", air.altitude, "a finite number [m]");
  }
  if (!is_finite(heading)) refuse("turbulence_heading", heading, "a finite number [rad]");
}

/// The constants for steps of dt [s]; without wind, of still air.
template <class P>
TurbulenceConstants<P> make_turbulence(const DrydenParameters<double>& air, double heading,
                                       double dt) {
  TurbulenceConstants<double> c;
  if (air.wind_speed_6m > 0.0) c.filter = make_dryden_filter(air, dt);
  c.cos_heading = std::cos(heading);
  c.sin_heading = std::sin(heading);
  return cast_numbers<TurbulenceConstants<P>>(c);
}

}  // namespace propwash
