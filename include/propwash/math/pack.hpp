#pragma once
/// @file
/// SIMD packs: several numbers in one vector register. They implement the scalar hooks of
/// scalar.hpp and are the scalar type of the kernels of a fleet.
///
/// A Pack is a vector of the GCC and Clang vector extension; each operation is one instruction of
/// the instruction set for which the translation unit is compiled. NativePack fills exactly one
/// register: the compiler would keep wider vectors in memory.

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "propwash/math/scalar.hpp"

/// 1 if the compiler supports the vector extension, which a fleet requires; otherwise 0.
#if defined(PROPWASH_HAS_PACKS)
#elif !defined(__CUDACC__) && (defined(__GNUC__) || defined(__clang__))
#define PROPWASH_HAS_PACKS 1
#else
#define PROPWASH_HAS_PACKS 0
#endif

#if PROPWASH_HAS_PACKS

#if defined(__AVX__)
#include <immintrin.h>  // large, so only where AVX is used
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace propwash {

/// The width of a vector register for which this translation unit is compiled, in bytes.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

namespace detail {

// the vector types are in a trait: GCC 12 rejects the attribute inside the class that uses it
template <class T, int N>
struct VectorOf {
  static constexpr int bytes = static_cast<int>(sizeof(T)) * N;
  using Word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Value __attribute__((vector_size(bytes)));
  typedef Word Bits __attribute__((vector_size(bytes)));
  typedef std::make_unsigned_t<Word> Words __attribute__((vector_size(bytes)));
};

/// Reinterprets a register as another vector type of the same size.
template <class To, class From>
PROPWASH_FN To as(From x) {
  return reinterpret_cast<To>(x);
}

/// Applies f lane by lane, for functions without a SIMD instruction.
template <class V, int N, class F>
PROPWASH_FN V each_lane(V x, F&& f) {
  V result = x;
  for (int i = 0; i < N; ++i) result[i] = f(x[i]);
  return result;
}

// maskz intrinsics with all lanes enabled, because GCC 12 warns about an uninitialised source in
// the unmasked ones
template <class T, int N, class V>
PROPWASH_FN V vector_sqrt(V x) {
  [[maybe_unused]] constexpr int bytes = VectorOf<T, N>::bytes;
  [[maybe_unused]] constexpr bool single = std::is_same_v<T, float>;
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && single)
    return as<V>(_mm512_maskz_sqrt_ps(__mmask16(-1), as<__m512>(x)));
  if constexpr (bytes == 64 && !single)
    return as<V>(_mm512_maskz_sqrt_pd(__mmask8(-1), as<__m512d>(x)));
#endif
#if defined(__AVX__)
  if constexpr (bytes == 32 && single) return as<V>(_mm256_sqrt_ps(as<__m256>(x)));
  if constexpr (bytes == 32 && !single) return as<V>(_mm256_sqrt_pd(as<__m256d>(x)));
#endif
#if defined(__SSE2__)
  if constexpr (bytes == 16 && single) return as<V>(_mm_sqrt_ps(as<__m128>(x)));
  if constexpr (bytes == 16 && !single) return as<V>(_mm_sqrt_pd(as<__m128d>(x)));
#elif defined(__aarch64__)
  if constexpr (bytes == 16 && single) return as<V>(vsqrtq_f32(as<float32x4_t>(x)));
  if constexpr (bytes == 16 && !single) return as<V>(vsqrtq_f64(as<float64x2_t>(x)));
#endif
  return each_lane<V, N>(x, [](T lane) PROPWASH_LAMBDA { return propwash::sqrt(lane); });
}

/// x < y ? x : y; y if either is NaN, like the x86 instruction.
template <class T, int N, class V>
PROPWASH_FN V vector_min(V x, V y) {
  [[maybe_unused]] constexpr int bytes = VectorOf<T, N>::bytes;
  [[maybe_unused]] constexpr bool single = std::is_same_v<T, float>;
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && single)
    return as<V>(_mm512_maskz_min_ps(__mmask16(-1), as<__m512>(x), as<__m512>(y)));
  if constexpr (bytes == 64 && !single)
    return as<V>(_mm512_maskz_min_pd(__mmask8(-1), as<__m512d>(x), as<__m512d>(y)));
#endif
#if defined(__AVX__)
  if constexpr (bytes == 32 && single) return as<V>(_mm256_min_ps(as<__m256>(x), as<__m256>(y)));
  if constexpr (bytes == 32 && !single) return as<V>(_mm256_min_pd(as<__m256d>(x), as<__m256d>(y)));
#endif
#if defined(__SSE2__)
  if constexpr (bytes == 16 && single) return as<V>(_mm_min_ps(as<__m128>(x), as<__m128>(y)));
  if constexpr (bytes == 16 && !single) return as<V>(_mm_min_pd(as<__m128d>(x), as<__m128d>(y)));
#endif
  return x < y ? x : y;
}

