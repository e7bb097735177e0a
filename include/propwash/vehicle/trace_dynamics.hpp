#pragma once
/// @file
/// The equations of motion of a multicopter as a record of operations on symbols, from which other
/// programs build their own expressions. See docs/casadi.md.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "propwash/math/impl/trace_numbers.hpp"
#include "propwash/math/traced.hpp"
#include "propwash/vehicle/dynamics_parameters.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/make_model.hpp"
#include "propwash/vehicle/validate.hpp"

namespace propwash {

/// A record of multicopter_derivative. Inputs of the graph, in this order: position 3, velocity 3,
/// attitude 4, body rates 3, rotor speeds N; rotor commands N, which are not limited; wind 3 and
/// force 3, world frame; torque 3, body frame; the symbolic parameters, in the order of fields().
struct TracedDynamics {
  TraceGraph graph;             ///< operations on the inputs
  std::vector<int> derivative;  ///< nodes of the time derivative of the state, in its order
};

namespace detail {

/// The parameters of a vehicle as traced numbers: inputs of the graph for the fields in `symbols`,
/// constants for the others.
class TracedParameters {
 public:
  TracedParameters(TraceGraph& graph, const VehicleParameters& vehicle,
                   const std::vector<std::string>& symbols) {
    // every number of `indices` is replaced by its index in numbers_
    VehicleParameters indices = vehicle;
    for (const FieldView& field : fields(indices)) {
      const bool is_symbol = std::find(symbols.begin(), symbols.end(), field.name) != symbols.end();
      for (int i = 0; i < field.size(); ++i) {
        numbers_.push_back(is_symbol ? Traced::of(graph.input()) : Traced(field[i]));
        field[i] = static_cast<double>(numbers_.size() - 1);
      }
    }
    for_each_dynamics_pair(result, indices, [this](Traced& number, double index) {
      number = numbers_[static_cast<std::size_t>(index)];
    });
  }

  DynamicsParameters<Traced> result;

 private:
  std::vector<Traced> numbers_;
};

}  // namespace detail

/// Records the equations of motion of `vehicle`. The numbers of the fields in `symbols` are inputs
/// of the record, all others are constants in it. Inflow, ground effect, contact and residual are
/// left out if the vehicle has none and none of their fields is a symbol.
/// @throws ParameterError for an invalid vehicle.
inline TracedDynamics trace_dynamics(const VehicleParameters& vehicle,
                                     const std::vector<std::string>& symbols) {
  validate(vehicle);
  const auto has = [&](std::string_view table) {
    return std::any_of(symbols.begin(), symbols.end(), [&](const std::string& name) {
      return name.compare(0, table.size(), table) == 0;
    });
  };
  TracedDynamics traced;
  const TraceScope scope(traced.graph);
  const int rotors = static_cast<int>(vehicle.rotors.size());
  const std::vector<int> inputs = traced.graph.inputs(13 + 2 * rotors + 9);
  const detail::TracedParameters parameters(traced.graph, vehicle, symbols);
  auto model = make_model<Traced, Dynamic, GeneralShape>(parameters.result);
  model.feet.has_contact = has_contact(vehicle) || has("contact.");
  model.air.has_flow = has_rotor_flow(vehicle) || has("inflow.") || has("ground_effect.");
  model.air.has_induced_flow = has_induced_flow(vehicle) || has("inflow.radius");
  model.air.has_residual = has_residual(vehicle) || has("residual.");

  detail::TraceReader read(inputs);
  MulticopterState<Traced, Dynamic> x;
  x.position = read.vector(), x.velocity = read.vector(), x.attitude = read.quaternion();
  x.body_rates = read.vector(), x.rotor_speeds = read.rotors<Dynamic>(rotors);
  MulticopterInput<Traced, Dynamic> input;
  input.command = read.rotors<Dynamic>(rotors);
  input.wind_W = read.vector(), input.force_W = read.vector(), input.torque_B = read.vector();

  const auto rate = multicopter_derivative(model, x, input);
  detail::TraceWriter write{traced.derivative};
  write.add(rate.position), write.add(rate.velocity), write.add(rate.attitude);
  write.add(rate.body_rates), write.add(rate.rotor_speeds);
  return traced;
}

}  // namespace propwash
