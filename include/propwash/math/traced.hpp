#pragma once
/// @file
/// Traced numbers: a function of them records its operations in a TraceGraph, which computes
/// derivatives of it in reverse and in forward mode (Griewank and Walther, "Evaluating
/// Derivatives", 2008, ch. 3 and 6).
///
/// The scalar hooks (scalar.hpp) do not branch on numbers, so one record is valid for all inputs.
/// The graph evaluates equal expressions once, and omits products with zero and sums with zero.
///
/// Conventions where a function is not differentiable:
///
///     abs, min, max, select     derivative of the branch that is taken; abs at 0: +1
///     sqrt at 0, 1 / x at 0     0; the recorded value is 0 too; see trace_smallest_divisor
///     log at 0                  0; the value is minus infinity
///     round                     1, the derivative of the number that is rounded
///
/// With these, a derivative at finite numbers has no division by zero.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "propwash/math/scalar.hpp"
#include "propwash/math/trace_instruction.hpp"

namespace propwash {

/// An operation and the indices of its operands.
struct TraceNode {
  TraceOp op = TraceOp::constant;  ///< the operation
  int a = 0;                       ///< first operand
  int b = 0;                       ///< second operand
  int c = 0;                       ///< third operand
  double value = 0.0;              ///< of a constant
};

/// A record of operations. Node 0 is the constant zero.
class TraceGraph {
 public:
  TraceGraph() { constant(0.0); }

  /// The record, operands before the operations that use them.
  const std::vector<TraceNode>& nodes() const { return nodes_; }

