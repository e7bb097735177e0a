#pragma once
/// @file
/// Ground effect: a rotor close to the ground has more thrust. An extension of the FlightGoggles
/// model, off for the published vehicles. See docs/model/ground_effect.md.
///
/// Cheeseman and Bennett, "The effect of the ground on a helicopter rotor in forward flight",
/// A.R.C. R. & M. 3021, 1955: T / T_inf = 1 / (1 - (R / 4z)^2) in hover.

#include "propwash/math/members.hpp"
#include "propwash/math/scalar.hpp"

namespace propwash {

/// Parameters of the ground effect, the same for all rotors.
template <class P>
struct GroundEffectParameters {
  P radius{};           ///< m, R of the rotors; 0: no ground effect
  P coefficient{P(1)};  ///< rho, factor of (R / 4z)^2; 1: Cheeseman and Bennett
  P height{};           ///< m, of the ground, world frame
  PROPWASH_MEMBERS(radius, coefficient, height)
};

/// rho (R / 4)^2 [m^2], the parameter of ground_effect_factor.
template <class P>
PROPWASH_FN P ground_effect_area(const GroundEffectParameters<P>& ground) {
  return ground.coefficient * ground.radius * ground.radius * constant<P>(0.0625);
}

/// T / T_inf = 1 / (1 - area cos(tilt)^2 / z^2) of a rotor at `height` [m] above the ground.
/// `upward` is cos(tilt), the vertical component of the rotor axis; a rotor whose wash does not
/// reach the ground has the factor 1. The largest factor is 4/3, that of z = sqrt(rho) R / 2.
template <class T, class P>
PROPWASH_FN T ground_effect_factor(const P& area, const T& height, const T& upward) {
  const T zero(constant<T>(0));
  const T effect = max(upward, zero) * upward * area;
  const T square =
      max(max(height, zero) * height, max(effect * constant<T>(4), T(constant<T>(1e-12))));
  return square / (square - effect);
}

}  // namespace propwash
