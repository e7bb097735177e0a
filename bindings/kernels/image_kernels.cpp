// Compiled like kernels.cpp, once for each instruction set and type of number, and as careful not
// to share a function with other units.

#include "image_kernels.hpp"

#include <type_traits>

namespace propwash::bindings::image {

namespace {

struct Isa;

template <class Number>
struct Unit {
  static ImageKernels kernels() {
    if constexpr (std::is_same_v<Number, float>) return {&paint, &smooth};
    return {};
  }

 private:
  using Painter = paint::TilePainter<Isa, NativePack<Number>, paint::SceneRays>;

  static void paint(const ImageCall& call, int tile) { Painter(call).paint(tile); }
  static void smooth(const ImageCall& call, int tile) { Painter(call).smooth(tile); }
};

}  // namespace

ImageKernels PROPWASH_KERNELS_UNIT();
ImageKernels PROPWASH_KERNELS_UNIT() { return Unit<PROPWASH_KERNELS_NUMBER>::kernels(); }

}  // namespace propwash::bindings::image
