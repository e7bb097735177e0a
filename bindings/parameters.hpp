#pragma once
/// @file
/// Conversion of the Python parameter classes (propwash.vehicle.parameters) to those of C++.

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "propwash/control/outer_loop_parameters.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/vehicle/parameters.hpp"

namespace propwash::bindings {

/// From a resolved propwash.vehicle.parameters.VehicleParameters. Raises ValueError for a field of
/// the wrong type or shape; validate() checks the range of values.
VehicleParameters vehicle_parameters(pybind11::handle object);
/// The same; nothing for None.
std::optional<VehicleParameters> optional_vehicle(pybind11::handle object);

/// Options with the turbulence of a propwash.Dryden, or None.
template <class Options>
Options with_turbulence(Options options, const pybind11::object& air) {
  if (air.is_none()) return options;
  const auto number = [&](const char* name) { return air.attr(name).template cast<double>(); };
  options.turbulence = {number("wind_speed_6m"), number("altitude"), number("airspeed")};
  options.turbulence_heading = number("heading");
  return options;
}
CarParameters car_parameters(pybind11::handle object);
ImuParameters<double> imu_parameters(pybind11::handle object);

/// "euler", "rk4" or "symplectic_euler"; raises ValueError for other names.
Integrator integrator_named(const std::string& name);

/// Conversion of OuterLoopParameters to a dict of numbers and tuples, and back. start: values of
/// parameters that the dict omits. Raises ParameterError for an unknown name or a wrong shape.
pybind11::dict to_dict(const OuterLoopParameters& parameters);
OuterLoopParameters outer_loops_from(const OuterLoopParameters& start,
                                     const pybind11::dict& values);

}  // namespace propwash::bindings
