#include "modules.hpp"

PYBIND11_MODULE(_render, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._world"}, {bind_image, bind_render});
}
