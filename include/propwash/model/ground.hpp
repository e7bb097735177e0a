#pragma once
/// @file
/// The ground: a horizontal plane that stops what falls on it. See docs/model/ground.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// After a step: a vehicle below `floor` [m, world frame] is put on it at rest, its attitude as it
/// was. Returns where that happened, a mask for select(). A floor of -infinity is no floor, and a
/// height that is not a number is not below. P is T or its plain type.
template <class T, class P>
PROPWASH_FN auto stop_at_ground(Vec3<T>& position_W, Vec3<T>& velocity_W, Vec3<T>& rates_B,
                                const P& floor) {
  const T level(floor);
  const T zero(constant<T>(0));
  const auto below = position_W.z < level;
  const auto at_rest = [&](const T& x) PROPWASH_LAMBDA { return select(below, zero, x); };
  position_W.z = select(below, level, position_W.z);
  velocity_W = map(velocity_W, at_rest);
  rates_B = map(rates_B, at_rest);
  return below;
}

}  // namespace propwash
