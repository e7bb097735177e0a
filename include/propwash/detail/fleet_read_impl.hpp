#pragma once
// What can be read of Fleet; include propwash/fleet/fleet.hpp.

#include <algorithm>

#include "propwash/fleet/fleet.hpp"

namespace propwash {

template <class T, int N>
typename Fleet<T, N>::Extent Fleet<T, N>::extent(FleetField field) const {
  switch (field) {
    case FleetField::position:
      return {FleetLayout::position, 3};
    case FleetField::velocity:
      return {FleetLayout::velocity, 3};
    case FleetField::attitude:
      return {FleetLayout::attitude, 4};
    case FleetField::body_rates:
      return {FleetLayout::body_rates, 3};
    case FleetField::rotor_speeds:
      return {FleetLayout::rotor_speeds, rotors_};
    case FleetField::rotor_command:
      return {layout().rotor_command(), rotors_};
    case FleetField::wind:
      return {FleetLayout::wind, 3};
    case FleetField::accelerometer_bias:
      return {FleetLayout::accelerometer_bias, 3};
    case FleetField::gyroscope_bias:
      return {FleetLayout::gyroscope_bias, 3};
    case FleetField::contact:
      return {FleetLayout::contact, 1};
    case FleetField::diverged:
      return {FleetLayout::diverged, 1};
  }
  return {0, 0};
}

template <class T, int N>
int Fleet<T, N>::width(FleetField field) const {
  return extent(field).count;
}

namespace detail {

/// Fields of blocks, as rows of vehicles. Width, where it is not 0, is known to the compiler.
template <std::size_t Width, class T>
void copy_rows_of(const T* blocks, std::size_t stride, std::size_t lanes, std::size_t size,
                  std::size_t width, T* rows) {
  if constexpr (Width != 0) width = Width;
  for (std::size_t first = 0; first < size; first += lanes) {
    const T* const block = blocks + first / lanes * stride;
    const std::size_t present = std::min(lanes, size - first);
    for (std::size_t lane = 0; lane < present; ++lane) {
      for (std::size_t k = 0; k < width; ++k) {
        rows[(first + lane) * width + k] = block[k * lanes + lane];
      }
    }
  }
}

template <class T>
void copy_rows(const T* blocks, std::size_t stride, std::size_t lanes, std::size_t size, int count,
               T* rows) {
  const auto width = static_cast<std::size_t>(count);
  if (count == 1) return copy_rows_of<1>(blocks, stride, lanes, size, width, rows);
  if (count == 3) return copy_rows_of<3>(blocks, stride, lanes, size, width, rows);
  if (count == 4) return copy_rows_of<4>(blocks, stride, lanes, size, width, rows);
  copy_rows_of<0>(blocks, stride, lanes, size, width, rows);
}

}  // namespace detail

template <class T, int N>
void Fleet<T, N>::read(FleetField field, Span<T> rows) const {
  const Extent fields = extent(field);
  check_count(rows.size(), size_ * static_cast<std::size_t>(fields.count), 0, "rows");
  detail::copy_rows(memory_.data() + static_cast<std::size_t>(fields.first) * lanes(),
                    static_cast<std::size_t>(layout().size()) * lanes(), lanes(), size_,
                    fields.count, rows.data());
}

template <class T, int N>
void Fleet<T, N>::time(Span<double> seconds) const {
  check_count(seconds.size(), size_, 0, "seconds");
  for (std::size_t i = 0; i < size_; ++i) {
    seconds[i] = static_cast<double>(steps_ - reset_at_[i]) * options_.dt;
  }
}

template <class T, int N>
void Fleet<T, N>::read_imu(Span<T> specific_force, Span<T> angular_rate,
                           ExecutorRef executor) const {
  check_count(specific_force.size(), size_ * 3, 0, "specific_force");
  check_count(angular_rate.size(), size_ * 3, 0, "angular_rate");
  const std::size_t width = 6 * lanes();
  const auto copy = [&](const T* readings, std::size_t stride) {
    detail::copy_rows(readings, stride, lanes(), size_, 3, specific_force.data());
    detail::copy_rows(readings + 3 * lanes(), stride, lanes(), size_, 3, angular_rate.data());
  };
  if (switches_.imu_is_slower) {
    return copy(memory_.data() + FleetLayout::held_accelerometer * lanes(),
                static_cast<std::size_t>(layout().size()) * lanes());
  }
  detail::LineVector<T> readings(blocks() * width);
  measure(batch(), readings.data(), width, executor);
  copy(readings.data(), width);
}

}  // namespace propwash
