// The hooks of packs agree with the scalar hooks in each lane, for any width.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <propwash/math/finite.hpp>
#include <propwash/math/impl/rows.hpp>
#include <propwash/math/pack.hpp>
#include <vector>

#include "catch.hpp"

namespace test_pack {

namespace pw = propwash;

namespace {

template <class T>
const std::vector<T>& numbers() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all{T(0),
                                  T(-0.0),
                                  T(1),
                                  T(-1),
                                  T(0.5),
                                  T(-0.5),
                                  T(1.5),
                                  T(-1.5),
                                  T(2.5),
                                  T(-2.5),
                                  T(3.7),
                                  T(-1e-3),
                                  T(123456.7),
                                  T(1e-20),
                                  T(8.5e5),
                                  T(-11.2),
                                  T(0.499),
                                  Limits::quiet_NaN(),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::denorm_min(),
                                  Limits::max(),
                                  Limits::lowest()};
  return all;
}

/// Equal bits, or both NaN.
template <class T>
bool same(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A pack of the test numbers from `first` on, and the number of each lane.
template <class T, int N>
struct Lanes {
  T number[N];
  pw::Pack<T, N> pack;

  explicit Lanes(std::size_t first) {
    const auto& all = numbers<T>();
    for (std::size_t i = 0; i < N; ++i) number[i] = all[(first + i) % all.size()];
    pack = pw::Pack<T, N>::load(number);
  }
};

template <class T, int N, class Result, class F>
void check_lanes(const char* what, const Result& result, F&& expected) {
  for (int i = 0; i < N; ++i) {
    CAPTURE(what, N, i, result[i], expected(i));
    CHECK(same<T>(result[i], expected(i)));
  }
}

template <class T, int N>
void check_one_argument(std::size_t first) {
  const Lanes<T, N> a(first);
  const auto x = [&](int i) { return a.number[i]; };
  check_lanes<T, N>("-x", -a.pack, [&](int i) { return -x(i); });
  check_lanes<T, N>("sqrt", sqrt(a.pack), [&](int i) { return pw::sqrt(x(i)); });
  check_lanes<T, N>("abs", abs(a.pack), [&](int i) { return pw::abs(x(i)); });
  check_lanes<T, N>("round", round(a.pack), [&](int i) { return pw::round(x(i)); });
  check_lanes<T, N>("sin", sin(a.pack), [&](int i) { return pw::sin(x(i)); });
  check_lanes<T, N>("cos", cos(a.pack), [&](int i) { return pw::cos(x(i)); });
  check_lanes<T, N>("all alike", pw::Pack<T, N>(x(0)), [&](int) { return x(0); });
  T stored[N];
  a.pack.store(stored);
  check_lanes<T, N>("store", stored, x);
  check_lanes<T, N>("signed_sqrt", pw::signed_sqrt(a.pack),
                    [&](int i) { return pw::signed_sqrt(x(i)); });
}

template <class T, int N>
void check_two_arguments(std::size_t first, std::size_t second) {
  const Lanes<T, N> a(first);
  const Lanes<T, N> b(second);
  const auto x = [&](int i) { return a.number[i]; };
  const auto y = [&](int i) { return b.number[i]; };
  const T s = y(0);
  check_lanes<T, N>("x + y", a.pack + b.pack, [&](int i) { return x(i) + y(i); });
  check_lanes<T, N>("x - y", a.pack - b.pack, [&](int i) { return x(i) - y(i); });
  check_lanes<T, N>("x * y", a.pack * b.pack, [&](int i) { return x(i) * y(i); });
  check_lanes<T, N>("x / y", a.pack / b.pack, [&](int i) { return x(i) / y(i); });
  check_lanes<T, N>("x + s", a.pack + s, [&](int i) { return x(i) + s; });
  check_lanes<T, N>("x - s", a.pack - s, [&](int i) { return x(i) - s; });
  check_lanes<T, N>("x * s", a.pack * s, [&](int i) { return x(i) * s; });
  check_lanes<T, N>("x / s", a.pack / s, [&](int i) { return x(i) / s; });
  check_lanes<T, N>("s + x", s + a.pack, [&](int i) { return s + x(i); });
  check_lanes<T, N>("s - x", s - a.pack, [&](int i) { return s - x(i); });
  check_lanes<T, N>("s * x", s * a.pack, [&](int i) { return s * x(i); });
  check_lanes<T, N>("s / x", s / a.pack, [&](int i) { return s / x(i); });
  check_lanes<T, N>("min", min(a.pack, b.pack), [&](int i) { return pw::min(x(i), y(i)); });
  check_lanes<T, N>("max", max(a.pack, b.pack), [&](int i) { return pw::max(x(i), y(i)); });
  check_lanes<T, N>("fma", fma(a.pack, b.pack, a.pack),
                    [&](int i) { return pw::fma(x(i), y(i), x(i)); });
  const auto less = a.pack < b.pack;
  const auto more = a.pack > b.pack;
  const auto positive = a.pack > pw::Pack<T, N>(T(0));
  check_lanes<T, N>("select", select(less, a.pack, b.pack),
                    [&](int i) { return pw::select(x(i) < y(i), x(i), y(i)); });
  for (int i = 0; i < N; ++i) {
    CAPTURE(N, i, x(i), y(i));
    CHECK(less[i] == (x(i) < y(i)));
    CHECK(more[i] == (x(i) > y(i)));
    CHECK((less | positive)[i] == (x(i) < y(i) || x(i) > T(0)));
    CHECK((less & positive)[i] == (x(i) < y(i) && x(i) > T(0)));
  }
}

template <class T, int N>
void check_hooks() {
  const std::size_t count = numbers<T>().size();
  for (std::size_t first = 0; first < count; first += N) check_one_argument<T, N>(first);
  // lane i has the numbers first + i and second + i, so all pairs are tested
  for (std::size_t first = 0; first < count; first += N) {
    for (std::size_t second = 0; second < count; ++second) {
      check_two_arguments<T, N>(first, second);
    }
  }
}

template <class T, int N, int Width>
void check_rows() {
  constexpr std::size_t size = 2 * N + 1;  // the last block has one row; with one row less, N - 1
  std::vector<T> rows(size * Width);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<T>(i + 1);
  for (const std::size_t present : {size, size - 1, size - 2}) {
    for (std::size_t first = 0; first < present; first += N) {
      pw::Pack<T, N> columns[Width];
      pw::detail::load_rows<Width>(rows.data(), first, present, columns);
      pw::Pack<T, N> some[Width];
      pw::detail::load_some_rows(rows.data(), Width, first, present, some);
      for (std::size_t lane = 0; lane < N; ++lane) {
        const std::size_t row = std::min(first + lane, present - 1);
        for (std::size_t c = 0; c < Width; ++c) {
          CAPTURE(N, Width, present, first, lane, c);
          CHECK(columns[c][static_cast<int>(lane)] == rows[row * Width + c]);
          CHECK(some[c][static_cast<int>(lane)] == rows[row * Width + c]);
        }
      }
    }
  }
}

template <class T, int N>
void check_all_rows() {
  check_rows<T, N, 1>();
  check_rows<T, N, 3>();
  check_rows<T, N, 4>();
  check_rows<T, N, 6>();
  check_rows<T, N, 8>();
}

}  // namespace

TEST_CASE("each lane of a pack of floats is a scalar", "[pack]") {
  check_hooks<float, 4>();
  check_hooks<float, 8>();
  check_hooks<float, 16>();
}

TEST_CASE("each lane of a pack of doubles is a scalar", "[pack]") {
  check_hooks<double, 2>();
  check_hooks<double, 4>();
  check_hooks<double, 8>();
}

namespace {

/// Masks that are true in no lane, in all lanes, and in each single lane.
template <class T, int N>
void check_any() {
  const pw::Pack<T, N> zero(T(0)), one(T(1));
  CHECK_FALSE(any(one < zero));
  CHECK(any(zero < one));
  for (int lane = 0; lane < N; ++lane) {
    pw::Pack<T, N> x(T(0));
    x.v[lane] = T(1);
    CAPTURE(N, lane);
    CHECK(any(x > zero));
    CHECK_FALSE(any(x < zero));
    x.v[lane] = std::numeric_limits<T>::quiet_NaN();
    CHECK_FALSE(any(x > zero));
  }
}

}  // namespace

TEST_CASE("any returns whether a mask is true in some lane", "[pack]") {
  check_any<float, 4>();
  check_any<float, 8>();
  check_any<float, 16>();
  check_any<double, 2>();
  check_any<double, 4>();
  check_any<double, 8>();
  CHECK(pw::any(true));
  CHECK_FALSE(pw::any(false));
}

TEST_CASE("NaN passes a clamp, in its lane only", "[pack]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[4] = {nan, -5.0f, 0.25f, 7.0f};
  const auto limited = pw::clamp(pw::Pack<float, 4>::load(values), 0.0f, 1.0f);
  CHECK(std::isnan(limited[0]));
  CHECK(limited[1] == 0.0f);
  CHECK(limited[2] == 0.25f);
  CHECK(limited[3] == 1.0f);
}

TEST_CASE("rows of vehicles become lanes, also in a partial last block", "[pack]") {
  check_all_rows<float, 4>();
  check_all_rows<float, 16>();
  check_all_rows<double, 2>();
  check_all_rows<double, 8>();
}

namespace {

template <class T, int N>
void check_finite() {
  for (std::size_t first = 0; first < numbers<T>().size(); ++first) {
    const Lanes<T, N> lanes(first);
    const auto mask = pw::is_finite(lanes.pack);
    for (int i = 0; i < N; ++i) CHECK(mask[i] == std::isfinite(lanes.number[i]));
  }
}

}  // namespace

TEST_CASE("finiteness is tested per lane", "[pack]") {
  check_finite<float, 4>();
  check_finite<float, 16>();
  check_finite<double, 2>();
  check_finite<double, 8>();
}

}  // namespace test_pack
