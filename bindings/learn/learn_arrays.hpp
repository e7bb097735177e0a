#pragma once
/// @file
/// Array arguments of the functions in bind_learn*.cpp. A custom type caster, because pybind11's
/// conversions would take most of the time of a step of one environment.

#include <cstdint>
#include <string>

#include "arrays.hpp"

namespace propwash::bindings {

/// An array of T in C order, converted only if necessary.
template <class T>
class InputArray {
 public:
  bool assign(py::handle source, bool convert) {
    if (is_ready<T>(source)) {
      array_ = py::reinterpret_borrow<py::array>(source);
      return true;
    }
    if (!convert) return false;
    array_ = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(source);
    return static_cast<bool>(array_);
  }
  const T* data() const { return static_cast<const T*>(array_.data()); }
  T* mutable_data() { return static_cast<T*>(array_.mutable_data()); }
  std::size_t size() const { return static_cast<std::size_t>(array_.size()); }
  std::size_t shape(int axis) const { return static_cast<std::size_t>(array_.shape(axis)); }
  const py::array& array() const { return array_; }

  /// The numbers, in n rows of `width`. Raises ValueError for another size, which the package
  /// never passes.
  const T* rows(std::size_t n, std::size_t width = 1) const {
    if (size() != n * width) {
      throw py::value_error("expected " + std::to_string(n) + " rows of " + std::to_string(width) +
                            " numbers, got " + std::to_string(size()) + " numbers");
    }
    return data();
  }
  /// Likewise, writable.
  T* writable_rows(std::size_t n, std::size_t width = 1) {
    rows(n, width);
    return mutable_data();
  }

 private:
  py::array array_;
};

using Floats = InputArray<float>;
using Truths = InputArray<bool>;

}  // namespace propwash::bindings

namespace pybind11::detail {

template <class T>
struct type_caster<propwash::bindings::InputArray<T>> {
  PYBIND11_TYPE_CASTER(propwash::bindings::InputArray<T>, const_name("numpy.ndarray"));
  bool load(handle source, bool convert) { return value.assign(source, convert); }
};

}  // namespace pybind11::detail
