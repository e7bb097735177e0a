#include "commands.hpp"
#include "rooms.hpp"

namespace propwash::bindings {

namespace {

constexpr const char* rates_expected = "3 finite numbers [rad/s], or an array of shape (T, 3)";

/// A copy that nobody else can write to.
Array frozen(const Array& array) {
  Array copy(std::vector<py::ssize_t>(array.shape(), array.shape() + array.ndim()), array.data());
  copy.attr("flags").attr("writeable") = false;
  return copy;
}

/// A number, or one for each of T rows.
Array number_or_rows(py::handle value, const char* name, const char* unit) {
  const std::string expected =
      std::string("a finite number [") + unit + "], or an array of shape (T,)";
  const Array array = finite_array(value, name, expected);
  if (array.ndim() > 1) refuse(name, expected, value);
  return frozen(array);
}

/// The rows of two parts of a command, either of which may be one for all.
py::ssize_t common_rows(const char* a_name, py::ssize_t a, const char* b_name, py::ssize_t b) {
  if (a >= 0 && b >= 0 && a != b) {
    throw py::value_error(std::string(b_name) + ": expected as many rows as " + a_name + ", " +
                          std::to_string(a) + ", got " + std::to_string(b));
  }
  return a >= 0 ? a : b;
}

}  // namespace

RateThrustCommand::RateThrustCommand(py::handle rates, py::handle thrust) {
  const Array array = finite_array(rates, "rates", rates_expected);
  if (array.ndim() < 1 || array.ndim() > 2 || array.shape(array.ndim() - 1) != 3) {
    refuse("rates", rates_expected, rates);
  }
  rates_ = frozen(array);
  thrust_ = number_or_rows(thrust, "thrust", "N");
  rows();
}

py::ssize_t RateThrustCommand::rows() const {
  return common_rows("rates", rates_.ndim() == 2 ? rates_.shape(0) : -1, "thrust",
                     thrust_.ndim() == 1 ? thrust_.shape(0) : -1);
}

RateThrust<double> RateThrustCommand::row(py::ssize_t i) const {
  const double* rates = rates_.data() + (rates_.ndim() == 2 ? 3 * i : 0);
  return {{rates[0], rates[1], rates[2]}, thrust_.data()[thrust_.ndim() == 1 ? i : 0]};
}

RotorSpeedsCommand::RotorSpeedsCommand(py::handle speeds) {
  const char* expected = "finite numbers [rad/s], one for each rotor, or an array of shape (T, N)";
  const Array array = finite_array(speeds, "speeds", expected);
  if (array.ndim() < 1 || array.ndim() > 2 || array.shape(array.ndim() - 1) == 0) {
    refuse("speeds", expected, speeds);
  }
  speeds_ = frozen(array);
}

SpeedYawRateCommand::SpeedYawRateCommand(py::handle speed, py::handle yaw_rate)
    : speed_(number_or_rows(speed, "speed", "m/s")),
      yaw_rate_(number_or_rows(yaw_rate, "yaw_rate", "rad/s")) {
  rows();
}

py::ssize_t SpeedYawRateCommand::rows() const {
  return common_rows("speed", speed_.ndim() == 1 ? speed_.shape(0) : -1, "yaw_rate",
                     yaw_rate_.ndim() == 1 ? yaw_rate_.shape(0) : -1);
}

py::ssize_t record_count(py::ssize_t rows, py::handle steps) {
  if (steps.is_none()) {
    if (rows < 0) {
      throw py::value_error(
          "steps: expected a whole number where one command is held for the whole rollout, got "
          "None");
    }
    return rows;
  }
  const py::ssize_t count = whole_number(steps, "steps", 0);
  if (rows >= 0 && rows != count) {
    throw py::value_error("steps: expected " + std::to_string(rows) +
                          ", the number of the command's rows, or None, got " +
                          std::to_string(count));
  }
  return count;
}

void bind_commands(py::module_& m) {
  py::class_<RateThrustCommand>(m, "RateThrust",
                                "Body rates and thrust, for the rate controller.\n\n"
                                "rates: (3,) or, for a rollout, (T, 3), rad/s, body frame. "
                                "thrust: number or (T,), N, along body z.\n"
                                "Raises ValueError for another shape or a number that is not "
                                "finite.")
      .def(py::init<py::object, py::object>(), py::arg("rates"), py::arg("thrust"))
      .def_property_readonly("rates", &RateThrustCommand::rates, "rad/s, read-only")
      .def_property_readonly("thrust", &RateThrustCommand::thrust, "N, read-only")
      .def("__repr__",
           [](const RateThrustCommand& c) {
             return "RateThrust(rates=" + py::repr(c.rates()).cast<std::string>() +
                    ", thrust=" + py::str(c.thrust()).cast<std::string>() + ")";
           })
      .def(py::pickle(
          [](const RateThrustCommand& c) { return py::make_tuple(c.rates(), c.thrust()); },
          [](const py::tuple& t) { return RateThrustCommand(t[0], t[1]); }));

  py::class_<RotorSpeedsCommand>(m, "RotorSpeeds",
                                 "Rotor speeds, in the vehicle's order of rotors.\n\n"
                                 "speeds: (N,) or, for a rollout, (T, N), rad/s; positive speed "
                                 "gives thrust along the rotor's axis.\n"
                                 "Raises ValueError for another shape or a number that is not "
                                 "finite.")
      .def(py::init<py::object>(), py::arg("speeds"))
      .def_property_readonly("speeds", &RotorSpeedsCommand::speeds, "rad/s, read-only")
      .def("__repr__",
           [](const RotorSpeedsCommand& c) {
             return "RotorSpeeds(" + py::repr(c.speeds()).cast<std::string>() + ")";
           })
      .def(py::pickle([](const RotorSpeedsCommand& c) { return py::make_tuple(c.speeds()); },
                      [](const py::tuple& t) { return RotorSpeedsCommand(t[0]); }));

  py::class_<SpeedYawRateCommand>(m, "SpeedYawRate",
                                  "Speed and yaw rate of a car.\n\n"
                                  "speed: number or (T,), m/s. yaw_rate: number or (T,), rad/s, "
                                  "counter-clockwise.\n"
                                  "Raises ValueError for another shape or a number that is not "
                                  "finite.")
      .def(py::init<py::object, py::object>(), py::arg("speed"), py::arg("yaw_rate"))
      .def_property_readonly("speed", &SpeedYawRateCommand::speed, "m/s, read-only")
      .def_property_readonly("yaw_rate", &SpeedYawRateCommand::yaw_rate, "rad/s, read-only")
      .def("__repr__",
           [](const SpeedYawRateCommand& c) {
             return "SpeedYawRate(speed=" + py::str(c.speed()).cast<std::string>() +
                    ", yaw_rate=" + py::str(c.yaw_rate()).cast<std::string>() + ")";
           })
      .def(py::pickle(
          [](const SpeedYawRateCommand& c) { return py::make_tuple(c.speed(), c.yaw_rate()); },
          [](const py::tuple& t) { return SpeedYawRateCommand(t[0], t[1]); }));
}

}  // namespace propwash::bindings
