#pragma once
/// @file
/// From Python's numbers and arrays to the library's types, with errors that say what was expected
/// and what came.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <string>
#include <vector>

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::bindings {

namespace py = pybind11;

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// What came, short enough for a message: the value's repr, an array's shape in front.
std::string described(py::handle value);

/// Raises ValueError: "<name>: expected <expected>, got <value>".
[[noreturn]] void refuse(const std::string& name, const std::string& expected, py::handle value);

/// Raises ParameterError with that text, for what is a parameter of a model or a controller.
[[noreturn]] void refuse_parameter(const std::string& name, const std::string& expected,
                                   py::handle value);

/// An array of finite numbers in C order; a copy only where needed. Raises ValueError.
Array finite_array(py::handle value, const std::string& name, const std::string& expected);
/// A finite number. Raises ValueError.
double finite_number(py::handle value, const std::string& name, const std::string& expected);
/// Three finite numbers. Raises ValueError.
Vec3<double> vec3(py::handle value, const std::string& name, const std::string& unit);
/// A unit quaternion, scalar first; made exactly unit. Raises ValueError.
Quat<double> attitude(py::handle value, const std::string& name);
/// A whole number of at least `least`. Raises ValueError.
py::ssize_t whole_number(py::handle value, const std::string& name, py::ssize_t least);

/// A new numpy array of the values.
Array to_array(const Vec3<double>& v);
Array to_array(const Quat<double>& q);
template <class Values>
Array to_array_of(const Values& values) {
  Array result(static_cast<py::ssize_t>(values.size()));
  double* to = result.mutable_data();
  for (const auto& value : values) *to++ = value;
  return result;
}

}  // namespace propwash::bindings
