/// @file
/// The laws of the random numbers. Statistical tests use fixed seeds, so their results are
/// reproducible; each states the probability that an ideal generator fails it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "catch.hpp"
#include "propwash/random/normal.hpp"

namespace test_random {

namespace {

using propwash::Draw;
using propwash::six_normals;
using propwash::SixNormals;
using propwash::step_normals;
using propwash::Stream;
using propwash::threefry4x32;
using Block = propwash::Words<std::uint32_t>;
using Scalar = propwash::detail::ScalarLanes;

constexpr std::uint64_t seed = 0x5eed0f0123456789;
constexpr double pi = 3.14159265358979323846;

constexpr bool equal(const Block& a, const Block& b) {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

std::uint32_t bits(float x) {
  std::uint32_t word = 0;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

std::array<std::uint32_t, 6> bits(const SixNormals& z) {
  return {bits(z[0]), bits(z[1]), bits(z[2]), bits(z[3]), bits(z[4]), bits(z[5])};
}

/// Φ, the distribution function of the standard normal.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// Converts a chi-square sum over `cells` equally likely cells to a standard normal (Wilson and
/// Hilferty).
double chi_square_deviate(const std::vector<int>& counts) {
  double total = 0.0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  const double freedom = static_cast<double>(counts.size()) - 1.0;
  const double spread = 2.0 / (9.0 * freedom);
  return (std::cbrt(sum / freedom) - (1.0 - spread)) / std::sqrt(spread);
}

/// √n times the correlation of two standard normal sequences and that of their squares: standard
/// normal both, if the sequences are independent.
struct Correlation {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  int n = 0;

  void add(double a, double b) {
    sum += a * b;
    sum_of_squares += (a * a - 1.0) * (b * b - 1.0) / 2.0;
    ++n;
  }
  double largest() const {
    return std::max(std::fabs(sum), std::fabs(sum_of_squares)) / std::sqrt(n);
  }
};

/// The largest correlation deviate among all 36 pairs of components of two families of blocks.
template <class First, class Second>
double largest_correlation(int n, First first, Second second) {
  std::array<Correlation, 36> pairs{};
  for (int k = 0; k < n; ++k) {
    const SixNormals a = first(static_cast<std::uint64_t>(k));
    const SixNormals b = second(static_cast<std::uint64_t>(k));
    for (int i = 0; i < 36; ++i) pairs[static_cast<std::size_t>(i)].add(a[i / 6], b[i % 6]);
  }
  double largest = 0.0;
  for (const Correlation& pair : pairs) largest = std::max(largest, pair.largest());
  return largest;
}

}  // namespace

TEST_CASE("Threefry4x32-20 gives the published words", "[random]") {
  // kat_vectors of Random123: zeros, ones, digits of pi
  constexpr Block zeros = threefry4x32(Block{{0, 0, 0, 0}}, Block{{0, 0, 0, 0}});
  static_assert(equal(zeros, {{0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}}));

  constexpr Block all{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}};
  constexpr Block ones = threefry4x32(all, all);
  static_assert(equal(ones, {{0x2a881696, 0x57012287, 0xf6c7446e, 0xa16a6732}}));

  Block counter{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
  const Block key{{0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89}};
  CHECK(equal(threefry4x32(key, counter), {{0x59cd1dbb, 0xb8879579, 0x86b5d00c, 0xac8b6d84}}));
}

TEST_CASE("Flipping a bit of key or counter flips half of the output bits", "[random]") {
  // per input bit: 128 fair coins in each of 200 trials; |deviate| < 5.5, 256 bits: chance 1e-5
  for (int bit = 0; bit < 256; ++bit) {
    int flipped = 0;
    for (std::uint32_t trial = 0; trial < 200; ++trial) {
      Block key{{trial, 1, 2, 3}};
      Block counter{{4, 5, trial * trial, 6}};
      const Block before = threefry4x32(key, counter);
      (bit < 128 ? key : counter)[bit / 32 % 4] ^= std::uint32_t{1} << bit % 32;
      const Block after = threefry4x32(key, counter);
      for (int i = 0; i < 4; ++i) {
        for (std::uint32_t x = before[i] ^ after[i]; x != 0; x &= x - 1) ++flipped;
      }
    }
    const double coins = 128.0 * 200.0;
    CHECK(std::fabs(flipped - coins / 2) / std::sqrt(coins / 4) < 5.5);
  }
}

TEST_CASE("Four lanes are bit-identical to the scalar", "[random]") {
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const std::uint64_t key = seed * (n / 7 + 1);
    const std::uint32_t id = static_cast<std::uint32_t>(n * n);
    const std::uint64_t step = n << (n % 40);
    const Draw draws[4] = {{step, Stream::process_noise},
                           {step, Stream::imu_bias_walk},
                           {step + 1, Stream::imu_noise},
                           {~step, Stream::user}};
    const auto z = step_normals(key, id, {{draws[0], draws[1], draws[2], draws[3]}});
    bool same = true;
    for (int lane = 0; lane < 4; ++lane) {
      const SixNormals one = six_normals(key, id, draws[lane].step, draws[lane].stream);
      for (int i = 0; i < 6; ++i) same = same && bits(one[i]) == bits(z[lane][i]);
    }
    REQUIRE(same);
  }
}

TEST_CASE("Every build draws identical bits", "[random]") {
  // FNV-1a over 60 000 normals; no flag, compiler, lane width or platform may change it
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint64_t step = 0; step < 10000; ++step) {
    for (const std::uint32_t word : bits(six_normals(seed, 7, step, Stream::imu_noise))) {
      hash = (hash ^ word) * 0x100000001b3;
    }
  }
  CHECK(hash == 0xd569f6dff7fc5ed8);
}

TEST_CASE("Polynomials follow the formula of Box and Muller", "[random]") {
  for (std::uint32_t n = 0; n < 100000; ++n) {
    const Block block = threefry4x32(Block{{1, 2, 0, 0}}, Block{{n, 0, 0, 0}});
    const auto z = propwash::detail::normals_of_block<Scalar>(block);
    bool close = true;
    for (int pair = 0; pair < 3; ++pair) {
      const double u = ((block[pair] >> 8) + 1.0) / 16777216.0;
      const std::uint32_t angle_bits =
          (block[pair] & 0xff) << 8 | ((block[3] >> (8 * pair)) & 0xff);
      const double angle = pi / 2 * ((angle_bits + 0.5) / 65536.0 - 0.5);
      const double radius = std::sqrt(-std::log(u));
      const double first = radius * (std::cos(angle) + std::sin(angle));
      const double second = radius * (std::cos(angle) - std::sin(angle));
      const bool first_is_negative = ((block[3] >> (25 + 2 * pair)) & 1) != 0;
      const bool second_is_negative = ((block[3] >> (24 + 2 * pair)) & 1) != 0;
      const double tolerance = 2e-6 * radius;
      close = close && std::fabs(z[2 * pair] - (first_is_negative ? -first : first)) <= tolerance &&
              std::fabs(z[2 * pair + 1] - (second_is_negative ? -second : second)) <= tolerance;
    }
    REQUIRE(close);
  }
}

TEST_CASE("The logarithm keeps its relative precision up to both ends", "[random]") {
  double largest = 0.0;
  const auto compare = [&largest](std::uint32_t k) {
    const double exact = -std::log(k / 16777216.0);
    const double found = propwash::detail::minus_log<Scalar>(k);
    largest = std::max(largest, std::fabs(found / exact - 1.0));
  };
  for (std::uint32_t k = 1; k < 4096; ++k) compare(k);
  for (std::uint32_t k = 4096; k < 16777216; k += 13) compare(k);
  for (std::uint32_t k = 16777216 - 4096; k < 16777216; ++k) compare(k);
  CHECK(largest < 1.4e-6);
  CHECK(propwash::detail::minus_log<Scalar>(std::uint32_t{16777216}) == 0.0f);
}

TEST_CASE("No normal exceeds the square root of 48 ln 2, and some are close", "[random]") {
  const double bound = std::sqrt(48.0 * std::log(2.0));  // 5.768
  double largest = 0.0;
  for (std::uint32_t angle_bits = 0; angle_bits < 65536; ++angle_bits) {
    // radius bits all zero: the smallest u
    const Block block{
        {angle_bits >> 8, angle_bits >> 8, angle_bits >> 8, (angle_bits & 0xff) * 0x010101}};
    const auto z = propwash::detail::normals_of_block<Scalar>(block);
    for (int i = 0; i < 6; ++i) largest = std::max(largest, std::fabs(double{z[i]}));
  }
  CHECK(largest <= bound * (1.0 + 2e-6));
  CHECK(largest >= bound * (1.0 - 2e-6));
}

TEST_CASE("Moments to the sixth are those of the standard normal", "[random]") {
  // per component and moment |deviate| < 5: chance 36 * 6e-7 = 2e-5
  constexpr int n = 2000000;
  const double moment[13] = {1, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10395};
  double sums[6][7] = {};
  for (int k = 0; k < n; ++k) {
    const SixNormals z = six_normals(seed, 1, static_cast<std::uint64_t>(k), Stream::user);
    for (int i = 0; i < 6; ++i) {
      double power = 1.0;
      for (int p = 1; p <= 6; ++p) sums[i][p] += power *= double{z[i]};
    }
  }
  for (int i = 0; i < 6; ++i) {
    for (int p = 1; p <= 6; ++p) {
      const double deviation = std::sqrt((moment[2 * p] - moment[p] * moment[p]) / n);
      CAPTURE(i, p, sums[i][p] / n);
      CHECK(std::fabs(sums[i][p] / n - moment[p]) < 5.0 * deviation);
    }
  }
}

TEST_CASE("Normals fill equiprobable cells equally", "[random]") {
  // ten sums of squares, |deviate| < 4.9: chance 10 * 1e-6
  constexpr int n = 1000000;
  std::vector<std::vector<int>> values(6, std::vector<int>(256));
  std::vector<int> signs(64);  // of all six together
  std::vector<std::vector<int>> angles(3, std::vector<int>(360));
  for (int k = 0; k < n; ++k) {
    const SixNormals z = six_normals(seed + 1, 2, static_cast<std::uint64_t>(k), Stream::user);
    std::size_t sign = 0;
    for (int i = 0; i < 6; ++i) {
      ++values[static_cast<std::size_t>(i)][static_cast<std::size_t>(256.0 * normal_cdf(z[i]))];
      sign = 2 * sign + (z[i] < 0.0f ? 1 : 0);
    }
    ++signs[sign];
    for (int i = 0; i < 3; ++i) {
      const double cycle = std::atan2(z[2 * i + 1], z[2 * i]) / (2.0 * pi) + 0.5;
      const int cell = std::min(359, static_cast<int>(360.0 * cycle));
      ++angles[static_cast<std::size_t>(i)][static_cast<std::size_t>(cell)];
    }
  }
  for (const auto& counts : values) CHECK(std::fabs(chi_square_deviate(counts)) < 4.9);
  for (const auto& counts : angles) CHECK(std::fabs(chi_square_deviate(counts)) < 4.9);
  CHECK(std::fabs(chi_square_deviate(signs)) < 4.9);
}

TEST_CASE("The empirical distribution follows the normal one", "[random]") {
  // Kolmogorov and Smirnov: P(D √n > 2.7) = 2 exp(−2 · 2.7²) = 9e-7
  std::vector<double> sample;
  for (std::uint64_t step = 0; step < 100000; ++step) {
    const SixNormals z = six_normals(seed + 2, 3, step, Stream::imu_noise);
    sample.insert(sample.end(), z.value, z.value + 6);
  }
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t k = 0; k < sample.size(); ++k) {
    const double cdf = normal_cdf(sample[k]);
    const double below = static_cast<double>(k) / n;
    distance = std::max({distance, cdf - below, below + 1.0 / n - cdf});
  }
  CHECK(distance * std::sqrt(n) < 2.7);
}

