#pragma once
/// @file
/// Commands as Python holds them: one, or one for each row of a rollout, or one for each vehicle of
/// a fleet and each row.

#include <optional>

#include "numbers.hpp"
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

/// Parts of numbers, of which some may be missing. Each is for one vehicle, or has rows, or
/// vehicles, or both. A table in bind_commands.cpp lists the parts of each kind.
class Command {
 public:
  static constexpr int most_parts = 8;

  /// Values in the order of parts(), None for what is missing. Raises ValueError.
  Command(CommandKind kind, Span<const py::object> values, const std::string& controller);

  CommandKind kind() const { return kind_; }
  Span<const CommandPart> parts() const;
  /// Null where the part is missing.
  const Numbers* numbers(std::size_t part) const {
    return numbers_[part] ? &*numbers_[part] : nullptr;
  }
  /// Which controller follows a trajectory; "" for the other kinds.
  const char* controller() const;
  OuterLoop loop() const { return loop_; }

  /// Number of rows of a command for one vehicle: shapes (…) for one command, which gives -1,
  /// (T, …), or (T, 1, …) as a Fleet of one takes them. Raises ValueError for the command of
  /// several vehicles, and for parts of different numbers of rows.
  py::ssize_t rows() const;
  /// A number of a row of one vehicle; 0 where the part is missing.
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
  std::vector<std::optional<Numbers>> numbers_;
};

/// A class for each kind, which Python distinguishes.
template <CommandKind which>
class CommandOf : public Command {
 public:
  explicit CommandOf(Span<const py::object> values, const std::string& controller = "geometric")
      : Command(which, values, controller) {}
};
using RateThrustCommand = CommandOf<CommandKind::rate_thrust>;

/// Null for a value that is no command.
const Command* as_command(py::handle value);
/// The command, where it is of that kind. Raises TypeError otherwise.
const Command& command_of(CommandKind kind, py::handle value);
/// The command, where it is of a kind that a multicopter takes. Raises TypeError otherwise.
const Command& multicopter_command(py::handle value);

/// Raises ValueError where a command has several rows, for what takes one: `rows` is that of
/// Command::rows().
void require_one_command(py::ssize_t rows, const char* taker);

/// How many records a rollout makes: the command's rows, or `steps` for one command for all.
/// Raises ValueError where they contradict each other or neither is given.
py::ssize_t record_count(py::ssize_t rows, py::handle steps);

}  // namespace propwash::bindings
