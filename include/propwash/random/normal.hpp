#pragma once
/// @file
/// Standard normal numbers as a pure function of (seed, id, step, stream): six per block of
/// Threefry4x32-20, by the method of Box and Muller, "A note on the generation of random normal
/// deviates", Ann. Math. Statist. 29 (1958).
///
/// For u uniform in (0, 1] and φ uniform in (−π/4, π/4), with two fair signs,
///
///     z_1 = ± √(−ln u) (cos φ + sin φ),    z_2 = ± √(−ln u) (cos φ − sin φ)
///
/// are independent standard normals: cos φ ± sin φ are √2 times the cosine and the sine of π/4 − φ,
/// an angle in the first quadrant, and the signs choose the quadrant.
///
/// The result has the same bits on every compiler, lane width and platform with IEEE single
/// precision rounded to nearest: logarithm, sine and cosine are the polynomials below, the square
/// root is the correctly rounded instruction, and Lanes::product and Lanes::sum prevent fusing and
/// reordering. The one exception is Clang with -ffast-math, which estimates square roots.

#include <cstdint>
#include <cstring>

#include "propwash/math/impl/opaque.hpp"
#include "propwash/math/pack.hpp"
#include "propwash/math/scalar.hpp"
#include "propwash/random/threefry.hpp"

/// 1 if four normals can be drawn in one SIMD register.
#if !defined(PROPWASH_RANDOM_LANES)
#if !defined(__CUDACC__) && defined(__GNUC__) && (defined(__SSE2__) || defined(__aarch64__))
#define PROPWASH_RANDOM_LANES 1
#else
#define PROPWASH_RANDOM_LANES 0
#endif
#endif

namespace propwash {

/// The purpose of a random number; streams are independent. Values from `user` on are for users.
enum class Stream : std::uint32_t {
  process_noise = 0,
  imu_noise = 1,
  imu_bias_walk = 2,
  initial_bias = 3,
  turbulence = 4,
  initial_turbulence = 5,
  user = 16
};

/// Six standard normals; F is float or a pack of floats.
template <class F>
struct NormalsOf {
  F value[6];  ///< independent standard normals

  PROPWASH_FN const F& operator[](int i) const { return value[i]; }
};
using SixNormals = NormalsOf<float>;  ///< six single-precision normals

namespace detail {

/// The operations of a lane type, for one lane. VectorLanes has the same members.
struct ScalarLanes {
  using U = std::uint32_t;
  using F = float;

  /// The words as signed integers, exact below 2^24.
  PROPWASH_FN static F to_float(U x) { return static_cast<float>(static_cast<std::int32_t>(x)); }
  PROPWASH_FN static U bits(F x) {
    U word;
    std::memcpy(&word, &x, sizeof word);
    return word;
  }
  PROPWASH_FN static F from_bits(U word) {
    F x;
    std::memcpy(&x, &word, sizeof x);
    return x;
  }
  PROPWASH_FN static F sqrt(F x) {
#if !defined(__CUDACC__) && defined(__SSE2__)
    // the intrinsic: -ffast-math could replace other code by an estimate
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#elif defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#else
    return propwash::sqrt(x);
#endif
  }
  /// a b and a + b, each rounded separately.
  PROPWASH_FN static F product(F a, F b) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return opaque(a * b);
#endif
  }
  PROPWASH_FN static F sum(F a, F b) { return opaque(a + b); }
};

#if PROPWASH_RANDOM_LANES
/// N lanes of a SIMD register. With Contract, the compiler may fuse a product and a sum: fewer
/// instructions, but the last bits can differ from ScalarLanes.
template <int N, bool Contract = false>
struct VectorLanes {
  using F = typename VectorOf<float, N>::Value;
  using I = typename VectorOf<float, N>::Bits;
  using U = typename VectorOf<float, N>::Words;

