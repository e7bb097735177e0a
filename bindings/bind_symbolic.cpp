#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/trace_dynamics.hpp"

namespace propwash::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

/// Names of the operations, in the order of TraceOp.
constexpr const char* operation_names[] = {
    "input",      "constant", "add", "subtract",      "multiply", "negate",
    "reciprocal", "sqrt",     "abs", "signed_square", "less",     "select",
    "round",      "sin",      "cos", "exp",           "log"};
static_assert(std::size(operation_names) == static_cast<std::size_t>(TraceOp::multiply_add));

/// Nodes (operation, operand, operand, operand, constant), the nodes of the derivative, and pairs
/// of name and numbers of the symbolic parameters, in the order of their inputs.
py::tuple trace_dynamics_of(const py::object& parameters, const std::vector<std::string>& symbols) {
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  const TracedDynamics traced = trace_dynamics(vehicle, symbols);
  py::list nodes;
  for (const TraceNode& n : traced.graph.nodes()) {
    const char* const name = operation_names[static_cast<std::size_t>(n.op)];
    nodes.append(py::make_tuple(name, n.a, n.b, n.c, n.value));
  }
  py::list values;
  for (const ConstFieldView& field : fields(vehicle)) {
    if (std::find(symbols.begin(), symbols.end(), field.name) == symbols.end()) continue;
    std::vector<double> numbers(static_cast<std::size_t>(field.size()));
    field.get(numbers.data());
    values.append(py::make_tuple(field.name, numbers));
  }
  return py::make_tuple(nodes, traced.derivative, values);
}

}  // namespace

void bind_symbolic(py::module_& m) {
  m.def("trace_dynamics", &trace_dynamics_of, "parameters"_a, "symbols"_a);
}

}  // namespace propwash::bindings
