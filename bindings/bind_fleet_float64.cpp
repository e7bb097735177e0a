#include "device_fleet.hpp"
#include "fleet_kernels.hpp"
#include "modules.hpp"

namespace propwash::bindings {

template <>
FleetKernelSource<double> fleet_kernels_of<double>(InstructionSet set) {
  return PROPWASH_KERNELS_OF(set, fleet, double);
}

void bind_fleet_float64(py::module_& m) {
  bind_fleet_of<double>(m, "FleetFloat64");
  bind_device_fleet_of<double>(m, "DeviceFleetFloat64");
}

}  // namespace propwash::bindings
