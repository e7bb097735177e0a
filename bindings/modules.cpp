#include "modules.hpp"

#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

/// Translates the C++ ParameterError to propwash.ParameterError.
void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const ParameterError& error) {
    const auto type = pybind11::module_::import("propwash._checks").attr("ParameterError");
    PyErr_SetString(type.ptr(), error.what());
  }
}

}  // namespace

void add_contents(pybind11::module_& m, std::initializer_list<const char*> needed,
                  std::initializer_list<Bind*> contents) {
  for (const char* const name : needed) pybind11::module_::import(name);
  m.doc() = "Extension module of propwash; import its contents from the package.";
  pybind11::register_local_exception_translator(&translate);
  for (Bind* const bind : contents) bind(m);
}

}  // namespace propwash::bindings
