#pragma once
/// @file
/// Downwash: the force of the air below a multicopter on another vehicle. See
/// docs/model/downwash.md.
///
/// The axisymmetric turbulent jet of Schlichting (1933) with constant eddy viscosity: Pope,
/// "Turbulent Flows", 2000, section 5.2, equations (5.82) and (5.83) there.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// The jet of a multicopter, and its effect on another one.
template <class P>
struct DownwashParameters {
  P disc_area{};         ///< m^2, A: area of all rotor discs of a vehicle
  P spread = P(0.094);   ///< S: half-width per distance
  P coefficient = P(1);  ///< c: force on a vehicle over momentum flux through its rotor discs
};

/// Half-width of the jet [m] at a distance [m] below the rotors: where the velocity is half of that
/// on the axis. At the rotors the momentum flux on the axis is that of a rotor's wake, 2 T / A.
template <class T, class P>
PROPWASH_FN T downwash_half_width(const DownwashParameters<P>& jet, const T& distance) {
  // (sqrt 2 - 1) 3 / (2 pi)
  return distance * jet.spread + sqrt(jet.disc_area * constant<P>(0.19777040645));
}

/// Momentum flux density [N/m^2] of the jet of a thrust [N], at a distance [m] along its axis and a
/// squared distance [m^2] from it; zero above the rotors. Its integral across the jet is the
/// thrust.
template <class T, class P>
PROPWASH_FN T downwash_flux(const DownwashParameters<P>& jet, const T& thrust, const T& along,
                            const T& squared_across) {
  const T zero(constant<T>(0)), one(constant<T>(1));
  const T half_width = downwash_half_width(jet, max(along, zero));
  // (sqrt 2 - 1) / half-width^2
  const T narrow = T(constant<T>(0.41421356237)) / (half_width * half_width);
  const T decay = one + squared_across * narrow;
  const T square = decay * decay;
  const T flux = thrust * narrow * constant<T>(0.95492965855) / (square * square);  // 3 / pi
  return select(along > zero, flux, zero);
}

/// Force [N, world frame] of the jet of a vehicle on another one at `offset_W` [m] from it. up_W:
/// unit vector along its thrust [N].
template <class T, class P>
PROPWASH_FN Vec3<T> downwash_force(const DownwashParameters<P>& jet, const T& thrust,
                                   const Vec3<T>& up_W, const Vec3<T>& offset_W) {
  const T zero(constant<T>(0));
  const T along = -dot(offset_W, up_W);
  const T squared_across = max(dot(offset_W, offset_W) - along * along, zero);
  return up_W *
         (downwash_flux(jet, thrust, along, squared_across) * (-(jet.coefficient * jet.disc_area)));
}

}  // namespace propwash
