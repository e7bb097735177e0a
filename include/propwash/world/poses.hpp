#pragma once
/// @file
/// The poses of many bodies in the caller's memory, as the sensors of the world take them.

#include <cstddef>

#include "propwash/math/finite.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Row by row; nothing is owned.
template <class T>
struct Poses {
  const T* position_W = nullptr;  ///< m, (n, 3)
  const T* attitude = nullptr;    ///< q_WB, unit, w x y z, (n, 4)

  /// Position of a pose [m, world frame].
  Vec3<T> position_of(std::size_t i) const {
    const T* p = position_W + 3 * i;
    return {p[0], p[1], p[2]};
  }
  /// Attitude q_WB of a pose.
  Quat<T> attitude_of(std::size_t i) const {
    const T* q = attitude + 4 * i;
    return {q[0], q[1], q[2], q[3]};
  }
  /// Whether all numbers are finite: a body that has diverged is nowhere.
  bool is_finite(std::size_t i) const {
    return propwash::is_finite(position_of(i)) && propwash::is_finite(attitude_of(i));
  }
};

/// Bodies `first` to `last` - 1 of many, so that threads may share them.
struct PoseRange {
  std::size_t first = 0;  ///< the first pose
  std::size_t last = 0;   ///< one past the last pose
};

}  // namespace propwash
