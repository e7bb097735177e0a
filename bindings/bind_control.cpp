#include <pybind11/eigen.h>

#include <Eigen/Core>
#include <vector>

#include "arrays.hpp"
#include "commands.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/control/desaturate.hpp"
#include "propwash/control/position_control.hpp"
#include "propwash/control/rate_controller.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

constexpr const char* dt_expected = "a finite number > 0 [s]";

/// A finite number >= 0, or > 0 if `expected` is not null. Raises ParameterError.
double parameter(const py::object& value, const char* name, const char* expected = nullptr) {
  const char* const range = expected == nullptr ? "a finite number >= 0" : expected;
  try {
    const double number = finite_number(value, name, range);
    if (number > 0.0 || (expected == nullptr && number == 0.0)) return number;
  } catch (const py::value_error&) {
  }
  refuse_parameter(name, range, value);
}

/// Independent low-pass filters, one for each channel of a signal.
class PyLowPass {
 public:
  PyLowPass(const py::object& stiffness, const py::object& damping, const py::object& dt,
            bool exact, py::ssize_t channels)
      : stiffness_(parameter(stiffness, "stiffness", "a finite number > 0 [1/s^2]")),
        damping_(parameter(damping, "damping")),
        dt_(parameter(dt, "dt", dt_expected)),
        exact_(exact),
        filters_(static_cast<std::size_t>(channels),
                 LowPass({stiffness_, damping_}, dt_,
                         exact ? Discretisation::exact : Discretisation::backward_euler)) {}

  /// One row of the signal for each step, shape (T, channels).
  Array apply(const py::object& signal) {
    const std::string expected = "an array of shape (T, " + std::to_string(filters_.size()) + ")";
    const Array in = shaped_array(signal, "signal", expected,
                                  {any_length, static_cast<py::ssize_t>(filters_.size())});
    Array out({in.shape(0), in.shape(1)});
    const double* from = in.data();
    double* to = out.mutable_data();
    for (py::ssize_t row = 0; row < in.shape(0); ++row) {
      for (auto& filter : filters_) *to++ = filter.update(*from++);
    }
    return out;
  }
  void reset(const py::object& value) {
    const double start = finite_number(value, "value", "a finite number");
    for (auto& filter : filters_) filter.reset(start);
  }
  /// The constructor's arguments, then the value and derivative of each filter.
  py::tuple pickled() const {
    return py::make_tuple(stiffness_, damping_, dt_, exact_, each(&LowPassState<double>::value),
                          derivative());
  }
  static PyLowPass unpickled(const py::tuple& t) {
    const Array values = finite_array(t[4], "values", "finite numbers");
    const Array derivatives = finite_array(t[5], "derivatives", "finite numbers");
    if (values.size() != derivatives.size()) refuse("values", "one for each channel", t[4]);
    PyLowPass filter(t[0], t[1], t[2], t[3].cast<bool>(), values.size());
    for (std::size_t i = 0; i < filter.filters_.size(); ++i) {
      filter.filters_[i].set_state({values.data()[i], derivatives.data()[i]});
    }
    return filter;
  }
  Array derivative() const { return each(&LowPassState<double>::derivative); }

 private:
  /// One field of the state of each filter.
  Array each(double LowPassState<double>::* number) const {
    std::vector<double> numbers;
    for (const auto& filter : filters_) numbers.push_back(filter.state().*number);
    return to_array(numbers);
  }

  double stiffness_;
  double damping_;
  double dt_;
  bool exact_;
  std::vector<LowPass> filters_;
};

/// One axis of the PID with its integral.
class PyPid {
 public:
  PyPid(const py::object& proportional, const py::object& integral, const py::object& derivative,
        const py::object& integral_bound, const py::object& dt)
      : parameters_{parameter(proportional, "proportional"), parameter(integral, "integral"),
                    parameter(derivative, "derivative"),
                    parameter(integral_bound, "integral_bound")},
        dt_(parameter(dt, "dt", dt_expected)) {}

  double update(const py::object& error, const py::object& measurement_derivative) {
    const double e = finite_number(error, "error", "a finite number");
    const double slope = finite_number(measurement_derivative, "measurement_derivative",
                                       "a finite number, per second");
    integral_ = pid_integral(parameters_, integral_, e, dt_);
    return pid_output(parameters_, e, integral_, slope);
  }
  double integral() const { return integral_; }
  void reset() { integral_ = 0.0; }
  /// What the constructor takes, and the integral.
  py::tuple pickled() const {
    return py::make_tuple(parameters_.proportional, parameters_.integral, parameters_.derivative,
                          parameters_.integral_bound, dt_, integral_);
  }
  static PyPid unpickled(const py::tuple& t) {
    PyPid pid(t[0], t[1], t[2], t[3], t[4]);
    pid.integral_ = finite_number(t[5], "integral", "a finite number");
    return pid;
  }

