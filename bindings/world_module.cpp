#include "modules.hpp"

PYBIND11_MODULE(_world, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._core"},
               {bind_world, bind_sensors, bind_world_sensors, bind_estimate});
}
