#pragma once
/// @file
/// Declares the kernels of each instruction set for dispatch.cpp. Images are rendered in float;
/// derivatives of simulated flights are computed in double.

#include <cstddef>

#include "propwash/fleet/impl/kernels.hpp"
#include "propwash/fleet/impl/open_loop_kernel.hpp"
#include "propwash/math/trace_instruction.hpp"
#include "propwash/paint/rays.hpp"
#include "propwash/paint/tile.hpp"
#include "propwash/world/raycast.hpp"

namespace propwash::bindings {

/// The kernels of fleets and scenes of one translation unit, for one number type.
template <class T>
struct KernelUnit {
  FleetKernelSource<T> fleet;
  WorldKernels<T> world;
  int lanes;
};

using ImageCall = paint::ImageCall<paint::SceneRays>;

/// The two passes over a tile; see TilePainter.
struct ImageKernels {
  void (*paint)(const ImageCall& call, int tile) = nullptr;
  void (*smooth)(const ImageCall& call, int tile) = nullptr;
};

/// Executes `rounds` rounds of independent multiply-adds in registers, to measure the peak rate.
/// Returns the number of floating-point operations.
using MultiplyAdd = double (*)(std::size_t rounds);

#define PROPWASH_DECLARE_KERNELS(isa)  \
  KernelUnit<float> isa##_float();     \
  KernelUnit<double> isa##_double();   \
  namespace image {                    \
  ImageKernels isa##_float();          \
  }                                    \
  namespace open_loop {                \
  OpenLoopKernelSource isa##_double(); \
  }                                    \
  namespace trace {                    \
  TraceRunner isa##_double();          \
  }                                    \
  namespace peak {                     \
  MultiplyAdd isa##_float();           \
  MultiplyAdd isa##_double();          \
  }

PROPWASH_DECLARE_KERNELS(baseline)
PROPWASH_DECLARE_KERNELS(v3)
PROPWASH_DECLARE_KERNELS(v4)

#undef PROPWASH_DECLARE_KERNELS

}  // namespace propwash::bindings
