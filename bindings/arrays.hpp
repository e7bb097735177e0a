#pragma once
/// @file
/// Conversion of Python numbers and arrays to the library's types. Errors report the expected and
/// the received value.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "finite_checks.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/small_array.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::bindings {

namespace py = pybind11;
using namespace py::literals;  // "name"_a for the arguments of bound functions

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Text for an error message: the value's repr, truncated, with the shape of an array in front.
std::string described(py::handle value);

/// Raises ValueError: "<name>: expected <expected>, got <value>".
[[noreturn]] void refuse(const std::string& name, const std::string& expected, py::handle value);

/// Raises ParameterError with the same text, for parameters of models and controllers.
[[noreturn]] void refuse_parameter(const std::string& name, const std::string& expected,
                                   py::handle value);

/// Whether a value is an aligned array of T in C order, which needs no conversion. Ten times faster
/// than the checks in the conversions of pybind11 and NumPy, which take up to a microsecond.
template <class T>
bool is_ready(py::handle value) {
  if (!py::isinstance<py::array>(value)) return false;
  const auto array = py::reinterpret_borrow<py::array>(value);
  const py::dtype type = array.dtype();
  const char order = type.byteorder();  // '=': native, '|': single-byte type
  constexpr int ready_flags =
      py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return type.num() == py::dtype::num_of<T>() && (order == '=' || order == '|') &&
         (array.flags() & ready_flags) == ready_flags;
}
/// An array of any real NumPy type; a null object for other values.
py::array numeric_array(py::handle value);
/// An array of finite numbers in C order, copied only if necessary. Raises ValueError.
Array finite_array(py::handle value, const std::string& name, const std::string& expected);
/// Likewise for a given shape; `any_length` accepts any length of an axis. Raises ValueError.
constexpr py::ssize_t any_length = -1;
Array shaped_array(py::handle value, const std::string& name, const std::string& expected,
                   std::initializer_list<py::ssize_t> shape);
/// Arrays of finite numbers by name; omits entries that are None. Raises ValueError.
using Arrays = std::map<std::string, Array>;
Arrays arrays_from(const py::dict& from);
/// A finite number. Raises ValueError.
double finite_number(py::handle value, const std::string& name, const std::string& expected);
/// Three finite numbers. Raises ValueError.
Vec3<double> vec3(py::handle value, const std::string& name, const std::string& unit);
/// A unit quaternion, scalar first, normalised. Raises ValueError.
Quat<double> attitude(py::handle value, const std::string& name);
/// A whole number of at least `min`. Raises ValueError.
py::ssize_t whole_number(py::handle value, const std::string& name, py::ssize_t min);

/// A new array of shape (n,) or (n, width).
template <class T>
py::array_t<T> new_array(std::size_t n) {
  return py::array_t<T>(static_cast<py::ssize_t>(n));
}
template <class T>
py::array_t<T> new_array(std::size_t n, std::size_t width) {
  return py::array_t<T>({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(width)});
}

/// Reads a vector, or a quaternion (w, x, y, z), from consecutive numbers at `from`.
template <class T>
Vec3<double> vec3_at(const T* from) {
  return cast<double>(Vec3<T>{from[0], from[1], from[2]});
}
template <class T>
Quat<double> quat_at(const T* from) {
  return cast<double>(Quat<T>{from[0], from[1], from[2], from[3]});
}

inline SmallArray<double> small_array(const double* from, int size) {
  SmallArray<double> values;
  values.resize(size);
  for (int i = 0; i < size; ++i) values[i] = from[i];
  return values;
}

/// Number of components of a number, a vector, a quaternion or a container.
inline py::ssize_t size_of(double) { return 1; }
inline py::ssize_t size_of(const Vec3<double>&) { return 3; }
inline py::ssize_t size_of(const Quat<double>&) { return 4; }
template <class Values>
py::ssize_t size_of(const Values& values) {
  return static_cast<py::ssize_t>(values.size());
}
/// Writes the components to `to`; returns the position after them.
inline double* put(double number, double* to) {
  *to = number;
  return to + 1;
}
template <class T>
T* put(const Vec3<double>& v, T* to) {
  to[0] = static_cast<T>(v.x), to[1] = static_cast<T>(v.y), to[2] = static_cast<T>(v.z);
  return to + 3;
}
inline double* put(const Quat<double>& q, double* to) {
  to[0] = q.w, to[1] = q.x, to[2] = q.y, to[3] = q.z;
  return to + 4;
}
template <class Values, class T>
T* put(const Values& values, T* to) {
  for (const double value : values) *to++ = value;
  return to;
}
/// A new NumPy array (size,) of the components.
template <class Value>
Array to_array(const Value& value) {
  Array result(size_of(value));
  put(value, result.mutable_data());
  return result;
}

/// A new array (n, columns) of the components of value_of(i).
template <class T, class F>
py::array_t<T> filled_rows(std::size_t n, std::size_t columns, const F& value_of) {
  auto rows = new_array<T>(n, columns);
  T* to = rows.mutable_data();
  for (std::size_t i = 0; i < n; ++i) to = put(value_of(i), to);
  return rows;
}

}  // namespace propwash::bindings
