#include <algorithm>
#include <string>

#include "command_tables.hpp"

namespace propwash::bindings {

namespace {

using Kind = CommandKind;

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

}  // namespace propwash::bindings