  PROPWASH_FN static F to_float(U x) { return __builtin_convertvector(as<I>(x), F); }
  PROPWASH_FN static U bits(F x) { return as<U>(x); }
  PROPWASH_FN static F from_bits(U word) { return as<F>(word); }
  PROPWASH_FN static F sqrt(F x) { return vector_sqrt<float, N>(x); }
  PROPWASH_FN static F product(F a, F b) {
    if constexpr (Contract) return a * b;
    return opaque(a * b);
  }
  PROPWASH_FN static F sum(F a, F b) {
    if constexpr (Contract) return a + b;
    return opaque(a + b);
  }
};
using FourLanes = VectorLanes<4>;
#endif

/// c_0 + x (c_1 + x (c_2 + …)).
template <class Lanes, class F>
PROPWASH_FN F polynomial(const F&, float last) {
  return F{} + last;
}
template <class Lanes, class F, class... Floats>
PROPWASH_FN F polynomial(const F& x, float first, Floats... rest) {
  return Lanes::sum(Lanes::product(polynomial<Lanes>(x, rest...), x), F{} + first);
}

/// −ln(k 2^−24) for an integer k from 1 to 2^24, with relative error 1.3e-6.
template <class Lanes, class U>
PROPWASH_FN typename Lanes::F minus_log(const U& k) {
  // k = m 2^e with m in [√½, √2): near k = 2^24 the result is small and must stay exact
  constexpr std::uint32_t sqrt_half = 0x3f3504f3;
  const U word = Lanes::bits(Lanes::to_float(k));
  const U exponent = (word + (std::uint32_t{0} - sqrt_half)) >> 23;
  const auto f = Lanes::from_bits(word - (exponent << 23)) - 1.0f;
  const auto halvings = Lanes::to_float(std::uint32_t{24} - exponent);
  // minimax of ln(1 + f) / f over the range of m, split to shorten the chain of products
  const auto square = Lanes::product(f, f);
  const auto low = polynomial<Lanes>(f, 1.00000097f, -0.500011129f);
  const auto middle = polynomial<Lanes>(f, 0.333145089f, -0.249097438f);
  const auto high = polynomial<Lanes>(f, 0.2049633f, -0.186678595f, 0.1189611f);
  const auto upper = Lanes::sum(Lanes::product(high, square), middle);
  const auto slope = Lanes::sum(Lanes::product(upper, square), low);
  return Lanes::product(halvings, typename Lanes::F{} + 0.693147181f) - Lanes::product(f, slope);
}

/// Two normals: the radius from k 2^−24, the angle φ = π t / 4, −1 < t < 1; their signs are the two
/// highest bits of `signs`.
template <class Lanes, class U, class F>
PROPWASH_FN void box_muller(const U& k, const F& t, const U& signs, F& first, F& second) {
  constexpr std::uint32_t top = 0x80000000;
  const F radius = Lanes::sqrt(minus_log<Lanes>(k));
  const F square = Lanes::product(t, t);
  // minimax over t in [−1, 1] of sin(π t / 4) / t and cos(π t / 4), in t²
  const F sine =
      Lanes::product(polynomial<Lanes>(square, 0.785394552f, -0.0807150591f, 0.00242788149f), t);
  const F cosine =
      polynomial<Lanes>(square, 0.999999972f, -0.308424254f, 0.0158499153f, -0.000318880508f);
  first = Lanes::from_bits(Lanes::bits(radius * (cosine + sine)) ^ (signs & top));
  second = Lanes::from_bits(Lanes::bits(radius * (cosine - sine)) ^ ((signs << 1) & top));
}

/// (2a + 1 − 2^16) 2^−16 for a 16-bit integer a: its high byte is the lowest byte of `high`, its
/// low byte is byte number `place` of `low`. Computed as a float in [2, 4) with these bits,
/// minus 3.
template <class Lanes, class U>
PROPWASH_FN typename Lanes::F odd_fraction(const U& high, const U& low, int place) {
  const int shift = 7 - 8 * place;
  const U byte = shift >= 0 ? low << shift : low >> -shift;
  const U word = ((high << 15) & std::uint32_t{0x007f8000}) | std::uint32_t{0x40000040} |
                 (byte & std::uint32_t{0x00007f80});
  return Lanes::from_bits(word) - 3.0f;
}

/// 128 bits -> six normals. Word i < 3 gives the 24-bit radius of pair i and the high half of its
/// 16-bit angle; word 3 gives the low halves in its low three bytes and six signs in bits 24 to 29.
template <class Lanes>
PROPWASH_FN NormalsOf<typename Lanes::F> normals_of_block(const Words<typename Lanes::U>& block) {
  NormalsOf<typename Lanes::F> z;
  const auto& shared = block[3];
  const auto pair = [&](int i) PROPWASH_LAMBDA {
    const auto k = (block[i] >> 8) + std::uint32_t{1};
    const auto t = odd_fraction<Lanes>(block[i], shared, i);
    box_muller<Lanes>(k, t, shared << (6 - 2 * i), z.value[2 * i], z.value[2 * i + 1]);
  };
  pair(0);
  pair(1);
  pair(2);
  return z;
}

/// Six normals per lane: key (seed, 0, 0), counter (id, step, stream), low words first.
template <class Lanes, class U>
PROPWASH_FN NormalsOf<typename Lanes::F> normals(std::uint64_t seed, const U& id, const U& step_low,
                                                 const U& step_high, const U& stream) {
  const Words<U> key{{U{} + static_cast<std::uint32_t>(seed),
                      U{} + static_cast<std::uint32_t>(seed >> 32), U{}, U{}}};
  return normals_of_block<Lanes>(threefry4x32(key, Words<U>{{id, step_low, step_high, stream}}));
}

}  // namespace detail

