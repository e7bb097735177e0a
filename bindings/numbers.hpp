#pragma once
/// @file
/// The numbers of one part of a command, as Python gave them.

#include <cstddef>
#include <memory>

#include "arrays.hpp"

namespace propwash::bindings {

/// A part of a command: its name, its unit, and how many numbers one vehicle has of it.
struct CommandPart {
  static constexpr int one_per_rotor = 0;

  const char* name;
  const char* unit;
  int columns;  ///< 1: a number, without an axis
  bool is_optional = false;

  /// Axes of one vehicle's numbers.
  constexpr int tail() const { return columns == 1 ? 0 : 1; }
};

/// Finite numbers of the caller's, copied, in float32 where they came in it and float64 otherwise:
/// what a fleet can take without conversion. Their axes are those of rows and vehicles, at most
/// two, then those of one vehicle.
class Numbers {
 public:
  static constexpr int most_axes = 3;

  /// Raises ValueError.
  Numbers(py::handle value, const CommandPart& part);

  bool is_float() const { return is_float_; }
  int ndim() const { return ndim_; }
  py::ssize_t shape(int axis) const { return shape_[axis]; }
  py::ssize_t size() const { return size_; }
  /// Calls f with the place of the numbers, of float or of double.
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
  /// "[7, 2]", the place of the i-th number.
  std::string place_text(py::ssize_t i) const;

 private:
  std::byte* data() { return large_ ? large_.get() : small_; }
  const std::byte* data() const { return large_ ? large_.get() : small_; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(size_) * (is_float_ ? sizeof(float) : sizeof(double));
  }
  void take(const py::array& array);
  void require_finite(py::handle value, const CommandPart& part) const;

  bool is_float_ = false;
  int ndim_ = 0;
  py::ssize_t shape_[most_axes]{};
  py::ssize_t size_ = 1;
  // an allocation would be a fair part of what a command of one vehicle costs
  alignas(double) std::byte small_[12 * sizeof(double)];
  std::unique_ptr<std::byte[]> large_;
};

}  // namespace propwash::bindings
