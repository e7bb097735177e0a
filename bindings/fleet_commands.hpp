#pragma once
/// @file
/// Conversion of commands from Python's shapes to one row of numbers for each vehicle of a fleet.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "propwash/fleet/multicopter_fleet.hpp"

namespace propwash::bindings {

/// One part of a command as numbers of type T, `columns` for each vehicle, record by record.
/// Numbers that already have this type and layout are not copied.
template <class T>
class FleetPart {
 public:
  /// `tail` is 1 where the columns are an axis of the numbers, 0 where there is one column without
  /// an axis. Raises ValueError for other shapes and for numbers outside the range of T.
  FleetPart(const CommandArray& numbers, const char* name, int tail, py::ssize_t size,
            py::ssize_t columns, std::vector<T>& buffer)
      : numbers_(numbers), size_(size), columns_(columns), buffer_(buffer) {
    lead_ = numbers.ndim() - tail;
    const py::ssize_t vehicles = lead_ > 0 ? numbers.shape(lead_ - 1) : 1;
    each_has_own_ = lead_ > 0 && (vehicles == size || lead_ == 1);
    const bool fits = lead_ == 0 || vehicles == size || (lead_ == 2 && vehicles == 1);
    const bool has_columns = tail == 0 || numbers.shape(lead_) == columns;
    if (!fits || !has_columns) refuse_shape(name, tail);
    if (sizeof(T) < sizeof(double) && !numbers.is_float()) require_range(name);
  }

  /// Number of records, or -1 if one is held for all.
  py::ssize_t records() const { return lead_ == 2 ? numbers_.shape(0) : -1; }

  /// The numbers of a record. The pointer is valid until the next call.
  Span<const T> row(py::ssize_t record) {
    const py::ssize_t each = each_has_own_ ? size_ * columns_ : columns_;
    const py::ssize_t first = lead_ == 2 ? record * each : 0;
    const auto all = static_cast<std::size_t>(size_ * columns_);
    return numbers_.visit([&](const auto* numbers) -> Span<const T> {
      const auto* const from = numbers + first;
      if constexpr (std::is_same_v<decltype(numbers), const T*>) {
        if (each_has_own_) return {from, all};
      }
      if (lead_ < 2 && held_) return {buffer_.data(), all};
      held_ = true;
      if (buffer_.size() < all) buffer_.resize(all);
      T* to = buffer_.data();
      for (py::ssize_t i = 0; i < size_ * columns_; i += each) {
        for (py::ssize_t k = 0; k < each; ++k) *to++ = static_cast<T>(from[k]);
      }
      return {buffer_.data(), all};
    });
  }

 private:
  void require_range(const char* name) const {
    constexpr py::ssize_t piece = 512;
    T some[piece];
    for (py::ssize_t i = 0; i < numbers_.size(); i += piece) {
      const py::ssize_t count = std::min(piece, numbers_.size() - i);
      for (py::ssize_t k = 0; k < count; ++k) some[k] = static_cast<T>(numbers_[i + k]);
      const py::ssize_t bad = first_not_finite(some, count);
      if (bad < 0) continue;
      throw py::value_error("command: expected " + std::string(name) +
                            " that float32 can hold, got " + detail::formatted(numbers_[i + bad]) +
                            (numbers_.ndim() > 0 ? " at " + numbers_.place_text(i + bad) : ""));
    }
  }

  [[noreturn]] void refuse_shape(const char* name, int tail) const {
    const std::string n = std::to_string(size_), k = std::to_string(columns_);
    const std::string per_vehicle = tail > 0 ? n + ", " + k : n + ",";
    throw py::value_error("command: expected " + std::string(name) + " of shape (" + per_vehicle +
                          "), or (" + (tail > 0 ? k + "," : "") +
                          ") for all vehicles, or, for a rollout, (T, " +
                          (tail > 0 ? per_vehicle : n) + "), got " + numbers_.shape_text());
  }

  const CommandArray& numbers_;
  py::ssize_t size_;
  py::ssize_t columns_;
  std::vector<T>& buffer_;
  int lead_ = 0;
  bool each_has_own_ = false;
  bool held_ = false;
};

/// Buffers for the parts of a command that need to be converted or repeated.
template <class T>
using CommandBuffers = std::array<std::vector<T>, Command::max_parts>;

/// A command for a fleet: its number of records, and a step of the fleet under one of them.
template <class T>
class CommandRecords {
 public:
  CommandRecords(const Command& command, const Fleet<Multicopter<>, T>& fleet,
                 CommandBuffers<T>& buffers)
      : kind_(command.kind()), loop_(command.loop()), count_(command.parts().size()) {
    for (std::size_t i = 0; i < command.parts().size(); ++i) {
      const CommandArray* numbers = command.numbers(i);
      if (numbers == nullptr) continue;
      const auto& part = command.parts()[i];
      const int columns =
          part.columns == CommandPart::one_per_rotor ? fleet.rotors() : part.columns;
      parts_[i].emplace(*numbers, part.name, part.tail(), static_cast<py::ssize_t>(fleet.size()),
                        columns, buffers[i]);
      records_ = std::max(records_, parts_[i]->records());
    }
  }

  py::ssize_t records() const { return records_; }
  FleetCommandKind kind() const {
    using Level = FleetCommandKind::Level;
    if (kind_ == CommandKind::rotor_speeds) return {Level::speeds};
    if (kind_ == CommandKind::rate_thrust) return {Level::rates};
    const bool has_attitude = kind_ == CommandKind::attitude_thrust;
    const bool free_heading = has_attitude ? parts_[2].has_value() : !parts_[1];
    return {Level::outer, loop_, kind_ != CommandKind::trajectory && free_heading};
  }
  /// A part of a record; empty if it is omitted.
  Span<const T> part(std::size_t i, py::ssize_t record) {
    return parts_[i] ? parts_[i]->row(record) : Span<const T>{};
  }
  std::size_t parts() const { return count_; }
  void step(Fleet<Multicopter<>, T>& fleet, py::ssize_t record, int substeps, ExecutorRef executor,
            const FleetMotionEstimate<T>& estimate = {}) {
    FleetCommand<T> under;
    under.kind = kind();
    for (std::size_t i = 0; i < count_; ++i) under.parts[i] = part(i, record);
    fleet.step(under, substeps, executor, estimate);
  }

 private:
  CommandKind kind_;
  OuterLoop loop_;
  std::size_t count_;
  py::ssize_t records_ = -1;
  std::array<std::optional<FleetPart<T>>, Command::max_parts> parts_;
};

}  // namespace propwash::bindings
