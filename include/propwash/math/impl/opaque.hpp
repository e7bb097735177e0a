#pragma once
/// @file
/// A barrier for the optimiser.

#include <type_traits>

#include "propwash/math/config.hpp"

namespace propwash::detail {

/// Returns x as a value of which the compiler knows nothing: it neither fuses the operation that
/// gave x with those that follow, nor draws conclusions from it. Costs no instruction where x fits
/// into a register. X is an integer, a floating-point number or a vector of them.
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
