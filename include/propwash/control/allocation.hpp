#pragma once
/// @file
/// Control allocation: rotor speeds for a wanted torque and thrust.
///
/// Equation (23) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/control/allocation.md.

#include <Eigen/Dense>
#include <stdexcept>
#include <string>

#include "propwash/math/small_array.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Torque about the body axes and thrust along body z.
template <class T>
struct Wrench {
  Vec3<T> torque{};  ///< N m, body frame
  T thrust{};        ///< N, along body z
};

/// The allocation matrix A, from u_i = w_i |w_i| to [torque; thrust], and its inverse (four rotors)
/// or pseudo-inverse: the least u that gives the wrench.
template <class P, int N>
struct Allocation {
  SmallArray<P, N> wrench_from_squares[4];  ///< rows of A: torque x, y, z [N m s^2], thrust [N s^2]
  SmallArray<P, N> squares_from_wrench[4];  ///< columns of A^-1 or A^+
  P speed_min{};                            ///< rad/s
  P speed_max{};                            ///< rad/s
  int rank = 0;                             ///< of A; 4: torque and thrust can all be commanded

  PROPWASH_FN int rotors() const { return wrench_from_squares[0].size(); }
};

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

/// (23) with the paper's clipping: the wanted u, sign and root, each rotor limited by itself.
/// rad/s.
template <class T, class P, int N>
PROPWASH_FN SmallArray<T, N> allocate(const Allocation<P, N>& allocation, const Wrench<T>& wrench) {
  SmallArray<T, N> speeds;
  speeds.resize(allocation.rotors());
  for_each_index<N>(allocation.rotors(), [&](int i) PROPWASH_LAMBDA {
    const T square = wrench.torque.x * allocation.squares_from_wrench[0][i] +
                     wrench.torque.y * allocation.squares_from_wrench[1][i] +
                     wrench.torque.z * allocation.squares_from_wrench[2][i] +
                     wrench.thrust * allocation.squares_from_wrench[3][i];
    speeds[i] = clamp(signed_sqrt(square), allocation.speed_min, allocation.speed_max);
  });
  return speeds;
}

/// The wrench that the rotors give at constant speeds: what is left of the wanted one after
/// clipping.
template <class T, class P, int N>
PROPWASH_FN Wrench<T> attained_wrench(const Allocation<P, N>& allocation,
                                      const SmallArray<T, N>& speeds) {
  Wrench<T> sum{};
  for_each_index<N>(allocation.rotors(), [&](int i) PROPWASH_LAMBDA {
    const T square = signed_square(speeds[i]);
    sum.torque.x = sum.torque.x + square * allocation.wrench_from_squares[0][i];
    sum.torque.y = sum.torque.y + square * allocation.wrench_from_squares[1][i];
    sum.torque.z = sum.torque.z + square * allocation.wrench_from_squares[2][i];
    sum.thrust = sum.thrust + square * allocation.wrench_from_squares[3][i];
  });
  return sum;
}

}  // namespace propwash
