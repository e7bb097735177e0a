#include <pybind11/stl.h>

#include "biases.hpp"
#include "modules.hpp"
#include "propwash/model/sample_schedule.hpp"
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

}  // namespace

void bind_sampling(py::module_& m) {
  py::class_<SampleNoise>(m, "SampleNoise",
                          "Normally distributed random numbers of one sample of a sensor.")
      .def(
          py::init([](std::uint64_t key, std::uint64_t sample, std::uint32_t first_id,
                      std::uint32_t stream) { return SampleNoise{key, sample, first_id, stream}; }),
          "key"_a, "sample"_a, "first_id"_a, "stream"_a);
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
