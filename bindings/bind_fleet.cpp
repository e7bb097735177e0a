#include "fleet_binding.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

/// A sampler whose sample() is a method in Python.
class PySampler final : public FleetSampler {
 public:
  void sample(std::uint64_t step) override {
    PYBIND11_OVERRIDE_PURE(void, FleetSampler, sample, step);
  }
};

}  // namespace

void bind_fleet(py::module_& m) {
  py::class_<BoundThreadPool, std::shared_ptr<BoundThreadPool>>(m, "ThreadPool",
                                                                "See propwash.ThreadPool.")
      .def(py::init<int>(), "threads"_a)
      .def_property_readonly("threads", &BoundThreadPool::threads,
                             "number of threads, including the caller's");
  py::class_<FleetSampler, PySampler>(
      m, "FleetSampler",
      "Base class: the fleet calls sample(step) of a subclass when its steps reach next_step.")
      .def(py::init<>())
      .def_readwrite("next_step", &FleetSampler::next_step, "step count of the next sample");
  bind_fleet_of<float>(m, "FleetFloat32");
  m.def(
      "kernels",
      [](int set) -> py::object {
        const auto source = fleet_kernels_of<float>(static_cast<InstructionSet>(set));
        return py::capsule(reinterpret_cast<const void*>(source));
      },
      "set"_a, "The kernels of float32 fleets, for an instruction set.");
  m.def("build_info", &build_info);
  m.def("fma_peak", &fma_peak, "dtype"_a,
        "Measures the peak multiply-add rate of one core in GFLOP/s, in about 0.1 s.");
}

}  // namespace propwash::bindings
