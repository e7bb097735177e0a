#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "commands.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

using Kind = CommandKind;

/// Python name, parts and documentation of a kind of command.
struct CommandTable {
  const char* name;
  CommandPart parts[Command::max_parts];
  const char* meaning;

  constexpr std::size_t count() const {
    std::size_t n = 0;
    while (n < Command::max_parts && parts[n].name != nullptr) ++n;
    return n;
  }
};

constexpr bool optional = true;

/// Indexed by CommandKind; meaning_of() adds the text common to all kinds.
constexpr CommandTable command_tables[] = {
    {"RateThrust",
     {{"rates", "rad/s", 3}, {"thrust", "N", 1}},
     "Body rates and thrust, for the rate controller.\n\n"
     "rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). "
     "thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, an argument without "
     "the axis n applies to all vehicles. float32 arrays stay float32."},
    {"RotorSpeeds",
     {{"speeds", "rad/s", CommandPart::one_per_rotor}},
     "Rotor speeds, in the vehicle's order of rotors.\n\n"
     "speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed "
     "gives thrust along the rotor's axis. float32 arrays stay float32."},
    {"SpeedYawRate",
     {{"speed", "m/s", 1}, {"yaw_rate", "rad/s", 1}},
     "Speed and yaw rate of a car.\n\n"
     "speed: number, m/s. yaw_rate: number, rad/s, counter-clockwise. Each also (T,) for a "
     "rollout. float32 arrays stay float32."},
    {"AttitudeThrust",
     {{"attitude", "1", 4}, {"thrust", "N", 1}, {"yaw_rate", "rad/s", 1, optional}},
     "Attitude and thrust, for the attitude loop.\n\n"
     "attitude: (4,) unit quaternion, scalar first, body to world; thrust: number, N, along body "
     "z. With yaw_rate, rad/s, the attitude specifies only the direction of the thrust axis; the "
     "vehicle rotates about that axis at this rate."},
    {"VelocityCommand",
     {{"velocity", "m/s", 3}, {"yaw", "rad", 1, optional}, {"yaw_rate", "rad/s", 1, optional}},
     "A velocity, for the velocity loop.\n\n"
     "velocity: (3,) m/s, world frame. yaw: rad, heading of body x; or yaw_rate: rad/s. With "
     "neither, the yaw rate is 0."},
    {"PositionCommand",
     {{"position", "m", 3}, {"yaw", "rad", 1, optional}},
     "A position, for the position loop.\n\n"
     "position: (3,) m, world frame. yaw: rad, heading of body x; None: the yaw rate is 0."},
    {"TrajectoryCommand",
     {{"position", "m", 3},
      {"velocity", "m/s", 3, optional},
      {"acceleration", "m/s^2", 3, optional},
      {"jerk", "m/s^3", 3, optional},
      {"snap", "m/s^4", 3, optional},
      {"yaw", "rad", 1, optional},
      {"yaw_rate", "rad/s", 1, optional},
      {"yaw_acceleration", "rad/s^2", 1, optional}},
     "A point of a trajectory, and the controller that tracks it.\n\n"
     "position, velocity, acceleration, jerk, snap: (3,) m, m/s, … m/s^4, world frame. yaw, "
     "yaw_rate, yaw_acceleration: rad, rad/s, rad/s^2, of the heading of body x. None means "
     "zero. controller: 'geometric', 'backstepping' or 'indi'."}};

constexpr const CommandTable& table_of(Kind kind) {
  return command_tables[static_cast<std::size_t>(kind)];
}

bool is_for_outer_loop(Kind kind) { return kind >= Kind::attitude_thrust; }

/// In the order of OuterLoop, starting at OuterLoop::geometric.
constexpr const char* controllers[] = {"geometric", "backstepping", "indi"};

OuterLoop loop_of(Kind kind, const std::string& controller) {
  if (kind == Kind::velocity) return OuterLoop::velocity;
  if (kind == Kind::position) return OuterLoop::position;
  if (kind != Kind::trajectory) return OuterLoop::attitude;
  for (int i = 0; i < 3; ++i) {
    if (controller == controllers[i]) {
      return static_cast<OuterLoop>(static_cast<int>(OuterLoop::geometric) + i);
    }
  }
  throw py::value_error("controller: expected 'geometric', 'backstepping' or 'indi', got '" +
                        controller + "'");
}

