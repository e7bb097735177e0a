#include "arrays.hpp"

#include "propwash/vehicle/validate.hpp"

namespace propwash::bindings {

namespace {

constexpr std::size_t longest_repr = 100;

}  // namespace

std::string described(py::handle value) {
  std::string text = py::repr(value).cast<std::string>();
  if (text.size() > longest_repr) text = text.substr(0, longest_repr - 3) + "...";
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

Array finite_array(py::handle value, const std::string& name, const std::string& expected) {
  const py::array any = py::array::ensure(value);  // clears Python's error where there is none
  const char kind = any ? any.dtype().kind() : 'O';
  if (kind != 'f' && kind != 'i' && kind != 'u') refuse(name, expected, value);
  Array array = Array::ensure(any);
  if (!array) refuse(name, expected, value);
  const double* data = array.data();
  for (py::ssize_t i = 0; i < array.size(); ++i) {
    if (!std::isfinite(data[i])) {
      refuse(name, array.ndim() > 0 ? expected + ", all finite" : expected, value);
    }
  }
  return array;
}

double finite_number(py::handle value, const std::string& name, const std::string& expected) {
  if (PyFloat_CheckExact(value.ptr())) {  // what nearly every call brings, at a tenth of the price
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    if (std::isfinite(number)) return number;
  }
  const Array array = finite_array(value, name, expected);
  if (array.ndim() != 0) refuse(name, expected, value);
  return *array.data();
}

Vec3<double> vec3(py::handle value, const std::string& name, const std::string& unit) {
  const std::string expected = "3 finite numbers [" + unit + "]";
  const Array array = finite_array(value, name, expected);
  if (array.ndim() != 1 || array.shape(0) != 3) refuse(name, expected, value);
  return {array.data()[0], array.data()[1], array.data()[2]};
}

Quat<double> attitude(py::handle value, const std::string& name) {
  const std::string expected = "a unit quaternion of 4 numbers, (w, x, y, z)";
  const Array array = finite_array(value, name, expected);
  if (array.ndim() != 1 || array.shape(0) != 4) refuse(name, expected, value);
  const double* d = array.data();
  const Quat<double> q{d[0], d[1], d[2], d[3]};
  if (!(std::abs(squared_norm(q) - 1.0) < 1e-3)) refuse(name, expected, value);
  return normalized(q);
}

py::ssize_t whole_number(py::handle value, const std::string& name, py::ssize_t least) {
  const std::string expected = "a whole number of at least " + std::to_string(least);
  if (PyBool_Check(value.ptr())) refuse(name, expected, value);
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) {
    PyErr_Clear();
    refuse(name, expected, value);
  }
  const py::ssize_t result = PyLong_AsSsize_t(number.ptr());
  if (result == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(name, expected, value);
  }
  if (result < least) refuse(name, expected, value);
  return result;
}

Array to_array(const Vec3<double>& v) {
  Array result(3);
  double* to = result.mutable_data();
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  return result;
}

Array to_array(const Quat<double>& q) {
  Array result(4);
  double* to = result.mutable_data();
  to[0] = q.w;
  to[1] = q.x;
  to[2] = q.y;
  to[3] = q.z;
  return result;
}

}  // namespace propwash::bindings
