#pragma once
/// @file
/// Rows of numbers of many vehicles, which Python has checked, as the sensors read them.

#include <pybind11/stl.h>

#include <vector>

#include "arrays.hpp"

namespace propwash::bindings {

/// In C order, of the very type: (n, columns).
template <class T>
using Rows = py::array_t<T, py::array::c_style>;

template <class T>
std::size_t rows_of(const Rows<T>& rows) {
  return static_cast<std::size_t>(rows.shape(0));
}

/// Row i, in double: the models of sensors that are not on a hot path.
template <class T>
Vec3<double> vector_at(const Rows<T>& rows, std::size_t i) {
  return vec3_at(rows.data() + 3 * i);
}
template <class T>
Quat<double> quaternion_at(const Rows<T>& rows, std::size_t i) {
  return quat_at(rows.data() + 4 * i);
}

}  // namespace propwash::bindings
