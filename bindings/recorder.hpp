#pragma once
/// @file
/// Recording of a rollout of one vehicle into arrays.

#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "propwash/model/imu.hpp"

namespace propwash::bindings {

/// Arrays (rows, …), one for each recorded quantity. Each: a function object; each(f) calls
/// f(name, value) for every quantity in a fixed order with its current value.
template <class Each>
class Recorder {
 public:
  Recorder(py::ssize_t rows, Each each) : each_(std::move(each)) {
    each_([&](const char* name, const auto& value) {
      std::vector<py::ssize_t> shape{rows};
      if (!std::is_arithmetic_v<std::decay_t<decltype(value)>>) shape.push_back(size_of(value));
      Array array(shape);
      to_.push_back(array.mutable_data());
      arrays_[name] = array;
    });
  }

  /// Writes the next row. Does not require the GIL.
  void record() {
    auto to = to_.begin();
    each_([&](const char*, const auto& value) {
      *to = put(value, *to);
      ++to;
    });
  }
  const py::dict& arrays() const { return arrays_; }

 private:
  Each each_;
  py::dict arrays_;
  std::vector<double*> to_;
};

inline py::tuple tuple_of_reading(const ImuReading<double>& reading) {
  return py::make_tuple(to_array(reading.specific_force), to_array(reading.angular_rate),
                        reading.time);
}

}  // namespace propwash::bindings
