#pragma once
/// @file
/// A range finder: distances along one or more body-fixed rays.
///
/// Guerra et al., "FlightGoggles" (arXiv 1905.11377), section V-B and Table I: LightWare SF11/B,
/// variance 0.009 m^2, range 20 m. Beyond that the published renderer returns 21 m; see
/// docs/sensors.md.

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Parameters of a range finder.
template <class P>
struct RangeFinderParameters {
  P max_range{constant<P>(20)};    ///< m
  P variance{constant<P>(0.009)};  ///< m^2, of a reading
  Vec3<P> position{};              ///< m, p_BS_B, the origin of the rays
};

/// The reading [m] if no surface is within max_range.
template <class P>
PROPWASH_FN P out_of_range(const RangeFinderParameters<P>& finder) {
  return finder.max_range + constant<P>(1);
}

/// The reading [m] of a true distance (infinite without a hit), with noise from a standard normal
/// number. Readings out of range have no noise; readings are not negative.
template <class T, class P>
PROPWASH_FN T range_reading(const RangeFinderParameters<P>& finder, const T& distance,
                            const T& normal) {
  const T noisy = max(T(distance + normal * sqrt(finder.variance)), T(constant<T>(0)));
  return select(distance > T(finder.max_range), T(out_of_range(finder)), noisy);
}

}  // namespace propwash
