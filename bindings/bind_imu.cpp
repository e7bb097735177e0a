#include <pybind11/stl.h>

#include <cstdint>
#include <optional>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/imu.hpp"
#include "recorder.hpp"
#include "snapshot_bytes.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

using Sensor = Imu<double>;

py::tuple read(Sensor& sensor, const py::object& specific_force, const py::object& rates,
               const py::object& angular_acceleration, const py::object& dt) {
  const auto force_B = vec3(specific_force, "specific_force", "m/s^2, body frame");
  const auto rates_B = vec3(rates, "rates", "rad/s, body frame");
  const auto acceleration_B =
      vec3(angular_acceleration, "angular_acceleration", "rad/s^2, body frame");
  const double seconds = finite_number(dt, "dt", "a finite number >= 0 [s]");
  return tuple_of_reading(sensor.read(force_B, rates_B, acceleration_B, seconds));
}

}  // namespace

void bind_imu(py::module_& m) {
  py::class_<Sensor>(m, "Imu", "See propwash.Imu.")
      .def(py::init([](const py::object& parameters, std::uint64_t seed, std::uint32_t id,
                       bool noise) { return Sensor(imu_parameters(parameters), seed, id, noise); }),
           "parameters"_a, "seed"_a, "id"_a, "noise"_a)
      .def("_read", &read, "specific_force"_a, "rates"_a, "angular_acceleration"_a, "dt"_a)
      .def("_reading", [](const Sensor& s) { return tuple_of_reading(s.reading()); })
      .def(
          "_reset",
          [](Sensor& sensor, std::optional<std::uint64_t> seed) {
            return seed ? sensor.reset(*seed) : sensor.reset();
          },
          "seed"_a)
      .def(
          "snapshot", [](const Sensor& sensor) { return snapshot_bytes("imu", sensor.snapshot()); },
          "Returns the complete state as bytes: biases, last reading, time and noise counter.")
      .def(
          "restore",
          [](Sensor& sensor, const py::bytes& bytes) {
            sensor.restore(snapshot_from<Sensor::Snapshot>("imu", bytes, "an Imu"));
          },
          "snapshot"_a,
          "Restores a snapshot(), including its seed and id; readings are then bitwise equal.\n\n"
          "Raises ValueError for other bytes and for a snapshot of a sensor with other parameters "
          "or another setting of noise; the sensor is then unchanged.")
      .def_property_readonly("time", &Sensor::time, "s, since reset")
      .def_property_readonly("steps", &Sensor::steps, steps_meaning)
      .def_property_readonly("seed", &Sensor::seed, seed_meaning)
      .def_property_readonly(
          "accelerometer_bias", [](const Sensor& s) { return to_array(s.bias().accelerometer); },
          "(3,) m/s^2, sensor axes")
      .def_property_readonly(
          "gyroscope_bias", [](const Sensor& s) { return to_array(s.bias().gyroscope); },
          "(3,) rad/s, sensor axes");
}

}  // namespace propwash::bindings
