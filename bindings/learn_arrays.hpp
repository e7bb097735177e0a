#pragma once
/// @file
/// Arrays of environments, as the functions of bind_learn*.cpp take them. What they are is checked
/// by pybind11's own conversion in a quarter of a microsecond each, which is most of what a step of
/// one environment would cost; here in a tenth of that, where nothing needs to be converted.

#include <cstdint>
#include <string>

#include "arrays.hpp"

namespace propwash::bindings {

/// An array of T in C order: taken as it is where it is one, converted otherwise.
template <class T>
class Given {
 public:
  bool take(py::handle source, bool convert) {
    if (py::isinstance<py::array>(source)) {
      array_ = py::reinterpret_borrow<py::array>(source);
      const auto type = array_.dtype();
      const char order = type.byteorder();  // '=': the machine's, '|': of a single byte
      const bool fits = type.num() == py::dtype::num_of<T>() && (order == '=' || order == '|') &&
                        (array_.flags() & in_order) == in_order;
      if (fits) return true;
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

  /// Its numbers, of which there must be n rows. Only a caller inside the package can be wrong.
  const T* rows(std::size_t n, std::size_t width = 1) const {
    if (size() != n * width) {
      throw py::value_error("expected " + std::to_string(n) + " rows of " + std::to_string(width) +
                            " numbers, got " + std::to_string(size()) + " numbers");
    }
    return data();
  }
  /// The same, to be written to.
  T* room(std::size_t n, std::size_t width = 1) {
    rows(n, width);
    return mutable_data();
  }

 private:
  static constexpr int in_order =
      py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  py::array array_;
};

using Floats = Given<float>;
using Truths = Given<bool>;

/// A new array.
template <class T>
py::array_t<T> new_array(std::size_t n) {
  return py::array_t<T>(static_cast<py::ssize_t>(n));
}
template <class T>
py::array_t<T> new_array(std::size_t n, std::size_t width) {
  return py::array_t<T>({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(width)});
}

}  // namespace propwash::bindings

namespace pybind11::detail {

template <class T>
struct type_caster<propwash::bindings::Given<T>> {
  PYBIND11_TYPE_CASTER(propwash::bindings::Given<T>, const_name("numpy.ndarray"));
  bool load(handle source, bool convert) { return value.take(source, convert); }
};

}  // namespace pybind11::detail
