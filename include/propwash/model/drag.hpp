#pragma once
/// @file
/// Quadratic drag of the body, translational and rotational.
///
/// Equations (6) and (7) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/model/drag.md.

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Rotational is Mat3<P>, or Diag3<P> for a diagonal matrix.
template <class P, class Rotational = Mat3<P>>
struct DragParameters {
  P translational{};        ///< N/(m/s)^2, k_fD
  Rotational rotational{};  ///< N m/(rad/s)^2, K_muD
  PROPWASH_MEMBERS(translational, rotational)
};

/// (6) drag force [N, world frame]; `air_velocity_W` [m/s] is the velocity relative to the air,
/// v - v_wind.
template <class T, class P, class Rotational>
PROPWASH_FN Vec3<T> drag_force(const DragParameters<P, Rotational>& drag,
                               const Vec3<T>& air_velocity_W) {
  return air_velocity_W * (norm(air_velocity_W) * (-drag.translational));
}

/// (7) drag torque [N m, body frame] at body rates [rad/s].
template <class T, class P, class Rotational>
PROPWASH_FN Vec3<T> drag_torque(const DragParameters<P, Rotational>& drag, const Vec3<T>& rates_B) {
  return (drag.rotational * rates_B) * (-norm(rates_B));
}

}  // namespace propwash
