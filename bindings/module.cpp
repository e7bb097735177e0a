#include <pybind11/pybind11.h>

#include "modules.hpp"
#include "propwash/vehicle/validate.hpp"
#include "propwash/version.hpp"

namespace {

/// Translates the C++ ParameterError to propwash.ParameterError.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const propwash::ParameterError& error) {
    const auto type = pybind11::module_::import("propwash._checks").attr("ParameterError");
    PyErr_SetString(type.ptr(), error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "Extension module of propwash; import its contents from the package.";
  m.attr("__version__") = PROPWASH_VERSION;
  pybind11::register_exception_translator(&translate);
  using namespace propwash::bindings;
  for (Bind* bind :
       {bind_commands, bind_parameters, bind_control,  bind_flatness,    bind_multicopter,
        bind_imu,      bind_linearize,  bind_symbolic, bind_car,         bind_fleet,
        bind_gradient, bind_open_loop,  bind_world,    bind_sensors,     bind_world_sensors,
        bind_image,    bind_render,     bind_learn,    bind_learn_tasks, bind_learn_scenes,
        bind_estimate}) {
    bind(m);
  }
}
