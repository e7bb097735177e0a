#pragma once
/// @file
/// The allocation matrix and its inverse, from a vehicle's geometry; see allocation.hpp, which
/// needs no Eigen.

#include <Eigen/Dense>
#include <stdexcept>
#include <string>

#include "propwash/control/allocation.hpp"

namespace propwash {

/// A from the rotors' geometry, by equations (2) to (5) at constant speed. `rotors` is a container
/// of RotorParameters<double>, `motor` a MotorParameters<double>. Computed once, by Eigen.
/// @throws std::invalid_argument for another number of rotors than N, or more than max_size.
template <class P, int N, class Rotors, class Motor>
Allocation<P, N> make_allocation(const Rotors& rotors, const Motor& motor) {
  const int count = static_cast<int>(rotors.size());
  if (N == Dynamic ? count < 1 || count > max_size : count != N) {
    throw std::invalid_argument("rotors, their number = " + std::to_string(count) + ": expected " +
                                (N == Dynamic ? "1 to " + std::to_string(max_size)
                                              : std::to_string(N) + ", the template argument"));
  }
  Eigen::Matrix<double, 4, Eigen::Dynamic> a(4, count);
  int column = 0;
  for (const auto& rotor : rotors) {
    const auto thrust_B = rotor.axis * rotor.thrust_coefficient;
    const auto torque_B =
        cross(rotor.position, thrust_B) + rotor.axis * (-rotor.spin * rotor.torque_coefficient);
    a.col(column++) << torque_B.x, torque_B.y, torque_B.z, thrust_B.z;
  }
  // rows have different units: scaled to one length before their rank is judged
  Eigen::Vector4d lengths = a.rowwise().norm();
  for (double& length : lengths) {
    if (length == 0.0) length = 1.0;
  }
  const Eigen::Matrix<double, 4, Eigen::Dynamic> scaled = lengths.cwiseInverse().asDiagonal() * a;
  const Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition(scaled);
  Eigen::MatrixXd inverse = decomposition.pseudoInverse();
  if (count == 4 && decomposition.rank() == 4) inverse = scaled.inverse();
  inverse = inverse * lengths.cwiseInverse().asDiagonal();

  Allocation<P, N> result;
  result.rank = static_cast<int>(decomposition.rank());
  result.speed_min = P(motor.speed_min);
  result.speed_max = P(motor.speed_max);
  for (int row = 0; row < 4; ++row) {
    result.wrench_from_squares[row].resize(count);
    result.squares_from_wrench[row].resize(count);
    for (int i = 0; i < count; ++i) {
      result.wrench_from_squares[row][i] = P(a(row, i));
      result.squares_from_wrench[row][i] = P(inverse(i, row));
    }
  }
  return result;
}

}  // namespace propwash
