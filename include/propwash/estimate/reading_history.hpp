#pragma once
/// @file
/// The IMU readings since the last measurement, in a ring of fixed size.

#include <cstddef>
#include <vector>

#include "propwash/model/imu.hpp"

namespace propwash {

/// Readings in the order of their times, after a first one at which they start. A reading holds the
/// time of the end of its step; rates and forces are linear in time between readings.
template <class T>
class ReadingHistory {
 public:
  /// Keeps up to `capacity` readings.
  explicit ReadingHistory(std::size_t capacity) : readings_(capacity + 1) {}

  /// Empties the history, which then starts at `time` [s].
  void start(double time) {
    count_ = 0;
    has_first_ = false;
    first_ = {};
    first_.time = time;
  }
  /// The reading at the start of the interval of oldest().
  const ImuReading<T>& first() const { return first_; }
  /// Before any reading is known, the interval up to `reading` is that of a constant reading.
  void set_first(const ImuReading<T>& reading) {
    if (has_first_) return;
    first_.angular_rate = reading.angular_rate;
    first_.specific_force = reading.specific_force;
    has_first_ = true;
  }

  bool is_empty() const { return count_ == 0; }                       ///< no reading after first()
  bool is_full() const { return count_ + 1 >= readings_.size(); }     ///< no place for another
  const ImuReading<T>& oldest() const { return readings_[oldest_]; }  ///< the next after first()
  /// The last reading; first() if there is no other.
  const ImuReading<T>& newest() const { return is_empty() ? first_ : (*this)[count_ - 1]; }

  /// Adds a reading, later than newest(); there must be a place.
  void push(const ImuReading<T>& reading) {
    ++count_;
    readings_[place(count_ - 1)] = reading;
  }
  /// Makes oldest() the first.
  void pop() {
    first_ = readings_[oldest_];
    oldest_ = place(1);
    --count_;
  }
  /// Inserts an interpolated reading at `time` [s], between first() and oldest(), as the oldest;
  /// there is one place for it even if is_full().
  void split(double time) {
    const ImuReading<T>& after = oldest();
    const T fraction = static_cast<T>((time - first_.time) / (after.time - first_.time));
    ImuReading<T> between;
    between.angular_rate =
        first_.angular_rate + (after.angular_rate - first_.angular_rate) * fraction;
    between.specific_force =
        first_.specific_force + (after.specific_force - first_.specific_force) * fraction;
    between.time = time;
    oldest_ = place(readings_.size() - 1);
    readings_[oldest_] = between;
    ++count_;
  }

  /// Calls f(before, reading) for all readings.
  template <class F>
  void each(F&& f) const {
    for (std::size_t i = 0; i < count_; ++i) f(i == 0 ? first_ : (*this)[i - 1], (*this)[i]);
  }

 private:
  std::size_t place(std::size_t i) const { return (oldest_ + i) % readings_.size(); }
  const ImuReading<T>& operator[](std::size_t i) const { return readings_[place(i)]; }

  ImuReading<T> first_{};
  bool has_first_ = false;
  std::vector<ImuReading<T>> readings_;
  std::size_t oldest_ = 0, count_ = 0;
};

}  // namespace propwash
