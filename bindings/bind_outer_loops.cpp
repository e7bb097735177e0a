#include "modules.hpp"
#include "outer_loops.hpp"
#include "parameters.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"

namespace propwash::bindings {

py::dict to_dict(const OuterLoopParameters& p) {
  py::dict values;
  values["interval"] = p.interval;
  values["prioritised"] = p.prioritised;
  for (const auto& field : fields(p)) {
    const char* const name = field.name.data();
    if (field.size() == 1) {
      values[name] = field[0];
    } else {
      values[name] = py::make_tuple(field[0], field[1], field[2]);
    }
  }
  return values;
}

namespace {

/// Sets the gain or limit `name` to a value from Python. Raises ValueError.
void set_outer_loop(OuterLoopParameters& p, const std::string& name, py::handle value) {
  if (name == "interval") {
    constexpr py::ssize_t most = 1 << 20;  // beyond what validate() lets pass
    p.interval = static_cast<int>(std::min(whole_number(value, name, 1), most));
    return;
  }
  if (name == "prioritised") {
    if (!py::isinstance<py::bool_>(value)) refuse(name, "True or False", value);
    p.prioritised = value.cast<bool>();
    return;
  }
  const auto field = find_field(p, name);
  if (!field) throw py::value_error("outer_loops: there is no '" + name + "'");
  const std::string expected = field->size() == 1 ? "a finite number" : "3 finite numbers";
  const Array numbers = finite_array(value, name, expected);
  if (numbers.ndim() != field->shape.rank || numbers.size() != field->size()) {
    refuse(name, expected, value);
  }
  field->set(numbers.data());
}

}  // namespace

OuterLoopParameters outer_loops_from(const OuterLoopParameters& start, const py::dict& values) {
  OuterLoopParameters p = start;
  try {
    for (const auto& [key, value] : values) set_outer_loop(p, key.cast<std::string>(), value);
  } catch (const py::value_error& error) {
    throw ParameterError(error.what());
  }
  return p;
}

void bind_outer_loops(py::module_& m) {
  m.def(
      "outer_loops_for",
      [](const py::object& parameters, double dt) {
        const VehicleParameters vehicle = vehicle_parameters(parameters);
        validate(vehicle);
        validate_outer_loops(vehicle);
        if (!(dt > 0.0) || !std::isfinite(dt))
          refuse_parameter("dt", "a finite number > 0 s", py::float_(dt));
        return to_dict(outer_loops_for(vehicle, dt));
      },
      "parameters"_a, "dt"_a);
}

}  // namespace propwash::bindings
