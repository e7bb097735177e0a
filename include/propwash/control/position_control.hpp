#pragma once
/// @file
/// Position control: from a position to a velocity for velocity_control.hpp; see
/// docs/control/outer-loops.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// A vector of at most the length `most`, in the direction that it has.
template <class T>
PROPWASH_FN Vec3<T> limited_length(const Vec3<T>& v, const T& most) {
  return v * (most / max(norm(v), most));
}

template <class P>
struct PositionControlLaw {
  Vec3<P> proportional{};  ///< 1/s
  P speed_limit{};         ///< m/s
};

/// Proportional control of the position: velocity [m/s], world frame.
template <class T, class P>
PROPWASH_FN Vec3<T> position_control(const PositionControlLaw<P>& law, const Vec3<T>& error_W) {
  return limited_length(cwise_product(error_W, law.proportional), T(law.speed_limit));
}

}  // namespace propwash