/// Whether the shapes of two parts of a command are compatible: equal numbers of rows, and equal
/// numbers of vehicles unless one part applies to all vehicles. Ignores the axes of one vehicle.
bool go_together(const CommandArray& a, int a_axes, const CommandArray& b, int b_axes) {
  for (int k = 1; k <= std::min(a_axes, b_axes); ++k) {
    const py::ssize_t x = a.shape(a_axes - k);
    const py::ssize_t y = b.shape(b_axes - k);
    const bool one_is_for_all = k == 1 && std::max(a_axes, b_axes) == 2 && (x == 1 || y == 1);
    if (x != y && !one_is_for_all) return false;
  }
  return true;
}

[[noreturn]] void refuse_command(const std::string& expected, py::handle value) {
  throw py::type_error("command: expected " + expected + ", got " + described(value));
}

}  // namespace

Command::Command(Kind kind, Span<const py::object> values, const std::string& controller)
    : kind_(kind), loop_(loop_of(kind, controller)), numbers_(values.size()) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_none() && parts()[i].is_optional) continue;
    numbers_[i].emplace(values[i], parts()[i]);
    require_together(i);
  }
  if (kind == Kind::velocity && numbers_[1] && numbers_[2]) {
    throw py::value_error(
        "yaw_rate: expected None if yaw is specified; pass either yaw or yaw_rate");
  }
  if (kind == Kind::attitude_thrust) require_unit_attitudes();
}

/// Compares with every preceding part: a part without rows is compatible with any number of rows.
void Command::require_together(std::size_t part) const {
  const CommandArray& next = *numbers_[part];
  const int axes = next.ndim() - parts()[part].tail();
  for (std::size_t i = 0; i < part; ++i) {
    if (!numbers_[i]) continue;
    const CommandArray& other = *numbers_[i];
    const int other_axes = other.ndim() - parts()[i].tail();
    if (go_together(other, other_axes, next, axes)) continue;
    if (!is_for_outer_loop(kind_) && axes == 1 && other_axes == 1) rows();
    throw py::value_error(std::string(parts()[part].name) + ": expected a shape compatible with " +
                          parts()[i].name + " of shape " + other.shape_text() + ", got " +
                          next.shape_text());
  }
}

void Command::require_unit_attitudes() const {
  const CommandArray& q = *numbers_[0];
  for (py::ssize_t i = 0; i < q.size(); i += 4) {
    double squared = 0.0;
    for (py::ssize_t k = i; k < i + 4; ++k) squared += q[k] * q[k];
    if (std::abs(squared - 1.0) < 1e-3) continue;
    throw py::value_error("attitude: expected unit quaternions (w, x, y, z), got one of length " +
                          std::to_string(std::sqrt(squared)) +
                          (q.ndim() > 1 ? " from " + q.place_text(i) : ""));
  }
}

Span<const CommandPart> Command::parts() const {
  return {table_of(kind_).parts, table_of(kind_).count()};
}

const char* Command::controller() const {
  return kind_ == Kind::trajectory
             ? controllers[static_cast<int>(loop_) - static_cast<int>(OuterLoop::geometric)]
             : "";
}

py::ssize_t Command::rows() const {
  const auto axes_of = [&](std::size_t i) {
    return numbers_[i] ? numbers_[i]->ndim() - parts()[i].tail() : 0;
  };
  int max_axes = 0;
  for (std::size_t i = 0; i < numbers_.size(); ++i) max_axes = std::max(max_axes, axes_of(i));
  py::ssize_t rows = -1;
  const char* from = "";
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const int axes = axes_of(i);
    const int row_axes = axes > 0 && (axes > 1 || max_axes < 2) ? 1 : 0;
    const char* const name = parts()[i].name;
    if (axes > row_axes && numbers_[i]->shape(row_axes) != 1) {
      throw py::value_error(
          "command: expected one command, or rows of commands, for one vehicle, got " +
          std::string(name) + " of shape " + numbers_[i]->shape_text() +
          ", which is for the vehicles of a Fleet");
    }
    if (row_axes == 0) continue;
    const py::ssize_t entries = numbers_[i]->shape(0);
    if (rows >= 0 && rows != entries) {
      throw py::value_error(std::string(name) + ": expected as many rows as " + from + ", " +
                            std::to_string(rows) + ", got " + std::to_string(entries));
    }
    rows = entries;
    from = name;
  }
  return rows;
}

