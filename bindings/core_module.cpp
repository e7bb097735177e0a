#include "modules.hpp"
#include "propwash/version.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace propwash::bindings;
  m.attr("__version__") = PROPWASH_VERSION;
  add_contents(m, {},
               {bind_commands, bind_parameters, bind_multicopter, bind_imu, bind_car, bind_fleet,
                bind_sampling, bind_learn});
}
