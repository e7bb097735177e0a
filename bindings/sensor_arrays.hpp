#pragma once
/// @file
/// Arrays with a row for each vehicle, which Python has checked, for the sensor bindings.

#include <pybind11/stl.h>

#include <vector>

#include "arrays.hpp"

namespace propwash::bindings {

/// An array (n, columns) in C order, without conversion of its type.
template <class T>
using Rows = py::array_t<T, py::array::c_style>;

template <class T>
std::size_t rows_of(const Rows<T>& rows) {
  return static_cast<std::size_t>(rows.shape(0));
}

/// Row i in double: these sensor models are not performance-critical.
template <class T>
Vec3<double> vector_at(const Rows<T>& rows, std::size_t i) {
  return vec3_at(rows.data() + 3 * i);
}
template <class T>
Quat<double> quaternion_at(const Rows<T>& rows, std::size_t i) {
  return quat_at(rows.data() + 4 * i);
}

}  // namespace propwash::bindings
