#include <pybind11/stl.h>

#include "biases.hpp"
#include "modules.hpp"
#include "propwash/model/sample_schedule.hpp"
#include "propwash/vehicle/sensor_fields.hpp"
#include "sensor_arrays.hpp"

namespace propwash::bindings {

namespace {

Rows<double> started_biases(const Rows<double>& bias,
                            const py::array_t<bool, py::array::c_style>& mask,
                            const std::vector<double>& deviations, const SampleNoise& noise) {
  auto result = new_array<double>(rows_of(bias), deviations.size());
  start_biases(rows_of(bias), bias.data(), mask.data(), deviations, noise, result.mutable_data());
  return result;
}

Rows<double> next_biases(const Rows<double>& bias, const std::vector<double>& deviations,
                         const std::vector<double>& times, double dt, const SampleNoise& noise) {
  auto result = new_array<double>(rows_of(bias), deviations.size());
  advance_biases(rows_of(bias), bias.data(), deviations, times, dt, noise, result.mutable_data());
  return result;
}

/// Values by name: numbers, or tuples.
template <class Parameters>
py::dict values_of(Parameters parameters) {
  py::dict values;
  for (const FieldView& field : fields(parameters)) {
    if (field.shape.rank == 0) {
      values[field.name.data()] = field[0];
      continue;
    }
    Array array(std::vector<py::ssize_t>(field.shape.begin(), field.shape.end()));
    field.get(array.mutable_data());
    values[field.name.data()] = py::tuple(array.attr("tolist")());
  }
  return values;
}

/// The default parameters of a kind of sensor.
py::dict sensor_defaults(const std::string& kind) {
  if (kind == "gnss") return values_of(typical_gnss());
  if (kind == "barometer") return values_of(ms5611_barometer());
  if (kind == "magnetometer") return values_of(hmc5883l_magnetometer());
  return values_of(RangeFinderParameters<double>{});
}

}  // namespace

void bind_sampling(py::module_& m) {
  py::class_<SampleNoise>(m, "SampleNoise",
                          "Normally distributed random numbers of one sample of a sensor.")
      .def(
          py::init([](std::uint64_t key, std::uint64_t sample, std::uint32_t first_id,
                      std::uint32_t stream) { return SampleNoise{key, sample, first_id, stream}; }),
          "key"_a, "sample"_a, "first_id"_a, "stream"_a);
  m.def("sensor_defaults", &sensor_defaults, "kind"_a);
  m.def("sensor_key", &sensor_key, "seed"_a, "sensor_seed"_a);
  m.def(
      "sample_step",
      [](std::uint64_t k, double rate, double dt, std::uint64_t start) {
        return SampleSchedule{rate, dt, start}.step_of(k);
      },
      "sample"_a, "rate"_a, "dt"_a, "start"_a);
  m.def("latency_in_steps", &latency_in_steps, "latency"_a, "dt"_a);
  m.def("bias_start", &started_biases, "bias"_a, "mask"_a, "deviations"_a, "noise"_a);
  m.def("bias_next", &next_biases, "bias"_a, "deviations"_a, "times"_a, "dt"_a, "noise"_a);
}

}  // namespace propwash::bindings
