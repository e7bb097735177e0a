#pragma once
/// @file
/// Selection of the fleets' kernels for this processor, and information about it for Python.

#include <pybind11/pybind11.h>

#include <string>

#include "instruction_set.hpp"
#include "propwash/fleet/impl/kernels.hpp"

namespace propwash::bindings {

/// The kernels of fleets of an instruction set.
template <class T>
FleetKernelSource<T> fleet_kernels_of(InstructionSet set);
template <>
FleetKernelSource<float> fleet_kernels_of<float>(InstructionSet set);

/// Version, compiler, available instruction sets and the one in use.
pybind11::dict build_info();

/// Measures the multiply-add rate of one core with the set in use in GFLOP/s, in about 0.1 s.
/// `dtype` is "float32" or "float64".
double fma_peak(const std::string& dtype);

}  // namespace propwash::bindings
