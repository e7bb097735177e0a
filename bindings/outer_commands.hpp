#pragma once
/// @file
/// Commands of the outer loops as Python holds them.

#include <array>
#include <optional>
#include <string>

#include "commands.hpp"
#include "propwash/control/outer_loop_parameters.hpp"

namespace propwash::bindings {

/// What a step of a multicopter takes.
inline constexpr const char* commands_expected =
    "a RateThrust, RotorSpeeds, AttitudeThrust, VelocityCommand, PositionCommand, "
    "TrajectoryCommand or trajectories.Reference";

/// A command for an outer loop: parts of numbers, of which some may be missing. Each is for one
/// vehicle, or has rows, or vehicles, or both.
class OuterCommand {
 public:
  enum class Kind { attitude_thrust, velocity, position, trajectory };
  static constexpr int most_parts = 8;

  /// What a part is called, and how many columns one vehicle has of it; 1: a number.
  struct Part {
    const char* name;
    const char* unit;
    int columns;
    int tail() const { return columns > 1 ? 1 : 0; }
  };

  /// Values in the order of parts(kind), None for what is missing. Raises ValueError.
  OuterCommand(Kind kind, const std::vector<py::object>& values,
               const std::string& controller = "geometric");

  static std::vector<Part> parts(Kind kind);
  Kind kind() const { return kind_; }
  OuterLoop loop() const { return loop_; }
  const char* controller() const;
  /// Null where it is missing.
  const Numbers* numbers(int part) const { return numbers_[index(part)].get(); }
  /// What pickle keeps: the arrays, or None.
  py::tuple copies() const;

  /// As rows_of_one_vehicle().
  py::ssize_t rows() const;
  OuterLoopCommand<double> row(py::ssize_t i) const;

 private:
  static std::size_t index(int part) { return static_cast<std::size_t>(part); }
  void check_attitudes() const;
  double number(int part, py::ssize_t row, int column) const;

  Kind kind_;
  OuterLoop loop_ = OuterLoop::attitude;
  std::array<std::unique_ptr<Numbers>, most_parts> numbers_;
};

/// OuterLoopParameters as a dict of numbers and tuples, and back; `start` gives what is missing.
/// Raises ParameterError for another name or shape.
py::dict to_dict(const OuterLoopParameters& parameters);
OuterLoopParameters outer_loops_from(const OuterLoopParameters& start, const py::dict& values);

}  // namespace propwash::bindings
