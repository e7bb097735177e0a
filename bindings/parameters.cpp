#include "parameters.hpp"

#include <algorithm>

#include "arrays.hpp"
#include "modules.hpp"
#include "propwash/vehicle/fields.hpp"
#include "propwash/vehicle/outer_loop_fields.hpp"

namespace propwash::bindings {

namespace {

/// The attribute at a dotted path, such as "filter.damping".
py::object attribute(py::object object, std::string_view path) {
  for (;;) {
    const auto dot = path.find('.');
    object = object.attr(py::str(std::string(path.substr(0, dot))));
    if (dot == std::string_view::npos) return object;
    path.remove_prefix(dot + 1);
  }
}

/// Writes the numbers of a value of shape `shape` to `to`. Raises ParameterError for another shape.
/// Accepts infinity and NaN, which validate() checks.
void read_numbers(const py::object& value, const std::string& name, const FieldShape& shape,
                  double* to) {
  if (shape.rank == 0) {
    try {
      *to = value.cast<double>();
      return;
    } catch (const py::cast_error&) {
      refuse_parameter(name, "a number", value);
    }
  }
  const Array numbers = Array::ensure(value);
  if (!numbers || numbers.ndim() != shape.rank ||
      !std::equal(shape.begin(), shape.end(), numbers.shape())) {
    const std::string count = std::to_string(shape.extents[0]);
    refuse_parameter(name,
                     shape.rank == 2 ? "3 x 3 numbers"
                                     : count + " numbers" + (count == "4" ? " (w, x, y, z)" : ""),
                     value);
  }
  std::copy_n(numbers.data(), shape.size(), to);
}

/// One number, or a tuple with one number for each rotor.
void read_per_rotor(const py::object& value, const FieldView& field) {
  const bool is_one = !py::isinstance<py::tuple>(value);
  *field.count = is_one ? 1 : static_cast<std::int64_t>(py::len(value));
  if (*field.count < 1 || *field.count > max_size) {
    refuse(std::string(field.name), "a number, or one number for each rotor", value);
  }
  const int count = static_cast<int>(*field.count);
  read_numbers(value, std::string(field.name), is_one ? FieldShape{} : FieldShape{1, {count}},
               field.first);
}

/// Sets every field from the attribute of the same name, less `prefix`.
template <class Parameters>
void read_fields(const py::object& object, Parameters& to, std::string_view prefix = {}) {
  constexpr std::string_view rotors = "rotors.";
  for (const FieldView& field : fields(to)) {
    const std::string name(field.name);
    if (name.compare(0, rotors.size(), rotors) != 0) {
      const py::object value = attribute(object, field.name.substr(prefix.size()));
      if (field.count != nullptr) {
        read_per_rotor(value, field);
      } else {
        read_numbers(value, name, field.shape, field.first);
      }
      continue;
    }
    const std::string member = name.substr(rotors.size());
    const py::object all_rotors = object.attr("rotors");
    const FieldShape each{field.shape.rank - 1, {field.shape.extents[1]}};
    for (int row = 0; row < field.rows; ++row) {
      const std::string rotor = "rotors[" + std::to_string(row) + "].";
      read_numbers(all_rotors[py::int_(row)].attr(member.c_str()), rotor + member, each,
                   &field(row, 0));
    }
  }
}

/// The schema of all fields: name, shape of one vehicle's numbers, whether all vehicles of a fleet
/// share them, unit, meaning, minimum and maximum magnitude.
template <class Parameters>
py::list field_table(const Parameters& parameters) {
  py::list table;
  for (const ConstFieldView& field : fields(parameters)) {
    py::list shape;
    for (const int extent : field.shape) shape.append(extent);
    table.append(py::make_tuple(field.name, py::tuple(shape), field.structural, field.unit,
                                field.meaning, field.smallest, field.largest));
  }
  return table;
}

Discretisation discretisation_named(const std::string& name) {
  if (name == "exact") return Discretisation::exact;
  if (name == "backward_euler") return Discretisation::backward_euler;
  throw ParameterError("rate_controller.discretisation = '" + name +
                       "': expected 'exact' or 'backward_euler'");
}

/// Sets the gain or limit `name` to a value from Python. Raises ValueError.
void set_outer_loop(OuterLoopParameters& p, const std::string& name, py::handle value) {
  if (name == "interval") {
    constexpr py::ssize_t max = 1 << 20;  // more than validate() accepts
    p.interval = static_cast<int>(std::min(whole_number(value, name, 1), max));
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

VehicleParameters vehicle_parameters(py::handle object) {
  const auto from = py::reinterpret_borrow<py::object>(object);
  VehicleParameters to;
  to.name = py::str(from.attr("name"));
  to.rotors.resize(py::len(from.attr("rotors")));
  read_fields(from, to);
  const py::object controller = from.attr("rate_controller");
  to.rate_controller.discretisation =
      discretisation_named(py::str(controller.attr("discretisation")));
  to.rate_controller.gyroscopic_term = controller.attr("gyroscopic_term").cast<bool>();
  return to;
}

std::optional<VehicleParameters> optional_vehicle(py::handle object) {
  if (object.is_none()) return {};
  return vehicle_parameters(object);
}

CarParameters car_parameters(py::handle object) {
  const auto from = py::reinterpret_borrow<py::object>(object);
  CarParameters to;
  to.name = py::str(from.attr("name"));
  read_fields(from, to);
  return to;
}

ImuParameters<double> imu_parameters(py::handle object) {
  ImuParameters<double> to;
  read_fields(py::reinterpret_borrow<py::object>(object), to, "imu.");
  return to;
}

Integrator integrator_named(const std::string& name) {
  if (name == "rk4") return Integrator::rk4;
  if (name == "euler") return Integrator::euler;
  if (name == "symplectic_euler") return Integrator::symplectic_euler;
  throw py::value_error("integrator = '" + name +
                        "': expected 'rk4', 'euler' or 'symplectic_euler'");
}

py::dict to_dict(const OuterLoopParameters& p) {
  py::dict values;
  values["interval"] = p.interval;
  values["prioritised"] = p.prioritised;
  for (const auto& field : fields(p)) {
    const bool is_one = field.size() == 1;
    values[field.name.data()] =
        is_one ? py::object(py::float_(field[0])) : py::make_tuple(field[0], field[1], field[2]);
  }
  return values;
}

OuterLoopParameters outer_loops_from(const OuterLoopParameters& start, const py::dict& values) {
  OuterLoopParameters p = start;
  try {
    for (const auto& [key, value] : values) set_outer_loop(p, key.cast<std::string>(), value);
  } catch (const py::value_error& error) {
    throw ParameterError(error.what());
  }
  return p;
}

void bind_parameters(py::module_& m) {
  m.def(
      "parameter_table",
      [](const py::object& parameters) {
        return field_table(optional_vehicle(parameters).value_or(VehicleParameters{}));
      },
      "parameters"_a = py::none());
  m.def("car_parameter_table", [] { return field_table(CarParameters{}); });
  m.def("outer_loop_table", [] { return field_table(OuterLoopParameters{}); });
  m.def(
      "validate_vehicle",
      [](const py::object& parameters) { validate(vehicle_parameters(parameters)); },
      "parameters"_a);
  m.def(
      "validate_car", [](const py::object& parameters) { validate(car_parameters(parameters)); },
      "parameters"_a);
  m.def(
      "outer_loops_for",
      [](const py::object& parameters, double dt) {
        const VehicleParameters vehicle = vehicle_parameters(parameters);
        validate(vehicle);
        validate_outer_loops(vehicle);
        if (!(dt > 0.0) || !std::isfinite(dt)) {
          refuse_parameter("dt", "a finite number > 0 s", py::float_(dt));
        }
        return to_dict(outer_loops_for(vehicle, dt));
      },
      "parameters"_a, "dt"_a);
}

}  // namespace propwash::bindings
