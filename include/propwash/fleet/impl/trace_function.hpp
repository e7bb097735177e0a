#pragma once
/// @file
/// A traced function with its programs, and the memory to execute one of them.

#include <algorithm>
#include <vector>

#include "propwash/fleet/impl/aligned_vector.hpp"
#include "propwash/math/trace_program.hpp"
#include "propwash/math/trace_runner.hpp"

namespace propwash {

/// The runner of trace programs for the instruction set of the including program.
inline TraceRunner native_trace_runner() {
  struct Native {};
  return &run_trace<Native, NativePack<double>>;
}

}  // namespace propwash

namespace propwash::detail {

/// The constants of a traced function: literal numbers, and numbers that are inputs of its programs
/// because they differ between vehicles or because derivatives with respect to them are requested.
struct TraceNumbers {
  std::vector<double> literals;
  std::vector<int> inputs;  ///< indices; those that are requested come first
  int requested = 0;

  int count() const { return static_cast<int>(inputs.size()); }
  /// The nodes of all numbers; appends the nodes of the inputs.
  std::vector<int> nodes(TraceGraph& graph, std::vector<int>& input_nodes) const {
    std::vector<int> all;
    for (const double x : literals) all.push_back(graph.constant(x));
    for (const int i : inputs) {
      input_nodes.push_back(graph.input());
      all[static_cast<std::size_t>(i)] = input_nodes.back();
    }
    return all;
  }
};

/// A function f(numbers, inputs) and its derivatives. Its programs have these inputs: `moving`
/// ones, with derivatives; `fixed` ones; the inputs of `numbers`; seeds or tangents.
///
///     run    the outputs
///     pull   seeds of the outputs -> moving inputs, requested numbers
///     push   tangents of moving inputs and requested numbers -> outputs
struct TraceFunction {
  int moving = 0, fixed = 0, numbers = 0, requested = 0, outputs = 0;
  TraceProgram run, pull, push;

  TraceFunction() = default;
  template <class F>
  TraceFunction(int moving_inputs, int fixed_inputs, const TraceNumbers& all, const F& f)
      : moving(moving_inputs), fixed(fixed_inputs), numbers(all.count()), requested(all.requested) {
    TraceGraph graph;
    const TraceScope scope(graph);
    const std::vector<int> inputs = graph.inputs(moving + fixed);
    std::vector<int> number_inputs;
    const std::vector<int> number_nodes = all.nodes(graph, number_inputs);
    const std::vector<int> results = f(number_nodes, inputs);
    outputs = static_cast<int>(results.size());
    run = compiled(graph, results);

    std::vector<int> variables(inputs.begin(), inputs.begin() + moving);
    variables.insert(variables.end(), number_inputs.begin(), number_inputs.begin() + requested);
    TraceGraph forward = graph;
    pull = compiled(graph, graph.pull(results, graph.inputs(outputs), variables));
    const auto tangents = forward.inputs(static_cast<int>(variables.size()));
    push = compiled(forward, forward.push(results, tangents, variables));
  }

  int first_number() const { return moving + fixed; }
  int first_seed() const { return moving + fixed + numbers; }
};

/// A program with its memory, for one thread.
class TraceCall {
 public:
  TraceCall() = default;
  explicit TraceCall(const TraceProgram& program)
      : program_(&program), slots_(static_cast<std::size_t>(program.slots * trace_lanes)) {
    program.prepare(slots_.data());
  }
  void set(int first, const double* rows, int count) {
    std::copy_n(rows, count * trace_lanes, slots_.data() + first * trace_lanes);
  }
  void run(TraceRunner runner) { program_->run(runner, slots_.data()); }
  const double* output(int i) const {
    return slots_.data() + program_->outputs[static_cast<std::size_t>(i)] * trace_lanes;
  }
  void get(int first, int count, double* rows) const {
    for (int i = 0; i < count; ++i) {
      std::copy_n(output(first + i), trace_lanes, rows + i * trace_lanes);
    }
  }
  void add(int first, int count, double* rows) const {
    for (int i = 0; i < count; ++i) {
      const double* const from = output(first + i);
      for (int lane = 0; lane < trace_lanes; ++lane) rows[i * trace_lanes + lane] += from[lane];
    }
  }

 private:
  const TraceProgram* program_ = nullptr;
  LineVector<double> slots_;
};

}  // namespace propwash::detail
