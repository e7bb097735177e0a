#include "command_array.hpp"

#include <cstring>

namespace propwash::bindings {

namespace {

std::string expected_of(const CommandPart& part) {
  const std::string unit = " [" + std::string(part.unit) + "]";
  if (part.tail() == 0) {
    return "a finite number" + unit + ", or an array of shape (T,), (n,) or (T, n)";
  }
  const bool per_rotor = part.columns == CommandPart::one_per_rotor;
  const std::string k = per_rotor ? "N" : std::to_string(part.columns);
  return (per_rotor ? "finite numbers" + unit + ", one for each rotor"
                    : k + " finite numbers" + unit) +
         ", or an array of shape (T, " + k + "), (n, " + k + ") or (T, n, " + k + ")";
}

[[noreturn]] void refuse_part(const CommandPart& part, py::handle value) {
  refuse(part.name, expected_of(part), value);
}

/// An array of float or double in C order; a null object for other values.
py::array floating_point(py::handle value) {
  if (is_ready<float>(value) || is_ready<double>(value))
    return py::reinterpret_borrow<py::array>(value);
  const py::array array = numeric_array(value);
  if (!array) return array;
  using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
  const bool is_float = array.dtype().kind() == 'f' && array.itemsize() == sizeof(float);
  return is_float ? py::array(Floats::ensure(array)) : py::array(Array::ensure(array));
}

}  // namespace

CommandArray::CommandArray(py::handle value, const CommandPart& part) {
  const int tail = part.tail();
  if (tail == 0 && PyFloat_CheckExact(value.ptr())) {  // much faster than by way of an array
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    if (!std::isfinite(number)) refuse_part(part, value);
    std::memcpy(small_, &number, sizeof number);
    return;
  }
  const py::array array = floating_point(value);
  if (!array) refuse_part(part, value);
  const auto axes = static_cast<int>(array.ndim());
  if (axes < tail || axes > tail + 2) refuse_part(part, value);
  const py::ssize_t last = tail > 0 ? array.shape(axes - 1) : 1;
  const bool fits = part.columns == CommandPart::one_per_rotor ? last != 0 : last == part.columns;
  if (!fits) refuse_part(part, value);
  copy_from(array);
  require_finite(value, part);
}

void CommandArray::copy_from(const py::array& array) {
  is_float_ = array.itemsize() == sizeof(float);
  ndim_ = static_cast<int>(array.ndim());
  for (int axis = 0; axis < ndim_; ++axis) {
    shape_[axis] = array.shape(axis);
    size_ *= shape_[axis];
  }
  if (bytes() > sizeof small_) large_.reset(new std::byte[bytes()]);
  if (size_ > 0) std::memcpy(data(), array.data(), bytes());
}

void CommandArray::require_finite(py::handle value, const CommandPart& part) const {
  const auto bad = visit([this](const auto* numbers) { return first_not_finite(numbers, size_); });
  if (bad < 0) return;
  if (ndim_ == 0) refuse_part(part, value);
  throw py::value_error(std::string(part.name) + ": expected " + expected_of(part) +
                        ", all finite, got " + described(value) + ", where " + place_text(bad) +
                        " is " + std::to_string((*this)[bad]));
}

py::array CommandArray::view(py::handle owner) const {
  const auto type = is_float_ ? py::dtype::of<float>() : py::dtype::of<double>();
  const std::vector<py::ssize_t> shape(shape_, shape_ + ndim_);
  py::array array =
      owner.is_none() ? py::array(type, shape, data()) : py::array(type, shape, data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::string CommandArray::shape_text() const {
  std::string text = "(";
  for (int axis = 0; axis < ndim_; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape_[axis]);
  }
  return text + (ndim_ == 1 ? ",)" : ")");
}

std::string CommandArray::place_text(py::ssize_t i) const {
  std::string text = "]";
  for (int axis = ndim_ - 1; axis >= 0; --axis) {
    text = (axis > 0 ? ", " : "[") + std::to_string(i % shape_[axis]) + text;
    i /= shape_[axis];
  }
  return text;
}

}  // namespace propwash::bindings
