#pragma once
/// @file
/// Which kernels this machine runs.

#include <pybind11/pybind11.h>

#include <string>
#include <tuple>

#include "kernels.hpp"

namespace propwash::bindings {

/// The kernels of an instruction set for both types of number.
struct KernelSet {
  const char* isa;
  std::tuple<FleetKernelSource<float>, FleetKernelSource<double>> fleet;
  std::tuple<WorldKernels<float>, WorldKernels<double>> world;
  ImageKernels image;
  OpenLoopKernelSource open_loop;
};

/// The widest set that the processor has, or the one that the environment variable PROPWASH_ISA
/// names. All give the same bits.
/// Throws std::invalid_argument for a set that this processor does not have.
const KernelSet& kernel_set();

/// What was built and what is used.
pybind11::dict build_info();

/// GFLOP/s of one core in multiply-adds of the chosen set, measured for about a tenth of a second.
/// `dtype` is "float32" or "float64".
double fma_peak(const std::string& dtype);

}  // namespace propwash::bindings
