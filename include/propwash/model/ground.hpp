#pragma once
/// @file
/// The ground: a horizontal plane that stops falling vehicles. See docs/model/ground.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Applied after a step: a vehicle below `floor` [m, world frame] is moved up to it, at rest, with
/// unchanged attitude. Returns a mask of the vehicles that were stopped. A floor of -infinity
/// disables the ground; a NaN height is not stopped. P is T or its plain type.
template <class T, class P>
PROPWASH_FN auto stop_at_ground(Vec3<T>& position_W, Vec3<T>& velocity_W, Vec3<T>& rates_B,
                                const P& floor) {
  const T ground(floor);
  const T zero(constant<T>(0));
  const auto below = position_W.z < ground;
  const auto at_rest = [&](const T& x) PROPWASH_LAMBDA { return select(below, zero, x); };
  position_W.z = select(below, ground, position_W.z);
  velocity_W = map(velocity_W, at_rest);
  rates_B = map(rates_B, at_rest);
  return below;
}

}  // namespace propwash
