#pragma once
/// @file
/// An optimisation barrier for one value.

#include <type_traits>

#include "propwash/math/config.hpp"

namespace propwash::detail {

/// Returns x, hidden from the optimiser: the operation that computed x is not fused with later
/// ones, and the compiler assumes nothing about its value. Costs no instruction if x fits into a
/// register. X is an integer, a floating-point number or a SIMD vector of them.
template <class X>
PROPWASH_FN X opaque(X x) {
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
  if constexpr (std::is_integral_v<X>) {
    __asm__("" : "+r"(x));
#if defined(__AVX512F__)
  } else if constexpr (sizeof(X) <= 64) {
    __asm__("" : "+v"(x));
#elif defined(__AVX__)
  } else if constexpr (sizeof(X) <= 32) {
    __asm__("" : "+x"(x));
#elif defined(__SSE2__)
  } else if constexpr (sizeof(X) <= 16) {
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  } else if constexpr (sizeof(X) <= 16) {
    __asm__("" : "+w"(x));
#endif
  } else {
    __asm__("" : "+m"(x));
  }
#endif
  return x;
}

}  // namespace propwash::detail
