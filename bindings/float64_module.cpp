#include "modules.hpp"

PYBIND11_MODULE(_float64, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._core"}, {bind_fleet_float64});
}
