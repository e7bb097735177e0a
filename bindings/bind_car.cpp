#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "arrays.hpp"
#include "commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/car.hpp"
#include "recorder.hpp"
#include "snapshot_bytes.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

double checked_time_step(const py::object& dt) {
  const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
  if (seconds <= 0.0) refuse("dt", "a finite number > 0 [s]", dt);
  return seconds;
}

SpeedYawRate<double> row_of(const Command& command, py::ssize_t row) {
  return {command.number(0, row), command.number(1, row)};
}

void step(Car<>& car, const py::object& command, const py::object& dt, const py::object& substeps) {
  const Command& c = command_of(CommandKind::speed_yaw_rate, command);
  const py::ssize_t count = whole_number(substeps, "substeps", 1);
  require_one_command(c.rows(), "step()");
  const double seconds = checked_time_step(dt);
  const auto held = row_of(c, 0);
  interruptible(count, [&](py::ssize_t) { car.step(held, seconds); });
}

py::dict rollout(Car<>& car, const py::object& command, const py::object& dt,
                 const py::object& steps, const py::object& substeps) {
  const Command& c = command_of(CommandKind::speed_yaw_rate, command);
  const py::ssize_t each = whole_number(substeps, "substeps", 1);
  const py::ssize_t count = record_count(c.rows(), steps);
  const double seconds = checked_time_step(dt);
  const auto each_recorded = [&](const auto& f) {
    f("time", car.time());
    f("x", car.state().x);
    f("y", car.state().y);
    f("heading", car.state().heading);
  };
  return recorded(count, each, each_recorded, [&](py::ssize_t row) {
    return [&, held = row_of(c, row)] { car.step(held, seconds); };
  });
}

CarState<double> state_from(const py::tuple& fields) {
  return {finite_number(fields[0], "x", "a finite number [m]"),
          finite_number(fields[1], "y", "a finite number [m]"),
          finite_number(fields[2], "heading", "a finite number [rad]")};
}

void restore(Car<>& car, const py::bytes& bytes) {
  const auto s = snapshot_from<Car<>::Snapshot>("car", bytes, "a Car");
  if (!is_finite(s.state.x) || !is_finite(s.state.y) || !is_finite(s.state.heading) ||
      !is_finite(s.time) || s.id > std::numeric_limits<std::uint32_t>::max()) {
    throw py::value_error("snapshot: expected finite numbers of a Car");
  }
  car.restore(s);
}

}  // namespace

void bind_car(py::module_& m) {
  py::class_<Car<>>(m, "Car", "See propwash.Car.")
      .def(py::init([](const py::object& parameters, const std::string& integrator,
                       std::uint64_t seed, std::uint32_t id, bool noise) {
             return Car<>(car_parameters(parameters),
                          CarOptions{integrator_named(integrator), seed, id, noise});
           }),
           "parameters"_a, "integrator"_a, "seed"_a, "id"_a, "noise"_a)
      .def("step", &step, "command"_a, "dt"_a = py::float_(1.0 / 960.0), py::kw_only(),
           "substeps"_a = py::int_(1),
           "Advances by `substeps` steps of dt [s] under a held SpeedYawRate, limited to the car's "
           "range.\n\n"
           "Raises ValueError or TypeError for invalid arguments; the state is then unchanged.")
      .def("_rollout", &rollout, "command"_a, "dt"_a, "steps"_a, "substeps"_a)
      .def("_state",
           [](const Car<>& car) {
             return py::make_tuple(car.state().x, car.state().y, car.state().heading);
           })
      .def(
          "_set_state",
          [](Car<>& car, const py::tuple& fields) { car.set_state(state_from(fields)); },
          "fields"_a)
      .def(
          "_reset",
          [](Car<>& car, const py::tuple& fields, std::optional<std::uint64_t> seed) {
            const auto state = state_from(fields);
            return seed ? car.reset(state, *seed) : car.reset(state);
          },
          "fields"_a, "seed"_a)
      .def(
          "snapshot", [](const Car<>& car) { return snapshot_bytes("car", car.snapshot()); },
          "Returns the complete state as bytes: state, time, and key and counter of the noise.")
      .def("restore", &restore, "snapshot"_a,
           "Restores a snapshot() of a car with the same parameters; results are then bitwise "
           "equal.\n\n"
           "Raises ValueError for other bytes; the car is then unchanged.")
      .def_property_readonly("time", &Car<>::time, "s, since reset")
      .def_property_readonly("steps", &Car<>::steps, steps_meaning)
      .def_property_readonly(
          "seed", [](const Car<>& car) { return car.options().seed; }, seed_meaning);
}

}  // namespace propwash::bindings
