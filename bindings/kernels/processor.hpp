#pragma once
/// @file
/// The x86-64 levels that this processor and its operating system support, by the instructions
/// `cpuid` and `xgetbv`: the functions of compilers for this need a run-time library that clang-cl
/// does not link.

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace propwash::bindings {

/// The highest supported level of x86-64, from 1 (baseline) to 4 (AVX-512); 1 on other processors.
/// Levels as in the x86-64 psABI, section 3.1.1.
inline int processor_level() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const auto has = [](unsigned word, int bit) { return ((word >> bit) & 1u) != 0; };
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 1;
  const bool fma = has(c, 12), movbe = has(c, 22), osxsave = has(c, 27), avx = has(c, 28),
             f16c = has(c, 29);
  if (!(fma && movbe && osxsave && avx && f16c)) return 1;
  unsigned enabled = 0, enabled_high = 0;  // registers that the operating system saves
  __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(enabled_high) : "c"(0));
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d) == 0 || !has(c, 5)) return 1;  // LZCNT
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 1;
  const bool bmi1 = has(b, 3), avx2 = has(b, 5), bmi2 = has(b, 8);
  if (!(bmi1 && avx2 && bmi2) || (enabled & 0x06u) != 0x06u) return 1;
  const bool avx512 = has(b, 16) && has(b, 17) && has(b, 28) && has(b, 30) && has(b, 31);
  return avx512 && (enabled & 0xe6u) == 0xe6u ? 4 : 3;
#else
  return 1;
#endif
}

}  // namespace propwash::bindings
