#pragma once
/// @file
/// Tests for infinity and NaN that read the bits of a number, so that they also work under
/// -ffinite-math-only (part of -ffast-math). That flag lets a compiler remove std::isfinite(x) and
/// x != x, and replace !(x > 0) by x <= 0.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "propwash/math/impl/opaque.hpp"
#include "propwash/math/pack.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash {

namespace detail {

template <class F>
using WordOf = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;

/// The exponent bits, all set in infinity and NaN. A larger magnitude than this pattern is NaN.
template <class F>
inline constexpr WordOf<F> exponent_bits =
    sizeof(F) == 4 ? WordOf<F>{0x7f800000u} : static_cast<WordOf<F>>(0x7ff0000000000000u);

template <class F>
PROPWASH_FN WordOf<F> plain_bits(const F& x) {
  static_assert(sizeof(F) == 4 || sizeof(F) == 8, "expected float or double");
  WordOf<F> bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
/// The bits of x, opaque to the optimiser: some compilers recognise bit tests for NaN.
template <class F>
PROPWASH_FN WordOf<F> bits_of(const F& x) {
  return opaque(plain_bits(x));
}

}  // namespace detail

/// Whether x is neither infinite nor NaN.
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool is_finite(const F& x) {
  constexpr auto exponent = detail::exponent_bits<F>;
  return (detail::bits_of(x) & exponent) != exponent;
}
/// Whether x is not a number.
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool is_nan(const F& x) {
  return (detail::bits_of(x) << 1) > (detail::exponent_bits<F> << 1);
}
/// Whether x is finite and low <= x <= high.
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool is_within(const F& x, const F& low, const F& high) {
  return is_finite(x) && x >= low && x <= high;
}
/// Whether two numbers have the same bits. Unlike ==, this is false for a NaN and a number under
/// -ffinite-math-only too.
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool same_bits(const F& a, const F& b) {
  return detail::bits_of(a) == detail::bits_of(b);
}

/// Whether all components are finite.
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool is_finite(const Vec3<F>& v) {
  return is_finite(v.x) && is_finite(v.y) && is_finite(v.z);
}
template <class F, class = IfFloatingPoint<F>>
PROPWASH_FN bool is_finite(const Quat<F>& q) {
  return is_finite(q.w) && is_finite(q.x) && is_finite(q.y) && is_finite(q.z);
}

#if PROPWASH_HAS_PACKS
/// Whether the number in each lane is finite.
template <class T, int N>
PROPWASH_FN PackMask<T, N> is_finite(const Pack<T, N>& x) {
  using Words = typename detail::VectorOf<T, N>::Words;
  constexpr auto exponent = detail::exponent_bits<T>;
  const auto bits = detail::as<Words>(detail::opaque(x.v));
  return {(bits & exponent) != exponent};
}
#endif

}  // namespace propwash