double Command::number(std::size_t part, py::ssize_t row, int column) const {
  if (!numbers_[part]) return 0.0;
  const CommandArray& n = *numbers_[part];
  const py::ssize_t columns = parts()[part].tail() > 0 ? n.shape(n.ndim() - 1) : 1;
  return n[(n.size() > columns ? row * columns : 0) + column];
}

OuterLoopCommand<double> Command::outer_loop_command(py::ssize_t i) const {
  OuterLoopCommand<double> command;
  command.loop = loop_;
  auto& point = command.point;
  switch (kind_) {
    case Kind::attitude_thrust:
      command.attitude =
          normalized(Quat<double>{number(0, i), number(0, i, 1), number(0, i, 2), number(0, i, 3)});
      command.thrust = number(1, i);
      command.free_heading = numbers_[2].has_value();
      point.yaw_rate = number(2, i);
      break;
    case Kind::velocity:
    case Kind::position:
      (kind_ == Kind::velocity ? point.velocity : point.position) = triple(0, i);
      command.free_heading = !numbers_[1];
      point.yaw = number(1, i);
      if (kind_ == Kind::velocity) point.yaw_rate = number(2, i);
      break;
    default:
      point = {triple(0, i), triple(1, i), triple(2, i), triple(3, i),
               triple(4, i), number(5, i), number(6, i), number(7, i)};
  }
  return command;
}

/// One function instead of an overload for each class of commands saves a microsecond: for each
/// overload that does not match, pybind11 tries a long list of conversions.
const Command* as_command(py::handle value) {
  if (!py::isinstance<Command>(value)) return nullptr;
  // an object created by __new__ alone contains no command
  auto* const instance = reinterpret_cast<py::detail::instance*>(value.ptr());
  if (!instance->get_value_and_holder().holder_constructed()) return nullptr;
  return value.cast<const Command*>();
}

const Command& command_of(Kind kind, py::handle value) {
  const Command* const command = as_command(value);
  if (command != nullptr && command->kind() == kind) return *command;
  refuse_command("a " + std::string(table_of(kind).name), value);
}

const Command& multicopter_command(py::handle value) {
  const Command* const command = as_command(value);
  if (command != nullptr && command->kind() != Kind::speed_yaw_rate) return *command;
  refuse_command(
      "a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, "
      "TrajectoryCommand or trajectories.Reference",
      value);
}

void require_outer_loop(const Command& command) {
  if (command.kind() != Kind::rate_thrust && command.kind() != Kind::rotor_speeds) return;
  throw py::value_error(
      "state: expected None with a RateThrust or RotorSpeeds, because only outer loops use it: "
      "AttitudeThrust, VelocityCommand, PositionCommand or TrajectoryCommand");
}

void require_one_command(py::ssize_t rows, const char* function) {
  if (rows < 0 || rows == 1) return;
  throw py::value_error("command: expected one command for " + std::string(function) + ", got " +
                        std::to_string(rows) + " rows; rollout() accepts rows");
}

