#pragma once
/// @file
/// Quadratic drag of the body in translation and rotation.
///
/// Equations (6) and (7) of Guerra et al., "FlightGoggles" (arXiv 1905.11377); see
/// docs/model/drag.md.

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

/// Rotational is Mat3<P> in general, Diag3<P> where the matrix is diagonal.
template <class P, class Rotational = Mat3<P>>
struct DragParameters {
  P translational{};        ///< N/(m/s)^2, k_fD
  Rotational rotational{};  ///< N m/(rad/s)^2, K_muD
};

/// (6) drag force in the world frame, N; `air_velocity_W` is the velocity through the air, v -
/// v_wind.
template <class T, class P, class Rotational>
PROPWASH_FN Vec3<T> drag_force(const DragParameters<P, Rotational>& drag,
                               const Vec3<T>& air_velocity_W) {
  return air_velocity_W * (norm(air_velocity_W) * (-drag.translational));
}

/// (7) drag torque in the body frame, N m.
template <class T, class P, class Rotational>
PROPWASH_FN Vec3<T> drag_torque(const DragParameters<P, Rotational>& drag, const Vec3<T>& rates_B) {
  return (drag.rotational * rates_B) * (-norm(rates_B));
}

}  // namespace propwash
