#pragma once
/// @file
/// Commands as Python holds them: one, or one for each row of a rollout, or one for each vehicle of
/// a fleet and each row.

#include <cstddef>
#include <memory>

#include "arrays.hpp"
#include "propwash/control/rate_controller.hpp"

namespace propwash::bindings {

/// Finite numbers of the caller's, copied, in float32 where they came in it and float64 otherwise:
/// what a fleet can take as it lies in memory.
class Numbers {
 public:
  static constexpr int most_axes = 3;

  /// At least `least_axes` and at most `axes` axes, the last of `columns` numbers (0: any but
  /// none). Raises ValueError.
  Numbers(py::handle value, const char* name, const char* expected, int least_axes, int axes,
          py::ssize_t columns);

  bool is_float() const { return is_float_; }
  int ndim() const { return ndim_; }
  py::ssize_t shape(int axis) const { return shape_[axis]; }
  py::ssize_t size() const { return size_; }
  const float* floats() const { return reinterpret_cast<const float*>(data()); }
  const double* doubles() const { return reinterpret_cast<const double*>(data()); }
  double operator[](py::ssize_t i) const {
    return is_float_ ? static_cast<double>(floats()[i]) : doubles()[i];
  }
  /// A read-only array of the numbers, which `owner` keeps alive.
  py::array view(py::handle owner) const;
  /// A read-only copy.
  py::array copy() const { return view(py::none()); }
  /// "(4096, 3)".
  std::string shape_text() const;
  /// "[7, 2]", where the i-th number stands.
  std::string place_text(py::ssize_t i) const;

 private:
  std::byte* data() { return large_ ? large_.get() : small_; }
  const std::byte* data() const { return large_ ? large_.get() : small_; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(size_) * (is_float_ ? sizeof(float) : sizeof(double));
  }
  void take(const py::array& array);

  bool is_float_ = false;
  int ndim_ = 0;
  py::ssize_t shape_[most_axes]{};
  py::ssize_t size_ = 1;
  // an allocation would be a fair part of what a command of one vehicle costs
  alignas(double) std::byte small_[12 * sizeof(double)];
  std::unique_ptr<std::byte[]> large_;
};

/// Index of the first number that is not finite, or -1.
py::ssize_t first_not_finite(const float* numbers, py::ssize_t count);
py::ssize_t first_not_finite(const double* numbers, py::ssize_t count);

/// Whether two parts of a command go together: vehicles with vehicles, where one of the two may be
/// for all, and rows with rows. Their last `tail` axes are those of one vehicle.
bool go_together(const Numbers& a, int a_tail, const Numbers& b, int b_tail);

/// A part of a command, whose last `tail` axes are those of one vehicle.
struct CommandPartView {
  const char* name;
  const Numbers* numbers;
  int tail;

  /// Axes of rows and vehicles.
  int axes() const { return numbers->ndim() - tail; }
  /// The number of entries along the first axis: 1 where one command is for all rows.
  py::ssize_t entries() const { return axes() > 0 ? numbers->shape(0) : 1; }
};

/// Number of rows of a command for one vehicle, of parts that go together: shapes (…) for one
/// command, which gives -1, (T, …), or (T, 1, …) as a Fleet of one takes them. Raises ValueError
/// for the command of several vehicles, and for parts of different numbers of rows.
py::ssize_t rows_of_one_vehicle(const CommandPartView* first, std::size_t count);

/// Body rates of shape (…, 3) and thrust of shape (…), where … is nothing, (T,) or (n,), or (T, n).
class RateThrustCommand {
 public:
  RateThrustCommand(py::handle rates, py::handle thrust);

  const Numbers& rates() const { return rates_; }
  const Numbers& thrust() const { return thrust_; }
  /// As rows_of_one_vehicle().
  py::ssize_t rows() const;
  RateThrust<double> row(py::ssize_t i) const;

 private:
  Numbers rates_;
  Numbers thrust_;
};

/// Rotor speeds of shape (N,), (T, N) or (n, N), or (T, n, N).
class RotorSpeedsCommand {
 public:
  explicit RotorSpeedsCommand(py::handle speeds);

  const Numbers& numbers() const { return speeds_; }
  /// A read-only copy.
  py::array speeds() const { return speeds_.copy(); }
  py::ssize_t rotors() const { return speeds_.shape(speeds_.ndim() - 1); }
  /// As rows_of_one_vehicle(); call it before row(), which needs the numbers in double.
  py::ssize_t rows() const;
  const double* row(py::ssize_t i) const {
    const double* first = speeds_.is_float() ? doubles_.data() : speeds_.doubles();
    return first + (speeds_.ndim() > 1 ? i * rotors() : 0);
  }

 private:
  Numbers speeds_;
  mutable std::vector<double> doubles_;  // of one vehicle's command that came in float32
};

/// Speed and yaw rate, each of shape (), (T,) or (T, 1).
class SpeedYawRateCommand {
 public:
  SpeedYawRateCommand(py::handle speed, py::handle yaw_rate);

  const Numbers& speed() const { return speed_; }
  const Numbers& yaw_rate() const { return yaw_rate_; }
  /// As rows_of_one_vehicle().
  py::ssize_t rows() const;
  double speed_at(py::ssize_t i) const { return speed_[speed_.size() > 1 ? i : 0]; }
  double yaw_rate_at(py::ssize_t i) const { return yaw_rate_[yaw_rate_.size() > 1 ? i : 0]; }

 private:
  Numbers speed_;
  Numbers yaw_rate_;
};

/// Raises ValueError where a command has several rows, for what takes one: `rows` as of
/// rows_of_one_vehicle().
void require_one_command(py::ssize_t rows, const char* taker);

/// How many records a rollout makes: the command's rows, or `steps` for one command for all.
/// Raises ValueError where they contradict each other or neither is given.
py::ssize_t record_count(py::ssize_t rows, py::handle steps);

}  // namespace propwash::bindings
