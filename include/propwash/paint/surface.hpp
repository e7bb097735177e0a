#pragma once
/// @file
/// Shading of surfaces and the sky.
///
/// Tiles are filtered over the pixel's footprint in closed form, after I. Quilez, "Filtering
/// procedurals"; noise fades out as its spots become smaller than a pixel. This prevents aliasing
/// towards the horizon with one sample per pixel.

#include "propwash/paint/data.hpp"
#include "propwash/paint/encode.hpp"
#include "propwash/paint/math.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// A point on a face, and the pixel's footprint there.
template <class W>
struct FacePoint {
  W u, v;              ///< m, along the two axes of the item in the face
  W width_u, width_v;  ///< m
};

/// The face coordinates along the two axes of the item that are closest to the face.
template <class W>
PROPWASH_FN FacePoint<W> on_face(const Vec3<W>& point_S, const Vec3<W>& normal_S,
                                 const Vec3<W>& width_S) {
  const W nx = abs(normal_S.x), ny = abs(normal_S.y), nz = abs(normal_S.z);
  const auto side = max(nx, ny) > nz;
  const auto across = nx > ny;
  const auto u_is_y = side & across;
  return {select(u_is_y, point_S.y, point_S.x), select(side, point_S.z, point_S.y),
          max(select(u_is_y, width_S.y, width_S.x), W(1e-6F)),
          max(select(side, width_S.z, width_S.y), W(1e-6F))};
}

/// The mean over [x − w/2, x + w/2] of a wave that is 1 in even cells of unit width, −1 in odd
/// ones.
template <class W>
PROPWASH_FN W filtered_wave(const W& x, const W& w) {
  const auto triangle = [](const W& y) PROPWASH_LAMBDA {
    const W half = y * 0.5F;
    return abs(half - floor(half) - 0.5F);
  };
  return 2.0F * (triangle(x - 0.5F * w) - triangle(x + 0.5F * w)) / w;
}

/// The mean over [x − w/2, x + w/2] of lines of the given width centred on the integers.
template <class W>
PROPWASH_FN W filtered_lines(const W& x, const W& w, float line) {
  const auto integral = [&](const W& y) PROPWASH_LAMBDA {
    const W shifted = y + 0.5F * line;
    const W whole = floor(shifted);
    return whole * line + min(shifted - whole, W(line));
  };
  return (integral(x + 0.5F * w) - integral(x - 0.5F * w)) / w;
}

/// 1 if spots of this size are larger than a pixel, 0 if smaller.
template <class W>
PROPWASH_FN W visibility(const W& width, float size) {
  return clamp(1.5F - width * (2.0F / size), 0.0F, 1.0F);
}

/// The brightness of the finish at a point; about 1 on average.
template <class W>
PROPWASH_FN W brightness(const Finish& finish, const FacePoint<W>& at, std::uint32_t seed) {
  W bright(1.0F);
  const W width = max(at.width_u, at.width_v);
  if (finish.tile_contrast > 0.0F || finish.joint > 0.0F) {
    const float per_tile = 1.0F / finish.tile;
    const W u = at.u * per_tile, v = at.v * per_tile;
    const W wu = at.width_u * per_tile, wv = at.width_v * per_tile;
    if (finish.checker > 0.0F) {
      const W wave = filtered_wave(u, max(wu, W(0.01F))) * filtered_wave(v, max(wv, W(0.01F)));
      bright = bright + wave * (0.5F * finish.tile_contrast * finish.checker);
    }
    if (finish.checker < 1.0F) {
      const W value = lattice_value<W>(truncated(floor(u)), truncated(floor(v)), seed) - 0.5F;
      bright = bright + value * visibility(width, finish.tile) *
                            (finish.tile_contrast * (1.0F - finish.checker));
    }
    if (finish.joint > 0.0F) {
      const float line = finish.joint * per_tile;
      const W a = filtered_lines(u, max(wu, W(0.02F * line)), line);
      const W b = filtered_lines(v, max(wv, W(0.02F * line)), line);
      bright = bright * (1.0F - 0.55F * (a + b - a * b));
    }
  }
  if (finish.grain_contrast > 0.0F) {
    // four sizes of spots, each a fifth of the one before
    constexpr float weights[4] = {0.9F, 0.65F, 0.6F, 0.5F};
    W spots(0.0F);
    float size = finish.grain;
    for (int i = 0; i < 4; ++i, size *= 0.2F) {
      const W seen = visibility(width, size);
      if (!any(seen > W(0.0F))) break;
      const float per_spot = 1.0F / size;
      const auto own = seed + 1U + static_cast<std::uint32_t>(i);
      spots =
          spots + (value_noise(at.u * per_spot, at.v * per_spot, own) - 0.5F) * (seen * weights[i]);
    }
    bright = bright * (1.0F + spots * (1.4F * finish.grain_contrast));
  }
  return max(bright, W(0.0F));
}

