#pragma once
/// @file
/// Change of thrust with the flow through and across a rotor: an extension of the FlightGoggles
/// model, zero for the published vehicles. See docs/model/inflow.md.
///
/// Svacha, Mohta and Kumar, "Improving quadrotor trajectory tracking by compensating for
/// aerodynamic effects", ICUAS 2017: T = k w^2 - c_z w v_z + c_h v_h^2.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Coefficients of the inflow, the same for all rotors.
template <class P>
struct InflowParameters {
  P axial{};          ///< N/(rad/s)/(m/s), c_z: loss of thrust per speed along the axis
  P translational{};  ///< N/(m/s)^2, c_h: gain of thrust by the flow normal to the axis
  PROPWASH_MEMBERS(axial, translational)
};

/// The change of thrust divided by the thrust coefficient [(rad/s)^2], for coefficients divided by
/// it. `hub_velocity_B` [m/s] is the velocity of the hub relative to the air. The change is limited
/// to the thrust in still air, so that thrust is not reversed.
template <class T, class P>
PROPWASH_FN T inflow_change(const InflowParameters<P>& inflow, const Vec3<P>& axis_B,
                            const T& speed, const Vec3<T>& hub_velocity_B) {
  const T axial = dot(hub_velocity_B, axis_B);
  const Vec3<T> lateral_B = hub_velocity_B - axis_B * axial;
  const T square = speed * speed;
  // in this order, a coefficient of zero gives zero for any finite speed
  const T gain = dot(lateral_B * inflow.translational, lateral_B);
  const T change = clamp(gain - axial * inflow.axial * speed, -square, square);
  return select(speed < T(constant<T>(0)), -change, change);
}

}  // namespace propwash
