#pragma once
/// @file
/// The registers of each instruction set, and a measurement of their peak rate.

#include <cstddef>

#include "instruction_set.hpp"

namespace propwash::bindings {

struct Registers {
  int lanes;
  /// Executes `rounds` rounds of independent multiply-adds in registers. Returns the number of
  /// floating-point operations.
  double (*multiply_add)(std::size_t rounds);
};

PROPWASH_DECLARE_KERNELS(peak, Registers, float)
PROPWASH_DECLARE_KERNELS(peak, Registers, double)

}  // namespace propwash::bindings
