#pragma once
/// @file
/// Arguments and results of the functions that evaluate a task.

#include "learn_arrays.hpp"
#include "propwash/learn/impl/rows.hpp"

namespace propwash::bindings {

inline learn::ActionRows<float> actions_of(const Floats& now, const Floats& before, std::size_t n) {
  const std::size_t width = now.shape(1);
  return {static_cast<int>(width), now.rows(n, width), before.rows(n, width)};
}

/// A weight of a reward by its name in Python.
template <class Reward>
struct Weight {
  const char* name;
  float Reward::* member;
};

/// The weights that an object has as attributes.
template <class Reward, std::size_t N>
Reward weights_of(const py::object& from, const Weight<Reward> (&weights)[N]) {
  Reward reward;
  for (const auto& weight : weights)
    reward.*weight.member = from.attr(weight.name).template cast<float>();
  return reward;
}

struct Evaluation {
  py::array_t<float> reward, distance;
  py::array_t<bool> over;
  explicit Evaluation(std::size_t n)
      : reward(new_array<float>(n)), distance(new_array<float>(n)), over(new_array<bool>(n)) {}
  py::tuple tuple() const { return py::make_tuple(reward, over, distance); }
};

}  // namespace propwash::bindings
