#pragma once
/// @file
/// The kernels of one instruction set, as dispatch.cpp sees them.

#include <cstddef>

#include "propwash/fleet/impl/kernels.hpp"

namespace propwash::bindings {

/// What one translation unit offers for one type of number.
template <class T>
struct KernelUnit {
  FleetKernelSource<T> source;
  int lanes;
};

/// Does `rounds` of independent multiply-adds in registers; returns their floating-point
/// operations. To measure the machine's peak.
using MultiplyAdd = double (*)(std::size_t rounds);

#define PROPWASH_DECLARE_KERNELS(isa) \
  KernelUnit<float> isa##_float();    \
  KernelUnit<double> isa##_double();  \
  namespace peak {                    \
  MultiplyAdd isa##_float();          \
  MultiplyAdd isa##_double();         \
  }

PROPWASH_DECLARE_KERNELS(baseline)
PROPWASH_DECLARE_KERNELS(v3)
PROPWASH_DECLARE_KERNELS(v4)

#undef PROPWASH_DECLARE_KERNELS

}  // namespace propwash::bindings
