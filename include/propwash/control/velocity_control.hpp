#pragma once
/// @file
/// Velocity control: from a velocity to the specific force that the rotors must give, within what
/// they can; see docs/control/outer-loops.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// What the thrust per mass may be. World frame, z up.
template <class T>
struct ForceLimits {
  T least{};         ///< m/s^2, along world z
  T most{};          ///< m/s^2, its length
  T tilt_tangent{};  ///< -, of the greatest angle to the vertical
};

/// A specific force within its limits: height goes first, what the tilt and the length leave is for
/// the level components, whose direction is kept.
template <class T>
PROPWASH_FN Vec3<T> limited_force(const ForceLimits<T>& limits, const Vec3<T>& force_W) {
  const T up = clamp(force_W.z, limits.least, limits.most);
  const T spare = sqrt(max(limits.most * limits.most - up * up, T(constant<T>(0))));
  const T bound = min(up * limits.tilt_tangent, spare);
  const T level = sqrt(force_W.x * force_W.x + force_W.y * force_W.y);
  const T share = select(level > bound, bound, level) / max(level, T(constant<T>(1e-9)));
  return {force_W.x * share, force_W.y * share, up};
}

template <class P>
struct VelocityControlLaw {
  Vec3<P> proportional{};    ///< 1/s
  Vec3<P> integral{};        ///< 1/s^2
  Vec3<P> anti_windup{};     ///< 1/s, at which what the limits cut off unwinds the integral
  Vec3<P> integral_bound{};  ///< m/s^2, the integral stays in [-bound, bound]
  P dt{};                    ///< s, between two calls
};

/// PI control of the velocity: specific force [m/s^2], world frame, within its limits. `integral`
/// [m/s^2] is advanced; it unwinds by what the limits cut off (back-calculation, Astrom and
/// Hagglund, "Advanced PID Control", 2006, section 3.5).
template <class T, class P>
PROPWASH_FN Vec3<T> velocity_control(const VelocityControlLaw<P>& law, const ForceLimits<T>& limits,
                                     Vec3<T>& integral, const Vec3<T>& error_W,
                                     const Vec3<T>& feed_forward_W) {
  const Vec3<T> wanted = cwise_product(error_W, law.proportional) + integral + feed_forward_W;
  const Vec3<T> force = limited_force(limits, wanted);
  const Vec3<T> slope =
      cwise_product(error_W, law.integral) + cwise_product(force - wanted, law.anti_windup);
  const Vec3<T> next = integral + slope * law.dt;
  integral = {clamp(next.x, -T(law.integral_bound.x), T(law.integral_bound.x)),
              clamp(next.y, -T(law.integral_bound.y), T(law.integral_bound.y)),
              clamp(next.z, -T(law.integral_bound.z), T(law.integral_bound.z))};
  return force;
}

}  // namespace propwash
