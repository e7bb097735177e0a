#pragma once
/// @file
/// Renders an image in independent tiles, which several threads can process.
///
/// A pack is a block of 4 x 4 pixels (4 x 2, 2 x 2 in narrower registers), for coherent rays.
/// Anti-aliasing is a second pass over the pixels whose colour differs from a neighbour's: it
/// averages the light of a regular grid of rays through each.

#include <cstring>

#include "propwash/paint/sight.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

inline constexpr int tile_width = 32;   ///< pixels
inline constexpr int tile_height = 16;  ///< pixels
/// Neighbours that differ by more 8-bit steps are anti-aliased.
inline constexpr int visible_step = 10;

/// Number of tiles in a row of an image.
inline constexpr int tiles_across(int width) { return (width + tile_width - 1) / tile_width; }
/// Number of rows of tiles in an image.
inline constexpr int tiles_down(int height) { return (height + tile_height - 1) / tile_height; }

/// Renders a tile. Isa is a type local to the translation unit, so that no linker merges the code
/// of two instruction sets.
template <class Isa, class W, class Rays>
class TilePainter {
 public:
  static constexpr int lanes = W::lanes;                    ///< pixels of a block
  static constexpr int block_width = lanes >= 8 ? 4 : 2;    ///< columns of a block
  static constexpr int block_height = lanes / block_width;  ///< rows of a block

  explicit TilePainter(const ImageCall<Rays>& call)
      : call_(call), width_(call.camera.width), height_(call.camera.height) {}

  /// The first pass: everything except anti-aliasing.
  void paint(int tile) const {
    const Tile at(tile, width_, height_);
    Codes codes;
    for (int y = at.top; y < at.bottom; y += block_height) {
      for (int x = at.left; x < at.right; x += block_width) {
        block(x, y, codes, (y - at.top) * tile_width + x - at.left);
      }
    }
    const ImageOutputs& to = call_.to;
    for (int y = at.top; y < at.bottom; ++y) {
      const auto from = static_cast<std::size_t>((y - at.top) * tile_width);
      const auto pixels = static_cast<std::size_t>(at.right - at.left);
      const std::size_t place = output_index(at.left, y);
      if (to.wants_light() && call_.antialias > 1) {
        write3(call_.scratch, pixel(at.left, y), codes.light + from, pixels);
        write(call_.seams, pixel(at.left, y), codes.seams + from, pixels);
      } else if (to.wants_light()) {
        write3(to.colour, place, codes.light + from, pixels);
        write_grey(place, codes.light + from, pixels);
      }
      write(to.depth, place, codes.depth + from, pixels);
      write(to.short_depth, place, codes.short_depth + from, pixels);
      write3(to.normals, place, codes.normals + from, pixels);
      write3(to.instances, place, codes.instances + from, pixels);
      write3(to.semantics, place, codes.semantics + from, pixels);
      write3(to.flow, place, codes.flow + from, pixels);
    }
  }

  /// The second pass, for antialias > 1: reads the scratch of neighbouring tiles too.
  void smooth(int tile) const {
    const Tile at(tile, width_, height_);
    bool is_rough[tile_height][tile_width] = {};
    for (int y = at.top; y < at.bottom; ++y) {
      write_row(at.left, at.right, y);
      find_rough(at.left, at.right, y, is_rough[y - at.top]);
    }
    // in the order of small blocks, so that the rays of a pack are close together
    int rough[tile_width * tile_height];
    int count = 0;
    for (int block = 0; block < tile_width * tile_height; block += 16) {
      const int top = block / (4 * tile_width) * 4, left = block / 4 % tile_width;
      for (int k = 0; k < 16; ++k) {
        const int x = left + k % 4, y = top + k / 4;
        if (is_rough[y][x]) rough[count++] = (at.top + y) * width_ + at.left + x;
      }
    }
    refine(rough, count);
  }

 private:
  struct Tile {
    int left, top, right, bottom;
    Tile(int tile, int width, int height) {
      const int across = tiles_across(width);
      left = (tile % across) * tile_width;
      top = (tile / across) * tile_height;
      right = left + tile_width < width ? left + tile_width : width;
      bottom = top + tile_height < height ? top + tile_height : height;
    }
  };

  /// The codes of a tile's pixels, 0xRRGGBB for colours; only those of the requested outputs are
  /// set.
  struct Codes {
    using Plane = std::uint32_t[tile_width * tile_height];
    Plane light, seams, depth, short_depth, normals, instances, semantics, flow;
  };

