#pragma once
/// @file
/// The number of lanes of a scalar type, and the type that array loops of the world use.

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
}  // namespace detail

}  // namespace propwash
