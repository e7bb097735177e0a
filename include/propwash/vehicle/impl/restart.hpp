#pragma once
/// @file
/// What a reset computes for a vehicle: alone, of a fleet, or on a GPU.

#include <cstdint>

#include "propwash/math/quat.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/model/dryden.hpp"
#include "propwash/random/normal.hpp"

namespace propwash::detail {

/// The normalised quaternion; returned unchanged if its norm is 1 within rounding. q: finite and
/// not zero.
template <class T>
PROPWASH_FN Quat<T> unit_attitude(const Quat<T>& q) {
  // scaled by the largest component, so that squares neither overflow nor underflow
  const Quat<double> wide = cast<double>(q);
  const double largest = max(max(abs(wide.w), abs(wide.x)), max(abs(wide.y), abs(wide.z)));
  const Quat<double> scaled{wide.w / largest, wide.x / largest, wide.y / largest, wide.z / largest};
  const double norm = sqrt(squared_norm(scaled));
  constexpr double epsilon = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
  if (abs(largest * norm - 1.0) <= 4.0 * epsilon) return q;
  return cast<T>(scaled * (1.0 / norm));
}

/// Stationary turbulence, drawn at a reset with noise counter `step`.
template <class T>
PROPWASH_FN TurbulenceState<T> initial_turbulence(std::uint64_t seed, std::uint32_t id,
                                                  std::uint64_t step) {
  const SixNormals z = six_normals(seed, id, step, Stream::initial_turbulence);
  const T five[] = {T(z[0]), T(z[1]), T(z[2]), T(z[3]), T(z[4])};
  return stationary_turbulence(DrydenFilter<T>{}, five);
}

}  // namespace propwash::detail
