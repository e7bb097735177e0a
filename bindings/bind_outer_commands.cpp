#include <pybind11/stl.h>

#include "modules.hpp"
#include "outer_commands.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"

namespace propwash::bindings {

namespace {

using Kind = OuterCommand::Kind;

constexpr const char* controllers[] = {"geometric", "backstepping", "indi"};

std::string expected_of(const OuterCommand::Part& part) {
  const std::string unit = " [" + std::string(part.unit) + "]";
  if (part.tail() == 0)
    return "a finite number" + unit + ", or an array of shape (T,), (n,) or (T, n)";
  const std::string k = std::to_string(part.columns);
  return k + " finite numbers" + unit + ", or an array of shape (T, " + k + "), (n, " + k +
         ") or (T, n, " + k + ")";
}

OuterLoop loop_of(Kind kind, const std::string& controller) {
  if (kind == Kind::attitude_thrust) return OuterLoop::attitude;
  if (kind == Kind::velocity) return OuterLoop::velocity;
  if (kind == Kind::position) return OuterLoop::position;
  for (int i = 0; i < 3; ++i) {
    if (controller == controllers[i]) {
      return static_cast<OuterLoop>(static_cast<int>(OuterLoop::geometric) + i);
    }
  }
  throw py::value_error("controller: expected 'geometric', 'backstepping' or 'indi', got '" +
                        controller + "'");
}

}  // namespace

std::vector<OuterCommand::Part> OuterCommand::parts(Kind kind) {
  switch (kind) {
    case Kind::attitude_thrust:
      return {{"attitude", "1", 4}, {"thrust", "N", 1}, {"yaw_rate", "rad/s", 1}};
    case Kind::velocity:
      return {{"velocity", "m/s", 3}, {"yaw", "rad", 1}, {"yaw_rate", "rad/s", 1}};
    case Kind::position:
      return {{"position", "m", 3}, {"yaw", "rad", 1}};
    case Kind::trajectory:
      break;
  }
  return {{"position", "m", 3},         {"velocity", "m/s", 3},
          {"acceleration", "m/s^2", 3}, {"jerk", "m/s^3", 3},
          {"snap", "m/s^4", 3},         {"yaw", "rad", 1},
          {"yaw_rate", "rad/s", 1},     {"yaw_acceleration", "rad/s^2", 1}};
}

OuterCommand::OuterCommand(Kind kind, const std::vector<py::object>& values,
                           const std::string& controller)
    : kind_(kind), loop_(loop_of(kind, controller)) {
  const auto all = parts(kind);
  const int required = kind == Kind::attitude_thrust ? 2 : 1;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const auto& part = all[index(i)];
    const auto& value = values[index(i)];
    if (value.is_none() && i >= required) continue;
    numbers_[index(i)] =
        std::make_unique<Numbers>(value, part.name, expected_of(part).c_str(), part.tail(),
                                  part.tail() + 2, part.tail() > 0 ? part.columns : 0);
    // with each of those before, as a part without rows goes with any number of them
    for (int j = 0; j < i; ++j) {
      if (!numbers_[index(j)]) continue;
      const Numbers& other = *numbers_[index(j)];
      const Numbers& next = *numbers_[index(i)];
      if (go_together(other, all[index(j)].tail(), next, part.tail())) continue;
      throw py::value_error(std::string(part.name) + ": expected a shape that goes with " +
                            all[index(j)].name + " of shape " + other.shape_text() + ", got " +
                            next.shape_text());
    }
  }
  if (kind == Kind::velocity && numbers_[1] && numbers_[2]) {
    throw py::value_error(
        "yaw_rate: expected None together with yaw: either the heading or how it turns");
  }
  if (kind == Kind::attitude_thrust) check_attitudes();
}

void OuterCommand::check_attitudes() const {
  const Numbers& q = *numbers_[0];
  for (py::ssize_t i = 0; i < q.size(); i += 4) {
    double squared = 0.0;
    for (py::ssize_t k = i; k < i + 4; ++k) squared += q[k] * q[k];
    if (std::abs(squared - 1.0) < 1e-3) continue;
    throw py::value_error("attitude: expected unit quaternions (w, x, y, z), got one of length " +
                          std::to_string(std::sqrt(squared)) +
                          (q.ndim() > 1 ? " from " + q.place_text(i) : ""));
  }
}

const char* OuterCommand::controller() const {
  return kind_ == Kind::trajectory
             ? controllers[static_cast<int>(loop_) - static_cast<int>(OuterLoop::geometric)]
             : "";
}

py::tuple OuterCommand::copies() const {
  const auto count = parts(kind_).size();
  py::tuple result(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = numbers_[i] ? py::object(numbers_[i]->copy()) : py::none();
  }
  result[count] = std::string(controller());
  return result;
}

py::ssize_t OuterCommand::rows() const {
  std::array<CommandPartView, most_parts> views{};
  std::size_t count = 0;
  const auto all = parts(kind_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (numbers_[i]) views[count++] = {all[i].name, numbers_[i].get(), all[i].tail()};
  }
  return rows_of_one_vehicle(views.data(), count);
}

