#include <propwash/vehicle/make_tick_constants.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <set>
#include <vector>

#include "catch.hpp"

namespace test_members {

namespace pw = propwash;

namespace {

struct Inner {
  double a = 1.0, b[2] = {2.0, 3.0};
  bool flag = true;
  PROPWASH_MEMBERS(a, b, flag)
};
struct Outer {
  Inner inner{};
  int count = 7;
  pw::SmallArray<Inner> some{};
  PROPWASH_MEMBERS(inner, count, some)
};

template <class X>
std::vector<double> numbers_of(X& x) {
  std::vector<double> numbers;
  pw::for_each_number(x, [&](const double& number) { numbers.push_back(number); });
  return numbers;
}

}  // namespace

TEST_CASE("the numbers of a struct are those of its members, in order", "[math]") {
  Outer x;
  CHECK(numbers_of(x) == std::vector{1.0, 2.0, 3.0});
  pw::resize_arrays(x, 1);
  x.some[0].a = 9.0;
  CHECK(numbers_of(x) == std::vector{1.0, 2.0, 3.0, 9.0, 2.0, 3.0});
  const Outer copy = x;
  CHECK(numbers_of(copy) == numbers_of(x));
  STATIC_REQUIRE(pw::number_count<Inner> == 3);
  STATIC_REQUIRE(pw::number_count<pw::SmallArray<Inner, 4>> == 12);
}

TEST_CASE("a struct is converted number by number", "[math]") {
  const pw::RateControllerState<double> from{{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, {7.0, 8.0, 9.0}};
  const auto to = pw::cast_numbers<pw::RateControllerState<float>>(from);
  CHECK(to.filter.derivative.y == 5.0f);
  CHECK(to.integral.z == 9.0f);
}

TEST_CASE("the constants of a step consist of distinct numbers and flags", "[vehicle]") {
  using Constants = pw::TickConstants<double, 4, pw::GeneralShape>;
  const auto vehicle = pw::vehicles::flightgoggles();
  auto c = pw::make_tick_constants<double, 4, pw::GeneralShape>(vehicle, vehicle);
  std::set<const double*> places;
  std::size_t visits = 0;
  pw::for_each_number(c, [&](const double& x) {
    places.insert(&x);
    ++visits;
  });
  CHECK(places.size() == visits);
  CHECK(visits == std::size_t{pw::number_count<Constants>});
  // the rest are flags and the padding after them
  CHECK(sizeof c - visits * sizeof(double) <= 8 * sizeof(double));
}

}  // namespace test_members
