#pragma once
/// @file
/// The levels of a texture, each averaged from the one before. Kernels do not include this.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/paint/look.hpp"

namespace propwash::paint {

/// An image in halved sizes down to one texel, averaged in linear light.
class TexturePyramid {
 public:
  /// From sRGB values (height, width, 3), the upper row first.
  /// @throws std::invalid_argument unless width and height are powers of two up to 2^14.
  TexturePyramid(const std::uint8_t* rgb, std::size_t width, std::size_t height) {
    form_.log_width = power_of_two(width, "width");
    form_.log_height = power_of_two(height, "height");
    form_.last_level = std::max(form_.log_width, form_.log_height);
    std::array<float, 256> linear{};
    for (std::size_t i = 0; i < 256; ++i) linear[i] = linear_light(static_cast<double>(i) / 255.0);
    std::vector<Vec3<float>> level(width * height);
    for (auto& texel : level) {
      texel = {linear[rgb[0]], linear[rgb[1]], linear[rgb[2]]};
      rgb += 3;
    }
    append(0, level);
    for (std::int32_t next = 1; next <= form_.last_level; ++next) {
      level = halved(level, width, height);
      append(static_cast<std::size_t>(next), level);
    }
  }

  /// The texture with this width and height [m] on surfaces and its centre shifted by fractions of
  /// them. Valid for the lifetime of this object.
  Texture on_surface(double width, double height, double shift_u = 0.0,
                     double shift_v = 0.0) const {
    Texture texture = form_;
    texture.texels = texels_.data();
    const double columns = std::exp2(form_.log_width), rows = std::exp2(form_.log_height);
    texture.columns_per_metre = static_cast<float>(columns / width);
    texture.rows_per_metre = static_cast<float>(rows / height);
    texture.shift_u = static_cast<float>((0.5 + shift_u) * columns);
    texture.shift_v = static_cast<float>((0.5 + shift_v) * rows);
    return texture;
  }

 private:
  static std::int32_t power_of_two(std::size_t size, const char* name) {
    std::int32_t log = 0;
    while (log < 14 && std::size_t{1} << log < size) ++log;
    if (std::size_t{1} << log != size) {
      PROPWASH_THROW(std::invalid_argument("texture: " + std::string(name) +
                                           ": expected a power of two up to 16384, got " +
                                           std::to_string(size)));
    }
    return log;
  }
  /// Averages pairs of columns and of rows; a single one remains.
  static std::vector<Vec3<float>> halved(const std::vector<Vec3<float>>& from, std::size_t& width,
                                         std::size_t& height) {
    const std::size_t right = width > 1 ? 1 : 0, below = height > 1 ? width : 0;
    const std::size_t columns = std::max<std::size_t>(width / 2, 1);
    const std::size_t rows = std::max<std::size_t>(height / 2, 1);
    std::vector<Vec3<float>> to(columns * rows);
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t i = 0; i < columns; ++i) {
        const auto* const at = &from[2 * j * width + 2 * i];
        to[j * columns + i] = (at[0] + at[right] + at[below] + at[right + below]) * 0.25F;
      }
    }
    width = columns;
    height = rows;
    return to;
  }
  void append(std::size_t level, const std::vector<Vec3<float>>& colours) {
    form_.levels[level] = static_cast<std::int32_t>(texels_.size());
    const auto code = [](float x) {
      return static_cast<std::int32_t>(std::sqrt(x) * 255.0F + 0.5F);
    };
    for (const auto& c : colours) texels_.push_back(code(c.x) << 16 | code(c.y) << 8 | code(c.z));
  }

  Texture form_;
  std::vector<std::int32_t> texels_;
};

}  // namespace propwash::paint
