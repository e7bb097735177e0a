#pragma once
/// @file
/// Threefry4x32-20: 128 random bits as a pure function of a 128-bit key and a 128-bit counter.
///
/// Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy
/// as 1, 2, 3", SC11, 2011 (doi 10.1145/2063384.2063405); rotations and parity from Skein's
/// Threefish with 32-bit words. It uses additions, rotations and exclusive ors modulo 2^32 alone,
/// so the result is the same on every machine, for scalars and for SIMD lanes.

#include <cstdint>

#include "propwash/math/scalar.hpp"

namespace propwash {

/// Four 32-bit words, or four packs of them. U is std::uint32_t, or a type with U + U, U ^ U, U |
/// U, U << int, U >> int and U + std::uint32_t, each modulo 2^32 lane by lane.
template <class U>
struct Words {
  U word[4];  ///< four 32-bit words

  PROPWASH_FN constexpr U& operator[](int i) { return word[i]; }
  PROPWASH_FN constexpr const U& operator[](int i) const { return word[i]; }
};

namespace detail {

template <int Bits, class U>
PROPWASH_FN constexpr U rotated(const U& x) {
  return (x << Bits) | (x >> (32 - Bits));
}

/// One round: two mixes. Callers swap `b` and `d` in every second round.
template <int First, int Second, class U>
PROPWASH_FN constexpr void threefry_round(U& a, U& b, U& c, U& d) {
  a = a + b;
  b = rotated<First>(b) ^ a;
  c = c + d;
  d = rotated<Second>(d) ^ c;
}

template <class U>
PROPWASH_FN constexpr void threefry_rounds_0_to_3(Words<U>& x) {
  threefry_round<10, 26>(x[0], x[1], x[2], x[3]);
  threefry_round<11, 21>(x[0], x[3], x[2], x[1]);
  threefry_round<13, 27>(x[0], x[1], x[2], x[3]);
  threefry_round<23, 5>(x[0], x[3], x[2], x[1]);
}

template <class U>
PROPWASH_FN constexpr void threefry_rounds_4_to_7(Words<U>& x) {
  threefry_round<6, 20>(x[0], x[1], x[2], x[3]);
  threefry_round<17, 11>(x[0], x[3], x[2], x[1]);
  threefry_round<25, 10>(x[0], x[1], x[2], x[3]);
  threefry_round<18, 20>(x[0], x[3], x[2], x[1]);
}

}  // namespace detail

/// The random block for a counter and a key. For a fixed key, it is a bijection of the counters.
template <class U>
PROPWASH_FN constexpr Words<U> threefry4x32(const Words<U>& key, const Words<U>& counter) {
  const U parity = (key[0] ^ key[1] ^ key[2] ^ key[3]) ^ (U{} + std::uint32_t{0x1BD11BDA});
  const U schedule[5] = {key[0], key[1], key[2], key[3], parity};
  Words<U> x{{counter[0] + key[0], counter[1] + key[1], counter[2] + key[2], counter[3] + key[3]}};

  detail::threefry_rounds_0_to_3(x);
  x = {{x[0] + schedule[1], x[1] + schedule[2], x[2] + schedule[3],
        x[3] + schedule[4] + std::uint32_t{1}}};
  detail::threefry_rounds_4_to_7(x);
  x = {{x[0] + schedule[2], x[1] + schedule[3], x[2] + schedule[4],
        x[3] + schedule[0] + std::uint32_t{2}}};
  detail::threefry_rounds_0_to_3(x);
  x = {{x[0] + schedule[3], x[1] + schedule[4], x[2] + schedule[0],
        x[3] + schedule[1] + std::uint32_t{3}}};
  detail::threefry_rounds_4_to_7(x);
  x = {{x[0] + schedule[4], x[1] + schedule[0], x[2] + schedule[1],
        x[3] + schedule[2] + std::uint32_t{4}}};
  detail::threefry_rounds_0_to_3(x);
  return {{x[0] + schedule[0], x[1] + schedule[1], x[2] + schedule[2],
           x[3] + schedule[3] + std::uint32_t{5}}};
}

}  // namespace propwash
