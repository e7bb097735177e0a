#include "fleet_kernels.hpp"
#include "modules.hpp"

PYBIND11_MODULE(_models, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._core"},
               {bind_control, bind_flatness, bind_car_fleet, bind_device_fleet});
  m.def(
      "kernels",
      [](int set) -> pybind11::object {
        const auto source = PROPWASH_KERNELS_OF(static_cast<InstructionSet>(set), shapes, float);
        return pybind11::capsule(reinterpret_cast<const void*>(source));
      },
      pybind11::arg("set"),
      "The kernels of float32 fleets other than parallel quadcopters, for an instruction set.");
}
