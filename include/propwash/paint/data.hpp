#pragma once
/// @file
/// The inputs of an image besides the shapes: camera, light, finishes and output buffers. Plain
/// data in float, shared by the kernels of all instruction sets.

#include <array>
#include <cstddef>
#include <cstdint>

#include "propwash/math/mat3.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/world/distortion.hpp"

namespace propwash::paint {

/// The pose of a body: v_W = rotation_WS v_S + position_W.
struct Placement {
  Vec3<float> position_W{};                           ///< m
  Mat3<float> rotation_WS = Mat3<float>::identity();  ///< body to world
};

/// A pinhole camera with a lens. Its axes are x forward, y left, z up; pixel u counts to the right
/// and v downwards from the upper left corner.
struct PinholeCamera {
  int width = 0;             ///< pixels
  int height = 0;            ///< pixels
  float focal = 0.0F;        ///< pixels, (height / 2) / tan(vertical field of view / 2)
  Placement now{};           ///< at the time of the image
  Placement before{};        ///< at the time of the previous image, for optical flow
  Distortion<float> lens{};  ///< radial-tangential distortion
};

/// The finish of a category's surfaces: tiles with joints, and grain, in the item's axes.
struct Finish {
  float tile = 1.0F;            ///< m, edge of a tile
  float tile_contrast = 0.0F;   ///< how much tiles differ in brightness, 0 to 1
  float checker = 0.0F;         ///< 0: tiles differ at random; 1: they alternate
  float joint = 0.0F;           ///< m, width of the dark line between tiles; 0: none
  float grain = 1.0F;           ///< m, the largest of four sizes of spots, ratio 5
  float grain_contrast = 0.0F;  ///< 0 to 1
  float gloss = 0.0F;           ///< fraction of the sky reflected at grazing angles, 0 to 1
};

/// An image that repeats on the faces of an item, upright on vertical ones, with its centre at the
/// origin of the item plus a shift. Sizes of levels are powers of two, each half of the one before.
struct Texture {
  const std::int32_t* texels = nullptr;   ///< 0xRRGGBB, square roots of linear values; null: none
  std::array<std::int32_t, 16> levels{};  ///< the index of the first texel of each level
  std::int32_t last_level = 0;            ///< the level of one texel
  std::int32_t log_width = 0;             ///< binary logarithm of the columns of the first level
  std::int32_t log_height = 0;            ///< of its rows
  float columns_per_metre = 1.0F;         ///< texels
  float rows_per_metre = 1.0F;            ///< texels
  float shift_u = 0.0F;                   ///< texels, to the right
  float shift_v = 0.0F;                   ///< texels, down
};

/// The appearance of a scene item.
struct PaintedItem {
  Placement now{};             ///< at the time of the image
  Placement before{};          ///< at the time of the previous image
  Vec3<float> albedo{};        ///< linear, 0 to 1
  Finish finish{};             ///< of its surfaces
  Texture texture{};           ///< replaces the tiles and grain of the finish
  std::uint32_t instance = 0;  ///< 0xRRGGBB in instance images
  std::uint32_t semantic = 0;  ///< 0xRRGGBB in semantic images
};

/// Light and atmosphere.
struct Look {
  Vec3<float> light_W{};    ///< unit vector to the sun, or the position of the lamp [m]
  bool is_lamp = false;     ///< a lamp: its light decreases with the square of the distance
  float lamp_reach = 1.0F;  ///< m, the distance at which a lamp is as bright as `light`
  Vec3<float> light{};      ///< linear, of the sun or lamp on a surface that faces it
  Vec3<float> zenith{};     ///< linear, the sky above
  Vec3<float> horizon{};    ///< linear, the sky at the horizon, and the haze
  Vec3<float> bounce{};     ///< linear, light from below
  float ambient = 1.0F;     ///< fraction of the sky's light that reaches a surface
  float clouds = 0.0F;      ///< cover, 0 to 1
  float haze = 1000.0F;     ///< m, the distance of 63 % haze
  float exposure = 1.0F;    ///< factor on the light before tone mapping
  std::uint32_t seed = 0;   ///< seed of the tiles, the grain and the clouds
};

/// The output arrays; null: not requested. All have the size of the camera, without padding; the
/// first row is the top of the image, or the bottom if `bottom_first`.
struct ImageOutputs {
  std::uint8_t* colour = nullptr;       ///< (h, w, 3) red, green, blue
  std::uint8_t* grey = nullptr;         ///< (h, w)
  std::uint16_t* depth = nullptr;       ///< (h, w) along the optical axis, 65535: 100 m
  std::uint8_t* short_depth = nullptr;  ///< (h, w) see short_depth_code
  std::uint8_t* normals = nullptr;      ///< (h, w, 3)
  std::uint8_t* instances = nullptr;    ///< (h, w, 3)
  std::uint8_t* semantics = nullptr;    ///< (h, w, 3)
  std::uint8_t* flow = nullptr;         ///< (h, w, 3)
  bool bottom_first = false;            ///< whether the bottom row comes first

  /// Whether an image with colours is requested.
  bool wants_light() const { return colour != nullptr || grey != nullptr; }
};

}  // namespace propwash::paint
