#pragma once
/// @file
/// The scalar hooks: the only operations that the models use on numbers.
///
/// Every model is a template over a scalar type T. T may be `float`, `double`, or any copyable type
/// that is constructible from its plain type (`T(value_type)`), is zero by default (`T{}`), and
/// provides, found by argument-dependent lookup in its own namespace:
///
///     T + T, T - T, T * T, T / T, -T; the binary ones also with a value_type on either side
///     T < T, T > T             -> a mask (bool, or one Boolean per lane)
///     select(mask, T, T)       -> T, lane by lane, without a branch
///     sqrt abs min max fma sin cos round
///
/// and a specialisation of ScalarTraits that names value_type, the plain floating-point type of its
/// constants. SIMD packs (pack.hpp) and dual numbers (dual.hpp) are such types. The functions of
/// math/, model/, integrate/ and control/ use nothing else of T.
///
/// For models of a user, these types and Traced (traced.hpp) have exp and log too; angle.hpp makes
/// tan, asin and atan2 of the hooks above.

#include <cmath>
#include <type_traits>

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <emmintrin.h>
#endif

#include "propwash/math/config.hpp"

namespace propwash {

/// Names the plain floating-point type behind a scalar type; specialise it for packs and duals.
template <class T>
struct ScalarTraits {
  static_assert(std::is_floating_point_v<T>,
                "specialise propwash::ScalarTraits for this scalar type");
  using value_type = T;  ///< the plain floating-point type
};

/// The plain floating-point type behind a scalar type.
template <class T>
using value_type_t = typename ScalarTraits<T>::value_type;

/// A constant in the plain type of T: `constant<T>(0.5) * x`.
template <class T>
PROPWASH_FN constexpr value_type_t<T> constant(double value) {
  return static_cast<value_type_t<T>>(value);
}

/// F where F is float or double; otherwise an overload does not take part.
template <class F>
using IfFloatingPoint = std::enable_if_t<std::is_floating_point_v<F>, F>;

template <class F>
PROPWASH_FN IfFloatingPoint<F> sqrt(F x) {
#if defined(__SSE2__) && !defined(__CUDACC__)
  // one instruction under any compiler flags; std::sqrt may branch to set errno
  if constexpr (std::is_same_v<F, float>) {
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
  } else if constexpr (std::is_same_v<F, double>) {
    const __m128d v = _mm_set_sd(x);
    return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
  } else {
    return std::sqrt(x);
  }
#else
  return std::sqrt(x);
#endif
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> abs(F x) {
  return std::fabs(x);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> min(F a, F b) {
  return b < a ? b : a;
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> max(F a, F b) {
  return a < b ? b : a;
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> fma(F a, F b, F c) {
  return std::fma(a, b, c);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> sin(F x) {
  return std::sin(x);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> cos(F x) {
  return std::cos(x);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> exp(F x) {
  return std::exp(x);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> log(F x) {
  return std::log(x);
}
/// Rounds to the nearest integer, halves to even, as SIMD instructions do.
template <class F>
PROPWASH_FN IfFloatingPoint<F> round(F x) {
  return std::nearbyint(x);
}
template <class F>
PROPWASH_FN IfFloatingPoint<F> select(bool mask, F if_true, F if_false) {
  return mask ? if_true : if_false;
}

/// Whether a mask is true in any lane. For loops outside the models that stop on such a condition.
PROPWASH_FN bool any(bool mask) { return mask; }

/// x limited to [low, high]; NaN stays NaN.
template <class T, class P>
PROPWASH_FN T clamp(const T& x, const P& low, const P& high) {
  return max(min(x, T(high)), T(low));
}

/// x |x|, the square with the sign of x: rotor thrust is proportional to it.
template <class T>
PROPWASH_FN T signed_square(const T& x) {
  return x * abs(x);
}

/// The inverse of signed_square.
template <class T>
PROPWASH_FN T signed_sqrt(const T& x) {
  const T root = sqrt(abs(x));
  return select(x < T(constant<T>(0)), -root, root);
}

}  // namespace propwash
