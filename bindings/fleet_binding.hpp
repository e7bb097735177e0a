#pragma once
/// @file
/// The binding of fleets of one number type.

#include "fleet_class.hpp"

namespace propwash::bindings {

inline FleetOptions options_from(const py::dict& from) {
  FleetOptions options;
  const auto read = [&](const char* name, auto& to) {
    to = from[name].cast<std::decay_t<decltype(to)>>();
  };
  options.integrator = integrator_named(from["integrator"].cast<std::string>());
  read("dt", options.dt);
  read("seed", options.seed);
  read("first_id", options.first_id);
  read("noise", options.noise);
  if (!from["floor"].is_none()) read("floor", options.floor);
  read("max_action_delay", options.max_action_delay);
  options.control_vehicle = optional_vehicle(from["control_vehicle"]);
  return with_turbulence(options, from["turbulence"]);
}

template <class T>
void bind_fleet_of(py::module_& m, const char* name) {
  using Self = PyFleet<T>;
  using Bound = Fleet<Multicopter<>, T>;
  using Rows = typename Self::Rows;
  using Counts = py::array_t<std::uint32_t, py::array::c_style>;
  py::class_<Self>(m, name, "See propwash.Fleet.")
      .def(py::init([](const py::object& parameters, py::ssize_t size, const py::dict& options,
                       const MaybePool& pool) {
             return std::make_unique<Self>(parameters, size, options_from(options), pool);
           }),
           "parameters"_a, "size"_a, "options"_a, "pool"_a)
      .def("step", &Self::step, "command"_a, "substeps"_a, "estimate"_a = py::none())
      .def("rollout", &Self::rollout, "command"_a, "steps"_a, "substeps"_a, "record"_a,
           "after"_a = py::none())
      .def("attach", &Self::attach, "sampler"_a)
      .def("detach", &Self::detach, "sampler"_a)
      .def("__enter__", &Self::lock, "Locks the fleet for this thread until __exit__.")
      .def("__exit__", [](const Self& self, const py::args&) { self.unlock(); })
      .def("reset", &Self::reset, "parts"_a, "mask"_a, "seed"_a)
      .def("set_state", &Self::set_state, "parts"_a, "mask"_a)
      .def("set_wind", &Self::template set_rows<&Bound::set_wind, Rows>, "wind"_a.noconvert())
      .def("set_external_wrench", &Self::template set_rows<&Bound::set_external_wrench, Rows, Rows>,
           "force_W"_a.noconvert(), "torque_B"_a.noconvert())
      .def("set_rotor_effectiveness",
           &Self::template set_rows<&Bound::set_rotor_effectiveness, Rows>, "factors"_a.noconvert())
      .def("set_battery_voltage", &Self::template set_rows<&Bound::set_battery_voltage, Rows>,
           "voltage"_a.noconvert())
      .def("set_state_of_charge", &Self::template set_rows<&Bound::set_state_of_charge, Rows>,
           "state_of_charge"_a.noconvert())
      .def("set_action_delay", &Self::template set_rows<&Bound::set_action_delay, Counts>,
           "steps"_a.noconvert())
      .def("snapshot", &Self::snapshot)
      .def("restore", &Self::restore, "snapshot"_a)
      .def("parameter", &Self::parameter, "field"_a)
      .def("set_parameters", &Self::set_parameters, "values"_a, "some"_a = py::none())
      .def("own_parameters", &Self::own_parameters)
      .def("outer_loops",
           [](const Self& self) { return to_dict(self.template value<&Bound::outer_loops>()); })
      .def("set_outer_loops", &Self::set_outer_loops, "values"_a)
      .def("imu", &Self::imu)
      .def("kinematics", &Self::kinematics, "bound"_a)
      .def("read", &Self::read, "field"_a)
      .def_property_readonly("time", &Self::time)
      .def_property_readonly("size", &Self::size)
      .def_property_readonly("dt", [](const Self& self) { return self.options().dt; })
      .def_property_readonly("first_id", [](const Self& self) { return self.options().first_id; })
      .def_property_readonly("isa", &Self::isa)
      .def_property_readonly("threads", &Self::threads)
      .def_property_readonly("steps", &Self::template value<&Bound::steps>)
      .def_property_readonly("seed", [](const Self& self) { return self.options().seed; })
      .def_property_readonly("bytes_per_vehicle", &Self::bytes_per_vehicle);
}

}  // namespace propwash::bindings
