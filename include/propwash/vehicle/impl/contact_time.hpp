#pragma once
// The time constant of the contact with the ground; see shortest_time_constant().

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "propwash/math/impl/jacobi.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash::detail {

/// How much faster than vertically a vehicle on its feet oscillates in its fastest mode, squared:
/// the largest eigenvalue of M^-1 S for springs of stiffness m/n in all directions at n feet, with
/// the mass matrix M of the rigid body.
inline double contact_gain(const VehicleParameters& vehicle) {
  std::array<std::array<double, 3>, 3> inertia{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) inertia[i][j] = vehicle.body.inertia.elements[3 * i + j];
  }
  const auto principal = symmetric_eigen<3>(inertia);
  std::array<std::array<double, 6>, 6> stiffness{};
  for (const auto& rotor : vehicle.rotors) {
    const auto foot = rotor.position - Vec3<double>{0.0, 0.0, vehicle.contact.leg};
    // columns: velocity of the foot under unit translations, and rotations of unit energy
    std::array<Vec3<double>, 6> columns{};
    for (std::size_t k = 0; k < 3; ++k) {
      columns[k][static_cast<int>(k)] = 1.0;
      const auto& v = principal.vectors;
      columns[3 + k] = cross(Vec3<double>{v[0][k], v[1][k], v[2][k]}, foot) *
                       std::sqrt(vehicle.body.mass / principal.values[k]);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        stiffness[i][j] += dot(columns[i], columns[j]) / static_cast<double>(vehicle.rotors.size());
      }
    }
  }
  const auto gains = symmetric_eigen<6>(stiffness).values;
  return *std::max_element(gains.begin(), gains.end());
}

/// The shortest time constant [s] of the contact, infinity without contact: that of the damper, or
/// of an impact, in which the damper makes the springs four times as stiff.
inline double contact_time_constant(const VehicleParameters& vehicle) {
  if (vehicle.contact.frequency <= 0.0) return std::numeric_limits<double>::infinity();
  const auto foot = foot_constants(vehicle.contact, 1.0, 1);
  const double gain = contact_gain(vehicle);
  return 1.0 / std::max(foot.damping * gain, 2.0 * std::sqrt(foot.stiffness * gain));
}

}  // namespace propwash::detail