  /// A new input.
  int input() { return append({TraceOp::input, 0, 0, 0, 0.0}); }
  /// `count` new inputs.
  std::vector<int> inputs(int count) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i) all.push_back(input());
    return all;
  }
  /// A constant.
  int constant(double value) {
    std::uint64_t bits = 0;
    const double key = value == 0.0 ? 0.0 : value;  // -0 and 0 are one node
    std::memcpy(&bits, &key, sizeof bits);
    const auto [found, is_new] = constants_.try_emplace(bits, static_cast<int>(nodes_.size()));
    if (is_new) append({TraceOp::constant, 0, 0, 0, key});
    return found->second;
  }

  /// a + b.
  int add(int a, int b) {
    if (a == 0) return b;
    if (b == 0) return a;
    if (are_constant(a, b)) return constant(value(a) + value(b));
    if (is(b, TraceOp::negate)) return subtract(a, at(b).a);
    return unique(TraceOp::add, a < b ? a : b, a < b ? b : a);
  }
  /// a - b.
  int subtract(int a, int b) {
    if (b == 0) return a;
    if (a == 0) return negate(b);
    if (a == b) return 0;
    if (are_constant(a, b)) return constant(value(a) - value(b));
    if (is(b, TraceOp::negate)) return add(a, at(b).a);
    return unique(TraceOp::subtract, a, b);
  }
  /// a b.
  int multiply(int a, int b) {
    if (a == 0 || b == 0) return 0;
    if (are_constant(a, b)) return constant(value(a) * value(b));
    if (is_value(a, 1.0)) return b;
    if (is_value(b, 1.0)) return a;
    if (is_value(a, -1.0)) return negate(b);
    if (is_value(b, -1.0)) return negate(a);
    return unique(TraceOp::multiply, a < b ? a : b, a < b ? b : a);
  }
  /// -a.
  int negate(int a) {
    if (is(a, TraceOp::constant)) return constant(-value(a));
    if (is(a, TraceOp::negate)) return at(a).a;
    return unique(TraceOp::negate, a);
  }
  /// 1 / a, or 0 near 0.
  int reciprocal(int a) {
    if (is(a, TraceOp::constant)) return constant(value(a) == 0.0 ? 0.0 : 1.0 / value(a));
    return unique(TraceOp::reciprocal, a);
  }
  /// Square root, or 0 near 0 and where a is negative.
  int sqrt(int a) {
    if (is(a, TraceOp::constant)) return constant(value(a) > 0.0 ? propwash::sqrt(value(a)) : 0.0);
    return unique(TraceOp::sqrt, a);
  }
  /// Absolute value.
  int abs(int a) {
    if (is(a, TraceOp::constant)) return constant(propwash::abs(value(a)));
    return unique(TraceOp::abs, a);
  }
  /// a |a|.
  int signed_square(int a) {
    if (is(a, TraceOp::constant)) return constant(propwash::signed_square(value(a)));
    return unique(TraceOp::signed_square, a);
  }
  /// a < b ? 1 : 0.
  int less(int a, int b) {
    if (are_constant(a, b)) return constant(value(a) < value(b) ? 1.0 : 0.0);
    return unique(TraceOp::less, a, b);
  }
  /// mask is 1 ? if_true : if_false.
  int select(int mask, int if_true, int if_false) {
    if (if_true == if_false) return if_true;
    if (is(mask, TraceOp::constant)) return value(mask) > 0.0 ? if_true : if_false;
    return unique(TraceOp::select, mask, if_true, if_false);
  }
  /// a, rounded.
  int round(int a) { return unique(TraceOp::round, a); }
  /// Sine of an angle [rad].
  int sin(int a) { return unique(TraceOp::sin, a); }
  /// Cosine of an angle [rad].
  int cos(int a) { return unique(TraceOp::cos, a); }
  /// e to the power of a.
  int exp(int a) { return unique(TraceOp::exp, a); }
  /// Natural logarithm.
  int log(int a) { return unique(TraceOp::log, a); }

  /// The vector-Jacobian product: nodes of the sums of seeds[k] d outputs[k] / d wanted[i].
  std::vector<int> pull(const std::vector<int>& outputs, const std::vector<int>& seeds,
                        const std::vector<int>& wanted);
  /// The Jacobian-vector product: nodes of the sums of seeds[i] d outputs[k] / d wanted[i].
  std::vector<int> push(const std::vector<int>& outputs, const std::vector<int>& seeds,
                        const std::vector<int>& wanted);

  /// The graph in which this thread records traced numbers.
  static TraceGraph*& current() {
    static thread_local TraceGraph* graph = nullptr;
    return graph;
  }

 private:
  const TraceNode& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  bool is(int node, TraceOp op) const { return at(node).op == op; }
  double value(int node) const { return at(node).value; }
  bool are_constant(int a, int b) const {
    return is(a, TraceOp::constant) && is(b, TraceOp::constant);
  }
  bool is_value(int node, double x) const {
    return is(node, TraceOp::constant) && value(node) == x;
  }
  int append(const TraceNode& node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  /// The node of an operation, an existing one if the operation is recorded.
  int unique(TraceOp op, int a, int b = 0, int c = 0) {
    const auto key = static_cast<std::uint64_t>(op) << 57 | static_cast<std::uint64_t>(a) << 38 |
                     static_cast<std::uint64_t>(b) << 19 | static_cast<std::uint64_t>(c);
    const auto [found, is_new] = operations_.try_emplace(key, static_cast<int>(nodes_.size()));
    if (is_new) append({op, a, b, c, 0.0});
    return found->second;
  }
  /// Which nodes depend on `wanted` differentiably.
  std::vector<char> dependent(const std::vector<int>& wanted) const;
  /// d node / d (its operand a), for an operation with one operand.
  int slope(int node);

  std::vector<TraceNode> nodes_;
  std::unordered_map<std::uint64_t, int> constants_, operations_;
};

/// Makes a graph the current one of this thread while it exists.
class TraceScope {
 public:
  explicit TraceScope(TraceGraph& graph) : previous_(TraceGraph::current()) {
    TraceGraph::current() = &graph;
  }
  ~TraceScope() { TraceGraph::current() = previous_; }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceGraph* previous_;
};

/// A number of the current TraceGraph, with the scalar hooks.
struct Traced {
  int node = 0;  ///< its index in the graph

