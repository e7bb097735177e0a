#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/estimate/error_state_filter.hpp"
#include "sensor_arrays.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

using Filter = ErrorStateFilter<double>;

/// Rows of position (3), attitude (4), width, height, depth and bounds (3).
std::vector<GatePrior<double>> gate_priors(const Rows<double>& rows) {
  std::vector<GatePrior<double>> priors;
  for (std::size_t i = 0; i < rows_of(rows); ++i) {
    const double* row = rows.data() + 13 * i;
    Gate gate;
    gate.width = row[7], gate.height = row[8], gate.depth = row[9];
    priors.push_back(
        make_gate_prior<double>({vec3_at(row), quat_at(row + 3)}, gate, vec3_at(row + 10)));
  }
  return priors;
}

Filter new_filter(const py::object& imu, const Rows<double>& start, const Rows<double>& deviations,
                  const Rows<double>& gates, const py::object& gravity, double time,
                  std::size_t history, double rejection) {
  const double *x = start.data(), *d = deviations.data();
  return Filter(imu_parameters(imu), {vec3_at(x), vec3_at(x + 3), quat_at(x + 6)},
                {vec3_at(d), vec3_at(d + 3), vec3_at(d + 6)}, gate_priors(gates),
                {vec3(gravity, "gravity", "m/s^2, world frame"), time, history, rejection});
}

void add_readings(Filter& filter, const Rows<double>& gyroscope, const Rows<double>& accelerometer,
                  double dt) {
  for (std::size_t i = 0; i < rows_of(gyroscope); ++i) {
    detail::check_reading(vector_at(gyroscope, i), vector_at(accelerometer, i), dt);
  }
  interruptible(gyroscope.shape(0), [&](py::ssize_t i) {
    const auto row = static_cast<std::size_t>(i);
    filter.propagate(vector_at(gyroscope, row), vector_at(accelerometer, row), dt);
  });
}

/// camera: width, height, focal length, position (3), attitude (4), distortion (4).
py::array_t<bool> correct_by_beacons(Filter& filter,
                                     const py::array_t<std::int64_t, py::array::c_style>& gates,
                                     const py::array_t<std::int64_t, py::array::c_style>& corners,
                                     const Rows<double>& u, const Rows<double>& v,
                                     const Rows<double>& camera, double deviation, double time) {
  std::vector<BeaconSighting<double>> sightings;
  for (py::ssize_t i = 0; i < gates.size(); ++i) {
    sightings.push_back({static_cast<std::size_t>(gates.data()[i]),
                         static_cast<int>(corners.data()[i]), u.data()[i], v.data()[i]});
  }
  const double* c = camera.data();
  const Camera<double> view{c[0],           c[1],
                            c[2],           vec3_at(c + 3),
                            quat_at(c + 6), make_distortion(c[10], c[11], c[12], c[13])};
  py::array_t<bool> accepted(gates.size());
  filter.update_beacons(sightings, view, deviation, time, accepted.mutable_data());
  return accepted;
}

Array covariance_of(const Filter& filter) {
  const auto covariance = filter.covariance();
  const std::size_t n = covariance.size();
  auto result = new_array<double>(n, n);
  double* to = result.mutable_data();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) *to++ = covariance(i, j);
  }
  return result;
}

py::tuple motion_of(const Filter& filter) {
  const auto motion = filter.motion();
  return py::make_tuple(to_array(motion.position_W), to_array(motion.velocity_W),
                        to_array(motion.q_WB));
}

}  // namespace

void bind_estimate(py::module_& m) {
  py::class_<Filter>(m, "ErrorStateFilter", "See propwash.estimate.ErrorStateFilter.")
      .def(py::init(&new_filter), "imu"_a, "start"_a, "deviations"_a, "gates"_a, "gravity"_a,
           "time"_a, "history"_a, "rejection"_a)
      .def("_propagate", &add_readings, "gyroscope"_a, "accelerometer"_a, "dt"_a)
      .def("_update_beacons", &correct_by_beacons, "gates"_a, "corners"_a, "u"_a, "v"_a, "camera"_a,
           "deviation"_a, "time"_a)
      .def(
          "_update_range",
          [](Filter& filter, double range, double variance, const py::object& position,
             const py::object& direction, double time) {
            return filter.update_range(range, variance, vec3(position, "position", "m, body frame"),
                                       vec3(direction, "direction", "body frame"), time);
          },
          "range"_a, "variance"_a, "position"_a, "direction"_a, "time"_a)
      .def("_motion", &motion_of)
      .def_property_readonly(
          "gyroscope_bias", [](const Filter& f) { return to_array(f.state().gyroscope_bias_S); },
          "(3,) rad/s, sensor axes")
      .def_property_readonly(
          "accelerometer_bias",
          [](const Filter& f) { return to_array(f.state().accelerometer_bias_S); },
          "(3,) m/s^2, sensor axes")
      .def_property_readonly(
          "gates",
          [](const Filter& f) {
            return filled_rows<double>(f.gates(), 3, [&](std::size_t i) {
              const auto& offset = f.gate(i);
              return Vec3<double>{offset.x, offset.y, offset.yaw};
            });
          },
          "(g, 3) estimated offsets of the gates from their nominal poses: x, y m, yaw rad")
      .def_property_readonly("covariance", &covariance_of,
                             "(e, e) covariance of the errors at `time`; see the class for their "
                             "order")
      .def_property_readonly("time", &Filter::time, "s, of the last IMU reading")
      .def_property_readonly(
          "update_time", &Filter::update_time,
          "s, of the last measurement, or of the oldest IMU reading kept if that "
          "is later; measurements from before are refused");
}

}  // namespace propwash::bindings
