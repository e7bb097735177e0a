#pragma once
/// @file
/// The kernels of images of each instruction set.

#include "instruction_set.hpp"
#include "propwash/paint/rays.hpp"
#include "propwash/paint/tile.hpp"

namespace propwash::bindings {

using ImageCall = paint::ImageCall<paint::SceneRays>;

/// The two passes over a tile; see TilePainter.
struct ImageKernels {
  void (*paint)(const ImageCall& call, int tile) = nullptr;
  void (*smooth)(const ImageCall& call, int tile) = nullptr;
};

PROPWASH_DECLARE_KERNELS(image, ImageKernels, float)

}  // namespace propwash::bindings
