#pragma once
/// @file
/// Gains and limits of the outer loops as Python holds them.

#include "arrays.hpp"
#include "propwash/control/outer_loop_parameters.hpp"

namespace propwash::bindings {

/// OuterLoopParameters as a dict of numbers and tuples, and back; `start` gives what is missing.
/// Raises ParameterError for another name or shape.
py::dict to_dict(const OuterLoopParameters& parameters);
OuterLoopParameters outer_loops_from(const OuterLoopParameters& start, const py::dict& values);

}  // namespace propwash::bindings
