#pragma once
/// @file
/// Recording of a rollout of one vehicle into arrays.

#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "propwash/model/imu.hpp"
#include "stepping.hpp"

namespace propwash::bindings {

/// Flies `rows` commands, each for `substeps` steps, and returns arrays (rows, …), one for each
/// recorded quantity. each(f) calls f(name, value) for every quantity in a fixed order with its
/// current value; step_of(row) returns a function that advances by one step. Neither needs the GIL.
template <class Each, class StepOf>
py::dict recorded(py::ssize_t rows, py::ssize_t substeps, const Each& each, const StepOf& step_of) {
  py::dict arrays;
  std::vector<double*> to;
  each([&](const char* name, const auto& value) {
    std::vector<py::ssize_t> shape{rows};
    if (!std::is_arithmetic_v<std::decay_t<decltype(value)>>) shape.push_back(size_of(value));
    Array array(shape);
    to.push_back(array.mutable_data());
    arrays[name] = array;
  });
  const auto fly = [&](py::ssize_t row) {
    const auto step = step_of(row);
    for (py::ssize_t i = 0; i < substeps; ++i) step();
    auto next = to.begin();
    each([&](const char*, const auto& value) {
      *next = put(value, *next);
      ++next;
    });
  };
  interruptible(rows, fly, substeps);
  return arrays;
}

inline py::tuple tuple_of_reading(const ImuReading<double>& reading) {
  return py::make_tuple(to_array(reading.specific_force), to_array(reading.angular_rate),
                        reading.time);
}

}  // namespace propwash::bindings
