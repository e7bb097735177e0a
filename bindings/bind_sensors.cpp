#include <algorithm>
#include <cmath>

#include "modules.hpp"
#include "propwash/model/barometer.hpp"
#include "propwash/model/geodetic.hpp"
#include "propwash/model/gnss.hpp"
#include "propwash/model/magnetometer.hpp"
#include "propwash/random/sample_noise.hpp"
#include "sensor_arrays.hpp"

namespace propwash::bindings {

namespace {

template <class T>
py::tuple measure_gnss(const GnssParameters<double>& gnss, const Rows<T>& position,
                       const Rows<T>& velocity, const Rows<T>& attitude, const Rows<T>& body_rates,
                       const Rows<double>& bias, double rate, const SampleNoise& noise) {
  const std::size_t n = rows_of(position);
  auto at = new_array<T>(n, 3), moving = new_array<T>(n, 3);
  T *to_at = at.mutable_data(), *to_moving = moving.mutable_data();
  for (std::size_t i = 0; i < n; ++i) {
    double z[6];
    noise.draw(i, 0, 6, z);
    const auto truth = antenna_motion(gnss, vector_at(position, i), vector_at(velocity, i),
                                      quaternion_at(attitude, i), vector_at(body_rates, i));
    const auto reading =
        gnss_reading(gnss, truth, vector_at(bias, i), vec3_at(z), vec3_at(z + 3), std::sqrt(rate));
    to_at = put(reading.position, to_at);
    to_moving = put(reading.velocity, to_moving);
  }
  return py::make_tuple(at, moving);
}

template <class T>
py::tuple measure_barometer(const BarometerParameters<double>& barometer, const Rows<T>& position,
                            const Rows<T>& attitude, const Rows<double>& drift, double rate,
                            const SampleNoise& noise) {
  Array pressure(position.shape(0)), altitude(position.shape(0));
  const double deviation = barometer.noise_density * std::sqrt(rate);
  for (std::size_t i = 0; i < rows_of(position); ++i) {
    double z = 0.0;
    noise.draw(i, 0, 1, &z);
    const auto reading =
        barometer_reading(barometer, vector_at(position, i), quaternion_at(attitude, i),
                          drift.data()[i], deviation * z);
    pressure.mutable_data()[i] = reading.pressure;
    altitude.mutable_data()[i] = reading.altitude;
  }
  return py::make_tuple(pressure, altitude);
}

template <class T>
py::array measure_magnetometer(const MagnetometerParameters<double>& magnetometer,
                               const Rows<T>& attitude, const Rows<double>& bias, double rate,
                               const SampleNoise& noise) {
  const double deviation = magnetometer.noise_density * std::sqrt(rate);
  return filled_rows<T>(rows_of(attitude), 3, [&](std::size_t i) {
    double z[3];
    noise.draw(i, 0, 3, z);
    return magnetometer_reading(magnetometer, quaternion_at(attitude, i), vector_at(bias, i),
                                vec3_at(z) * deviation);
  });
}

EarthFrame earth_frame(const py::object& origin, double x_heading) {
  const auto at = vec3(origin, "origin", "rad, rad, m");
  return {{at.x, at.y, at.z}, x_heading};
}

template <class T>
void bind_model_measures(py::module_& m) {
  m.def("measure_gnss", &measure_gnss<T>, "gnss"_a, "position"_a.noconvert(),
        "velocity"_a.noconvert(), "attitude"_a.noconvert(), "body_rates"_a.noconvert(),
        "bias"_a.noconvert(), "rate"_a, "noise"_a);
  m.def("measure_barometer", &measure_barometer<T>, "barometer"_a, "position"_a.noconvert(),
        "attitude"_a.noconvert(), "drift"_a.noconvert(), "rate"_a, "noise"_a);
  m.def("measure_magnetometer", &measure_magnetometer<T>, "magnetometer"_a,
        "attitude"_a.noconvert(), "bias"_a.noconvert(), "rate"_a, "noise"_a);
}

void bind_sensor_models(py::module_& m) {
  py::class_<GnssParameters<double>>(m, "GnssModel", "See propwash.Gnss.")
      .def(py::init([](double across, double up, double speed_across, double speed_up,
                       const py::object& at) {
             return GnssParameters<double>{
                 across, up, speed_across, speed_up, {}, {}, vec3(at, "position", "m")};
           }),
           "position_noise_horizontal"_a, "position_noise_vertical"_a,
           "velocity_noise_horizontal"_a, "velocity_noise_vertical"_a, "position"_a);
  py::class_<BarometerParameters<double>>(m, "BarometerModel", "See propwash.Barometer.")
      .def(py::init([](double density, double sea_level, double altitude, const py::object& at) {
             return BarometerParameters<double>{
                 density, {}, sea_level, altitude, vec3(at, "position", "m")};
           }),
           "noise_density"_a, "sea_level_pressure"_a, "altitude"_a, "position"_a);
  py::class_<MagnetometerParameters<double>>(m, "MagnetometerModel", "See propwash.Magnetometer.")
      .def(py::init([](const py::object& field, const Rows<double>& soft_iron,
                       const py::object& hard_iron, double density, const py::object& orientation) {
             Mat3<double> iron;
             std::copy_n(soft_iron.data(), 9, iron.elements);
             return MagnetometerParameters<double>{vec3(field, "field", "T"),
                                                   iron,
                                                   vec3(hard_iron, "hard_iron", "T"),
                                                   density,
                                                   {},
                                                   attitude(orientation, "attitude")};
           }),
           "field"_a, "soft_iron"_a, "hard_iron"_a, "noise_density"_a, "attitude"_a);
}

}  // namespace

void bind_sensors(py::module_& m) {
  m.def(
      "isa_pressure",
      [](double altitude) { return isa_pressure_ratio(altitude) * StandardAtmosphere::pressure; },
      "altitude"_a);
  m.def(
      "isa_altitude",
      [](double pressure) { return isa_altitude(pressure / StandardAtmosphere::pressure); },
      "pressure"_a);
  m.def(
      "to_geodetic",
      [](const py::object& origin, double x_heading, const Rows<double>& position) {
        const auto frame = earth_frame(origin, x_heading);
        return filled_rows<double>(rows_of(position), 3, [&](std::size_t i) {
          const Geodetic g = to_geodetic(frame, vector_at(position, i));
          return Vec3<double>{g.latitude, g.longitude, g.altitude};
        });
      },
      "origin"_a, "x_heading"_a, "position"_a);
  m.def(
      "to_local",
      [](const py::object& origin, double x_heading, const Rows<double>& points) {
        const auto frame = earth_frame(origin, x_heading);
        return filled_rows<double>(rows_of(points), 3, [&](std::size_t i) {
          const auto p = vector_at(points, i);
          return to_local(frame, Geodetic{p.x, p.y, p.z});
        });
      },
      "origin"_a, "x_heading"_a, "points"_a);
  bind_sensor_models(m);
  bind_model_measures<float>(m);
  bind_model_measures<double>(m);
}

}  // namespace propwash::bindings
