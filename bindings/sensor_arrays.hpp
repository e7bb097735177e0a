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
  const T* p = rows.data() + 3 * i;
  return {static_cast<double>(p[0]), static_cast<double>(p[1]), static_cast<double>(p[2])};
}
template <class T>
Quat<double> quaternion_at(const Rows<T>& rows, std::size_t i) {
  const T* q = rows.data() + 4 * i;
  return {static_cast<double>(q[0]), static_cast<double>(q[1]), static_cast<double>(q[2]),
          static_cast<double>(q[3])};
}
template <class T>
void store(const Vec3<double>& v, T* to) {
  to[0] = static_cast<T>(v.x);
  to[1] = static_cast<T>(v.y);
  to[2] = static_cast<T>(v.z);
}

}  // namespace propwash::bindings
