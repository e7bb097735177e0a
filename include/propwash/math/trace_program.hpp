#pragma once
/// @file
/// The operations of a TraceGraph in the order of execution, for a group of numbers at once.
///
/// A program has slots, each with `trace_lanes` numbers. Inputs and constants keep their slots;
/// the others are used again as soon as their number is no longer needed, to stay in the caches.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "propwash/math/traced.hpp"

namespace propwash {

/// A straight-line program without branches.
struct TraceProgram {
  std::vector<TraceInstruction> code;
  std::vector<std::pair<int, double>> constants;  ///< slots and their values
  std::vector<int> outputs;                       ///< slots
  int inputs = 0;                                 ///< the first slots, in the order of the graph
  int slots = 0;

  /// Sets the constants in the memory of all slots.
  void prepare(double* memory) const {
    for (const auto& [slot, value] : constants) {
      for (int lane = 0; lane < trace_lanes; ++lane) memory[slot * trace_lanes + lane] = value;
    }
  }
};

namespace detail {

/// Translates a graph to a program.
class TraceCompiler {
 public:
  TraceCompiler(const TraceGraph& graph, const std::vector<int>& outputs)
      : nodes_(graph.nodes()), slot_(nodes_.size(), -1) {
    find_uses(outputs);
    fuse();
    find_last_uses(outputs);
    emit();
    for (const int node : outputs) program_.outputs.push_back(slot_[index(node)]);
  }
  TraceProgram program() && { return std::move(program_); }

 private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }
  static int operands(TraceOp op) {
    switch (op) {
      case TraceOp::input:
      case TraceOp::constant:
        return 0;
      case TraceOp::add:
      case TraceOp::subtract:
      case TraceOp::multiply:
      case TraceOp::less:
        return 2;
      case TraceOp::select:
      case TraceOp::multiply_add:
      case TraceOp::multiply_subtract:
      case TraceOp::subtract_multiply:
        return 3;
      default:
        return 1;
    }
  }
  template <class F>
  static void for_each_operand(const TraceNode& n, F&& f) {
    const int count = operands(n.op);
    if (count > 0) f(n.a);
    if (count > 1) f(n.b);
    if (count > 2) f(n.c);
  }

  void find_uses(const std::vector<int>& outputs) {
    uses_.assign(nodes_.size(), 0);
    for (const int node : outputs) uses_[index(node)] += 2;  // not to be fused
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (uses_[i] > 0) for_each_operand(nodes_[i], [&](int node) { ++uses_[index(node)]; });
    }
  }
  /// Joins each product that is used once, in a sum, with that sum.
  void fuse() {
    const auto is_product = [&](int node) {
      return nodes_[index(node)].op == TraceOp::multiply && uses_[index(node)] == 1;
    };
    const auto join = [&](TraceNode& n, int product, int other, TraceOp op) {
      const TraceNode p = nodes_[index(product)];
      uses_[index(product)] = 0;
      n = {op, p.a, p.b, other, 0.0};
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      TraceNode& n = nodes_[i];
      if (uses_[i] == 0) continue;
      if (n.op == TraceOp::add) {
        if (is_product(n.b)) {
          join(n, n.b, n.a, TraceOp::multiply_add);
        } else if (is_product(n.a)) {
          join(n, n.a, n.b, TraceOp::multiply_add);
        }
      } else if (n.op == TraceOp::subtract) {
        if (is_product(n.b)) {
          join(n, n.b, n.a, TraceOp::subtract_multiply);
        } else if (is_product(n.a)) {
          join(n, n.a, n.b, TraceOp::multiply_subtract);
        }
      }
    }
  }
  void find_last_uses(const std::vector<int>& outputs) {
    last_.assign(nodes_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (uses_[i] == 0) continue;
      for_each_operand(nodes_[i], [&](int node) { last_[index(node)] = static_cast<int>(i); });
    }
    for (const int node : outputs) last_[index(node)] = static_cast<int>(nodes_.size());
  }
  void emit() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op == TraceOp::input) slot_[i] = program_.slots++;
    }
    program_.inputs = program_.slots;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].op != TraceOp::constant || uses_[i] == 0) continue;
      slot_[i] = program_.slots++;
      program_.constants.emplace_back(slot_[i], nodes_[i].value);
    }
    const int kept = program_.slots;
    std::vector<int> free;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const TraceNode& n = nodes_[i];
      if (operands(n.op) == 0 || uses_[i] == 0) continue;
      const auto slot = [&](int node) {
        const int s = slot_[index(node)];
        return static_cast<std::uint16_t>(s < 0 ? 0 : s);
      };
      TraceInstruction to{n.op, 0, slot(n.a), slot(n.b), slot(n.c)};
      for_each_operand(n, [&](int node) {
        if (last_[index(node)] != static_cast<int>(i) || slot_[index(node)] < kept) return;
        free.push_back(slot_[index(node)]);
        last_[index(node)] = -1;  // once, for an operand that occurs twice
      });
      if (free.empty()) free.push_back(program_.slots++);
      slot_[i] = free.back();
      free.pop_back();
      to.to = static_cast<std::uint16_t>(slot_[i]);
      program_.code.push_back(to);
    }
  }

  std::vector<TraceNode> nodes_;
  std::vector<int> slot_, uses_, last_;
  TraceProgram program_;
};

}  // namespace detail

/// The program that computes nodes of a graph.
inline TraceProgram compiled(const TraceGraph& graph, const std::vector<int>& outputs) {
  return detail::TraceCompiler(graph, outputs).program();
}

}  // namespace propwash
