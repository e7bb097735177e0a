#pragma once
/// @file
/// What a traversal asks of lanes beyond the hooks of scalar.hpp: a branch on all of them.

#include "propwash/math/pack.hpp"

namespace propwash {

/// The number of values that a scalar type holds.
template <class W>
struct LanesOf {
  static constexpr int count = 1;  ///< 1 for a plain number
};

#if PROPWASH_HAS_PACKS
template <class T, int N>
struct LanesOf<Pack<T, N>> {
  static constexpr int count = N;
};

/// What arrays are worked through with: a register, or a number where there are no packs.
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