  Traced() = default;
  /// A constant.
  explicit Traced(double x) : node(graph().constant(x)) {}
  /// The number of a node.
  static Traced of(int node) {
    Traced x;
    x.node = node;
    return x;
  }
  /// The current graph.
  static TraceGraph& graph() { return *TraceGraph::current(); }

  Traced operator-() const { return of(graph().negate(node)); }
  friend Traced operator+(Traced a, Traced b) { return of(graph().add(a.node, b.node)); }
  friend Traced operator-(Traced a, Traced b) { return of(graph().subtract(a.node, b.node)); }
  friend Traced operator*(Traced a, Traced b) { return of(graph().multiply(a.node, b.node)); }
  friend Traced operator/(Traced a, Traced b) {
    return of(graph().multiply(a.node, graph().reciprocal(b.node)));
  }
  friend Traced operator+(Traced a, double b) { return a + Traced(b); }
  friend Traced operator-(Traced a, double b) { return a - Traced(b); }
  friend Traced operator*(Traced a, double b) { return a * Traced(b); }
  friend Traced operator/(Traced a, double b) { return a * Traced(1.0 / b); }
  friend Traced operator+(double a, Traced b) { return Traced(a) + b; }
  friend Traced operator-(double a, Traced b) { return Traced(a) - b; }
  friend Traced operator*(double a, Traced b) { return Traced(a) * b; }
  friend Traced operator/(double a, Traced b) { return Traced(a) / b; }

  /// The result of a comparison.
  struct Mask {
    int node;  ///< 1 where it is true, else 0
  };
  friend Mask operator<(Traced a, Traced b) { return {graph().less(a.node, b.node)}; }
  friend Mask operator>(Traced a, Traced b) { return b < a; }
  /// if_true where the mask holds, else if_false.
  friend Traced select(Mask mask, Traced if_true, Traced if_false) {
    return of(graph().select(mask.node, if_true.node, if_false.node));
  }
  /// Square root.
  friend Traced sqrt(Traced a) { return of(graph().sqrt(a.node)); }
  /// Absolute value.
  friend Traced abs(Traced a) { return of(graph().abs(a.node)); }
  /// a |a|.
  friend Traced signed_square(Traced a) { return of(graph().signed_square(a.node)); }
  /// The smaller number.
  friend Traced min(Traced a, Traced b) { return select(b < a, b, a); }
  /// The larger number.
  friend Traced max(Traced a, Traced b) { return select(a < b, b, a); }
  /// a b + c.
  friend Traced fma(Traced a, Traced b, Traced c) { return a * b + c; }
  /// The nearest integer.
  friend Traced round(Traced a) { return of(graph().round(a.node)); }
  /// Sine of an angle [rad].
  friend Traced sin(Traced a) { return of(graph().sin(a.node)); }
  /// Cosine of an angle [rad].
  friend Traced cos(Traced a) { return of(graph().cos(a.node)); }
  /// e to the power of a.
  friend Traced exp(Traced a) { return of(graph().exp(a.node)); }
  /// Natural logarithm.
  friend Traced log(Traced a) { return of(graph().log(a.node)); }
};

template <>
struct ScalarTraits<Traced> {
  using value_type = double;
};

// ---- derivatives ----

inline std::vector<char> TraceGraph::dependent(const std::vector<int>& wanted) const {
  std::vector<char> is_dependent(nodes_.size(), 0);
  for (const int node : wanted) is_dependent[static_cast<std::size_t>(node)] = 1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TraceNode& n = nodes_[i];
    if (n.op == TraceOp::input || n.op == TraceOp::constant || n.op == TraceOp::less) continue;
    const auto of = [&](int node) { return is_dependent[static_cast<std::size_t>(node)] != 0; };
    const bool first = n.op != TraceOp::select && of(n.a);
    if (first || of(n.b) || of(n.c)) is_dependent[i] = 1;
  }
  return is_dependent;
}

