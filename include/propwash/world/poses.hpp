#pragma once
/// @file
/// The poses of many bodies, for the sensors of the world.

#include <cstddef>

#include "propwash/math/finite.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Non-owning views of row-major arrays.
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
  /// Whether a pose is finite; false for a body that has diverged.
  bool is_finite(std::size_t i) const {
    return propwash::is_finite(position_of(i)) && propwash::is_finite(attitude_of(i));
  }
};

/// Bodies `first` to `last` - 1, a part of the work for one thread.
struct PoseRange {
  std::size_t first = 0;  ///< the first pose
  std::size_t last = 0;   ///< one past the last pose
};

}  // namespace propwash
