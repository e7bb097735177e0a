#pragma once
/// @file
/// From the Python parameter classes (propwash.vehicle.parameters) to the C++ ones, field by field.

#include <pybind11/pybind11.h>

#include <string>

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash::bindings {

/// From a resolved propwash.vehicle.parameters.VehicleParameters. Raises ValueError for a field of
/// another type or shape; the range of values is for validate().
VehicleParameters vehicle_parameters(pybind11::handle object);
CarParameters car_parameters(pybind11::handle object);
ImuParameters<double> imu_parameters(pybind11::handle object);

/// "euler", "rk4" or "symplectic_euler"; raises ValueError for another text.
Integrator integrator_named(const std::string& name);

/// OuterLoopParameters as a dict of numbers and tuples, and back; `start` gives what is missing.
/// Raises ParameterError for another name or shape.
pybind11::dict to_dict(const OuterLoopParameters& parameters);
OuterLoopParameters outer_loops_from(const OuterLoopParameters& start,
                                     const pybind11::dict& values);

}  // namespace propwash::bindings