 private:
  PidParameters<double> parameters_;
  double dt_;
  double integral_ = 0.0;
};

VehicleParameters checked_vehicle(const py::object& parameters) {
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  validate(vehicle);
  return vehicle;
}

using PyAllocation = Allocation<double, Dynamic>;

py::tuple tuple_of(const Wrench<double>& wrench) {
  return py::make_tuple(to_array(wrench.torque_B), wrench.thrust);
}

/// (4, N).
template <class Rows>
Array matrix_of(const PyAllocation& allocation, const Rows& rows) {
  Array matrix({4, allocation.rotors()});
  double* to = matrix.mutable_data();
  for (int row = 0; row < 4; ++row) to = put(rows[row], to);
  return matrix;
}

py::tuple update(RateController<>& controller, const py::object& gyroscope,
                 const py::object& command) {
  const Command& rates = command_of(CommandKind::rate_thrust, command);
  require_one_command(rates.rows(), "update()");
  const auto result =
      controller.update(vec3(gyroscope, "gyroscope", "rad/s, body frame"), rates.rate_thrust(0));
  return py::make_tuple(to_array(result.speeds), tuple_of(result.desired),
                        tuple_of(result.attained));
}

void bind_filters(py::module_& m) {
  py::class_<PyLowPass>(m, "LowPass", "See propwash.LowPass.")
      .def(py::init<const py::object&, const py::object&, const py::object&, bool, py::ssize_t>(),
           "stiffness"_a, "damping"_a, "dt"_a, "exact"_a, "channels"_a)
      .def("apply", &PyLowPass::apply, "signal"_a)
      .def("reset", &PyLowPass::reset, "value"_a)
      .def("derivative", &PyLowPass::derivative)
      .def(py::pickle([](const PyLowPass& filter) { return filter.pickled(); },
                      &PyLowPass::unpickled));

  py::class_<PyPid>(m, "Pid",
                    "PID of one axis: derivative on the measurement, bounded integral.\n\n"
                    "Guerra et al., arXiv 1905.11377, eq. (20). dt [s] is the time between "
                    "updates; integral_bound bounds the integral of the error.\n"
                    "Raises ValueError for a gain < 0 or a dt that is not > 0.")
      .def(py::init<const py::object&, const py::object&, const py::object&, const py::object&,
                    const py::object&>(),
           "proportional"_a, "integral"_a = py::float_(0.0), "derivative"_a = py::float_(0.0),
           "integral_bound"_a = py::float_(1000.0), "dt"_a = py::float_(1.0 / 960.0))
      .def("update", &PyPid::update, "error"_a, "measurement_derivative"_a = py::float_(0.0),
           "Advances the integral and returns the output.")
      .def("reset", &PyPid::reset, "Sets the integral to zero.")
      .def(py::pickle([](const PyPid& pid) { return pid.pickled(); }, &PyPid::unpickled))
      .def_property_readonly("integral", &PyPid::integral,
                             "integral of the error, unit of the error times s");
}

Array allocated(const PyAllocation& a, const py::object& torque, const py::object& thrust,
                bool prioritised) {
  const Wrench<double> wrench{vec3(torque, "torque", "N m, body frame"),
                              finite_number(thrust, "thrust", "a finite number [N]")};
  if (!prioritised) return to_array(allocate(a, wrench));
  if (!can_prioritise(a)) {
    throw py::value_error(
        "prioritised: expected rotors that all contribute positive thrust; a rotor of this vehicle "
        "contributes no thrust, or thrust along -z");
  }
  return to_array(allocate_prioritised(a, wrench));
}

py::tuple attained(const PyAllocation& a, const py::object& speeds) {
  const std::string expected = std::to_string(a.rotors()) + " finite rotor speeds [rad/s]";
  const Array array = shaped_array(speeds, "speeds", expected, {a.rotors()});
  return tuple_of(attained_wrench(a, small_array(array.data(), a.rotors())));
}

void bind_allocation(py::module_& m) {
  py::class_<PyAllocation>(m, "Allocation", "See propwash.Allocation.")
      .def(py::init([](const py::object& parameters) {
             const VehicleParameters vehicle = checked_vehicle(parameters);
             return make_allocation<double, Dynamic>(vehicle.rotors, vehicle.motor);
           }),
           "parameters"_a)
      .def_property_readonly(
          "matrix", [](const PyAllocation& a) { return matrix_of(a, a.wrench_from_squares); },
          "(4, N): torque x, y, z [N m] and thrust [N] from the signed squares of rotor speeds "
          "[(rad/s)^2], eq. (23)")
      .def_property_readonly(
          "inverse",
          [](const PyAllocation& a) -> Array {
            return matrix_of(a, a.squares_from_wrench).attr("T").attr("copy")();
          },
          "(N, 4): the inverse, or the pseudo-inverse if the vehicle does not have four rotors")
      .def_readonly("rank", &PyAllocation::rank,
                    "rank of the matrix; 4: torque and thrust can be commanded independently")
      .def("allocate", &allocated, "torque"_a, "thrust"_a, "prioritised"_a = false,
           "Returns rotor speeds (N,) [rad/s] for a torque (3,) [N m] and a thrust [N]. By default "
           "each rotor is clipped to its motor's range, as in the papers. With prioritised, a "
           "wrench outside that range is reduced: torque about z first, then thrust, then torque "
           "about x and y.")
      .def("_attained", &attained, "speeds"_a);
}

