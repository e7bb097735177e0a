#include <pybind11/pybind11.h>

#include "modules.hpp"
#include "propwash/vehicle/validate.hpp"
#include "propwash/version.hpp"

namespace {

/// ParameterError of C++ as propwash.parameters.ParameterError.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const propwash::ParameterError& error) {
    const auto type = pybind11::module_::import("propwash.parameters").attr("ParameterError");
    PyErr_SetString(type.ptr(), error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled part of propwash; use it through the package.";
  m.attr("__version__") = PROPWASH_VERSION;
  pybind11::register_exception_translator(&translate);
  propwash::bindings::bind_commands(m);
  propwash::bindings::bind_outer_commands(m);
  propwash::bindings::bind_control(m);
  propwash::bindings::bind_integrate(m);
  propwash::bindings::bind_multicopter(m);
  propwash::bindings::bind_imu(m);
  propwash::bindings::bind_linearize(m);
  propwash::bindings::bind_car(m);
  propwash::bindings::bind_fleet(m);
  propwash::bindings::bind_open_loop(m);
  propwash::bindings::bind_world(m);
  propwash::bindings::bind_sensors(m);
  propwash::bindings::bind_world_sensors(m);
  propwash::bindings::bind_image(m);
  propwash::bindings::bind_render(m);
  propwash::bindings::bind_learn(m);
  propwash::bindings::bind_learn_tasks(m);
}