py::ssize_t record_count(py::ssize_t rows, py::handle steps) {
  if (steps.is_none()) {
    if (rows < 0) {
      throw py::value_error(
          "steps: expected a whole number if one command is held for the whole rollout, got "
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

namespace {

std::string repr_of(py::handle self) {
  const Command* const made = as_command(self);
  if (made == nullptr) return "a command without a call of __init__()";
  const Command& command = *made;
  std::string text;
  for (std::size_t i = 0; i < command.parts().size(); ++i) {
    const CommandArray* const numbers = command.numbers(i);
    if (numbers == nullptr) continue;
    const CommandPart& part = command.parts()[i];
    if (i > 0) text += ", ";
    if (command.kind() != Kind::rotor_speeds) text += std::string(part.name) + "=";
    const py::array array = numbers->copy();
    text +=
        (part.tail() > 0 || is_for_outer_loop(command.kind()) ? py::repr(array) : py::str(array))
            .cast<std::string>();
  }
  if (command.kind() == Kind::trajectory) {
    text += ", controller='" + std::string(command.controller()) + "'";
  }
  return std::string(table_of(command.kind()).name) + "(" + text + ")";
}

/// For pickle and copy: the class and the arguments of its constructor.
py::tuple reduced(const py::object& self) {
  const auto& command = self.cast<const Command&>();
  py::list arguments;
  for (std::size_t i = 0; i < command.parts().size(); ++i) {
    const CommandArray* const numbers = command.numbers(i);
    arguments.append(numbers == nullptr ? py::object(py::none()) : numbers->copy());
  }
  if (command.kind() == Kind::trajectory) arguments.append(command.controller());
  return py::make_tuple(py::type::of(self), py::tuple(arguments));
}

std::string meaning_of(Kind kind) {
  std::string text = table_of(kind).meaning;
  if (is_for_outer_loop(kind)) {
    text += " As in RateThrust, each may have rows (T, …), vehicles (n, …) or both.";
  }
  return text + "\nRaises ValueError for a wrong shape" +
         (kind == Kind::attitude_thrust
              ? ", non-finite numbers or a quaternion that is not of unit length."
              : " or non-finite numbers.");
}

template <Kind which, std::size_t i>
auto argument() {
  constexpr const CommandPart& part = table_of(which).parts[i];
  if constexpr (part.is_optional) {
    return py::arg(part.name) = py::none();
  } else {
    return py::arg(part.name);
  }
}

/// A view of the part's numbers; the returned array keeps the command alive.
template <Kind which, std::size_t i>
auto part_of(const py::object& self) {
  const CommandArray* const numbers = self.cast<const Command&>().numbers(i);
  if constexpr (table_of(which).parts[i].is_optional) {
    return numbers == nullptr ? py::object(py::none()) : py::object(numbers->view(self));
  } else {
    return numbers->view(self);
  }
}

template <std::size_t>
using PartValue = py::object;

template <Kind which, std::size_t... i>
void bind_kind(py::module_& m, std::index_sequence<i...>) {
  using Self = CommandOf<which>;
  using Values = std::array<py::object, sizeof...(i)>;
  constexpr const CommandTable& table = table_of(which);
  py::class_<Self, Command> type(m, table.name, meaning_of(which).c_str());
  if constexpr (which == Kind::trajectory) {
    type.def(py::init([](const PartValue<i>&... value, const std::string& controller) {
               return Self(Values{value...}, controller);
             }),
             argument<which, i>()..., "controller"_a = controllers[0])
        .def_property_readonly("controller", &Self::controller, "name of the controller");
  } else {
    type.def(py::init([](const PartValue<i>&... value) { return Self(Values{value...}); }),
             argument<which, i>()...);
  }
  const auto add_part = [&](const CommandPart& part, auto get) {
    const std::string meaning = std::string(part.unit) + ", read-only";
    type.def_property_readonly(part.name, get, meaning.c_str());
  };
  (add_part(table.parts[i], &part_of<which, i>), ...);
}

template <std::size_t... kind>
void bind_kinds(py::module_& m, std::index_sequence<kind...>) {
  (bind_kind<Kind(kind)>(m, std::make_index_sequence<command_tables[kind].count()>()), ...);
}

}  // namespace

void bind_commands(py::module_& m) {
  py::class_<Command>(m, "Command", "Base class of all commands.")
      .def("__repr__", &repr_of)
      .def("__reduce__", &reduced);
  bind_kinds(m, std::make_index_sequence<std::size(command_tables)>());
}

}  // namespace propwash::bindings
