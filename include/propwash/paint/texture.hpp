#pragma once
/// @file
/// Filtered look-up of textures: two levels of a pyramid of halved sizes (L. Williams, "Pyramidal
/// parametrics", SIGGRAPH 1983), at two points along a footprint that is longer than wide, so that
/// surfaces seen at a grazing angle keep more detail.

#include <cstring>

#include "propwash/paint/data.hpp"
#include "propwash/paint/math.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// Points on textures, one in each lane, and the footprints of the pixels there, in texels of the
/// first level.
template <class W>
struct TexturePoint {
  W u = W(0.0F), v = W(0.0F);              ///< to the right and down
  W right_u = W(0.0F), right_v = W(0.0F);  ///< the change from a pixel to the next one in its row
  W down_u = W(0.0F), down_v = W(0.0F);    ///< the change to the next one in its column
  Integer<W> log_width{};                  ///< see Texture
  Integer<W> log_height{};                 ///< see Texture
  Integer<W> last_level{};                 ///< see Texture
  const Texture* textures[std::size_t{W::lanes}] = {};  ///< null: none in this lane, yet
};

/// Sets `lanes` to the points of a texture at points of its item, on the face closest to the
/// normal: upright on faces that look sideways, with y upwards on those that look up or down.
template <class W>
PROPWASH_FN void set_points(const Texture& texture, const MaskOf<W>& lanes, const Vec3<W>& point_S,
                            const Vec3<W>& normal_S, const Vec3<W>& right_S, const Vec3<W>& down_S,
                            TexturePoint<W>& to) {
  const W nx = abs(normal_S.x), ny = abs(normal_S.y);
  const auto is_side = max(nx, ny) > abs(normal_S.z);
  const auto is_along_y = is_side & (nx > ny);
  const W outward = select(is_side, select(is_along_y, normal_S.x, -normal_S.y), normal_S.z);
  const float columns = texture.columns_per_metre;
  const W sign = select(outward < W(0.0F), W(-columns), W(columns));
  const auto set = [&](W& u, W& v, const Vec3<W>& at, float shift_u, float shift_v) PROPWASH_LAMBDA {
    u = select(lanes, select(is_along_y, at.y, at.x) * sign + shift_u, u);
    v = select(lanes, select(is_side, at.z, at.y) * -texture.rows_per_metre + shift_v, v);
  };
  set(to.u, to.v, point_S, texture.shift_u, texture.shift_v);
  set(to.right_u, to.right_v, right_S, 0.0F, 0.0F);
  set(to.down_u, to.down_v, down_S, 0.0F, 0.0F);
  to.log_width |= lanes.bits & texture.log_width;
  to.log_height |= lanes.bits & texture.log_height;
  to.last_level |= lanes.bits & texture.last_level;
  for (int lane = 0; lane < W::lanes; ++lane) {
    if (lanes[lane]) to.textures[lane] = &texture;
  }
}

