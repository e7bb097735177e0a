// Compiled like fleet_kernels.cpp, but with fused multiply-add, which determines the peak rate of a
// processor.

#include "peak.hpp"

#include "propwash/math/pack.hpp"

namespace propwash::bindings::peak {

namespace {

using Number = PROPWASH_KERNELS_NUMBER;

/// Operand of inline assembly that makes the compiler assume a change of x, in its register.
#define PROPWASH_TOUCH(x) "+" PROPWASH_KERNELS_REGISTER(x)

template <class Register>
double multiply_add(std::size_t rounds) {
  // enough chains to hide the latency of two units; separate variables, as an array would be in
  // memory
  constexpr int chains = 12;
  using Vector = typename Register::Vector;
  const auto start = [](int i) { return Register(Number(i)).v; };
  const Vector m = Register(Number(0.999)).v;
  const Vector n = Register(Number(0.001)).v;
  Vector a = start(0), b = start(1), c = start(2), d = start(3), e = start(4), f = start(5);
  Vector g = start(6), h = start(7), i = start(8), j = start(9), k = start(10), l = start(11);
  for (std::size_t round = 0; round < rounds; ++round) {
    a = a * m + n, b = b * m + n, c = c * m + n, d = d * m + n, e = e * m + n, f = f * m + n;
    g = g * m + n, h = h * m + n, i = i * m + n, j = j * m + n, k = k * m + n, l = l * m + n;
    __asm__ volatile(""
                     : PROPWASH_TOUCH(a), PROPWASH_TOUCH(b), PROPWASH_TOUCH(c), PROPWASH_TOUCH(d),
                       PROPWASH_TOUCH(e), PROPWASH_TOUCH(f));
    __asm__ volatile(""
                     : PROPWASH_TOUCH(g), PROPWASH_TOUCH(h), PROPWASH_TOUCH(i), PROPWASH_TOUCH(j),
                       PROPWASH_TOUCH(k), PROPWASH_TOUCH(l));
  }
  return 2.0 * chains * Register::lanes * static_cast<double>(rounds);
}

#undef PROPWASH_TOUCH

}  // namespace

Registers PROPWASH_KERNELS_UNIT() {
  return {NativePack<Number>::lanes, &multiply_add<NativePack<Number>>};
}

}  // namespace propwash::bindings::peak
