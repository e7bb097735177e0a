#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "arrays.hpp"
#include "commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/car.hpp"
#include "snapshot_bytes.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

double checked_time_step(const py::object& dt) {
  const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
  if (seconds <= 0.0) refuse("dt", "a finite number > 0 [s]", dt);
  return seconds;
}

const SpeedYawRateCommand& checked_command(const py::object& command) {
  if (!py::isinstance<SpeedYawRateCommand>(command)) {
    throw py::type_error("command: expected a SpeedYawRate, got " + described(command));
  }
  return command.cast<const SpeedYawRateCommand&>();
}

void step(Car<>& car, const py::object& command, const py::object& dt, const py::object& substeps) {
  const auto& c = checked_command(command);
  const py::ssize_t count = whole_number(substeps, "substeps", 1);
  require_one_command(c.rows(), "step()");
  const double seconds = checked_time_step(dt);
  const SpeedYawRate<double> held{c.speed_at(0), c.yaw_rate_at(0)};
  interruptible(count, [&](py::ssize_t) { car.step(held, seconds); });
}

py::dict rollout(Car<>& car, const py::object& command, const py::object& dt,
                 const py::object& steps, const py::object& substeps) {
  const auto& c = checked_command(command);
  const py::ssize_t each = whole_number(substeps, "substeps", 1);
  const py::ssize_t count = record_count(c.rows(), steps);
  const double seconds = checked_time_step(dt);
  Array time(count);
  Array x(count);
  Array y(count);
  Array heading(count);
  double* to[] = {time.mutable_data(), x.mutable_data(), y.mutable_data(), heading.mutable_data()};
  interruptible(
      count,
      [&](py::ssize_t row) {
        const SpeedYawRate<double> held{c.speed_at(row), c.yaw_rate_at(row)};
        for (py::ssize_t i = 0; i < each; ++i) car.step(held, seconds);
        to[0][row] = car.time();
        to[1][row] = car.state().x;
        to[2][row] = car.state().y;
        to[3][row] = car.state().heading;
      },
      each);
  py::dict result;
  result["time"] = time;
  result["x"] = x;
  result["y"] = y;
  result["heading"] = heading;
  return result;
}

CarState<double> state_from(const py::tuple& fields) {
  return {finite_number(fields[0], "x", "a finite number [m]"),
          finite_number(fields[1], "y", "a finite number [m]"),
          finite_number(fields[2], "heading", "a finite number [rad]")};
}

bool is_sound(const Car<>::Snapshot& s) {
  return is_finite(s.state.x) && is_finite(s.state.y) && is_finite(s.state.heading) &&
         is_finite(s.time) && s.id <= std::numeric_limits<std::uint32_t>::max();
}

void restore_car(Car<>& car, const py::bytes& bytes) {
  const auto snapshot = snapshot_from<Car<>::Snapshot>(snapshot_header("car"), bytes);
  if (!snapshot || !is_sound(*snapshot)) {
    throw py::value_error(
        "snapshot: expected the bytes that snapshot() of a Car gave in this version of propwash");
  }
  car.restore(*snapshot);
}

}  // namespace

void bind_car(py::module_& m) {
  py::class_<Car<>>(m, "Car", "See propwash.Car.")
      .def(py::init([](const py::object& parameters, const std::string& integrator,
                       std::uint64_t seed, std::uint32_t id, bool noise) {
             return Car<>(car_parameters(parameters),
                          CarOptions{integrator_named(integrator), seed, id, noise});
           }),
           py::arg("parameters"), py::arg("integrator"), py::arg("seed"), py::arg("id"),
           py::arg("noise"))
      .def("step", &step, py::arg("command"), py::arg("dt") = py::float_(1.0 / 960.0),
           py::kw_only(), py::arg("substeps") = py::int_(1),
           "Advances by `substeps` steps of dt [s] under a held SpeedYawRate, limited to the car's "
           "range.\n\n"
           "Raises ValueError or TypeError for invalid arguments; the state is then unchanged.")
      .def("_rollout", &rollout, py::arg("command"), py::arg("dt"), py::arg("steps"),
           py::arg("substeps"))
      .def("_state",
           [](const Car<>& car) {
             return py::make_tuple(car.state().x, car.state().y, car.state().heading);
           })
      .def(
          "_set_state",
          [](Car<>& car, const py::tuple& fields) { car.set_state(state_from(fields)); },
          py::arg("fields"))
      .def(
          "_reset",
          [](Car<>& car, const py::tuple& fields, std::optional<std::uint64_t> seed) {
            const auto state = state_from(fields);
            return seed ? car.reset(state, *seed) : car.reset(state);
          },
          py::arg("fields"), py::arg("seed"))
      .def(
          "snapshot",
          [](const Car<>& car) { return snapshot_bytes(snapshot_header("car"), car.snapshot()); },
          "Everything that affects the future, as bytes: state, time, and key and counter of the "
          "noise.")
      .def("restore", &restore_car, py::arg("snapshot"),
           "Continues, bit for bit, from what snapshot() gave for the same parameters.\n\n"
           "Raises ValueError for other bytes; nothing changes then.")
      .def_property_readonly("time", &Car<>::time, "s, since reset")
      .def_property_readonly("steps", &Car<>::steps, steps_meaning)
      .def_property_readonly(
          "seed", [](const Car<>& car) { return car.options().seed; }, seed_meaning);
}

}  // namespace propwash::bindings
