#include <pybind11/eigen.h>

#include <Eigen/Core>

#include "arrays.hpp"
#include "modules.hpp"
#include "parameters.hpp"
#include "propwash/integrate/integrate.hpp"

namespace propwash::bindings {

namespace {

Eigen::VectorXd vector_of(const Array& array) {
  return Eigen::Map<const Eigen::VectorXd>(array.data(), array.size());
}

/// One step of the library's integrators over a derivative that Python gives.
Eigen::VectorXd integrate_step(const py::function& derivative, const py::object& state,
                               const py::object& dt, const std::string& method) {
  const char* expected = "a one-dimensional array of finite numbers";
  const Array start = shaped_array(state, "state", expected, {any_length});
  const double seconds = finite_number(dt, "dt", "a finite number > 0 [s]");
  if (seconds <= 0.0) refuse("dt", "a finite number > 0 [s]", dt);
  const Eigen::VectorXd x = vector_of(start);

  const auto f = [&](const Eigen::VectorXd& at) -> Eigen::VectorXd {
    const py::object rate = derivative(at);
    const std::string shape =
        "an array of shape (" + std::to_string(x.size()) + ",) like the state, of finite numbers";
    return vector_of(shaped_array(rate, "derivative's result", shape, {x.size()}));
  };
  switch (integrator_named(method)) {
    case Integrator::euler:
      return Euler{}(f, x, seconds);
    case Integrator::rk4:
      return Rk4{}(f, x, seconds);
    case Integrator::symplectic_euler:
      break;
  }
  throw py::value_error(
      "method = 'symplectic_euler': expected 'euler' or 'rk4', an array does not say which of its "
      "elements are velocities");
}

}  // namespace

void bind_integrate(py::module_& m) {
  m.def("integrate_step", &integrate_step, "derivative"_a, "state"_a, "dt"_a, "method"_a,
        "One step of dt [s] from a state (n,) with derivative(state) -> (n,); method 'euler' or "
        "'rk4'.");
}

}  // namespace propwash::bindings