  std::size_t pixel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(x);
  }
  /// The index of a pixel in the output.
  std::size_t output_index(int x, int y) const {
    return pixel(x, call_.to.bottom_first ? height_ - 1 - y : y);
  }

  PROPWASH_FN static Integer<W> codes_of(const Vec3<Integer<W>>& rgb) {
    return (rgb.x << 16) | (rgb.y << 8) | rgb.z;
  }
  PROPWASH_FN static Integer<W> display_codes(const Vec3<W>& light) {
    return codes_of({nearest(to_display(light.x) * 255.0F), nearest(to_display(light.y) * 255.0F),
                     nearest(to_display(light.z) * 255.0F)});
  }
  /// Stores a block whose first pixel has index `at` in the tile.
  PROPWASH_FN static void store(const Integer<W>& values, std::uint32_t* plane, int at) {
    std::uint32_t each[std::size_t{lanes}];
    std::memcpy(each, &values, sizeof each);
    for (int row = 0; row < block_height; ++row) {
      std::memcpy(plane + at + row * tile_width, each + row * block_width,
                  block_width * sizeof(std::uint32_t));
    }
  }

  void block(int left, int top, Codes& codes, int at) const {
    W x, y;
    for (int lane = 0; lane < lanes; ++lane) {
      x.v[lane] = static_cast<float>(left + lane % block_width) + 0.5F;
      y.v[lane] = static_cast<float>(top + lane / block_width) + 0.5F;
    }
    x = x - 0.5F * static_cast<float>(width_);
    y = y - 0.5F * static_cast<float>(height_);
    const PixelHit<W> hit = trace_pixels(call_, x, y);
    const ImageOutputs& to = call_.to;
    if (to.wants_light()) {
      Integer<W> seam;
      store(display_codes(traced_light(call_, hit, seam)), codes.light, at);
      if (call_.seams != nullptr) store(seam, codes.seams, at);
    }
    if (to.depth != nullptr) store(depth_code(hit.depth), codes.depth, at);
    if (to.short_depth != nullptr) store(short_depth_code(hit.depth), codes.short_depth, at);
    if (to.normals != nullptr) {
      // in the camera's axes: right, up, towards the camera
      const Vec3<W> n = transpose(call_.camera.now.rotation_WS) * hit.normal_W;
      const Integer<W> code = codes_of(normal_code(Vec3<W>{-n.y, n.z, -n.x}));
      store(hit.is_hit.bits & code, codes.normals, at);
    }
    if (to.instances != nullptr || to.semantics != nullptr) {
      Integer<W> instance{}, semantic{};
      const auto add = [&](const PaintedItem& item, const MaskOf<W>& lanes_of_item) PROPWASH_LAMBDA {
        instance |= lanes_of_item.bits & static_cast<std::int32_t>(item.instance);
        semantic |= lanes_of_item.bits & static_cast<std::int32_t>(item.semantic);
      };
      for_each_item(hit, call_.items, add);
      store(instance, codes.instances, at);
      store(semantic, codes.semantics, at);
    }
    if (to.flow != nullptr) {
      W u, v;
      motion(call_.camera, call_.items, hit, u, v);
      store(codes_of(flow_code(u, v)), codes.flow, at);
    }
  }

  /// Averages the light over a grid of rays through each of `count` pixels.
  void refine(const int* pixels, int count) const {
    const int edge = call_.antialias, per_pixel = edge * edge;
    const float step = 1.0F / static_cast<float>(edge);
    float sums[tile_width * tile_height][3] = {};
    // the rays of a pixel are in neighbouring lanes, for coherence
    for (int first = 0; first < count * per_pixel; first += lanes) {
      const int used = count * per_pixel - first < lanes ? count * per_pixel - first : lanes;
      W x, y;
      for (int lane = 0; lane < lanes; ++lane) {
        const int ray = first + (lane < used ? lane : used - 1), at = pixels[ray / per_pixel];
        const int sample = ray % per_pixel;
        x.v[lane] =
            static_cast<float>(at % width_) + (static_cast<float>(sample % edge) + 0.5F) * step;
        y.v[lane] =
            static_cast<float>(at / width_) + (static_cast<float>(sample / edge) + 0.5F) * step;
      }
      x = x - 0.5F * static_cast<float>(width_);
      y = y - 0.5F * static_cast<float>(height_);
      Integer<W> seam;
      const Vec3<W> light = traced_light(call_, trace_pixels(call_, x, y), seam);
      for (int lane = 0; lane < used; ++lane) {
        float* const sum = sums[(first + lane) / per_pixel];
        sum[0] += light.x[lane];
        sum[1] += light.y[lane];
        sum[2] += light.z[lane];
      }
    }
    for (int first = 0; first < count; first += lanes) {
      Vec3<W> light{W(0.0F), W(0.0F), W(0.0F)};
      const int used = count - first < lanes ? count - first : lanes;
      for (int lane = 0; lane < used; ++lane) {
        light.x.v[lane] = sums[first + lane][0];
        light.y.v[lane] = sums[first + lane][1];
        light.z.v[lane] = sums[first + lane][2];
      }
      write_block(pixels + first, used, display_codes(light * (step * step)));
    }
  }
  void write_block(const int* pixels, int count, const Integer<W>& rgb) const {
    std::uint32_t codes[std::size_t{lanes}];
    std::memcpy(codes, &rgb, sizeof codes);
    for (int lane = 0; lane < count; ++lane) {
      const std::size_t place = output_index(pixels[lane] % width_, pixels[lane] / width_);
      write3(call_.to.colour, place, codes + lane, 1);
      write_grey(place, codes + lane, 1);
    }
  }

  /// Marks the pixels of a row of the scratch that differ visibly from a neighbour.
  void find_rough(int left, int right, int y, bool* is_rough) const {
    constexpr int max_bytes = 3 * (tile_width + 2);
    const int bytes = 3 * (right - left);
    // the row with a pixel at each end; the pixel itself stands in for a neighbour outside the
    // image
    std::uint8_t row[max_bytes], difference[3 * tile_width];
    const std::uint8_t* const at = call_.scratch + 3 * pixel(left, y);
    std::memcpy(row + 3, at, static_cast<std::size_t>(bytes));
    std::memcpy(row, left > 0 ? at - 3 : at, 3);
    std::memcpy(row + 3 + bytes, right < width_ ? at + bytes : at + bytes - 3, 3);
    const std::uint8_t* const above = call_.scratch + 3 * pixel(left, y > 0 ? y - 1 : y);
    const std::uint8_t* const below = call_.scratch + 3 * pixel(left, y + 1 < height_ ? y + 1 : y);
    for (int i = 0; i < bytes; ++i) {
      const std::uint8_t here = row[3 + i];
      difference[i] = larger(larger(apart(here, row[i]), apart(here, row[6 + i])),
                             larger(apart(here, above[i]), apart(here, below[i])));
    }
    for (int x = left; x < right; ++x) {
      const std::uint8_t* const d = difference + 3 * (x - left);
      const bool differs = larger(larger(d[0], d[1]), d[2]) > visible_step;
      is_rough[x - left] = differs && !is_within_texture(x, y);
    }
  }
  /// Whether a pixel and its neighbours show the same face of an item with a texture.
  bool is_within_texture(int x, int y) const {
    if (call_.seams == nullptr) return false;
    const std::uint32_t* const at = call_.seams + pixel(x, y);
    const std::uint32_t here = *at;
    return here != 0 && (x == 0 || at[-1] == here) && (x + 1 == width_ || at[1] == here) &&
           (y == 0 || at[-width_] == here) && (y + 1 == height_ || at[width_] == here);
  }
  PROPWASH_FN static std::uint8_t larger(std::uint8_t a, std::uint8_t b) { return a > b ? a : b; }
  PROPWASH_FN static std::uint8_t apart(std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(a > b ? a - b : b - a);
  }

  /// Copies part of a row of the scratch to the outputs.
  void write_row(int left, int right, int y) const {
    const std::uint8_t* from = call_.scratch + 3 * pixel(left, y);
    const std::size_t to = output_index(left, y);
    const auto pixels = static_cast<std::size_t>(right - left);
    if (call_.to.colour != nullptr) std::memcpy(call_.to.colour + 3 * to, from, 3 * pixels);
    if (call_.to.grey == nullptr) return;
    for (std::size_t i = 0; i < pixels; ++i, from += 3) {
      call_.to.grey[to + i] = grey(from[0], from[1], from[2]);
    }
  }
  PROPWASH_FN static std::uint8_t grey(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
    return static_cast<std::uint8_t>((299 * r + 587 * g + 114 * b + 500) / 1000);
  }

  // write `pixels` pixels from index `place` on, if the output is requested

  PROPWASH_FN static void write3(std::uint8_t* image, std::size_t place, const std::uint32_t* codes,
                                 std::size_t pixels) {
    if (image == nullptr) return;
    std::uint8_t* to = image + 3 * place;
    for (std::size_t i = 0; i < pixels; ++i, to += 3) {
      to[0] = static_cast<std::uint8_t>(codes[i] >> 16);
      to[1] = static_cast<std::uint8_t>(codes[i] >> 8);
      to[2] = static_cast<std::uint8_t>(codes[i]);
    }
  }
  template <class Number>
  PROPWASH_FN static void write(Number* image, std::size_t place, const std::uint32_t* codes,
                                std::size_t pixels) {
    if (image == nullptr) return;
    for (std::size_t i = 0; i < pixels; ++i) image[place + i] = static_cast<Number>(codes[i]);
  }
  PROPWASH_FN void write_grey(std::size_t place, const std::uint32_t* codes,
                              std::size_t pixels) const {
    if (call_.to.grey == nullptr) return;
    for (std::size_t i = 0; i < pixels; ++i) {
      call_.to.grey[place + i] = grey(codes[i] >> 16, codes[i] >> 8 & 255U, codes[i] & 255U);
    }
  }

  const ImageCall<Rays>& call_;
  int width_;
  int height_;
};

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
