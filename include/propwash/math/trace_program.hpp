#pragma once
/// @file
/// The operations of a TraceGraph in the order of execution, for a group of numbers at once.
///
/// A program has slots, each with `trace_lanes` numbers. Inputs and constants keep their slots;
/// the others are reused as soon as their number is no longer needed, to stay in the caches.

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "propwash/math/traced.hpp"

namespace propwash {

/// A straight-line program without branches.
struct TraceProgram {
  std::vector<TraceInstruction> code;             ///< in the order of execution
  std::vector<TraceBatch> batches;                ///< of the code
  std::vector<std::pair<int, double>> constants;  ///< slots and their values
  std::vector<int> outputs;                       ///< slots
  int inputs = 0;                                 ///< the first slots, in the order of the graph
  int slots = 0;                                  ///< number of all slots

  /// Sets the constants in the memory of all slots.
  void prepare(double* memory) const {
    for (const auto& [slot, value] : constants) {
      for (int lane = 0; lane < trace_lanes; ++lane) memory[slot * trace_lanes + lane] = value;
    }
  }
  /// Executes the program.
  void run(TraceRunner runner, double* memory) const {
    runner(batches.data(), batches.size(), code.data(), memory);
  }
};

namespace detail {

/// Translates a graph to a program. Products are fused with sums, and differences become
/// subtract_multiply, so that most instructions have one of four operations.
class TraceCompiler {
 public:
  TraceCompiler(TraceGraph& graph, const std::vector<int>& outputs)
      : one_(graph.constant(1.0)), nodes_(graph.nodes()), slot_(nodes_.size(), -1) {
    find_uses(outputs);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (uses_[i] > 0) nodes_[i] = joined(nodes_[i]);
    }
    find_uses(outputs);
    schedule();
    emit(outputs);
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
      case TraceOp::subtract_multiply:
        return 3;
      default:
        return 1;
    }
  }
  template <class F>
  static void for_each_operand(const TraceNode& n, const F& f) {
    const int count = operands(n.op);
    if (count > 0) f(n.a);
    if (count > 1) f(n.b);
    if (count > 2) f(n.c);
  }

  void find_uses(const std::vector<int>& outputs) {
    uses_.assign(nodes_.size(), 0);
    for (const int node : outputs) uses_[index(node)] += 2;  // prevents fusion
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (uses_[i] > 0) for_each_operand(nodes_[i], [&](int node) { ++uses_[index(node)]; });
    }
  }
  /// A sum or a difference, fused with a product that is used nowhere else.
  TraceNode joined(const TraceNode& n) const {
    const auto product = [&](int node) -> const TraceNode* {
      const TraceNode& p = nodes_[index(node)];
      const bool is_product = p.op == TraceOp::multiply;
      return is_product && uses_[index(node)] == 1 ? &p : nullptr;
    };
    const auto make = [](TraceOp op, int a, int b, int c) { return TraceNode{op, a, b, c, 0.0}; };
    const auto add = TraceOp::multiply_add, subtract = TraceOp::subtract_multiply;
    switch (n.op) {
      case TraceOp::add:
        if (const auto* p = product(n.b)) return make(add, p->a, p->b, n.a);
        if (const auto* p = product(n.a)) return make(add, p->a, p->b, n.b);
        return n;
      case TraceOp::subtract:
        if (const auto* p = product(n.b)) return make(subtract, p->a, p->b, n.a);
        return make(subtract, n.b, one_, n.a);
      case TraceOp::negate:
        return make(subtract, n.a, one_, 0);
      default:
        return n;
    }
  }

  /// Orders the instructions: as many as possible of one operation, then of the one whose first
  /// ready instruction was recorded first.
  void schedule() {
    constexpr std::size_t operations = static_cast<std::size_t>(TraceOp::subtract_multiply) + 1;
    std::vector<int> waiting(nodes_.size(), 0);
    std::vector<std::vector<int>> users(nodes_.size());
    std::set<int> ready[operations];
    const auto make_ready = [&](int node) {
      ready[static_cast<std::size_t>(nodes_[index(node)].op)].insert(node);
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (uses_[i] == 0 || operands(nodes_[i].op) == 0) continue;
      for_each_operand(nodes_[i], [&](int node) {
        if (operands(nodes_[index(node)].op) == 0) return;
        users[index(node)].push_back(static_cast<int>(i));
        ++waiting[i];
      });
      if (waiting[i] == 0) make_ready(static_cast<int>(i));
    }
    std::set<int>* current = nullptr;
    for (;;) {
      if (current == nullptr || current->empty()) {
        current = nullptr;
        for (auto& each : ready) {
          if (each.empty()) continue;
          if (current == nullptr || *each.begin() < *current->begin()) current = &each;
        }
        if (current == nullptr) return;
      }
      const int node = *current->begin();
      current->erase(current->begin());
      order_.push_back(node);
      for (const int user : users[index(node)]) {
        if (--waiting[index(user)] == 0) make_ready(user);
      }
    }
  }

  void emit(const std::vector<int>& outputs) {
    for (const TraceOp kept : {TraceOp::input, TraceOp::constant}) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].op != kept || (kept == TraceOp::constant && uses_[i] == 0)) continue;
        if (kept == TraceOp::constant) {
          program_.constants.emplace_back(program_.slots, nodes_[i].value);
        } else {
          ++program_.inputs;
        }
        slot_[i] = program_.slots++;
      }
    }
    std::vector<int> last(nodes_.size(), -1);
    for (const int node : order_) {
      for_each_operand(nodes_[index(node)], [&](int operand) { last[index(operand)] = node; });
    }
    for (const int node : outputs) last[index(node)] = -1;
    const int kept = program_.slots;
    std::vector<int> free;
    for (const int node : order_) {
      const TraceNode& n = nodes_[index(node)];
      const auto slot = [&](int operand) {
        const int s = slot_[index(operand)];
        return static_cast<std::uint16_t>(s < 0 ? 0 : s);
      };
      TraceInstruction to{0, slot(n.a), slot(n.b), slot(n.c)};
      for_each_operand(n, [&](int operand) {
        if (last[index(operand)] != node || slot_[index(operand)] < kept) return;
        free.push_back(slot_[index(operand)]);
        last[index(operand)] = -1;  // once, for an operand that occurs twice
      });
      if (free.empty()) free.push_back(program_.slots++);
      slot_[index(node)] = free.back();
      free.pop_back();
      to.to = static_cast<std::uint16_t>(slot_[index(node)]);
      program_.code.push_back(to);
      auto& batches = program_.batches;
      if (batches.empty() || batches.back().op != n.op) batches.push_back({n.op, 0});
      ++batches.back().count;
    }
    for (const int node : outputs) program_.outputs.push_back(slot_[index(node)]);
  }

  int one_;
  std::vector<TraceNode> nodes_;
  std::vector<int> slot_, uses_, order_;
  TraceProgram program_;
};

}  // namespace detail

/// The program that computes nodes of a graph.
inline TraceProgram compiled(TraceGraph& graph, const std::vector<int>& outputs) {
  return detail::TraceCompiler(graph, outputs).program();
}

}  // namespace propwash
