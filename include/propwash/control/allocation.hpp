#pragma once
/// @file
/// Control allocation: rotor speeds for a desired torque and thrust.
///
/// Equation (23) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/control/allocation.md.

#include "propwash/math/per_rotor.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Torque about the body axes and thrust along body z.
template <class T>
struct Wrench {
  Vec3<T> torque_B{};  ///< N m
  T thrust{};          ///< N, along body z
};

/// The allocation matrix A, from u_i = w_i |w_i| to [torque; thrust], and its inverse (four rotors)
/// or pseudo-inverse, which gives the u of minimum norm. Limits is AllRotors where all rotors have
/// the same speed limits.
template <class P, int N, class Limits = SmallArray<P, N>>
struct Allocation {
  SmallArray<P, N> wrench_from_squares[4];  ///< rows of A: torque x, y, z [N m s^2], thrust [N s^2]
  SmallArray<P, N> squares_from_wrench[4];  ///< columns of A^-1 or A^+
  Limits speed_min{};                       ///< rad/s
  Limits speed_max{};                       ///< rad/s
  int rank = 0;  ///< of A; 4: torque on three axes and thrust are controllable

  /// Number of rotors.
  PROPWASH_FN int rotors() const { return wrench_from_squares[0].size(); }
  PROPWASH_MEMBERS(wrench_from_squares, squares_from_wrench, speed_min, speed_max, rank)
};

/// (23) u_i = w_i |w_i| of rotor i for a desired wrench, without limits, rad^2/s^2.
template <class T, class P, int N, class Limits>
PROPWASH_FN T signed_square_for(const Allocation<P, N, Limits>& allocation, const Wrench<T>& wrench,
                                int i) {
  return wrench.torque_B.x * allocation.squares_from_wrench[0][i] +
         wrench.torque_B.y * allocation.squares_from_wrench[1][i] +
         wrench.torque_B.z * allocation.squares_from_wrench[2][i] +
         wrench.thrust * allocation.squares_from_wrench[3][i];
}

/// (23) with the paper's clipping: the desired u, sign and root, each rotor limited by itself.
/// rad/s.
template <class T, class P, int N, class Limits>
PROPWASH_FN SmallArray<T, N> allocate(const Allocation<P, N, Limits>& allocation,
                                      const Wrench<T>& wrench) {
  SmallArray<T, N> speeds;
  speeds.resize(allocation.rotors());
  for_each_index<N>(allocation.rotors(), [&](int i) PROPWASH_LAMBDA {
    speeds[i] = clamp(signed_sqrt(signed_square_for(allocation, wrench, i)),
                      allocation.speed_min[i], allocation.speed_max[i]);
  });
  return speeds;
}

/// The wrench of rotors at constant `speeds` [rad/s], for example after clipping.
template <class T, class P, int N, class Limits>
PROPWASH_FN Wrench<T> attained_wrench(const Allocation<P, N, Limits>& allocation,
                                      const SmallArray<T, N>& speeds) {
  Wrench<T> sum{};
  for_each_index<N>(allocation.rotors(), [&](int i) PROPWASH_LAMBDA {
    const T square = signed_square(speeds[i]);
    sum.torque_B.x = sum.torque_B.x + square * allocation.wrench_from_squares[0][i];
    sum.torque_B.y = sum.torque_B.y + square * allocation.wrench_from_squares[1][i];
    sum.torque_B.z = sum.torque_B.z + square * allocation.wrench_from_squares[2][i];
    sum.thrust = sum.thrust + square * allocation.wrench_from_squares[3][i];
  });
  return sum;
}

}  // namespace propwash
