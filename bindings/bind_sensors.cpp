#include <algorithm>
#include <cmath>
#include <limits>

#include "modules.hpp"
#include "propwash/model/barometer.hpp"
#include "propwash/model/geodetic.hpp"
#include "propwash/model/gnss.hpp"
#include "propwash/model/magnetometer.hpp"
#include "propwash/model/sample_schedule.hpp"
#include "propwash/random/sample_noise.hpp"
#include "sensor_arrays.hpp"

namespace propwash::bindings {

namespace {

/// The biases of n vehicles, one Gauss-Markov process a column, in float64 whatever the vehicles.
Rows<double> started(const Rows<double>& bias, const py::array_t<bool, py::array::c_style>& mask,
                     const std::vector<double>& deviations, const SampleNoise& noise) {
  Rows<double> result = copy_of(bias);
  const auto columns = deviations.size();
  double* to = result.mutable_data();
  double normals[6];
  for (std::size_t i = 0; i < rows_of(bias); ++i, to += columns) {
    if (!mask.data()[i]) continue;
    noise.draw(i, 0, columns, normals);
    for (std::size_t k = 0; k < columns; ++k) {
      to[k] = gauss_markov_start(deviations[k], normals[k]);
    }
  }
  return result;
}

Rows<double> walked_on(const Rows<double>& bias, const std::vector<double>& deviations,
                       const std::vector<double>& times, double dt, const SampleNoise& noise) {
  Rows<double> result = copy_of(bias);
  const auto columns = deviations.size();
  std::vector<GaussMarkovStep<double>> steps;
  for (std::size_t k = 0; k < columns; ++k) {
    steps.push_back(make_gauss_markov_step({deviations[k], times[k]}, dt));
  }
  double* to = result.mutable_data();
  double normals[6];
  for (std::size_t i = 0; i < rows_of(bias); ++i, to += columns) {
    noise.draw(i, 0, columns, normals);
    for (std::size_t k = 0; k < columns; ++k) {
      to[k] = gauss_markov_next(steps[k], to[k], normals[k]);
    }
  }
  return result;
}

template <class T>
py::tuple measure_gnss(const GnssParameters<double>& gnss, const Rows<T>& position,
                       const Rows<T>& velocity, const Rows<T>& attitude, const Rows<T>& body_rates,
                       const Rows<double>& bias, double rate, const SampleNoise& noise) {
  const std::size_t n = rows_of(position);
  Rows<T> at({position.shape(0), py::ssize_t{3}});
  Rows<T> moving({position.shape(0), py::ssize_t{3}});
  const double root = std::sqrt(rate);
  T* to_at = at.mutable_data();
  T* to_moving = moving.mutable_data();
  for (std::size_t i = 0; i < n; ++i) {
    double z[6];
    noise.draw(i, 0, 6, z);
    const auto truth = antenna_motion(gnss, vector_at(position, i), vector_at(velocity, i),
                                      quaternion_at(attitude, i), vector_at(body_rates, i));
    const auto reading =
        gnss_reading(gnss, truth, vector_at(bias, i), Vec3<double>{z[0], z[1], z[2]},
                     Vec3<double>{z[3], z[4], z[5]}, root);
    store(reading.position, to_at + 3 * i);
    store(reading.velocity, to_moving + 3 * i);
  }
  return py::make_tuple(at, moving);
}

template <class T>
py::tuple measure_barometer(const BarometerParameters<double>& barometer, const Rows<T>& position,
                            const Rows<T>& attitude, const Rows<double>& drift, double rate,
                            const SampleNoise& noise) {
  py::array_t<double> pressure(position.shape(0));
  py::array_t<double> altitude(position.shape(0));
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
  Rows<T> field({attitude.shape(0), py::ssize_t{3}});
  const double deviation = magnetometer.noise_density * std::sqrt(rate);
  for (std::size_t i = 0; i < rows_of(attitude); ++i) {
    double z[3];
    noise.draw(i, 0, 3, z);
    const Vec3<double> white{z[0] * deviation, z[1] * deviation, z[2] * deviation};
    store(magnetometer_reading(magnetometer, quaternion_at(attitude, i), vector_at(bias, i), white),
          field.mutable_data() + 3 * i);
  }
  return field;
}

/// (n, 3) of latitude, longitude [rad] and height [m], from the local frame or into it.
template <class F>
Rows<double> each_point(const Rows<double>& points, const F& f) {
  Rows<double> result({points.shape(0), py::ssize_t{3}});
  for (std::size_t i = 0; i < rows_of(points); ++i) {
    store(f(vector_at(points, i)), result.mutable_data() + 3 * i);
  }
  return result;
}

EarthFrame earth_frame(const Vec3<double>& origin, double x_heading) {
  return {{origin.x, origin.y, origin.z}, x_heading};
}

template <class T>
void bind_model_measures(py::module_& m) {
  m.def("measure_gnss", &measure_gnss<T>, py::arg("gnss"), py::arg("position").noconvert(),
        py::arg("velocity").noconvert(), py::arg("attitude").noconvert(),
        py::arg("body_rates").noconvert(), py::arg("bias").noconvert(), py::arg("rate"),
        py::arg("noise"));
  m.def("measure_barometer", &measure_barometer<T>, py::arg("barometer"),
        py::arg("position").noconvert(), py::arg("attitude").noconvert(),
        py::arg("drift").noconvert(), py::arg("rate"), py::arg("noise"));
  m.def("measure_magnetometer", &measure_magnetometer<T>, py::arg("magnetometer"),
        py::arg("attitude").noconvert(), py::arg("bias").noconvert(), py::arg("rate"),
        py::arg("noise"));
}

void bind_sensor_models(py::module_& m) {
  py::class_<GnssParameters<double>>(m, "GnssModel", "See propwash.Gnss.")
      .def(py::init([](double across, double up, double speed_across, double speed_up,
                       const py::object& position) {
             GnssParameters<double> p;
             p.position_noise_horizontal = across;
             p.position_noise_vertical = up;
             p.velocity_noise_horizontal = speed_across;
             p.velocity_noise_vertical = speed_up;
             p.position = vec3(position, "position", "m");
             return p;
           }),
           py::arg("position_noise_horizontal"), py::arg("position_noise_vertical"),
           py::arg("velocity_noise_horizontal"), py::arg("velocity_noise_vertical"),
           py::arg("position"));
  py::class_<BarometerParameters<double>>(m, "BarometerModel", "See propwash.Barometer.")
      .def(py::init([](double density, double sea_level_pressure, double altitude,
                       const py::object& position) {
             BarometerParameters<double> p;
             p.noise_density = density;
             p.sea_level_pressure = sea_level_pressure;
             p.altitude = altitude;
             p.position = vec3(position, "position", "m");
             return p;
           }),
           py::arg("noise_density"), py::arg("sea_level_pressure"), py::arg("altitude"),
           py::arg("position"));
  py::class_<MagnetometerParameters<double>>(m, "MagnetometerModel", "See propwash.Magnetometer.")
      .def(py::init([](const py::object& field, const Rows<double>& soft_iron,
                       const py::object& hard_iron, double density, const py::object& turned) {
             MagnetometerParameters<double> p;
             p.field = vec3(field, "field", "T");
             std::copy_n(soft_iron.data(), 9, p.soft_iron.elements);
             p.hard_iron = vec3(hard_iron, "hard_iron", "T");
             p.noise_density = density;
             p.attitude = attitude(turned, "attitude");
             return p;
           }),
           py::arg("field"), py::arg("soft_iron"), py::arg("hard_iron"), py::arg("noise_density"),
           py::arg("attitude"));
}

}  // namespace

void bind_sensors(py::module_& m) {
  py::class_<SampleNoise>(m, "SampleNoise", "The normals of one sample of a sensor.")
      .def(
          py::init([](std::uint64_t key, std::uint64_t sample, std::uint32_t first_id,
                      std::uint32_t stream) { return SampleNoise{key, sample, first_id, stream}; }),
          py::arg("key"), py::arg("sample"), py::arg("first_id"), py::arg("stream"));
  m.def("sensor_key", &sensor_key, py::arg("seed"), py::arg("sensor_seed"));
  m.def(
      "sample_step",
      [](std::uint64_t k, double rate, double dt, std::uint64_t start) {
        return SampleSchedule{rate, dt, start}.step_of(k);
      },
      py::arg("sample"), py::arg("rate"), py::arg("dt"), py::arg("start"));
  m.def("latency_in_steps", &latency_in_steps, py::arg("latency"), py::arg("dt"));
  m.def("bias_start", &started, py::arg("bias"), py::arg("mask"), py::arg("deviations"),
        py::arg("noise"));
  m.def("bias_next", &walked_on, py::arg("bias"), py::arg("deviations"), py::arg("times"),
        py::arg("dt"), py::arg("noise"));
  m.def(
      "isa_pressure",
      [](double altitude) { return isa_pressure_ratio(altitude) * StandardAtmosphere::pressure; },
      py::arg("altitude"), "Pa, of the standard atmosphere at a height [m].");
  m.def(
      "isa_altitude",
      [](double pressure) { return isa_altitude(pressure / StandardAtmosphere::pressure); },
      py::arg("pressure"), "m, where the standard atmosphere has a pressure [Pa].");
  m.def(
      "to_geodetic",
      [](const py::object& origin, double x_heading, const Rows<double>& position) {
        const auto frame = earth_frame(vec3(origin, "origin", "rad, rad, m"), x_heading);
        return each_point(position, [&](const Vec3<double>& p) {
          const Geodetic g = to_geodetic(frame, p);
          return Vec3<double>{g.latitude, g.longitude, g.altitude};
        });
      },
      py::arg("origin"), py::arg("x_heading"), py::arg("position"));
  m.def(
      "to_local",
      [](const py::object& origin, double x_heading, const Rows<double>& points) {
        const auto frame = earth_frame(vec3(origin, "origin", "rad, rad, m"), x_heading);
        return each_point(points, [&](const Vec3<double>& p) {
          return to_local(frame, Geodetic{p.x, p.y, p.z});
        });
      },
      py::arg("origin"), py::arg("x_heading"), py::arg("points"));
  bind_sensor_models(m);
  bind_model_measures<float>(m);
  bind_model_measures<double>(m);
}

}  // namespace propwash::bindings
