#include "parameters.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

/// A group of parameters with its dotted name, for messages.
class Group {
 public:
  Group(py::object object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}

  Group group(const char* field) const { return {object_.attr(field), key(field)}; }
  /// The range is validate()'s to judge: infinities and NaN pass.
  double number(const char* field) const {
    const py::object value = object_.attr(field);
    try {
      return value.cast<double>();
    } catch (const py::cast_error&) {
      refuse_parameter(key(field), "a number", value);
    }
  }
  /// One number, or a tuple of as many as there are rotors.
  PerRotor<double> per_rotor(const char* field) const {
    const py::object value = object_.attr(field);
    if (!py::isinstance<py::tuple>(value)) return number(field);
    const auto items = py::reinterpret_borrow<py::tuple>(value);
    const auto count = static_cast<std::int64_t>(items.size());
    if (count < 1 || count > max_size) {
      refuse(key(field), "a number, or one for each rotor", value);
    }
    PerRotor<double> numbers;
    numbers.count = count;
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.values[i] = items[static_cast<std::size_t>(i)].cast<double>();
    }
    return numbers;
  }
  Vec3<double> vec3(const char* field) const {
    const Array values = array(field, {3}, "3 numbers");
    return {values.data()[0], values.data()[1], values.data()[2]};
  }
  Mat3<double> mat3(const char* field) const {
    const Array values = array(field, {3, 3}, "3 x 3 numbers");
    Mat3<double> matrix;
    for (int i = 0; i < 9; ++i) matrix.elements[i] = values.data()[i];
    return matrix;
  }
  Quat<double> quat(const char* field) const {
    const Array values = array(field, {4}, "4 numbers (w, x, y, z)");
    const double* d = values.data();
    return {d[0], d[1], d[2], d[3]};
  }
  std::string text(const char* field) const { return py::str(object_.attr(field)); }
  bool flag(const char* field) const { return object_.attr(field).cast<bool>(); }

 private:
  std::string key(const char* field) const { return name_.empty() ? field : name_ + "." + field; }
  Array array(const char* field, const std::vector<py::ssize_t>& shape,
              const char* expected) const {
    const py::object value = object_.attr(field);
    Array values = Array::ensure(value);
    if (!values || values.ndim() != static_cast<py::ssize_t>(shape.size()) ||
        !std::equal(shape.begin(), shape.end(), values.shape())) {
      refuse_parameter(key(field), expected, value);
    }
    return values;
  }

  py::object object_;
  std::string name_;
};

RotorParameters<double> rotor(const Group& from) {
  RotorParameters<double> to;
  to.position = from.vec3("position");
  to.axis = from.vec3("axis");
  to.spin = from.number("spin");
  to.thrust_coefficient = from.number("thrust_coefficient");
  to.torque_coefficient = from.number("torque_coefficient");
  to.inertia = from.number("inertia");
  return to;
}

MotorParameters<double> motor(const Group& from) {
  MotorParameters<double> to;
  to.time_constant_up = from.per_rotor("time_constant_up");
  to.time_constant_down = from.per_rotor("time_constant_down");
  to.speed_min = from.per_rotor("speed_min");
  to.speed_max = from.per_rotor("speed_max");
  to.command_delay = from.number("command_delay");
  return to;
}

ImuParameters<double> imu(const Group& from) {
  ImuParameters<double> to;
  to.accelerometer_noise_density = from.number("accelerometer_noise_density");
  to.gyroscope_noise_density = from.number("gyroscope_noise_density");
  to.accelerometer_bias_walk = from.number("accelerometer_bias_walk");
  to.gyroscope_bias_walk = from.number("gyroscope_bias_walk");
  to.accelerometer_bias_initial = from.number("accelerometer_bias_initial");
  to.gyroscope_bias_initial = from.number("gyroscope_bias_initial");
  to.position = from.vec3("position");
  to.attitude = from.quat("attitude");
  to.accelerometer_scale = from.vec3("accelerometer_scale");
  to.gyroscope_scale = from.vec3("gyroscope_scale");
  to.accelerometer_resolution = from.number("accelerometer_resolution");
  to.gyroscope_resolution = from.number("gyroscope_resolution");
  to.accelerometer_range = from.number("accelerometer_range");
  to.gyroscope_range = from.number("gyroscope_range");
  to.rate = from.number("rate");
  return to;
}

Discretisation discretisation_named(const std::string& name) {
  if (name == "exact") return Discretisation::exact;
  if (name == "backward_euler") return Discretisation::backward_euler;
  throw ParameterError("rate_controller.discretisation = '" + name +
                       "': expected 'exact' or 'backward_euler'");
}

RateControllerParameters<double> rate_controller(const Group& from) {
  RateControllerParameters<double> to;
  to.proportional = from.vec3("proportional");
  to.integral = from.vec3("integral");
  to.derivative = from.vec3("derivative");
  to.integral_bound = from.vec3("integral_bound");
  const Group filter = from.group("filter");
  to.filter = {filter.number("stiffness"), filter.number("damping")};
  to.discretisation = discretisation_named(from.text("discretisation"));
  to.gyroscopic_term = from.flag("gyroscopic_term");
  return to;
}

}  // namespace

VehicleParameters vehicle_parameters(py::handle object) {
  const auto whole = py::reinterpret_borrow<py::object>(object);
  const Group from(whole, "");
  VehicleParameters to;
  to.name = from.text("name");
  const Group body = from.group("body");
  to.body = {body.number("mass"), body.mat3("inertia"), body.vec3("gravity")};
  int index = 0;
  for (const py::handle item : whole.attr("rotors")) {
    to.rotors.push_back(rotor(Group(py::reinterpret_borrow<py::object>(item),
                                    "rotors[" + std::to_string(index++) + "]")));
  }
  to.motor = motor(from.group("motor"));
  const Group drag = from.group("drag");
  to.drag = {drag.number("translational"), drag.mat3("rotational")};
  const Group rotor_drag = from.group("rotor_drag");
  to.rotor_drag = {rotor_drag.vec3("linear"), rotor_drag.number("blow_back")};
  to.battery = {from.group("battery").number("nominal_voltage")};
  const Group noise = from.group("process_noise");
  to.process_noise = {noise.number("force"), noise.number("torque")};
  to.imu = imu(from.group("imu"));
  to.rate_controller = rate_controller(from.group("rate_controller"));
  return to;
}

CarParameters car_parameters(py::handle object) {
  const Group from(py::reinterpret_borrow<py::object>(object), "");
  CarParameters to;
  to.name = from.text("name");
  to.speed_min = from.number("speed_min");
  to.speed_max = from.number("speed_max");
  to.yaw_rate_limit = from.number("yaw_rate_limit");
  const auto noise = py::tuple(py::reinterpret_borrow<py::object>(object).attr("process_noise"));
  to.process_noise_forward = noise[0].cast<double>();
  to.process_noise_left = noise[1].cast<double>();
  return to;
}

ImuParameters<double> imu_parameters(py::handle object) {
  return imu(Group(py::reinterpret_borrow<py::object>(object), "imu"));
}

Integrator integrator_named(const std::string& name) {
  if (name == "rk4") return Integrator::rk4;
  if (name == "euler") return Integrator::euler;
  if (name == "symplectic_euler") return Integrator::symplectic_euler;
  throw py::value_error("integrator = '" + name +
                        "': expected 'rk4', 'euler' or 'symplectic_euler'");
}

}  // namespace propwash::bindings
