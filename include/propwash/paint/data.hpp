#pragma once
/// @file
/// What a picture is made of beside the shapes: the camera, the light, how each item is painted,
/// and where the bytes go. Plain data in float, which the kernels of every instruction set share.

#include <cstddef>
#include <cstdint>

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"

namespace propwash::paint {

/// Where a body is: v_W = rotation_WS v_S + position_W.
struct Placement {
  Vec3<float> position_W{};                           ///< m
  Mat3<float> rotation_WS = Mat3<float>::identity();  ///< body to world
};

/// A pinhole camera without distortion. Its axes are those of a body: x forward, y left, z up;
/// pixel u counts to the right and v downwards from the upper left corner.
struct PinholeCamera {
  int width = 0;       ///< pixels
  int height = 0;      ///< pixels
  float focal = 0.0F;  ///< pixels, (height / 2) / tan(vertical field of view / 2)
  Placement now{};     ///< when the picture is taken
  Placement before{};  ///< when the picture before was taken: what optical flow is measured from
};

/// How a category's surfaces look: tiles with joints, grain, all in the item's own axes.
struct Finish {
  float tile = 1.0F;            ///< m, edge of a tile
  float tile_contrast = 0.0F;   ///< how much tiles differ in brightness, 0 to 1
  float checker = 0.0F;         ///< 0: tiles differ at random; 1: light and dark in turn
  float joint = 0.0F;           ///< m, width of the dark line between tiles; 0: none
  float grain = 1.0F;           ///< m, the largest of four sizes of spots, each a fifth of the last
  float grain_contrast = 0.0F;  ///< 0 to 1
  float gloss = 0.0F;           ///< how much of the sky a surface mirrors at a grazing view, 0 to 1
};

/// An item as a painter sees it.
struct PaintedItem {
  Placement now{};             ///< pose at the time of the picture
  Placement before{};          ///< at the time of the picture before
  Vec3<float> albedo{};        ///< linear, 0 to 1
  Finish finish{};             ///< colours and pattern
  std::uint32_t instance = 0;  ///< 24 bits, 0xRRGGBB, in pictures of instances
  std::uint32_t semantic = 0;  ///< 24 bits, 0xRRGGBB, in pictures of categories
};

/// Light and air.
struct Look {
  Vec3<float> light_W{};    ///< unit vector to the sun, or where the lamp hangs [m]
  bool is_lamp = false;     ///< a lamp: its light falls with the square of the distance
  float lamp_reach = 1.0F;  ///< m, where a lamp is as bright as `light`
  Vec3<float> light{};      ///< linear, of the sun or lamp on a surface that faces it
  Vec3<float> zenith{};     ///< linear, the sky above
  Vec3<float> horizon{};    ///< linear, the sky at the horizon, and the haze
  Vec3<float> bounce{};     ///< linear, light from below
  float ambient = 1.0F;     ///< how much of the sky's light reaches a surface
  float clouds = 0.0F;      ///< 0 to 1, how much of the sky they cover
  float haze = 1000.0F;     ///< m, after which 63 % of what is seen is haze
  float exposure = 1.0F;    ///< factor on the light before it is encoded
  std::uint32_t seed = 0;   ///< of the tiles, the grain and the clouds
};

/// What comes out: one array a picture, none for null. All have the same number of rows and
/// columns, without padding; the first row is the top of the picture, or the bottom if
/// `bottom_first`.
struct PictureOutputs {
  std::uint8_t* colour = nullptr;       ///< (h, w, 3) red, green, blue
  std::uint8_t* grey = nullptr;         ///< (h, w)
  std::uint16_t* depth = nullptr;       ///< (h, w) along the optical axis, 65535 = 100 m
  std::uint8_t* short_depth = nullptr;  ///< (h, w) depth on a curve of eight bits
  std::uint8_t* normals = nullptr;      ///< (h, w, 3)
  std::uint8_t* instances = nullptr;    ///< (h, w, 3)
  std::uint8_t* semantics = nullptr;    ///< (h, w, 3)
  std::uint8_t* flow = nullptr;         ///< (h, w, 3)
  bool bottom_first = false;            ///< whether the bottom row comes first

  /// Whether a picture with colours is asked for.
  bool wants_light() const { return colour != nullptr || grey != nullptr; }
};

}  // namespace propwash::paint
