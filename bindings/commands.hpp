#pragma once
/// @file
/// Commands created in Python: one command, one for each row of a rollout, or one for each vehicle
/// of a fleet and each row.

#include <optional>

#include "command_array.hpp"
#include "propwash/control/outer_loops.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/math/span.hpp"

namespace propwash::bindings {

enum class CommandKind {
  rate_thrust,
  rotor_speeds,
  speed_yaw_rate,
  attitude_thrust,
  velocity,
  position,
  trajectory
};

/// A command consists of parts (arrays of numbers), some of which are optional. Each part is for
/// one vehicle or has an axis of rows, of vehicles, or both. A table in bind_commands.cpp lists the
/// parts of each kind.
class Command {
 public:
  static constexpr int max_parts = 8;

  /// Values in the order of parts(), None for omitted parts. Raises ValueError.
  Command(CommandKind kind, Span<const py::object> values, const std::string& controller);

  CommandKind kind() const { return kind_; }
  Span<const CommandPart> parts() const;
  /// Null if the part is omitted.
  const CommandArray* numbers(std::size_t part) const {
    return numbers_[part] ? &*numbers_[part] : nullptr;
  }
  /// Which controller follows a trajectory; "" for the other kinds.
  const char* controller() const;
  OuterLoop loop() const { return loop_; }

  /// Number of rows of a command for one vehicle: shapes (…) for one command, which gives -1,
  /// (T, …), or (T, 1, …) as a Fleet of one vehicle accepts them. Raises ValueError for the command
  /// of several vehicles, and for parts of different numbers of rows.
  py::ssize_t rows() const;
  /// One number of a row of a single-vehicle command; 0 if the part is omitted.
  double number(std::size_t part, py::ssize_t row, int column = 0) const;
  /// One row of one vehicle, for commands of that kind.
  RateThrust<double> rate_thrust(py::ssize_t row) const { return {triple(0, row), number(1, row)}; }
  OuterLoopCommand<double> outer_loop_command(py::ssize_t row) const;

 private:
  Vec3<double> triple(std::size_t part, py::ssize_t row) const {
    return {number(part, row, 0), number(part, row, 1), number(part, row, 2)};
  }
  void require_together(std::size_t part) const;
  void require_unit_attitudes() const;

  CommandKind kind_;
  OuterLoop loop_;
  std::vector<std::optional<CommandArray>> numbers_;
};

/// A distinct class for each kind, bound to Python.
template <CommandKind which>
class CommandOf : public Command {
 public:
  explicit CommandOf(Span<const py::object> values, const std::string& controller = "geometric")
      : Command(which, values, controller) {}
};
using RateThrustCommand = CommandOf<CommandKind::rate_thrust>;

/// Null for a value that is not a command.
const Command* as_command(py::handle value);
/// The command if it is of that kind. Raises TypeError otherwise.
const Command& command_of(CommandKind kind, py::handle value);
/// The command if multicopters support its kind. Raises TypeError otherwise.
const Command& multicopter_command(py::handle value);

/// Raises ValueError for a command without outer loop, with which an estimate has no effect.
void require_outer_loop(const Command& command);

/// Raises ValueError for a command of several rows. `rows`: the result of Command::rows();
/// `function`: the name of the function that requires one command.
void require_one_command(py::ssize_t rows, const char* function);

/// Number of records of a rollout: the command's rows, or `steps` for a single command that is
/// held. Raises ValueError if they differ or neither is specified.
py::ssize_t record_count(py::ssize_t rows, py::handle steps);

}  // namespace propwash::bindings
