#pragma once
/// @file
/// The numbers of one part of a command, converted from Python.

#include <cstddef>
#include <memory>

#include "arrays.hpp"

namespace propwash::bindings {

/// A part of a command: its name, its unit, and its number of columns for one vehicle.
struct CommandPart {
  static constexpr int one_per_rotor = 0;

  const char* name;
  const char* unit;
  int columns;  ///< 1: a scalar without an axis
  bool is_optional = false;

  /// Number of axes for one vehicle.
  constexpr int tail() const { return columns == 1 ? 0 : 1; }
};

/// A copy of the caller's finite numbers: float32 if they were float32, otherwise float64, so that
/// a fleet of the same type needs no conversion. The axes are rows and vehicles (both optional),
/// then those of one vehicle.
class CommandArray {
 public:
  static constexpr int max_axes = 3;

  /// Raises ValueError.
  CommandArray(py::handle value, const CommandPart& part);

  bool is_float() const { return is_float_; }
  int ndim() const { return ndim_; }
  py::ssize_t shape(int axis) const { return shape_[axis]; }
  py::ssize_t size() const { return size_; }
  /// Calls f with a pointer to the numbers, float or double.
  template <class F>
  decltype(auto) visit(F&& f) const {
    if (is_float_) return f(reinterpret_cast<const float*>(data()));
    return f(reinterpret_cast<const double*>(data()));
  }
  double operator[](py::ssize_t i) const {
    return visit([i](const auto* numbers) { return static_cast<double>(numbers[i]); });
  }
  /// A read-only array of the numbers, which `owner` keeps alive.
  py::array view(py::handle owner) const;
  /// A read-only copy.
  py::array copy() const { return view(py::none()); }
  /// "(4096, 3)".
  std::string shape_text() const;
  /// "[7, 2]", the index of the i-th number.
  std::string place_text(py::ssize_t i) const;

 private:
  std::byte* data() { return large_ ? large_.get() : small_; }
  const std::byte* data() const { return large_ ? large_.get() : small_; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(size_) * (is_float_ ? sizeof(float) : sizeof(double));
  }
  void copy_from(const py::array& array);
  void require_finite(py::handle value, const CommandPart& part) const;

  bool is_float_ = false;
  int ndim_ = 0;
  py::ssize_t shape_[max_axes]{};
  py::ssize_t size_ = 1;
  // avoids an allocation, a considerable part of the time of a command for one vehicle
  alignas(double) std::byte small_[12 * sizeof(double)];
  std::unique_ptr<std::byte[]> large_;
};

}  // namespace propwash::bindings
