#pragma once
/// @file
/// Forces and torques of the flow through and across a rotor: extensions of the FlightGoggles
/// model, zero for the published vehicles. See docs/model/inflow.md.
///
/// Svacha, Mohta and Kumar, "Improving quadrotor trajectory tracking by compensating for
/// aerodynamic effects", ICUAS 2017: thrust and drag that depend on the speed of the rotor.
/// Glauert's momentum theory as in Bangura and Mahony, ACRA 2012, and Bauersfeld et al.,
/// "NeuroBEM", RSS 2021.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Coefficients of the flow at the rotors, the same for all rotors.
template <class P>
struct InflowParameters {
  P axial{};          ///< N/(rad/s)/(m/s), c_z: loss of thrust per flow along the axis
  P translational{};  ///< N/(m/s)^2, c_h: gain of thrust by the flow normal to the axis
  P radius{};         ///< m, R, of momentum theory; 0: constant induced velocity
  P drag{};           ///< N/(rad/s)/(m/s), c_d: force against the flow normal to the axis
  P axial_drag{};     ///< N/(m/s)^2, c_dz: gain of this force per speed along the axis
  P flapping{};       ///< N m/(rad/s)/(m/s), c_f: moment of the flow normal to the axis
  PROPWASH_MEMBERS(axial, translational, radius, drag, axial_drag, flapping)
};

/// Density of the air [kg/m^3], International Standard Atmosphere at sea level.
inline constexpr double air_density = 1.225;

/// (A2) lambda: induced velocity in hover per rotor speed [m/s/(rad/s)], for a thrust coefficient
/// [N/(rad/s)^2]. 0 for a radius of 0.
template <class P>
PROPWASH_FN P induced_in_hover(const P& radius, const P& thrust_coefficient) {
  const P disc(constant<P>(2.0 * 3.14159265358979323846 * air_density));
  const P zero(constant<P>(0));
  return select(zero < radius, sqrt(thrust_coefficient / disc) / max(radius, P(constant<P>(1e-9))),
                zero);
}

/// The velocity of a hub in (A3) to (A6): each component is limited to 300 m/s, so that the forces
/// of any body rates are finite.
template <class T>
PROPWASH_FN Vec3<T> limited_flow(const Vec3<T>& hub_velocity_B) {
  const T limit(constant<T>(300));
  return {clamp(hub_velocity_B.x, -limit, limit), clamp(hub_velocity_B.y, -limit, limit),
          clamp(hub_velocity_B.z, -limit, limit)};
}

/// (A1) The change of thrust divided by the thrust coefficient [(rad/s)^2], for `axial` and
/// `translational` divided by it. `hub_velocity_B` [m/s] is the velocity of the hub relative to the
/// air, `excess` [m/s] the change of the induced velocity. The change is limited to the thrust in
/// still air, so that thrust is not reversed.
template <class T, class P>
PROPWASH_FN T inflow_change(const InflowParameters<P>& inflow, const Vec3<P>& axis_B,
                            const T& speed, const Vec3<T>& hub_velocity_B, const T& excess = T{}) {
  const T axial = dot(hub_velocity_B, axis_B);
  const Vec3<T> lateral_B = hub_velocity_B - axis_B * axial;
  const T square = speed * speed;
  // in this order, a coefficient of zero gives zero for any finite speed
  const T gain = dot(lateral_B * inflow.translational, lateral_B);
  const T change = clamp(gain - (axial + excess) * inflow.axial * speed, -square, square);
  return select(speed < T(constant<T>(0)), -change, change);
}

/// (A2), (A3) The induced velocity minus that in hover [m/s], along the axis of thrust;
/// coefficients as for inflow_change. `hover` is that of induced_in_hover. Three steps of Newton's
/// method.
template <class T, class P>
PROPWASH_FN T induced_excess(const InflowParameters<P>& inflow, const P& hover,
                             const Vec3<P>& axis_B, const T& speed, const Vec3<T>& hub_velocity_B) {
  const T zero(constant<T>(0));
  const T along = dot(hub_velocity_B, axis_B);
  const Vec3<T> lateral_B = hub_velocity_B - axis_B * along;
  const T across = dot(lateral_B, lateral_B);
  const T turning = abs(speed);
  const T axial = select(speed < zero, -along, along);  // a reversed rotor is the reflected one
  const T in_hover = turning * hover;
  const T slope = turning * (inflow.axial * hover * hover);
  const T floor(constant<T>(1e-6));  // so that the root has a derivative at rest
  const T still = in_hover * sqrt(in_hover * in_hover + floor) +
                  across * (inflow.translational * hover * hover);
  T induced = in_hover;
  for (int n = 0; n < 3; ++n) {
    const T through = axial + induced;
    const T flow = sqrt(across + through * through + floor);
    const T error = induced * flow - still + slope * (through - in_hover);
    // without the second term where it is negative: momentum theory has no solution there
    const T gradient = flow + max(induced * through / flow, zero) + slope;
    induced = clamp(induced - error / gradient, zero, T(in_hover * constant<T>(2)));
  }
  const T excess = induced - in_hover;
  return select(speed < zero, -excess, excess);
}

/// (A4) The change of the rotor torque divided by the thrust coefficient [(rad/s)^2 m], for
/// `change` of inflow_change and `excess` of induced_excess: that of the power of the thrust.
template <class T, class P>
PROPWASH_FN T induced_torque(const P& hover, const Vec3<P>& axis_B, const T& speed,
                             const Vec3<T>& hub_velocity_B, const T& change, const T& excess) {
  const T tiny(constant<T>(1e-3));
  const T in_still_air = signed_square(speed);
  const T through = dot(hub_velocity_B, axis_B) + speed * hover + excess;
  return (in_still_air + change) * through / select(abs(speed) < tiny, tiny, speed) -
         in_still_air * hover;
}

/// (A5) The force [N] on a rotor against the flow normal to its axis.
template <class T, class P>
PROPWASH_FN Vec3<T> lateral_rotor_force(const InflowParameters<P>& inflow, const Vec3<P>& axis_B,
                                        const T& speed, const Vec3<T>& hub_velocity_B) {
  const T zero(constant<T>(0));
  const T axial = dot(hub_velocity_B, axis_B);
  const Vec3<T> lateral_B = hub_velocity_B - axis_B * axial;
  const T rising = select(speed < zero, -axial, axial);
  return lateral_B * (-max(abs(speed) * inflow.drag + rising * inflow.axial_drag, zero));
}

/// (A6) The moment [N m] of flapping on the hub of a rotor: tilts the thrust away from the flow.
template <class T, class P>
PROPWASH_FN Vec3<T> flapping_torque(const InflowParameters<P>& inflow, const Vec3<P>& axis_B,
                                    const T& speed, const Vec3<T>& hub_velocity_B) {
  return cross(hub_velocity_B, axis_B) * (speed * inflow.flapping);
}

}  // namespace propwash
