#include "device_fleet.hpp"
#include "modules.hpp"

namespace propwash::bindings {

/// Those of the first part, whose dispatch.cpp selects the shape.
template <>
FleetKernelSource<float> fleet_kernels_of<float>(InstructionSet set) {
  const py::gil_scoped_acquire gil;
  const auto source = py::module_::import("propwash._core").attr("kernels")(static_cast<int>(set));
  return reinterpret_cast<FleetKernelSource<float>>(source.cast<py::capsule>().get_pointer());
}

void bind_device_fleet(py::module_& m) { bind_device_fleet_of<float>(m, "DeviceFleetFloat32"); }

}  // namespace propwash::bindings