/// x > y ? x : y; y if either is NaN.
template <class T, int N, class V>
PROPWASH_FN V vector_max(V x, V y) {
  [[maybe_unused]] constexpr int bytes = VectorOf<T, N>::bytes;
  [[maybe_unused]] constexpr bool single = std::is_same_v<T, float>;
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && single)
    return as<V>(_mm512_maskz_max_ps(__mmask16(-1), as<__m512>(x), as<__m512>(y)));
  if constexpr (bytes == 64 && !single)
    return as<V>(_mm512_maskz_max_pd(__mmask8(-1), as<__m512d>(x), as<__m512d>(y)));
#endif
#if defined(__AVX__)
  if constexpr (bytes == 32 && single) return as<V>(_mm256_max_ps(as<__m256>(x), as<__m256>(y)));
  if constexpr (bytes == 32 && !single) return as<V>(_mm256_max_pd(as<__m256d>(x), as<__m256d>(y)));
#endif
#if defined(__SSE2__)
  if constexpr (bytes == 16 && single) return as<V>(_mm_max_ps(as<__m128>(x), as<__m128>(y)));
  if constexpr (bytes == 16 && !single) return as<V>(_mm_max_pd(as<__m128d>(x), as<__m128d>(y)));
#endif
  return x > y ? x : y;
}

/// Whether any bit is set.
template <class T, int N, class Bits>
PROPWASH_FN bool vector_any(Bits bits) {
  [[maybe_unused]] constexpr int bytes = VectorOf<T, N>::bytes;
#if defined(__AVX512F__)
  if constexpr (bytes == 64)
    return _mm512_test_epi64_mask(as<__m512i>(bits), as<__m512i>(bits)) != 0;
#endif
#if defined(__AVX__)
  if constexpr (bytes == 32) return _mm256_testz_si256(as<__m256i>(bits), as<__m256i>(bits)) == 0;
#endif
#if defined(__SSE2__)
  if constexpr (bytes == 16) return _mm_movemask_epi8(as<__m128i>(bits)) != 0;
#elif defined(__aarch64__)
  if constexpr (bytes == 16) return vmaxvq_u32(as<uint32x4_t>(bits)) != 0;
#endif
  bool found = false;
  for (int i = 0; i < N; ++i) found = found || bits[i] != 0;
  return found;
}

}  // namespace detail

/// One Boolean per lane.
template <class T, int N>
struct PackMask {
  using Bits = typename detail::VectorOf<T, N>::Bits;  ///< register of integers as wide as T
  Bits bits;  ///< all ones (true) or all zeros (false) in each lane

  PROPWASH_FN bool operator[](int lane) const { return bits[lane] != 0; }
  PROPWASH_FN friend PackMask operator|(const PackMask& a, const PackMask& b) {
    return {a.bits | b.bits};
  }
  PROPWASH_FN friend PackMask operator&(const PackMask& a, const PackMask& b) {
    return {a.bits & b.bits};
  }
};

/// N numbers of type T, float or double, one in each lane.
template <class T, int N>
struct Pack {
  using Vector = typename detail::VectorOf<T, N>::Value;  ///< register type of the compiler
  using Bits = typename detail::VectorOf<T, N>::Bits;     ///< register of integers as wide as T
  static constexpr int lanes = N;                         ///< numbers in the register

  Vector v;  ///< the register

  Pack() = default;
  PROPWASH_FN Pack(const Pack& b) : v(b.v) {}
  PROPWASH_FN Pack& operator=(const Pack& b) {
    v = b.v;
    return *this;
  }
  PROPWASH_FN Pack(Vector vector) : v(vector) {}
  /// The same number in every lane.
  PROPWASH_FN explicit Pack(T x) : v(x - Vector{}) {}

  /// N consecutive numbers; the address needs no alignment.
  PROPWASH_FN static Pack load(const T* from) {
    Pack x;
    std::memcpy(&x.v, from, sizeof x.v);
    return x;
  }
  /// Writes N consecutive numbers; the address needs no alignment.
  PROPWASH_FN void store(T* to) const { std::memcpy(to, &v, sizeof v); }
  PROPWASH_FN T operator[](int lane) const { return v[lane]; }

