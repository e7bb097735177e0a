// Compiled once for each instruction set, for float only. The rule of fleet_kernels.cpp applies:
// define nothing that another translation unit could share.

#include "image_kernels.hpp"

namespace propwash::bindings::image {

namespace {

struct Isa;

using Painter = paint::TilePainter<Isa, NativePack<PROPWASH_KERNELS_NUMBER>, paint::SceneRays>;

void paint_tile(const ImageCall& call, int tile) { Painter(call).paint(tile); }
void smooth_tile(const ImageCall& call, int tile) { Painter(call).smooth(tile); }

}  // namespace

ImageKernels PROPWASH_KERNELS_UNIT() { return {&paint_tile, &smooth_tile}; }

}  // namespace propwash::bindings::image
