#pragma once
/// @file
/// Commands as Python holds them: one, or one for each row of a rollout.

#include "arrays.hpp"
#include "propwash/control/rate_controller.hpp"

namespace propwash::bindings {

/// Body rates of shape (3,) or (T, 3) and thrust of shape () or (T,).
class RateThrustCommand {
 public:
  RateThrustCommand(py::handle rates, py::handle thrust);

  const Array& rates() const { return rates_; }
  const Array& thrust() const { return thrust_; }
  /// Number of rows, or -1 where it is one command for all.
  py::ssize_t rows() const;
  RateThrust<double> row(py::ssize_t i) const;

 private:
  Array rates_;
  Array thrust_;
};

/// Rotor speeds of shape (N,) or (T, N).
class RotorSpeedsCommand {
 public:
  explicit RotorSpeedsCommand(py::handle speeds);

  const Array& speeds() const { return speeds_; }
  py::ssize_t rows() const { return speeds_.ndim() == 2 ? speeds_.shape(0) : -1; }
  py::ssize_t rotors() const { return speeds_.shape(speeds_.ndim() - 1); }
  const double* row(py::ssize_t i) const {
    return speeds_.data() + (speeds_.ndim() == 2 ? i * rotors() : 0);
  }

 private:
  Array speeds_;
};

/// Speed and yaw rate, each of shape () or (T,).
class SpeedYawRateCommand {
 public:
  SpeedYawRateCommand(py::handle speed, py::handle yaw_rate);

  const Array& speed() const { return speed_; }
  const Array& yaw_rate() const { return yaw_rate_; }
  py::ssize_t rows() const;
  double speed_at(py::ssize_t i) const { return speed_.data()[speed_.ndim() == 1 ? i : 0]; }
  double yaw_rate_at(py::ssize_t i) const {
    return yaw_rate_.data()[yaw_rate_.ndim() == 1 ? i : 0];
  }

 private:
  Array speed_;
  Array yaw_rate_;
};

/// How many records a rollout makes: the command's rows, or `steps` for one command for all.
/// Raises ValueError where they contradict each other or neither is given.
py::ssize_t record_count(py::ssize_t rows, py::handle steps);

}  // namespace propwash::bindings