double OuterCommand::number(int part, py::ssize_t row, int column) const {
  const Numbers* n = numbers(part);
  if (n == nullptr) return 0.0;
  const py::ssize_t columns = parts(kind_)[index(part)].columns;
  return (*n)[(n->size() > columns ? row * columns : 0) + column];
}

OuterLoopCommand<double> OuterCommand::row(py::ssize_t i) const {
  const auto triple = [&](int part) {
    return Vec3<double>{number(part, i, 0), number(part, i, 1), number(part, i, 2)};
  };
  OuterLoopCommand<double> command;
  command.loop = loop_;
  auto& point = command.point;
  switch (kind_) {
    case Kind::attitude_thrust:
      command.attitude = normalized(
          Quat<double>{number(0, i, 0), number(0, i, 1), number(0, i, 2), number(0, i, 3)});
      command.thrust = number(1, i, 0);
      command.free_heading = numbers(2) != nullptr;
      point.yaw_rate = number(2, i, 0);
      break;
    case Kind::velocity:
      point.velocity = triple(0);
      command.free_heading = numbers(1) == nullptr;
      point.yaw = number(1, i, 0);
      point.yaw_rate = number(2, i, 0);
      break;
    case Kind::position:
      point.position = triple(0);
      command.free_heading = numbers(1) == nullptr;
      point.yaw = number(1, i, 0);
      break;
    case Kind::trajectory:
      point = {triple(0), triple(1),       triple(2),       triple(3),
               triple(4), number(5, i, 0), number(6, i, 0), number(7, i, 0)};
  }
  return command;
}

py::dict to_dict(const OuterLoopParameters& p) {
  py::dict values;
  values["interval"] = p.interval;
  values["prioritised"] = p.prioritised;
  for (const auto& field : fields(p)) {
    const char* const name = field.name.data();
    if (field.size() == 1) {
      values[name] = field[0];
    } else {
      values[name] = py::make_tuple(field[0], field[1], field[2]);
    }
  }
  return values;
}

namespace {

/// Sets the gain or limit `name` to a value from Python. Raises ValueError.
void set_outer_loop(OuterLoopParameters& p, const std::string& name, py::handle value) {
  if (name == "interval") {
    constexpr py::ssize_t most = 1 << 20;  // beyond what validate() lets pass
    p.interval = static_cast<int>(std::min(whole_number(value, name, 1), most));
    return;
  }
  if (name == "prioritised") {
    if (!py::isinstance<py::bool_>(value)) refuse(name, "True or False", value);
    p.prioritised = value.cast<bool>();
    return;
  }
  const auto field = find_field(p, name);
  if (!field) throw py::value_error("outer_loops: there is no '" + name + "'");
  const std::string expected = field->size() == 1 ? "a finite number" : "3 finite numbers";
  const Array numbers = finite_array(value, name, expected);
  if (numbers.ndim() != field->shape.rank || numbers.size() != field->size()) {
    refuse(name, expected, value);
  }
  field->set(numbers.data());
}

}  // namespace

OuterLoopParameters outer_loops_from(const OuterLoopParameters& start, const py::dict& values) {
  OuterLoopParameters p = start;
  try {
    for (const auto& [key, value] : values) set_outer_loop(p, key.cast<std::string>(), value);
  } catch (const py::value_error& error) {
    throw ParameterError(error.what());
  }
  return p;
}

namespace {

/// A class of commands for each kind, so that they are told apart in Python.
template <Kind which>
class CommandOf : public OuterCommand {
 public:
  explicit CommandOf(const std::vector<py::object>& values,
                     const std::string& controller = "geometric")
      : OuterCommand(which, values, controller) {}
};

template <Kind which>
std::string repr_of(const char* name, const CommandOf<which>& command) {
  std::string text;
  const auto all = OuterCommand::parts(which);
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const Numbers* numbers = command.numbers(i);
    if (numbers == nullptr) continue;
    text += (text.empty() ? "" : ", ") + std::string(all[static_cast<std::size_t>(i)].name) + "=" +
            py::repr(numbers->copy()).template cast<std::string>();
  }
  if (which == Kind::trajectory) text += ", controller='" + std::string(command.controller()) + "'";
  return std::string(name) + "(" + text + ")";
}