TEST_CASE("The tails have the expected number of normals", "[random]") {
  // Poisson counts of mean 6480, 152 and 1.4, a bound that each passes with chance 1 − 1e-6
  constexpr int n = 2400000;
  int beyond[3] = {};  // 3, 4 and 5 deviations
  for (std::uint64_t step = 0; step < n / 24; ++step) {
    const auto z = step_normals(seed + 3, 4,
                                {{{step, Stream::process_noise},
                                  {step, Stream::imu_noise},
                                  {step, Stream::imu_bias_walk},
                                  {step, Stream::user}}});
    for (int i = 0; i < 24; ++i) {
      const float size = std::fabs(z[i / 6][i % 6]);
      for (int tail = 0; tail < 3; ++tail) beyond[tail] += size > static_cast<float>(3 + tail);
    }
  }
  for (int tail = 0; tail < 3; ++tail) {
    const double expected = n * 2.0 * normal_cdf(-3.0 - tail);
    CAPTURE(tail, beyond[tail], expected);
    CHECK(std::fabs(beyond[tail] - expected) < 5.5 * std::sqrt(expected) + 3.0);
  }
}

TEST_CASE("Values and squares are uncorrelated", "[random]") {
  // about 2000 deviates in all, each below 5.5: chance 2000 * 4e-8 = 8e-5
  constexpr int n = 100000;
  const auto drawn = [](std::uint64_t key, std::uint32_t id, std::uint64_t ahead, Stream stream) {
    return [=](std::uint64_t k) { return six_normals(key, id, k + ahead, stream); };
  };
  const auto base = drawn(seed, 5, 0, Stream::process_noise);

  SECTION("among the six of a block") {
    std::array<Correlation, 15> pairs{};
    for (std::uint64_t k = 0; k < n; ++k) {
      const SixNormals z = base(k);
      std::size_t pair = 0;
      for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < i; ++j) pairs[pair++].add(z[i], z[j]);
      }
    }
    for (const Correlation& pair : pairs) CHECK(pair.largest() < 5.5);
  }
  SECTION("between ids") {
    for (const std::uint32_t id : {4u, 6u, 0u, 0x80000005u}) {
      CHECK(largest_correlation(n, base, drawn(seed, id, 0, Stream::process_noise)) < 5.5);
    }
  }
  SECTION("between steps") {
    for (const std::uint64_t lag : {1ull, 2ull, 3ull, 960ull, 1ull << 32, 1ull << 63}) {
      CHECK(largest_correlation(n, base, drawn(seed, 5, lag, Stream::process_noise)) < 5.5);
    }
  }
  SECTION("between streams") {
    for (const Stream stream :
         {Stream::imu_noise, Stream::imu_bias_walk, Stream::initial_bias, Stream::user}) {
      CHECK(largest_correlation(n, base, drawn(seed, 5, 0, stream)) < 5.5);
    }
  }
  SECTION("between seeds that differ by a bit") {
    for (const int bit : {0, 1, 31, 32, 33, 63}) {
      const std::uint64_t other = seed ^ (std::uint64_t{1} << bit);
      CHECK(largest_correlation(n, base, drawn(other, 5, 0, Stream::process_noise)) < 5.5);
    }
  }
  SECTION("between a vehicle's steps and the vehicles at a step") {
    const auto across = [](std::uint64_t k) {
      return six_normals(seed, static_cast<std::uint32_t>(k), 5, Stream::process_noise);
    };
    CHECK(largest_correlation(n, base, across) < 5.5);
  }
}

TEST_CASE("Every word of seed, id, step and stream affects the result by its position",
          "[random]") {
  // if two were swapped or one ignored, two of these would be equal
  std::set<std::array<std::uint32_t, 6>> seen;
  std::size_t drawn = 0;
  const auto draw = [&](std::uint64_t key, std::uint32_t id, std::uint64_t step, Stream stream) {
    seen.insert(bits(six_normals(key, id, step, stream)));
    ++drawn;
  };
  draw(0, 0, 0, Stream::process_noise);
  for (const int bit : {0, 1, 4, 31, 32, 33, 36, 63}) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    draw(value, 0, 0, Stream::process_noise);
    draw(0, 0, value, Stream::process_noise);
    draw(value, 0, value, Stream::process_noise);
    if (bit < 32) {
      draw(0, static_cast<std::uint32_t>(value), 0, Stream::process_noise);
      draw(0, 0, 0, static_cast<Stream>(value));
    }
  }
  CHECK(seen.size() == drawn);
}

}  // namespace test_random
