#pragma once
/// @file
/// The number of lanes of a scalar type, their loads and stores, and the type that array loops of
/// the world use.

#include <type_traits>

#include "propwash/math/impl/opaque.hpp"
#include "propwash/math/pack.hpp"

namespace propwash {

/// LanesOf<T>::count: the number of lanes, 1 for a scalar.
template <class W>
struct LanesOf {
  static constexpr int count = 1;  ///< 1 for a scalar
};

#if PROPWASH_HAS_PACKS
template <class T, int N>
struct LanesOf<Pack<T, N>> {
  static constexpr int count = N;
};

/// The type in which arrays are processed: a native pack, or T without packs.
template <class T>
using WorldLanes = NativePack<T>;

namespace detail {
template <class T, int N>
PROPWASH_FN T first_lane(const Pack<T, N>& x) {
  return x[0];
}
}  // namespace detail
#else
template <class T>
using WorldLanes = T;
#endif

namespace detail {
template <class F>
PROPWASH_FN IfFloatingPoint<F> first_lane(F x) {
  return x;
}

/// As many consecutive numbers as Real has lanes.
template <class Real>
PROPWASH_FN Real load_lanes(const value_type_t<Real>* from) {
  if constexpr (std::is_floating_point_v<Real>) {
    return *from;
  } else {
    return Real::load(from);
  }
}
template <class Real>
PROPWASH_FN void store_lanes(const Real& x, value_type_t<Real>* to) {
  if constexpr (std::is_floating_point_v<Real>) {
    *to = x;
  } else {
    x.store(to);
  }
}
/// opaque() of each lane.
template <class Real>
PROPWASH_FN Real opaque_lanes(const Real& x) {
  if constexpr (std::is_floating_point_v<Real>) {
    return opaque(x);
  } else {
    return Real(opaque(x.v));
  }
}
}  // namespace detail

}  // namespace propwash
