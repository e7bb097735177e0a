#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "derivative_kernels.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/fleet/open_loop.hpp"
#include "propwash/vehicle/fields.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

namespace {

/// The numbers of the array `name`, or null if there is none. Raises ValueError for another shape.
const double* numbers_of(const Arrays& arrays, const std::string& name,
                         const std::vector<py::ssize_t>& shape) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return nullptr;
  const Array& array = found->second;
  if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim())) {
    refuse(name, "an array of shape " + py::str(py::tuple(py::cast(shape))).cast<std::string>(),
           array);
  }
  return array.data();
}

/// Derivatives of the vehicle's parameters, one set for each of D unknowns. slopes: arrays (D, ...)
/// by name of the field; all other fields are 0.
std::vector<VehicleParameters> vehicle_slopes(const VehicleParameters& vehicle,
                                              const Arrays& slopes, py::ssize_t unknowns) {
  VehicleParameters zero = vehicle;
  for (const auto& field : fields(zero)) {
    const std::vector<double> zeros(static_cast<std::size_t>(field.size()), 0.0);
    field.set(zeros.data());
  }
  std::vector<VehicleParameters> result(static_cast<std::size_t>(unknowns), zero);
  for (const auto& item : slopes) {
    const auto known = find_field(zero, item.first);
    if (!known) refuse("slopes", "names of the vehicle's fields", py::str(item.first));
    std::vector<py::ssize_t> shape{unknowns};
    shape.insert(shape.end(), known->shape.begin(), known->shape.end());
    const double* from = numbers_of(slopes, item.first, shape);
    for (auto& slope : result) {
      find_field(slope, item.first)->set(from);
      from += known->size();
    }
  }
  return result;
}

/// Allocates arrays (1 + D, W, H, 3), attitudes (1 + D, W, H, 4), for the names in `record` and
/// sets the pointers of `to`.
py::dict open_loop_arrays(const std::vector<std::string>& record, std::vector<py::ssize_t> shape,
                          OpenLoopRecord& to) {
  const std::pair<const char*, double**> known[] = {{"position", &to.position},
                                                    {"velocity", &to.velocity},
                                                    {"attitude", &to.attitude},
                                                    {"body_rates", &to.body_rates},
                                                    {"specific_force", &to.specific_force}};
  py::dict arrays;
  for (const auto& name : record) {
    const auto* const found = std::find_if(std::begin(known), std::end(known),
                                           [&](const auto& one) { return name == one.first; });
    if (found == std::end(known)) {
      refuse("record", "position, velocity, attitude, body_rates or specific_force", py::str(name));
    }
    shape.back() = name == "attitude" ? 4 : 3;
    Array array(shape);
    *found->second = array.mutable_data();
    arrays[found->first] = array;
  }
  return arrays;
}

/// Simulates windows of a log. log: arrays of K rows on a uniform time grid, by name; slopes:
/// derivatives (D, ...) of the vehicle's parameters, by name. Returns arrays by name.
py::dict fly_open_loop(const py::object& parameters, const py::dict& slopes,
                       const py::object& unknowns, const py::dict& log, double period, int substeps,
                       const py::object& starts, const py::object& samples,
                       const py::object& attitude_every, const std::vector<std::string>& record,
                       const MaybePool& pool) {
  const auto count = [](py::handle value, const char* name) {
    return static_cast<std::size_t>(whole_number(value, name, 0));
  };
  const py::ssize_t derivatives = whole_number(unknowns, "unknowns", 0);
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  const OpenLoop open_loop(vehicle, vehicle_slopes(vehicle, arrays_from(slopes), derivatives),
                           PROPWASH_KERNELS_OF(used_set(), open_loop, double));
  const Arrays columns = arrays_from(log);
  const auto rotors = static_cast<py::ssize_t>(vehicle.rotors.size());
  const Array commands = shaped_array(log["commands"], "commands",
                                      "an array of shape (K - 1, " + std::to_string(rotors) + ")",
                                      {any_length, rotors});
  const py::ssize_t rows = commands.shape(0) + 1;
  std::vector<std::size_t> start_rows;
  for (const auto& start : starts) start_rows.push_back(count(start, "starts"));
  OpenLoopFlight flight;
  flight.rows = static_cast<std::size_t>(rows);
  flight.period = period;
  flight.substeps = substeps;
  flight.position = numbers_of(columns, "position", {rows, 3});
  flight.velocity = numbers_of(columns, "velocity", {rows, 3});
  flight.attitude = numbers_of(columns, "attitude", {rows, 4});
  flight.body_rates = numbers_of(columns, "body_rates", {rows, 3});
  flight.commands = commands.data();
  flight.slopes = numbers_of(columns, "command_slopes", {derivatives, rows - 1, rotors});
  flight.starts = start_rows.data();
  flight.windows = start_rows.size();
  flight.samples = count(samples, "samples");
  flight.attitude_every = count(attitude_every, "attitude_every");

  OpenLoopRecord to;
  const std::vector<py::ssize_t> shape{1 + derivatives, static_cast<py::ssize_t>(flight.windows),
                                       static_cast<py::ssize_t>(flight.samples), 3};
  py::dict arrays = open_loop_arrays(record, shape, to);
  const py::gil_scoped_release release;
  open_loop.fly(flight, to, executor_of(pool));
  return arrays;
}

/// Returns motor commands (K - 1, N) [rad/s] and their derivatives (D, K - 1, N). log: duty cycles
/// (K - 1, N) and optionally a battery voltage (K - 1) [V] with its derivatives (D, K - 1).
py::tuple drive_open_loop(const py::object& parameters, const py::dict& slopes,
                          py::ssize_t unknowns, const py::dict& log, double period) {
  const VehicleParameters vehicle = vehicle_parameters(parameters);
  const OpenLoop driven(vehicle, vehicle_slopes(vehicle, arrays_from(slopes), unknowns),
                        PROPWASH_KERNELS_OF(used_set(), open_loop, double));
  const Arrays columns = arrays_from(log);
  const auto rotors = static_cast<py::ssize_t>(vehicle.rotors.size());
  const Array& duty = columns.at("duty");
  const py::ssize_t held = duty.shape(0);
  OpenLoopDuty from;
  from.rows = static_cast<std::size_t>(held) + 1;
  from.period = period;
  from.duty = numbers_of(columns, "duty", {held, rotors});
  from.voltage = numbers_of(columns, "voltage", {held});
  from.voltage_slopes = numbers_of(columns, "voltage_slopes", {unknowns, held});
  Array commands({held, rotors}), derivatives({unknowns, held, rotors});
  driven.drive(from, commands.mutable_data(), derivatives.mutable_data());
  return py::make_tuple(commands, derivatives);
}

}  // namespace

void bind_open_loop(py::module_& m) {
  m.def("fly_open_loop", &fly_open_loop, "parameters"_a, "slopes"_a, "unknowns"_a, "log"_a,
        "period"_a, "substeps"_a, "starts"_a, "samples"_a, "attitude_every"_a, "record"_a,
        "pool"_a);
  m.def("drive_open_loop", &drive_open_loop, "parameters"_a, "slopes"_a, "unknowns"_a, "log"_a,
        "period"_a);
}

}  // namespace propwash::bindings
