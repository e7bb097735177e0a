#pragma once
/// @file
/// The byte layout of images on the wire, and the conversion to grey.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/render/messages.hpp"

namespace propwash::render {

/// `channels` of an answer and the bytes per pixel.
struct ImageLayout {
  int channels = 3;         ///< values of each pixel
  int bytes_per_pixel = 3;  ///< all channels together
};

/// The layout in which a renderer sends an image, for the protocol version of the pose.
///
/// Published v3 clients copy 3 bytes per pixel unless `channels` is 2, so a camera with
/// `outputShaderType` gets its grey value as three equal bytes. Published v2 clients read one byte
/// per pixel if `channels` is 1.
constexpr ImageLayout image_layout(CameraType type, bool has_shader_type) {
  switch (type) {
    case CameraType::depth:
      return {2, 2};
    case CameraType::grey:
    case CameraType::depth_compressed:
      return {1, has_shader_type ? 3 : 1};
    default:
      return {3, 3};
  }
}

/// Rec. 601 luma in 16-bit fixed point, rounded; exactly v for (v, v, v).
constexpr std::uint8_t luma(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  const std::uint32_t sum = 19595u * red + 38470u * green + 7471u * blue;
  return static_cast<std::uint8_t>((sum + 32768u) >> 16);
}

/// Converts an image with 1 or 3 bytes per pixel to grey, one byte per pixel in the order of the
/// frame. RGB becomes luma, which keeps grey values exactly.
/// @throws std::invalid_argument for 16-bit images.
inline std::vector<std::uint8_t> grey_bytes(const ImageView& image) {
  const auto* from = static_cast<const std::uint8_t*>(image.bytes.data);
  if (image.bytes_per_pixel == 1) return {from, from + image.bytes.size};
  if (image.bytes_per_pixel != 3) {
    detail::refuse_field("bytes_per_pixel of camera \"" + image.camera + '"', image.bytes_per_pixel,
                         "1 or 3 for a grey image");
  }
  std::vector<std::uint8_t> grey(image.bytes.size / 3);
  for (auto& value : grey) {
    value = luma(from[0], from[1], from[2]);
    from += 3;
  }
  return grey;
}

}  // namespace propwash::render
