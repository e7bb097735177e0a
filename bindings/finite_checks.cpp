#include "finite_checks.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace propwash::bindings {

namespace {

/// Infinity and NaN have an exponent of ones only: adding one to it carries into the sign bit.
/// The compiler vectorises these integer sums; it does not vectorise a loop that ends early at a
/// floating-point comparison.
template <class Word, class Number>
std::ptrdiff_t first_not_finite_of(const Number* numbers, std::ptrdiff_t count, Word exponent) {
  static_assert(sizeof(Word) == sizeof(Number));
  const Word one = exponent & (~exponent << 1);
  constexpr Word sign = Word(1) << (8 * sizeof(Word) - 1);
  const auto carry = [&](std::ptrdiff_t i) {
    Word bits;
    std::memcpy(&bits, numbers + i, sizeof bits);
    return static_cast<Word>((bits & exponent) + one);
  };
  Word all = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) all |= carry(i);
  if ((all & sign) == 0) return -1;
  std::ptrdiff_t first = 0;
  while ((carry(first) & sign) == 0) ++first;
  return first;
}

template <class Number>
bool all_within_of(const Number* numbers, std::size_t count, Number bound) {
  int beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    beyond |= static_cast<int>(!(std::abs(numbers[i]) < bound));
  }
  return beyond == 0;
}

}  // namespace

std::ptrdiff_t first_not_finite(const float* numbers, std::ptrdiff_t count) {
  return first_not_finite_of<std::uint32_t>(numbers, count, 0x7f800000u);
}
std::ptrdiff_t first_not_finite(const double* numbers, std::ptrdiff_t count) {
  return first_not_finite_of<std::uint64_t>(numbers, count, 0x7ff0000000000000u);
}

bool all_within(const float* numbers, std::size_t count, float bound) {
  return all_within_of(numbers, count, bound);
}
bool all_within(const double* numbers, std::size_t count, double bound) {
  return all_within_of(numbers, count, bound);
}

}  // namespace propwash::bindings
