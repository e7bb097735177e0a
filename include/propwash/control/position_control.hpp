#pragma once
/// @file
/// Position control (position error to velocity) and velocity control (velocity error to specific
/// force of the rotors). All vectors are in the world frame, z up.
///
/// Equation (O5) of docs/control/position_control.md; (O6) to (O8) of
/// docs/control/velocity_control.md, with anti-windup by back-calculation after Astrom and
/// Hagglund, "Advanced PID Control" (2006), section 3.5.

#include "propwash/math/small_array.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// A vector, shortened to the norm `limit` if it is longer.
template <class T>
PROPWASH_FN Vec3<T> limited_length(const Vec3<T>& vector, const T& limit) {
  return vector * (limit / max(norm(vector), limit));
}

/// Constants of position control.
template <class P>
struct PositionControlLaw {
  Vec3<P> proportional{};  ///< 1/s
  P speed_limit{};         ///< m/s
};

/// (O5) Velocity [m/s] for a position error [m].
template <class T, class P>
PROPWASH_FN Vec3<T> position_control(const PositionControlLaw<P>& law, const Vec3<T>& error_W) {
  return limited_length(cwise_product(error_W, law.proportional), T(law.speed_limit));
}

/// Limits of the specific force of the rotors.
template <class T>
struct ForceLimits {
  T vertical_min{};   ///< m/s^2, along world z
  T magnitude_max{};  ///< m/s^2
  T tilt_tangent{};   ///< -, of the largest angle to the vertical
};

/// (O7) A specific force [m/s^2] within limits. The vertical component has priority; the horizontal
/// one keeps its direction.
template <class T>
PROPWASH_FN Vec3<T> limited_force(const ForceLimits<T>& limits, const Vec3<T>& force_W) {
  const T max_force(limits.magnitude_max);
  const T vertical = clamp(force_W.z, limits.vertical_min, max_force);
  const T remaining = sqrt(max(max_force * max_force - vertical * vertical, T(constant<T>(0))));
  const T bound = min(vertical * limits.tilt_tangent, remaining);
  const T horizontal = sqrt(force_W.x * force_W.x + force_W.y * force_W.y);
  const T fraction =
      select(horizontal > bound, bound, horizontal) / max(horizontal, T(constant<T>(1e-9)));
  return {force_W.x * fraction, force_W.y * fraction, vertical};
}

/// Constants of velocity control.
template <class P>
struct VelocityControlLaw {
  Vec3<P> proportional{};    ///< 1/s
  Vec3<P> integral{};        ///< 1/s^2
  Vec3<P> anti_windup{};     ///< 1/s, on the difference of limited and unlimited force
  Vec3<P> integral_bound{};  ///< m/s^2, limit of the integral, +-bound
  P dt{};                    ///< s, time between updates
};

/// (O6) PI control: specific force [m/s^2], within limits, for a velocity error [m/s]. Advances
/// `integral_W` [m/s^2] by (O8).
template <class T, class P>
PROPWASH_FN Vec3<T> velocity_control(const VelocityControlLaw<P>& law, const ForceLimits<T>& limits,
                                     Vec3<T>& integral_W, const Vec3<T>& error_W,
                                     const Vec3<T>& feed_forward_W) {
  const Vec3<T> desired_W = cwise_product(error_W, law.proportional) + integral_W + feed_forward_W;
  const Vec3<T> force_W = limited_force(limits, desired_W);
  const Vec3<T> slope_W =
      cwise_product(error_W, law.integral) + cwise_product(force_W - desired_W, law.anti_windup);
  const Vec3<T> next_W = integral_W + slope_W * law.dt;
  for_each_index<3>(3, [&](int axis) PROPWASH_LAMBDA {
    const T bound(law.integral_bound[axis]);
    integral_W[axis] = clamp(next_W[axis], -bound, bound);
  });
  return force_W;
}

}  // namespace propwash
