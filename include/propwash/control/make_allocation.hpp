#pragma once
/// @file
/// The allocation matrix and its inverse from the geometry of a vehicle; see allocation.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "propwash/control/allocation.hpp"
#include "propwash/math/config.hpp"
#include "propwash/math/impl/jacobi.hpp"

namespace propwash {

namespace detail {

/// Pseudo-inverse and rank of a matrix with four rows of norm one.
struct RowInverse {
  using Rows = std::array<SmallArray<double, Dynamic>, 4>;

  /// Singular values below 1e-7 times the largest count as zero.
  explicit RowInverse(const Rows& rows) : transposed(rows) {
    const auto gram = products(rows, rows);
    const auto eigen = symmetric_eigen<4>(gram);
    const double largest = *std::max_element(eigen.values.begin(), eigen.values.end());
    Square inverse{};
    for (std::size_t k = 0; k < 4; ++k) {
      if (!(eigen.values[k] > 1e-14 * largest)) continue;
      ++rank;
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          inverse[i][j] += eigen.vectors[i][k] * eigen.vectors[j][k] / eigen.values[k];
        }
      }
    }
    transposed = combined(inverse, rows);
    // the Gram matrix squares the condition number; Newton-Schulz steps, X (2 - A X), restore the
    // lost digits
    for (int step = 0; rank == 4 && step < 2; ++step) {
      auto factor = products(transposed, rows);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) factor[i][j] = (i == j ? 2.0 : 0.0) - factor[i][j];
      }
      transposed = combined(factor, transposed);
    }
  }

  Rows transposed;  ///< of the pseudo-inverse
  int rank = 0;

 private:
  using Square = std::array<std::array<double, 4>, 4>;

  static Square products(const Rows& a, const Rows& b) {
    Square result{};
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        for (int k = 0; k < a[i].size(); ++k) result[i][j] += a[i][k] * b[j][k];
      }
    }
    return result;
  }
  static Rows combined(const Square& weights, const Rows& rows) {
    Rows result;
    for (std::size_t i = 0; i < 4; ++i) {
      result[i].resize(rows[i].size());
      for (int k = 0; k < rows[i].size(); ++k) {
        result[i][k] = 0.0;
        for (std::size_t j = 0; j < 4; ++j) result[i][k] += weights[i][j] * rows[j][k];
      }
    }
    return result;
  }
};

}  // namespace detail

/// The allocation of a vehicle: equations (2) to (5) at constant speed. `rotors` is a container of
/// RotorParameters<double>, `motor` a MotorParameters<double>.
/// @throws std::invalid_argument if the number of rotors is not N or exceeds max_size.
template <class P, int N, class Limits = SmallArray<P, N>, class Rotors, class Motor>
Allocation<P, N, Limits> make_allocation(const Rotors& rotors, const Motor& motor) {
  const int count = static_cast<int>(rotors.size());
  if (N == Dynamic ? count < 1 || count > max_size : count != N) {
    PROPWASH_THROW(
        std::invalid_argument("number of rotors = " + std::to_string(count) + ": expected " +
                              (N == Dynamic ? "1 to " + std::to_string(max_size)
                                            : std::to_string(N) + ", the template argument")));
  }
  detail::RowInverse::Rows a;
  for (auto& row : a) row.resize(count);
  int column = 0;
  double force = 0.0;
  for (const auto& rotor : rotors) {
    const auto thrust_B = rotor.axis * rotor.thrust_coefficient;
    force = std::hypot(force, rotor.thrust_coefficient);
    const auto torque_B =
        cross(rotor.position, thrust_B) + rotor.axis * (-rotor.spin * rotor.torque_coefficient);
    a[0][column] = torque_B.x;
    a[1][column] = torque_B.y;
    a[2][column] = torque_B.z;
    a[3][column++] = thrust_B.z;
  }
  // a torque with a lever arm below a picometre is a rounding error, as of cos(pi/2)
  constexpr double min_lever_arm = 1e-12;
  for (std::size_t row = 0; row < 3; ++row) {
    double torque = 0.0;
    for (const double x : a[row]) torque = std::hypot(torque, x);
    if (torque >= min_lever_arm * force) continue;
    for (double& x : a[row]) x = 0.0;
  }
  // rows have different units, so they are normalised before the rank is determined
  auto scaled = a;
  std::array<double, 4> lengths{};
  for (std::size_t row = 0; row < 4; ++row) {
    for (const double x : a[row]) lengths[row] = std::hypot(lengths[row], x);
    if (lengths[row] == 0.0) lengths[row] = 1.0;
    for (double& x : scaled[row]) x /= lengths[row];
  }
  const detail::RowInverse inverse(scaled);

  Allocation<P, N, Limits> result;
  result.rank = inverse.rank;
  result.speed_min.resize(count);
  result.speed_max.resize(count);
  for (int i = 0; i < count; ++i) {
    result.speed_min[i] = P(motor.speed_min[i]);
    result.speed_max[i] = P(motor.speed_max[i]);
  }
  for (std::size_t row = 0; row < 4; ++row) {
    result.wrench_from_squares[row].resize(count);
    result.squares_from_wrench[row].resize(count);
    for (int i = 0; i < count; ++i) {
      result.wrench_from_squares[row][i] = P(a[row][i]);
      result.squares_from_wrench[row][i] = P(inverse.transposed[row][i] / lengths[row]);
    }
  }
  return result;
}

}  // namespace propwash
