#include "arrays.hpp"

#include <algorithm>

#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

constexpr std::size_t max_repr = 100;

}  // namespace

std::string described(py::handle value) {
  std::string text = py::repr(value).cast<std::string>();
  if (text.size() > max_repr) text = text.substr(0, max_repr - 3) + "...";
  if (py::isinstance<py::array>(value)) {
    const auto shape = py::str(value.attr("shape")).cast<std::string>();
    text = "an array of shape " + shape + ": " + text;
  }
  return text;
}

void refuse(const std::string& name, const std::string& expected, py::handle value) {
  throw py::value_error(name + ": expected " + expected + ", got " + described(value));
}

void refuse_parameter(const std::string& name, const std::string& expected, py::handle value) {
  throw ParameterError(name + ": expected " + expected + ", got " + described(value));
}

py::array numeric_array(py::handle value) {
  py::array array = py::array::ensure(value);  // clears Python's error if the conversion fails
  const char kind = array ? array.dtype().kind() : 'O';
  return kind == 'f' || kind == 'i' || kind == 'u' ? array : py::reinterpret_steal<py::array>({});
}

Array finite_array(py::handle value, const std::string& name, const std::string& expected) {
  const py::array any = numeric_array(value);
  if (!any) refuse(name, expected, value);
  Array array = Array::ensure(any);
  if (!array) refuse(name, expected, value);
  if (first_not_finite(array.data(), array.size()) >= 0) {
    refuse(name, array.ndim() > 0 ? expected + ", all finite" : expected, value);
  }
  return array;
}

Array shaped_array(py::handle value, const std::string& name, const std::string& expected,
                   std::initializer_list<py::ssize_t> shape) {
  Array array = finite_array(value, name, expected);
  const bool matches =
      std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim(),
                 [](py::ssize_t expected, py::ssize_t got) {
                   return expected == got || expected == any_length;
                 });
  if (!matches) refuse(name, expected, value);
  return array;
}

Arrays arrays_from(const py::dict& from) {
  Arrays arrays;
  for (const auto& [key, value] : from) {
    const auto name = key.cast<std::string>();
    if (!value.is_none()) arrays[name] = finite_array(value, name, "numbers");
  }
  return arrays;
}

double finite_number(py::handle value, const std::string& name, const std::string& expected) {
  if (PyFloat_CheckExact(value.ptr())) {  // the most common type: ten times faster than below
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    if (std::isfinite(number)) return number;
  }
  return *shaped_array(value, name, expected, {}).data();
}

Vec3<double> vec3(py::handle value, const std::string& name, const std::string& unit) {
  const std::string expected = "3 finite numbers [" + unit + "]";
  return vec3_at(shaped_array(value, name, expected, {3}).data());
}

Quat<double> attitude(py::handle value, const std::string& name) {
  const std::string expected = "a unit quaternion of 4 numbers, (w, x, y, z)";
  const auto q = quat_at(shaped_array(value, name, expected, {4}).data());
  if (!(std::abs(squared_norm(q) - 1.0) < 1e-3)) refuse(name, expected, value);
  return normalized(q);
}

py::ssize_t whole_number(py::handle value, const std::string& name, py::ssize_t min) {
  const std::string expected = "a whole number of at least " + std::to_string(min);
  if (PyBool_Check(value.ptr())) refuse(name, expected, value);
  const py::ssize_t result = PyNumber_AsSsize_t(value.ptr(), PyExc_OverflowError);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(name, expected, value);
  }
  if (result < min) refuse(name, expected, value);
  return result;
}

}  // namespace propwash::bindings