template <Kind which>
py::class_<CommandOf<which>, OuterCommand> bind_kind(py::module_& m, const char* name,
                                                     const char* meaning) {
  using Self = CommandOf<which>;
  py::class_<Self, OuterCommand> type(m, name, meaning);
  const auto all = OuterCommand::parts(which);
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const auto& part = all[static_cast<std::size_t>(i)];
    type.def_property_readonly(
        part.name,
        [i](const py::object& self) -> py::object {
          const Numbers* numbers = self.cast<const Self&>().numbers(i);
          return numbers == nullptr ? py::object(py::none()) : py::object(numbers->view(self));
        },
        (std::string(part.unit) + ", read-only").c_str());
  }
  type.def("__repr__", [name](const Self& command) { return repr_of(name, command); })
      .def(py::pickle([](const Self& command) { return command.copies(); },
                      [name](const py::tuple& t) {
                        if (t.size() != OuterCommand::parts(which).size() + 1) {
                          refuse(name, "what pickle kept of one", t);
                        }
                        std::vector<py::object> values;
                        for (std::size_t i = 0; i + 1 < t.size(); ++i) values.emplace_back(t[i]);
                        const auto controller = t[t.size() - 1].cast<std::string>();
                        return Self(values, controller.empty() ? "geometric" : controller);
                      }));
  return type;
}

void bind_trajectory(py::module_& m) {
  using py::arg;
  const auto none = py::none();
  bind_kind<Kind::trajectory>(
      m, "TrajectoryCommand",
      "A point of a trajectory, and the controller that is to follow it.\n\n"
      "position, velocity, acceleration, jerk, snap: (3,) m, m/s, … m/s^4, world frame. yaw, "
      "yaw_rate, yaw_acceleration: rad, rad/s, rad/s^2, of the heading of body x. What is None is "
      "zero. controller: 'geometric', 'backstepping' or 'indi'. As in RateThrust there may be rows "
      "(T, …), vehicles (n, …) or both.\n"
      "Raises ValueError for another shape or a number that is not finite.")
      .def(py::init([](py::object position, py::object velocity, py::object acceleration,
                       py::object jerk, py::object snap, py::object yaw, py::object yaw_rate,
                       py::object yaw_acceleration, const std::string& controller) {
             return CommandOf<Kind::trajectory>(
                 {position, velocity, acceleration, jerk, snap, yaw, yaw_rate, yaw_acceleration},
                 controller);
           }),
           arg("position"), arg("velocity") = none, arg("acceleration") = none, arg("jerk") = none,
           arg("snap") = none, arg("yaw") = none, arg("yaw_rate") = none,
           arg("yaw_acceleration") = none, arg("controller") = "geometric")
      .def_property_readonly("controller", [](const CommandOf<Kind::trajectory>& command) {
        return command.controller();
      });
}

}  // namespace

void bind_outer_commands(py::module_& m) {
  using py::arg;
  const auto none = py::none();
  m.def(
      "outer_loops_for",
      [](const py::object& parameters, double dt) {
        const VehicleParameters vehicle = vehicle_parameters(parameters);
        validate(vehicle);
        validate_outer_loops(vehicle);
        if (!(dt > 0.0) || !std::isfinite(dt))
          refuse_parameter("dt", "a finite number > 0 s", py::float_(dt));
        return to_dict(outer_loops_for(vehicle, dt));
      },
      arg("parameters"), arg("dt"));
  py::class_<OuterCommand>(m, "OuterCommand", "A command for the outer loops.");
  bind_kind<Kind::attitude_thrust>(
      m, "AttitudeThrust",
      "Attitude and thrust, for the attitude loop.\n\n"
      "attitude: (4,) unit quaternion, scalar first, body to world; thrust: number, N, along body "
      "z. With yaw_rate, rad/s, the attitude says where the thrust axis points, and the vehicle "
      "turns about it at that rate. As in RateThrust there may be rows (T, …), vehicles (n, …) or "
      "both.\n"
      "Raises ValueError for another shape, a number that is not finite or no unit quaternion.")
      .def(py::init([](py::object attitude, py::object thrust, py::object yaw_rate) {
             return CommandOf<Kind::attitude_thrust>({attitude, thrust, yaw_rate});
           }),
           arg("attitude"), arg("thrust"), arg("yaw_rate") = none);
  bind_kind<Kind::velocity>(
      m, "VelocityCommand",
      "A velocity, for the velocity loop.\n\n"
      "velocity: (3,) m/s, world frame. yaw: rad, heading of body x; or yaw_rate: rad/s; without "
      "both the heading is left as it is. As in RateThrust there may be rows (T, …), vehicles (n, "
      "…) or both.\n"
      "Raises ValueError for another shape or a number that is not finite.")
      .def(py::init([](py::object velocity, py::object yaw, py::object yaw_rate) {
             return CommandOf<Kind::velocity>({velocity, yaw, yaw_rate});
           }),
           arg("velocity"), arg("yaw") = none, arg("yaw_rate") = none);
  bind_kind<Kind::position>(
      m, "PositionCommand",
      "A position, for the position loop.\n\n"
      "position: (3,) m, world frame. yaw: rad, heading of body x; without it the heading is left "
      "as it is. As in RateThrust there may be rows (T, …), vehicles (n, …) or both.\n"
      "Raises ValueError for another shape or a number that is not finite.")
      .def(py::init([](py::object position, py::object yaw) {
             return CommandOf<Kind::position>({position, yaw});
           }),
           arg("position"), arg("yaw") = none);
  bind_trajectory(m);
}

}  // namespace propwash::bindings
