// exp, log, tan, asin and atan2 of every scalar type: values against the standard library,
// derivatives against closed forms.
#include <cmath>
#include <limits>
#include <propwash/math/angle.hpp>
#include <propwash/math/dual.hpp>
#include <propwash/math/pack.hpp>
#include <propwash/math/trace_program.hpp>
#include <propwash/math/trace_runner.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_scalar_functions {

namespace pw = propwash;

namespace {

struct Unit;

/// f(x, y) with its values and partial derivatives by the standard library.
template <class F>
struct Case {
  const char* name;
  F f;
  double (*value)(double x, double y);
  double (*by_x)(double x, double y);
  double (*by_y)(double x, double y);
};
template <class F>
Case(const char*, F, double (*)(double, double), double (*)(double, double),
     double (*)(double, double)) -> Case<F>;

double none(double, double) { return 0.0; }

/// Calls visit with each function; x and y in (0, 1) or (-1, 0).
template <class Visit>
void for_each_function(const Visit& visit) {
  visit(Case{"exp", [](const auto& x, const auto&) { return exp(x); },
             [](double x, double) { return std::exp(x); },
             [](double x, double) { return std::exp(x); }, none});
  visit(Case{"log", [](const auto& x, const auto&) { return log(x * x); },
             [](double x, double) { return 2.0 * std::log(std::abs(x)); },
             [](double x, double) { return 2.0 / x; }, none});
  visit(Case{"tan", [](const auto& x, const auto&) { return pw::tan(x); },
             [](double x, double) { return std::tan(x); },
             [](double x, double) { return 1.0 / (std::cos(x) * std::cos(x)); }, none});
  visit(Case{"asin", [](const auto& x, const auto&) { return pw::asin(x); },
             [](double x, double) { return std::asin(x); },
             [](double x, double) { return 1.0 / std::sqrt(1.0 - x * x); }, none});
  visit(Case{"atan2", [](const auto& x, const auto& y) { return pw::atan2(y, x); },
             [](double x, double y) { return std::atan2(y, x); },
             [](double x, double y) { return -y / (x * x + y * y); },
             [](double x, double y) { return x / (x * x + y * y); }});
}

/// Calls visit with points in all quadrants.
template <class Visit>
void for_each_point(const Visit& visit) {
  for (const double x : {-0.95, -0.4, -0.01, 0.02, 0.5, 0.9}) {
    for (const double y : {-0.8, -0.03, 0.1, 0.7}) visit(x, y);
  }
}

/// Value and gradient by a trace in reverse mode.
template <class F>
std::vector<double> traced(const F& f, double x, double y) {
  pw::TraceGraph graph;
  const pw::TraceScope scope(graph);
  const auto in = graph.inputs(2);
  const int out = f(pw::Traced::of(in[0]), pw::Traced::of(in[1])).node;
  auto wanted = graph.pull({out}, {graph.constant(1.0)}, in);
  wanted.insert(wanted.begin(), out);
  wanted.push_back(graph.push({out}, {graph.constant(1.0), 0}, in)[0]);
  const pw::TraceProgram program = pw::compiled(graph, wanted);
  std::vector<pw::NativePack<double>> memory(static_cast<std::size_t>(program.slots) *
                                             pw::trace_lanes);
  auto* const slots = reinterpret_cast<double*>(memory.data());
  program.prepare(slots);
  for (int lane = 0; lane < pw::trace_lanes; ++lane) {
    slots[lane] = x, slots[pw::trace_lanes + lane] = y;
  }
  program.run(&pw::run_trace<Unit, pw::NativePack<double>>, slots);
  std::vector<double> outputs;
  for (const int slot : program.outputs) outputs.push_back(slots[slot * pw::trace_lanes]);
  return outputs;
}

}  // namespace

TEMPLATE_TEST_CASE("values are those of the standard library", "[math]", float, double) {
  const double tolerance = 8.0 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for_each_function([&](const auto& c) {
    INFO(c.name);
    for_each_point([&](double x, double y) {
      const auto found = c.f(static_cast<TestType>(x), static_cast<TestType>(y));
      const double expected = c.value(static_cast<double>(static_cast<TestType>(x)),
                                      static_cast<double>(static_cast<TestType>(y)));
      CHECK(static_cast<double>(found) == Approx(expected).epsilon(tolerance).margin(tolerance));
    });
  });
}

TEST_CASE("derivatives of dual numbers are the closed forms", "[math][dual]") {
  using Pair = pw::Dual<double, 2>;
  for_each_function([](const auto& c) {
    INFO(c.name);
    for_each_point([&](double x, double y) {
      const Pair found = c.f(Pair::variable(x, 0), Pair::variable(y, 1));
      CHECK(found.value == c.f(x, y));
      CHECK(found.partials[0] == Approx(c.by_x(x, y)).epsilon(1e-12).margin(1e-13));
      CHECK(found.partials[1] == Approx(c.by_y(x, y)).epsilon(1e-12).margin(1e-13));
    });
  });
}

TEST_CASE("each lane of a pack has the bits of a scalar", "[math][pack]") {
#if PROPWASH_HAS_PACKS
  using Real = pw::NativePack<double>;
  using Wide = pw::Dual<Real, 1>;
  for_each_function([](const auto& c) {
    INFO(c.name);
    for_each_point([&](double x, double y) {
      Real a{}, b{};
      for (int lane = 0; lane < Real::lanes; ++lane) {
        a.v[lane] = x / (1.0 + lane), b.v[lane] = y * (1.0 + lane);
      }
      const Wide found = c.f(Wide::variable(a, 0), Wide(b));
      for (int lane = 0; lane < Real::lanes; ++lane) {
        using Single = pw::Dual<double, 1>;
        const Single one = c.f(Single::variable(a[lane], 0), Single(b[lane]));
        CHECK(found.value[lane] == one.value);
        CHECK(found.partials[0][lane] == one.partials[0]);
      }
    });
  });
#else
  PROPWASH_SKIP("this compiler has no packs");
#endif
}

TEST_CASE("traces have the values and derivatives of dual numbers", "[math][traced]") {
  using Pair = pw::Dual<double, 2>;
  for_each_function([](const auto& c) {
    INFO(c.name);
    for_each_point([&](double x, double y) {
      const Pair expected = c.f(Pair::variable(x, 0), Pair::variable(y, 1));
      const auto found = traced(c.f, x, y);
      CHECK(found[0] == Approx(expected.value).epsilon(1e-13));
      CHECK(found[1] == Approx(expected.partials[0]).epsilon(1e-12).margin(1e-13));
      CHECK(found[2] == Approx(expected.partials[1]).epsilon(1e-12).margin(1e-13));
      CHECK(found[3] == Approx(found[1]).epsilon(1e-13).margin(1e-13));
    });
  });
}

TEST_CASE("angles at the ends of their ranges have finite derivatives", "[math]") {
  using Single = pw::Dual<double, 1>;
  CHECK(pw::asin(1.5) == Approx(0.5 * pi()));
  CHECK(pw::asin(Single::variable(1.0, 0)).partials[0] == 0.0);
  CHECK(traced([](const auto& x, const auto&) { return pw::asin(x); }, -1.0, 0.0)[1] == 0.0);
  CHECK(pw::atan2(0.0, 0.0) == 0.0);
  CHECK(pw::atan2(0.0, -1.0) == Approx(pi()));
  CHECK(traced([](const auto& x, const auto&) { return log(x); }, 0.0, 0.0)[1] == 0.0);
}

}  // namespace test_scalar_functions