  PROPWASH_FN friend Pack operator+(const Pack& a, const Pack& b) { return a.v + b.v; }
  PROPWASH_FN friend Pack operator-(const Pack& a, const Pack& b) { return a.v - b.v; }
  PROPWASH_FN friend Pack operator*(const Pack& a, const Pack& b) { return a.v * b.v; }
  PROPWASH_FN friend Pack operator/(const Pack& a, const Pack& b) { return a.v / b.v; }
  PROPWASH_FN friend Pack operator+(const Pack& a, T b) { return a.v + b; }
  PROPWASH_FN friend Pack operator-(const Pack& a, T b) { return a.v - b; }
  PROPWASH_FN friend Pack operator*(const Pack& a, T b) { return a.v * b; }
  PROPWASH_FN friend Pack operator/(const Pack& a, T b) { return a.v / b; }
  PROPWASH_FN friend Pack operator+(T a, const Pack& b) { return a + b.v; }
  PROPWASH_FN friend Pack operator-(T a, const Pack& b) { return a - b.v; }
  PROPWASH_FN friend Pack operator*(T a, const Pack& b) { return a * b.v; }
  PROPWASH_FN friend Pack operator/(T a, const Pack& b) { return a / b.v; }
  PROPWASH_FN Pack operator-() const { return -v; }

  PROPWASH_FN friend PackMask<T, N> operator<(const Pack& a, const Pack& b) { return {a.v < b.v}; }
  PROPWASH_FN friend PackMask<T, N> operator>(const Pack& a, const Pack& b) { return {a.v > b.v}; }
};

template <class T, int N>
struct ScalarTraits<Pack<T, N>> {
  using value_type = T;
};

/// A pack that fills one register of the instruction set of this translation unit.
template <class T>
using NativePack = Pack<T, register_bytes / static_cast<int>(sizeof(T))>;

template <class T, int N>
PROPWASH_FN Pack<T, N> select(const PackMask<T, N>& mask, const Pack<T, N>& if_true,
                              const Pack<T, N>& if_false) {
  return mask.bits ? if_true.v : if_false.v;
}
/// Whether the mask is true in any lane; overloads `any` of scalar.hpp.
template <class T, int N>
PROPWASH_FN bool any(const PackMask<T, N>& mask) {
  return detail::vector_any<T, N>(mask.bits);
}
template <class T, int N>
PROPWASH_FN Pack<T, N> sqrt(const Pack<T, N>& x) {
  return detail::vector_sqrt<T, N>(x.v);
}
template <class T, int N>
PROPWASH_FN Pack<T, N> abs(const Pack<T, N>& x) {
  using Pack_ = Pack<T, N>;
  using Word = typename detail::VectorOf<T, N>::Word;
  constexpr Word all_but_sign = std::numeric_limits<Word>::max();
  return detail::as<typename Pack_::Vector>(detail::as<typename Pack_::Bits>(x.v) & all_but_sign);
}
// operands swapped, so that a NaN in `a` is returned, as the scalar hooks do
template <class T, int N>
PROPWASH_FN Pack<T, N> min(const Pack<T, N>& a, const Pack<T, N>& b) {
  return detail::vector_min<T, N>(b.v, a.v);
}
template <class T, int N>
PROPWASH_FN Pack<T, N> max(const Pack<T, N>& a, const Pack<T, N>& b) {
  return detail::vector_max<T, N>(b.v, a.v);
}
template <class T, int N>
PROPWASH_FN Pack<T, N> fma(const Pack<T, N>& a, const Pack<T, N>& b, const Pack<T, N>& c) {
  Pack<T, N> result;
  for (int i = 0; i < N; ++i) result.v[i] = propwash::fma(a.v[i], b.v[i], c.v[i]);
  return result;
}
template <class T, int N>
PROPWASH_FN Pack<T, N> sin(const Pack<T, N>& x) {
  return detail::each_lane<typename Pack<T, N>::Vector, N>(
      x.v, [](T lane) PROPWASH_LAMBDA { return propwash::sin(lane); });
}
template <class T, int N>
PROPWASH_FN Pack<T, N> cos(const Pack<T, N>& x) {
  return detail::each_lane<typename Pack<T, N>::Vector, N>(
      x.v, [](T lane) PROPWASH_LAMBDA { return propwash::cos(lane); });
}
template <class T, int N>
PROPWASH_FN Pack<T, N> exp(const Pack<T, N>& x) {
  return detail::each_lane<typename Pack<T, N>::Vector, N>(
      x.v, [](T lane) PROPWASH_LAMBDA { return propwash::exp(lane); });
}
template <class T, int N>
PROPWASH_FN Pack<T, N> log(const Pack<T, N>& x) {
  return detail::each_lane<typename Pack<T, N>::Vector, N>(
      x.v, [](T lane) PROPWASH_LAMBDA { return propwash::log(lane); });
}
template <class T, int N>
PROPWASH_FN Pack<T, N> round(const Pack<T, N>& x) {
  return detail::each_lane<typename Pack<T, N>::Vector, N>(
      x.v, [](T lane) PROPWASH_LAMBDA { return propwash::round(lane); });
}

}  // namespace propwash

#endif  // PROPWASH_HAS_PACKS
