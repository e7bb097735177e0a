#include "arrays.hpp"
#include "commands.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/car.hpp"
#include "rooms.hpp"
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

void step(Car<>& car, const py::object& command, const py::object& dt, const py::object& steps) {
  const auto& c = checked_command(command);
  const py::ssize_t count = whole_number(steps, "steps", 0);
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

py::tuple get_state(const Car<>& car) {
  const auto s = car.snapshot();
  return py::make_tuple(s.state.x, s.state.y, s.state.heading, s.time, s.steps);
}

void set_state(Car<>& car, const py::tuple& snapshot) {
  if (snapshot.size() != 5) {
    refuse("snapshot", "what get_state() of a car gave", snapshot);
  }
  Car<>::Snapshot s;
  s.state = state_from(snapshot);
  s.time = finite_number(snapshot[3], "time", "a finite number [s]");
  s.steps = static_cast<std::uint64_t>(whole_number(snapshot[4], "steps", 0));
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
           py::arg("parameters"), py::arg("integrator"), py::arg("seed"), py::arg("id"),
           py::arg("noise"))
      .def("step", &step, py::arg("command"), py::arg("dt") = py::float_(1.0 / 960.0),
           py::arg("steps") = py::int_(1),
           "Advances `steps` steps of dt [s] under a held SpeedYawRate, limited to the car's "
           "range.\n\n"
           "Raises ValueError or TypeError for a command, dt or steps that cannot be; the state is "
           "then unchanged.")
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
          "_reset", [](Car<>& car, const py::tuple& fields) { car.reset(state_from(fields)); },
          py::arg("fields"))
      .def("get_state", &get_state,
           "Everything that affects the future: (x, y, heading, time, steps).")
      .def("set_state", &set_state, py::arg("snapshot"),
           "Continues, bit for bit, from what get_state() gave.")
      .def_property_readonly("time", &Car<>::time, "s, since reset")
      .def_property_readonly("steps", &Car<>::steps, "number of steps since reset");
}

}  // namespace propwash::bindings
