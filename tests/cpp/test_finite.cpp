/// @file
/// Classification of finite numbers, compared with the standard library; tests/flags/fast_math.cpp
/// tests it under -ffast-math.

#include <cmath>
#include <limits>
#include <propwash/math/finite.hpp>

#include "catch.hpp"

namespace test_finite {

namespace pw = propwash;

namespace {

template <class F>
struct Numbers {
  using Limits = std::numeric_limits<F>;
  F values[12] = {F(0),
                  -F(0),
                  F(1),
                  -F(2.5),
                  Limits::max(),
                  Limits::lowest(),
                  Limits::min(),
                  Limits::denorm_min(),
                  Limits::infinity(),
                  -Limits::infinity(),
                  Limits::quiet_NaN(),
                  -Limits::signaling_NaN()};
};

}  // namespace

TEMPLATE_TEST_CASE("numbers are classified by their bits", "", float, double) {
  const Numbers<TestType> numbers;
  for (const TestType x : numbers.values) {
    INFO(x);
    CHECK(pw::is_finite(x) == std::isfinite(x));
    CHECK(pw::is_nan(x) == std::isnan(x));
    CHECK(pw::is_finite(pw::Vec3<TestType>{TestType(1), x, TestType(2)}) == std::isfinite(x));
    CHECK(pw::is_finite(pw::Quat<TestType>{TestType(1), TestType(0), TestType(0), x}) ==
          std::isfinite(x));
    CHECK(pw::is_within(x, TestType(-3), TestType(3)) == (x >= TestType(-3) && x <= TestType(3)));
    CHECK(pw::is_within(x, -std::numeric_limits<TestType>::infinity(),
                        std::numeric_limits<TestType>::infinity()) == std::isfinite(x));
    CHECK(pw::same_bits(x, x));
    CHECK_FALSE(pw::same_bits(x, TestType(7)));
  }
}

}  // namespace test_finite