/// The light from the sky in this direction, without the sun's disc.
template <class W>
PROPWASH_FN Vec3<W> sky_light(const Look& look, const Vec3<W>& direction_W) {
  const W up = max(direction_W.z, W(0.0F));
  const W squared = (1.0F - up) * (1.0F - up);
  return mix(cast<W>(look.zenith), cast<W>(look.horizon), squared * squared);
}

/// The visible sky: a gradient, the sun with its glow, and clouds on a distant plane.
template <class W>
PROPWASH_FN Vec3<W> sky(const Look& look, const Vec3<W>& direction_W) {
  Vec3<W> light = sky_light(look, direction_W);
  if (!look.is_lamp) {
    const W cosine = max(dot(direction_W, cast<W>(look.light_W)), W(0.0F));
    const W disc = smooth_step(0.9994F, 0.9998F, cosine);
    const W c8 = cosine * cosine * cosine * cosine * cosine * cosine * cosine * cosine;
    const W c64 = c8 * c8 * c8 * c8 * c8 * c8 * c8 * c8;
    light = light + cast<W>(look.light) * (disc * 6.0F + c64 * 0.10F + c8 * 0.03F);
  }
  if (look.clouds > 0.0F) {
    const W height = max(direction_W.z, W(0.02F));
    const W x = direction_W.x / height, y = direction_W.y / height;
    const W n = value_noise(x * 0.9F, y * 0.9F, look.seed + 11U) * 0.5F +
                value_noise(x * 2.1F, y * 2.1F, look.seed + 12U) * 0.27F +
                value_noise(x * 4.7F, y * 4.7F, look.seed + 13U) * 0.15F +
                value_noise(x * 10.3F, y * 10.3F, look.seed + 14U) * 0.08F;
    const W cover = smooth_step(0.0F, 0.35F, n - (0.85F - 0.6F * look.clouds)) *
                    smooth_step(0.02F, 0.35F, direction_W.z);
    const Vec3<W> white = cast<W>(look.light * 0.22F + look.horizon * 0.55F);
    light = mix(light, white, cover * 0.85F);
  }
  return light;
}

/// The light source as seen from a point.
template <class W>
struct Lighting {
  Vec3<W> direction_W;  ///< unit, towards the light
  W distance;           ///< m, to the light
  W strength;           ///< factor on the colour of the light
};
/// The light of the sun or the lamp at a point.
template <class W>
PROPWASH_FN Lighting<W> lighting(const Look& look, const Vec3<W>& point_W) {
  if (!look.is_lamp) return {cast<W>(look.light_W), W(1e9F), W(1.0F)};
  const Vec3<W> to_lamp = cast<W>(look.light_W) - point_W;
  const W squared = max(squared_norm(to_lamp), W(1e-4F));
  const W distance = sqrt(squared);
  const float reach = look.lamp_reach * look.lamp_reach;
  return {to_lamp * (1.0F / distance), distance, 2.0F * reach / (squared + reach)};
}

/// Light from a surface into the camera. `lit`: 1 in the light, 0 in shadow.
template <class W>
PROPWASH_FN Vec3<W> surface_light(const Look& look, const Vec3<W>& albedo, const W& gloss,
                                  const Vec3<W>& normal_W, const Vec3<W>& direction_W,
                                  const Lighting<W>& light, const W& lit) {
  const W facing = max(dot(normal_W, light.direction_W), W(0.0F)) * lit * light.strength;
  const W upward = 0.5F + 0.5F * normal_W.z;
  const Vec3<W> above = cast<W>((look.zenith * 0.6F + look.horizon * 0.4F) * look.ambient);
  const Vec3<W> ambient = mix(cast<W>(look.bounce), above, upward);
  Vec3<W> sum = cwise_product(albedo, cast<W>(look.light) * facing + ambient);
  if (any(gloss > W(0.0F))) {
    const W cosine = clamp(-dot(normal_W, direction_W), 0.0F, 1.0F);
    const W grazing = 1.0F - cosine;
    const W fresnel = 0.04F + 0.96F * grazing * grazing * grazing * grazing * grazing;
    const Vec3<W> mirrored = direction_W + normal_W * (2.0F * cosine);
    const W h = max(dot(mirrored, light.direction_W), W(0.0F));
    const W h4 = h * h * h * h, h32 = h4 * h4 * h4 * h4 * h4 * h4 * h4 * h4;
    sum = sum + (sky_light(look, mirrored) * look.ambient +
                 cast<W>(look.light) * (h32 * lit * light.strength * 4.0F)) *
                    (fresnel * gloss);
  }
  return sum;
}

/// Adds the haze between a surface and the camera.
template <class W>
PROPWASH_FN Vec3<W> through_air(const Look& look, const Vec3<W>& light, const W& distance) {
  return mix(cast<W>(look.horizon), light, decay(min(distance * (1.0F / look.haze), W(50.0F))));
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
