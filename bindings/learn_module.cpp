#include "modules.hpp"

PYBIND11_MODULE(_learn, m) {
  using namespace propwash::bindings;
  add_contents(m, {"propwash._world"}, {bind_learn_tasks, bind_learn_scenes});
}
