#include "modules.hpp"

PYBIND11_MODULE(_derivatives, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._float64"},
               {bind_linearize, bind_mpc, bind_symbolic, bind_gradient, bind_open_loop});
}
