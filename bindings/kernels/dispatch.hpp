#pragma once
/// @file
/// Selection of the kernels for this processor.

#include <pybind11/pybind11.h>

#include <string>
#include <tuple>

#include "kernels.hpp"

namespace propwash::bindings {

/// The kernels of an instruction set, for float and double.
struct KernelSet {
  const char* isa;
  std::tuple<FleetKernelSource<float>, FleetKernelSource<double>> fleet;
  std::tuple<WorldKernels<float>, WorldKernels<double>> world;
  ImageKernels image;
  OpenLoopKernelSource open_loop;
  TraceRunner trace;
};

/// The widest set that the processor supports, or the one that the environment variable
/// PROPWASH_ISA names. The results of all sets are bitwise equal. Throws std::invalid_argument for
/// a set that this processor does not support.
const KernelSet& kernel_set();

/// Version, compiler, available instruction sets and the one in use.
pybind11::dict build_info();

/// Measures the multiply-add rate of one core with the chosen set in GFLOP/s, in about 0.1 s.
/// `dtype` is "float32" or "float64".
double fma_peak(const std::string& dtype);

}  // namespace propwash::bindings
