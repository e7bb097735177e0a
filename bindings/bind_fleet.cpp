#include "fleet_class.hpp"
#include "modules.hpp"

namespace propwash::bindings {

namespace {

/// What Python says of a fleet beside its vehicle.
FleetOptions options_from(const std::string& integrator, double dt, std::uint64_t seed,
                          std::uint32_t first_id, bool noise, double floor, const py::tuple& air,
                          int max_action_delay, bool nominal_controller) {
  FleetOptions options;
  options.integrator = integrator_named(integrator);
  options.dt = dt;
  options.seed = seed;
  options.first_id = first_id;
  options.noise = noise;
  options.floor = floor;
  options.turbulence = {air[0].cast<double>(), air[1].cast<double>(), air[2].cast<double>()};
  options.turbulence_heading = air[3].cast<double>();
  options.max_action_delay = max_action_delay;
  options.nominal_controller = nominal_controller;
  return options;
}

/// A sampler whose sample() is a method in Python.
class PySampler final : public FleetSampler {
 public:
  void sample(std::uint64_t step) override {
    PYBIND11_OVERRIDE_PURE(void, FleetSampler, sample, step);
  }
};

template <class T>
void bind_fleet_of(py::module_& m, const char* name) {
  using Self = PyFleet<T>;
  py::class_<Self> fleet(m, name, "See propwash.Fleet.");
  fleet
      .def(py::init([](const py::object& parameters, py::ssize_t size,
                       const std::string& integrator, double dt, std::uint64_t seed,
                       std::uint32_t first_id, bool noise, double floor, const py::tuple& air,
                       int max_action_delay, bool nominal_controller, std::optional<Pool> pool) {
             const auto options = options_from(integrator, dt, seed, first_id, noise, floor, air,
                                               max_action_delay, nominal_controller);
             return std::make_unique<Self>(parameters, size, options, pool.value_or(nullptr));
           }),
           py::arg("parameters"), py::arg("size"), py::arg("integrator"), py::arg("dt"),
           py::arg("seed"), py::arg("first_id"), py::arg("noise"), py::arg("floor"),
           py::arg("turbulence"), py::arg("max_action_delay"), py::arg("nominal_controller"),
           py::arg("pool"))
      .def("step", &Self::step, py::arg("command"), py::arg("substeps"))
      .def("rollout", &Self::rollout, py::arg("command"), py::arg("steps"), py::arg("substeps"),
           py::arg("record"), py::arg("after") = py::none())
      .def("attach", &Self::attach, py::arg("sampler"))
      .def("detach", &Self::detach, py::arg("sampler"))
      .def("__enter__", &Self::lock, "Keeps other threads out, until __exit__.")
      .def("__exit__", [](const Self& self, const py::object&, const py::object&,
                          const py::object&) { self.unlock(); })
      .def("reset", &Self::reset, py::arg("parts"), py::arg("mask"), py::arg("seed"))
      .def("set_state", &Self::set_state, py::arg("parts"), py::arg("mask"))
      .def("set_wind", &Self::set_wind, py::arg("wind").noconvert())
      .def("set_external_wrench", &Self::set_external_wrench, py::arg("force_W").noconvert(),
           py::arg("torque_B").noconvert())
      .def("set_rotor_effectiveness", &Self::set_rotor_effectiveness,
           py::arg("factors").noconvert())
      .def("set_battery_voltage", &Self::set_battery_voltage, py::arg("voltage").noconvert())
      .def("set_action_delay", &Self::set_action_delay, py::arg("steps").noconvert())
      .def("snapshot", &Self::snapshot)
      .def("restore", &Self::restore, py::arg("snapshot"))
      .def("parameter", &Self::parameter, py::arg("field"))
      .def("set_parameters", &Self::set_parameters, py::arg("values"), py::arg("some") = py::none())
      .def("own_parameters", &Self::own_parameters)
      .def("outer_loops", [](const Self& self) { return to_dict(self.outer_loops()); })
      .def(
          "set_outer_loops",
          [](Self& self, const py::dict& values) {
            self.set_outer_loops(outer_loops_from(self.outer_loops(), values));
          },
          py::arg("values"))
      .def("imu", &Self::imu)
      .def("kinematics", &Self::kinematics, py::arg("most"),
           "(position, velocity, attitude, body_rates, whether all are within most).")
      .def_property_readonly("time", &Self::time, "(n,) s, since each vehicle's reset")
      .def_property_readonly("size", &Self::size)
      .def_property_readonly("dt", [](const Self& self) { return self.fleet().options().dt; })
      .def_property_readonly("first_id", &Self::first_id)
      .def_property_readonly("isa", &Self::isa)
      .def_property_readonly("threads", &Self::threads)
      .def_property_readonly("steps", &Self::steps)
      .def_property_readonly("seed", &Self::seed)
      .def_property_readonly("bytes_per_vehicle", &Self::bytes_per_vehicle);
  for (const auto& named : named_fields) {
    fleet.def_property_readonly(
        named.name, [&named](const Self& self) { return self.read(named); }, named.meaning);
  }
}

}  // namespace

void bind_fleet(py::module_& m) {
  py::class_<ThreadPool, Pool>(m, "ThreadPool", "See propwash.ThreadPool.")
      .def(py::init<int>(), py::arg("threads"))
      .def_property_readonly("threads", &ThreadPool::threads, "the caller's thread included");
  py::class_<FleetSampler, PySampler>(
      m, "FleetSampler",
      "Samples a fleet where steps reach next_step: a subclass has sample(step).")
      .def(py::init<>())
      .def_readwrite("next_step", &FleetSampler::next_step, "step of the next sample");
  bind_fleet_of<float>(m, "FleetFloat32");
  bind_fleet_of<double>(m, "FleetFloat64");
  m.def("build_info", &build_info);
  m.def("fma_peak", &fma_peak, py::arg("dtype"),
        "GFLOP/s of one core in multiply-adds, measured for about a tenth of a second.");
}

}  // namespace propwash::bindings
