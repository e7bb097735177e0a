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
    case FleetField::rotor_effectiveness:
      return {layout().rotor_effectiveness(), rotors_};
    case FleetField::wind:
      return {FleetLayout::wind, 3};
    case FleetField::external_force:
      return {FleetLayout::external_force, 3};
    case FleetField::external_torque:
      return {FleetLayout::external_torque, 3};
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

/// Fields of a block, as rows of its vehicles. Width and Lanes, where not 0, are known to the
/// compiler.
template <std::size_t Width, std::size_t Lanes, class T>
void copy_block_of(const T* block, std::size_t lanes, std::size_t present, std::size_t width,
                   T* rows) {
  if constexpr (Width != 0) width = Width;
  if constexpr (Lanes != 0) lanes = Lanes;
  for (std::size_t lane = 0; lane < present; ++lane) {
    for (std::size_t k = 0; k < width; ++k) rows[lane * width + k] = block[k * lanes + lane];
  }
}
template <std::size_t Width, class T>
void copy_block(const T* block, std::size_t lanes, std::size_t present, std::size_t width,
                T* rows) {
  if (lanes == 16) return copy_block_of<Width, 16>(block, lanes, present, width, rows);
  if (lanes == 8) return copy_block_of<Width, 8>(block, lanes, present, width, rows);
  copy_block_of<Width, 0>(block, lanes, present, width, rows);
}

/// Fields of blocks, as rows of vehicles.
template <std::size_t Width, class T>
void copy_rows_of(const T* blocks, std::size_t stride, std::size_t lanes, std::size_t size,
                  std::size_t width, T* rows) {
  for (std::size_t first = 0; first < size; first += lanes) {
    copy_block<Width>(blocks + first / lanes * stride, lanes, std::min(lanes, size - first), width,
                      rows + first * width);
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
void Fleet<T, N>::read_kinematics(Span<T> position, Span<T> velocity, Span<T> attitude,
                                  Span<T> body_rates) const {
  check_count(position.size(), size_ * 3, 0, "position");
  check_count(velocity.size(), size_ * 3, 0, "velocity");
  check_count(attitude.size(), size_ * 4, 0, "attitude");
  check_count(body_rates.size(), size_ * 3, 0, "body_rates");
  const std::size_t stride = static_cast<std::size_t>(layout().size()) * lanes();
  const auto at = [this](int field) { return static_cast<std::size_t>(field) * lanes(); };
  for (std::size_t first = 0; first < size_; first += lanes()) {
    const T* const block = memory_.data() + first / lanes() * stride;
    const std::size_t present = std::min(lanes(), size_ - first);
    detail::copy_block<3>(block + at(FleetLayout::position), lanes(), present, 3,
                          position.data() + first * 3);
    detail::copy_block<3>(block + at(FleetLayout::velocity), lanes(), present, 3,
                          velocity.data() + first * 3);
    detail::copy_block<4>(block + at(FleetLayout::attitude), lanes(), present, 4,
                          attitude.data() + first * 4);
    detail::copy_block<3>(block + at(FleetLayout::body_rates), lanes(), present, 3,
                          body_rates.data() + first * 3);
  }
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