/// Adds `weight` times the textures at (u, v) of a level, bilinearly interpolated, to `sum`. Texels
/// are square roots of linear values, times 255.
template <class W>
PROPWASH_FN void add_texels(const TexturePoint<W>& at, const W& u, const W& v,
                            const Integer<W>& level, const W& weight, Vec3<W>& sum) {
  using detail::as;
  const W scale = as<typename W::Vector>((127 - level) << 23);  // 2^-level
  const W x = u * scale - 0.5F, y = v * scale - 0.5F;
  const W left = floor(x), top = floor(y);
  const W tx = x - left, ty = y - top;
  const auto size_log = [&](const Integer<W>& first) PROPWASH_LAMBDA {
    const Integer<W> log = first - level;
    return log & (log > 0);
  };
  const Integer<W> log_width = size_log(at.log_width);
  const Integer<W> columns = ((Integer<W>{} + 1) << log_width) - 1;
  const Integer<W> rows = ((Integer<W>{} + 1) << size_log(at.log_height)) - 1;
  const Integer<W> i = truncated(left) & columns, next_i = (i + 1) & columns;
  const Integer<W> j = truncated(top) & rows;
  const Integer<W> row = j << log_width, next_row = ((j + 1) & rows) << log_width;
  // through memory: inserting one lane after the other into registers is slower
  using Indices = std::int32_t[std::size_t{W::lanes}];
  Indices levels, corners[4], texels[4];
  std::memcpy(levels, &level, sizeof levels);
  const Integer<W> indices[4] = {row + i, row + next_i, next_row + i, next_row + next_i};
  std::memcpy(corners, indices, sizeof corners);
  for (int lane = 0; lane < W::lanes; ++lane) {
    const Texture& texture = *at.textures[lane];
    const std::int32_t* const from =
        texture.texels + texture.levels[static_cast<std::size_t>(levels[lane])];
    for (int k = 0; k < 4; ++k) texels[k][lane] = from[corners[k][lane]];
  }
  Integer<W> corner[4];
  std::memcpy(corner, texels, sizeof corner);
  const W right = tx * ty, low = ty - right;  // weights of the texels
  const W wd = right * weight, wc = low * weight, wb = (tx - right) * weight;
  const W wa = weight - wb - wc - wd;
  const auto blend = [&](int shift) PROPWASH_LAMBDA {
    const auto part = [&](const Integer<W>& texel) PROPWASH_LAMBDA {
      return to_float<W>((texel >> shift) & 255);
    };
    return part(corner[0]) * wa + part(corner[1]) * wb + part(corner[2]) * wc +
           part(corner[3]) * wd;
  };
  sum.x = sum.x + blend(16);
  sum.y = sum.y + blend(8);
  sum.z = sum.z + blend(0);
}

/// The mean linear colours of textures over the footprints of the pixels. Lanes without a texture
/// use that of another lane.
template <class W>
PROPWASH_FN Vec3<W> texture_colour(TexturePoint<W>& at) {
  using detail::as;
  const Texture* any_texture = nullptr;
  for (int lane = 0; lane < W::lanes; ++lane) {
    if (at.textures[lane] != nullptr) any_texture = at.textures[lane];
  }
  for (int lane = 0; lane < W::lanes; ++lane) {
    if (at.textures[lane] == nullptr) at.textures[lane] = any_texture;
  }
  const W right = at.right_u * at.right_u + at.right_v * at.right_v;
  const W down = at.down_u * at.down_u + at.down_v * at.down_v;
  const auto is_right = right > down;
  const W along_u = select(is_right, at.right_u, at.down_u);
  const W along_v = select(is_right, at.right_v, at.down_v);
  const W longer = max(sqrt(max(right, down)), W(1e-6F));
  const W shorter = abs(at.right_u * at.down_v - at.right_v * at.down_u) / longer;
  const auto is_long = longer > max(shorter, W(1.0F)) * 1.5F;
  // the level at which a texel has the size of the footprint of a probe
  const W size = max(max(shorter, select(is_long, longer * 0.5F, longer)), W(1.0F));
  const Integer<W> bits = as<Integer<W>>(size.v);
  const Integer<W>& last = at.last_level;
  const Integer<W> exponent = (bits >> 23) - 127;
  const Integer<W> is_last = exponent >= last;
  const Integer<W> level = (last & is_last) | (exponent & ~is_last);
  const Integer<W> next = level + (1 & ~is_last);
  const W finer_size = to_float<W>((bits & 0x7FFFFF)) * (1.0F / 8388608.0F);
  const W t = select(MaskOf<W>{is_last}, W(0.0F), finer_size);
  Vec3<W> sum{W(0.0F), W(0.0F), W(0.0F)};
  for (int side = -1; side < 2; side += 2) {
    const W offset = select(is_long, W(0.25F * static_cast<float>(side)), W(0.0F));
    const W u = at.u + along_u * offset, v = at.v + along_v * offset;
    Vec3<W> part{W(0.0F), W(0.0F), W(0.0F)};
    add_texels(at, u, v, level, 1.0F - t, part);
    if (any(t > W(0.0F))) add_texels(at, u, v, next, t, part);
    sum = any(is_long) ? sum + part * 0.5F : part;
    if (!any(is_long)) break;
  }
  const auto linear = [](const W& code) PROPWASH_LAMBDA {
    return code * code * (1.0F / (255.0F * 255.0F));
  };
  return map(sum, linear);
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
