#pragma once
/// @file
/// The parameters of sensors by name, as those of vehicles in fields.hpp: GNSS receiver, barometer,
/// magnetometer and range finder. Bindings take names and default values from these tables.

#include "propwash/model/barometer.hpp"
#include "propwash/model/gnss.hpp"
#include "propwash/model/magnetometer.hpp"
#include "propwash/model/range_finder.hpp"
#include "propwash/vehicle/fields.hpp"

namespace propwash {

namespace detail::schema {

/// A pair (horizontal, vertical) of numbers of a struct, `stride` numbers apart.
inline FieldView pair(double& horizontal, const double& vertical, const FieldSchema& schema) {
  const std::ptrdiff_t stride = &vertical - &horizontal;
  return {schema, &horizontal, 2, 1, stride, FieldShape{1, {2}}, nullptr};
}

}  // namespace detail::schema

/// The parameters of a GNSS receiver. `bias_time` is that of the horizontal bias; set
/// `bias_vertical.time` to the same number.
inline auto fields(GnssParameters<double>& gnss) {
  using namespace detail::schema;
  return std::array{
      pair(gnss.position_noise_horizontal, gnss.position_noise_vertical,
           {"position_noise", "m/sqrt(Hz)", "white, (horizontal, vertical)", not_negative}),
      pair(gnss.velocity_noise_horizontal, gnss.velocity_noise_vertical,
           {"velocity_noise", "m/s/sqrt(Hz)", "white, (horizontal, vertical)", not_negative}),
      pair(gnss.bias_horizontal.deviation, gnss.bias_vertical.deviation,
           {"bias", "m", "std. dev. of the slowly varying error, (horizontal, vertical)",
            not_negative}),
      field(gnss.bias_horizontal.time,
            {"bias_time", "s", "correlation time of the bias", positive_or_infinite}),
      field(gnss.position, {"position", "m", "of the antenna, body frame", Accepts::finite}),
  };
}

/// The parameters of a barometer.
inline auto fields(BarometerParameters<double>& barometer) {
  using namespace detail::schema;
  return std::array{
      field(barometer.noise_density, {"noise_density", "Pa/sqrt(Hz)", "white", not_negative}),
      field(barometer.drift.deviation,
            {"drift", "Pa", "std. dev. of the slowly varying error", not_negative}),
      field(barometer.drift.time,
            {"drift_time", "s", "correlation time of the drift", positive_or_infinite}),
      field(barometer.sea_level_pressure, {"sea_level_pressure", "Pa", "on the day", positive}),
      field(barometer.altitude, {"altitude", "m", "of z = 0, above sea level", Accepts::finite}),
      field(barometer.position, {"position", "m", "of the sensor, body frame", Accepts::finite}),
  };
}

/// The parameters of a magnetometer.
inline auto fields(MagnetometerParameters<double>& magnetometer) {
  using namespace detail::schema;
  return std::array{
      field(magnetometer.field, {"field", "T", "of the Earth, world frame", Accepts::finite}),
      field(magnetometer.hard_iron, {"hard_iron", "T", "added in sensor axes", Accepts::finite}),
      field(magnetometer.soft_iron,
            {"soft_iron", "", "multiplied in sensor axes", Accepts::finite}),
      field(magnetometer.noise_density, {"noise_density", "T/sqrt(Hz)", "white", not_negative}),
      field(magnetometer.bias.deviation,
            {"bias", "T", "std. dev. of the slowly varying error", not_negative}),
      field(magnetometer.bias.time,
            {"bias_time", "s", "correlation time of the bias", positive_or_infinite}),
      field(magnetometer.attitude,
            {"attitude", "", "(w, x, y, z), from the sensor frame to the body frame", coupled}),
  };
}

/// The parameters of a range finder.
inline auto fields(RangeFinderParameters<double>& finder) {
  using namespace detail::schema;
  return std::array{
      field(finder.max_range, {"max_range", "m", "largest distance that is measured", positive}),
      field(finder.variance, {"variance", "m^2", "of a reading", not_negative}),
      field(finder.position, {"position", "m", "start of the rays, body frame", Accepts::finite}),
  };
}

}  // namespace propwash