inline int TraceGraph::slope(int node) {
  const TraceNode n = at(node);
  switch (n.op) {
    case TraceOp::negate:
      return constant(-1.0);
    case TraceOp::sqrt:
      return multiply(constant(0.5), reciprocal(node));
    case TraceOp::abs:
      return select(less(n.a, 0), constant(-1.0), constant(1.0));
    case TraceOp::signed_square:
      return multiply(constant(2.0), abs(n.a));
    case TraceOp::sin:
      return cos(n.a);
    case TraceOp::cos:
      return negate(sin(n.a));
    case TraceOp::exp:
      return node;
    case TraceOp::log:
      return reciprocal(n.a);
    default:  // round
      return constant(1.0);
  }
}

inline std::vector<int> TraceGraph::pull(const std::vector<int>& outputs,
                                         const std::vector<int>& seeds,
                                         const std::vector<int>& wanted) {
  const std::vector<char> is_dependent = dependent(wanted);
  std::vector<int> bars(is_dependent.size(), 0);
  const auto bar = [&](int node) -> int& { return bars[static_cast<std::size_t>(node)]; };
  const auto add_to = [&](int node, int x) {
    if (is_dependent[static_cast<std::size_t>(node)] != 0) bar(node) = add(bar(node), x);
  };
  const auto subtract_from = [&](int node, int x) {
    if (is_dependent[static_cast<std::size_t>(node)] != 0) bar(node) = subtract(bar(node), x);
  };
  for (std::size_t k = 0; k < outputs.size(); ++k) add_to(outputs[k], seeds[k]);
  for (int i = static_cast<int>(bars.size()) - 1; i > 0; --i) {
    const int y = bar(i);
    const TraceNode n = at(i);
    if (y == 0 || n.op == TraceOp::input) continue;
    switch (n.op) {
      case TraceOp::add:
        add_to(n.a, y), add_to(n.b, y);
        break;
      case TraceOp::subtract:
        add_to(n.a, y), subtract_from(n.b, y);
        break;
      case TraceOp::multiply:
        add_to(n.a, multiply(n.b, y)), add_to(n.b, multiply(n.a, y));
        break;
      case TraceOp::reciprocal:
        subtract_from(n.a, multiply(i, multiply(i, y)));
        break;
      case TraceOp::select:
        add_to(n.b, select(n.a, y, 0)), add_to(n.c, select(n.a, 0, y));
        break;
      default:
        add_to(n.a, multiply(slope(i), y));
    }
  }
  std::vector<int> result;
  for (const int node : wanted) result.push_back(bar(node));
  return result;
}

inline std::vector<int> TraceGraph::push(const std::vector<int>& outputs,
                                         const std::vector<int>& seeds,
                                         const std::vector<int>& wanted) {
  std::vector<int> dots(nodes_.size(), 0);
  const auto dot = [&](int node) -> int& { return dots[static_cast<std::size_t>(node)]; };
  for (std::size_t i = 0; i < wanted.size(); ++i) dot(wanted[i]) = seeds[i];
  for (int i = 1; i < static_cast<int>(dots.size()); ++i) {
    const TraceNode n = at(i);
    switch (n.op) {
      case TraceOp::input:
      case TraceOp::constant:
      case TraceOp::less:
        break;
      case TraceOp::add:
        dot(i) = add(dot(n.a), dot(n.b));
        break;
      case TraceOp::subtract:
        dot(i) = subtract(dot(n.a), dot(n.b));
        break;
      case TraceOp::multiply:
        dot(i) = add(multiply(dot(n.a), n.b), multiply(n.a, dot(n.b)));
        break;
      case TraceOp::reciprocal:
        dot(i) = negate(multiply(i, multiply(i, dot(n.a))));
        break;
      case TraceOp::select:
        dot(i) = select(n.a, dot(n.b), dot(n.c));
        break;
      default:
        if (dot(n.a) != 0) dot(i) = multiply(slope(i), dot(n.a));
    }
  }
  std::vector<int> result;
  for (const int node : outputs) result.push_back(dot(node));
  return result;
}

}  // namespace propwash