/// The six normals of (seed, id, step, stream).
PROPWASH_FN SixNormals six_normals(std::uint64_t seed, std::uint32_t id, std::uint64_t step,
                                   Stream stream) {
  return detail::normals<detail::ScalarLanes>(seed, id, static_cast<std::uint32_t>(step),
                                              static_cast<std::uint32_t>(step >> 32),
                                              static_cast<std::uint32_t>(stream));
}

/// The step and stream of one block of step_normals.
struct Draw {
  std::uint64_t step;  ///< counter of the noise
  Stream stream;       ///< the purpose of the numbers
};
/// Four draws made in one call.
struct FourDraws {
  Draw draw[4];  ///< the draws
};

/// Four times six standard normals: z[draw][i].
struct StepNormals {
  /// The normals of one draw.
  struct Row {
    const float* first;  ///< the first of six numbers
    PROPWASH_FN float operator[](int i) const { return first[4 * i]; }
  };

  alignas(16) float value[6][4]{};  ///< [i][draw]

  PROPWASH_FN Row operator[](int draw) const { return {&value[0][draw]}; }
};

/// The normals of four draws of one vehicle, in little more time than one draw. z[n] is bitwise
/// equal to six_normals(seed, id, draws.draw[n].step, draws.draw[n].stream).
PROPWASH_FN StepNormals step_normals(std::uint64_t seed, std::uint32_t id, const FourDraws& draws) {
  StepNormals z;
#if PROPWASH_RANDOM_LANES
  using U = detail::FourLanes::U;
  const auto lanes = [&draws](auto&& word) PROPWASH_LAMBDA {
    return U{word(draws.draw[0]), word(draws.draw[1]), word(draws.draw[2]), word(draws.draw[3])};
  };
  const U step_low = lanes([](const Draw& d) { return static_cast<std::uint32_t>(d.step); });
  const U step_high = lanes([](const Draw& d) { return static_cast<std::uint32_t>(d.step >> 32); });
  const U stream = lanes([](const Draw& d) { return static_cast<std::uint32_t>(d.stream); });
  const auto six = detail::normals<detail::FourLanes>(seed, U{} + id, step_low, step_high, stream);
  std::memcpy(z.value, six.value, sizeof z.value);
#else
  for (int n = 0; n < 4; ++n) {
    const SixNormals six = six_normals(seed, id, draws.draw[n].step, draws.draw[n].stream);
    for (int i = 0; i < 6; ++i) z.value[i][n] = six[i];
  }
#endif
  return z;
}

}  // namespace propwash
