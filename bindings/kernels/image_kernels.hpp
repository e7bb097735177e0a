#pragma once
/// @file
/// The painter of pictures, in each instruction set, as dispatch.cpp sees it. Pictures are painted
/// in float.

#include "propwash/paint/rays.hpp"
#include "propwash/paint/tile.hpp"

namespace propwash::bindings {

using ImageCall = paint::PictureCall<paint::SceneRays>;

/// The two passes over a tile; see TilePainter.
struct ImageKernels {
  void (*paint)(const ImageCall& call, int tile) = nullptr;
  void (*smooth)(const ImageCall& call, int tile) = nullptr;
};

namespace image {

ImageKernels baseline_float();
ImageKernels v3_float();
ImageKernels v4_float();

}  // namespace image

}  // namespace propwash::bindings