void bind_rate_controller(py::module_& m) {
  py::class_<RateController<>>(m, "RateController", "See propwash.RateController.")
      .def(py::init([](const py::object& parameters, const py::object& dt) {
             const VehicleParameters vehicle = checked_vehicle(parameters);
             validate_allocation(vehicle);
             return RateController<>(vehicle, parameter(dt, "dt", dt_expected));
           }),
           "parameters"_a, "dt"_a)
      .def("_update", &update, "gyroscope"_a, "command"_a)
      .def("reset", &RateController<>::reset, "Resets the filter and the integrals.")
      .def(
          "snapshot",
          [](const RateController<>& c) {
            const auto& [filter, integral] = c.snapshot();
            return py::make_tuple(to_array(filter.value), to_array(filter.derivative),
                                  to_array(integral));
          },
          "Returns the complete state: filtered rates [rad/s], their derivative "
          "[rad/s^2] and the integrals [rad], each (3,).")
      .def(
          "restore",
          [](RateController<>& c, const py::tuple& snapshot) {
            if (snapshot.size() != 3) {
              refuse("snapshot", "the result of snapshot() of a rate controller", snapshot);
            }
            c.restore({{vec3(snapshot[0], "snapshot[0]", "rad/s"),
                        vec3(snapshot[1], "snapshot[1]", "rad/s^2")},
                       vec3(snapshot[2], "snapshot[2]", "rad")});
          },
          "snapshot"_a,
          "Restores the state that snapshot() returned; results are then bitwise equal.")
      .def_property_readonly(
          "filtered_rates",
          [](const RateController<>& c) { return to_array(c.snapshot().filter.value); },
          "(3,) rad/s, low-pass filtered gyroscope readings")
      .def_property_readonly(
          "integral", [](const RateController<>& c) { return to_array(c.snapshot().integral); },
          "(3,) rad, the bounded integrals of the rate error");
}

Eigen::VectorXd vector_of(const Array& array) {
  return Eigen::Map<const Eigen::VectorXd>(array.data(), array.size());
}

/// One step of an integrator of the library with a derivative function from Python.
Eigen::VectorXd integrate_step(const py::function& derivative, const py::object& state,
                               const py::object& dt, const std::string& method) {
  const char* expected = "a one-dimensional array of finite numbers";
  const Array start = shaped_array(state, "state", expected, {any_length});
  const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
  if (seconds <= 0.0) refuse("dt", "a finite number > 0 [s]", dt);
  const Eigen::VectorXd x = vector_of(start);

  const auto f = [&](const Eigen::VectorXd& at) -> Eigen::VectorXd {
    const py::object rate = derivative(at);
    const std::string shape =
        "an array of shape (" + std::to_string(x.size()) + ",) like the state, of finite numbers";
    return vector_of(shaped_array(rate, "derivative's result", shape, {x.size()}));
  };
  switch (integrator_named(method)) {
    case Integrator::euler:
      return Euler{}(f, x, seconds);
    case Integrator::rk4:
      return Rk4{}(f, x, seconds);
    case Integrator::symplectic_euler:
      break;
  }
  throw py::value_error(
      "method = 'symplectic_euler': expected 'euler' or 'rk4'; an array does not specify which of "
      "its elements are velocities");
}

}  // namespace

void bind_control(py::module_& m) {
  bind_filters(m);
  bind_allocation(m);
  bind_rate_controller(m);
  m.def(
      "integrate_step", &integrate_step, "derivative"_a, "state"_a, "dt"_a, "method"_a,
      "Returns the state (n,) after one step of dt [s]. derivative: function of a state (n,) that "
      "returns its derivative (n,); method: 'euler' or 'rk4'.");
  m.def(
      "position_control",
      [](const py::object& proportional, double speed_limit, const py::object& error) {
        const PositionControlLaw<double> law{vec3(proportional, "proportional", "1/s"),
                                             speed_limit};
        const Vec3<double> v = position_control(law, vec3(error, "error", "m"));
        return py::make_tuple(v.x, v.y, v.z);
      },
      "proportional"_a, "speed_limit"_a, "error"_a,
      "Returns the velocity [m/s] for a position error [m], (O5).");
}

}  // namespace propwash::bindings
