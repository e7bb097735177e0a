// Traced numbers: their programs against dual numbers, in reverse and in forward mode; kinks and
// points without a derivative; equal expressions.
#include <cmath>
#include <propwash/math/dual.hpp>
#include <propwash/math/lanes.hpp>
#include <propwash/math/trace_program.hpp>
#include <propwash/math/trace_runner.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_traced {

namespace pw = propwash;

namespace {

struct Unit;

/// The outputs of a program for the inputs of one lane; the other lanes have other inputs.
std::vector<double> results(const pw::TraceProgram& program, const std::vector<double>& inputs) {
  std::vector<pw::WorldLanes<double>> memory(static_cast<std::size_t>(program.slots) *
                                             pw::trace_lanes);
  auto* const slots = reinterpret_cast<double*>(memory.data());
  program.prepare(slots);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (int lane = 0; lane < pw::trace_lanes; ++lane) {
      slots[i * pw::trace_lanes + static_cast<std::size_t>(lane)] = inputs[i] * (1.0 + lane);
    }
  }
  program.run(&pw::run_trace<Unit, pw::NativePack<double>>, slots);
  std::vector<double> outputs;
  for (const int slot : program.outputs) outputs.push_back(slots[slot * pw::trace_lanes]);
  return outputs;
}

/// Value, derivatives in reverse mode, and the derivative along (dx, dy) of f(x, y).
template <class F>
std::vector<double> derivatives(const F& f, double x, double y, double dx = 0, double dy = 0) {
  pw::TraceGraph graph;
  const pw::TraceScope scope(graph);
  const auto in = graph.inputs(2);
  const int out = f(pw::Traced::of(in[0]), pw::Traced::of(in[1])).node;
  const auto tangents = graph.inputs(2);
  auto wanted = graph.pull({out}, {graph.constant(1.0)}, in);
  wanted.insert(wanted.begin(), out);
  wanted.push_back(graph.push({out}, tangents, in)[0]);
  return results(pw::compiled(graph, wanted), {x, y, dx, dy});
}

}  // namespace

TEST_CASE("reverse and forward mode agree with dual numbers") {
  using Pair = pw::Dual<double, 2>;
  const auto f = [](const auto& x, const auto& y) { return tangle(x, y); };
  for (const double x : {-1.3, 0.4, 2.0, 3.7}) {
    for (const double y : {-0.8, 0.0, 0.9, 2.5}) {
      const Pair expected = tangle(Pair::variable(x, 0), Pair::variable(y, 1));
      const auto found = derivatives(f, x, y, 0.3, -0.7);
      CHECK(found[0] == Approx(expected.value));
      CHECK(found[1] == Approx(expected.partials[0]));
      CHECK(found[2] == Approx(expected.partials[1]));
      CHECK(found[3] == Approx(0.3 * expected.partials[0] - 0.7 * expected.partials[1]));
    }
  }
}

TEST_CASE("derivatives are finite at points without a derivative") {
  const auto length = [](pw::Traced x, pw::Traced y) { return sqrt(x * x + y * y) * x; };
  for (const double number : derivatives(length, 0.0, 0.0, 1.0, 1.0)) CHECK(number == 0.0);
  const auto guarded = [](pw::Traced x, pw::Traced y) {
    return select(x > pw::Traced(0.0), y / x, y * 2.0);  // the quotient is infinite
  };
  const auto found = derivatives(guarded, 0.0, 3.0, 1.0, 1.0);
  CHECK(found == std::vector<double>{6.0, 0.0, 2.0, 2.0});
}

TEST_CASE("equal expressions are evaluated once, and zeros are omitted") {
  pw::TraceGraph graph;
  const pw::TraceScope scope(graph);
  const auto in = graph.inputs(2);
  const auto x = pw::Traced::of(in[0]), y = pw::Traced::of(in[1]);
  CHECK((x * y).node == (y * x).node);
  CHECK((x + 0.0).node == x.node);
  CHECK((x * 0.0).node == 0);
  CHECK((x * 1.0 - (-y)).node == (y + x).node);
  CHECK((-(-x)).node == x.node);
  const auto program = pw::compiled(graph, {(x * y + x).node});
  CHECK(program.code.size() == 1);
}

}  // namespace test_traced
