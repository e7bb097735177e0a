#pragma once
/// @file
/// Encodings of the images; docs/render-reference.md has the inverses. Depth is along the optical
/// axis; the 16-bit encoding of 100 m is that of FlightGoggles (W. Guerra et al., IROS 2019,
/// section V-C), the 8-bit curve that of the Blackbird data set (A. Antonini et al., thesis, eq.
/// 4.2).

#include "propwash/paint/data.hpp"
#include "propwash/paint/math.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

inline constexpr float depth_range = 100.0F;  ///< m, the largest depth
inline constexpr float near_plane = 0.01F;    ///< m, the depth of code 0 in eight bits
inline constexpr float flow_range = 20.0F;    ///< pixels, the flow of full brightness

/// Rounds to the nearest integer, halves up; x >= 0.
template <class W>
PROPWASH_FN Integer<W> nearest(const W& x) {
  return truncated(x + 0.5F);
}

/// Depth [m] in 16 bits; 65535 beyond the range.
template <class W>
PROPWASH_FN Integer<W> depth_code(const W& depth) {
  return nearest(clamp(depth * (65535.0F / depth_range), 0.0F, 65535.0F));
}

/// Depth [m] in eight bits: c with depth = near + c^4 far^2 / (255^4 (far + near)).
template <class W>
PROPWASH_FN Integer<W> short_depth_code(const W& depth) {
  constexpr float scale = (depth_range + near_plane) / (depth_range * depth_range);
  const W fraction = clamp((depth - near_plane) * scale, 0.0F, 1.0F);
  return nearest(sqrt(sqrt(fraction)) * 255.0F);
}

/// A vector with components in [−1, 1] in three bytes: 0 is −1 and 255 is 1.
template <class W>
PROPWASH_FN Vec3<Integer<W>> normal_code(const Vec3<W>& n) {
  const auto code = [](const W& x) PROPWASH_LAMBDA {
    return nearest(clamp(x * 127.5F + 127.5F, 0.0F, 255.0F));
  };
  return {code(n.x), code(n.y), code(n.z)};
}

/// Flow [pixels], u to the right and v down, as a colour: hue is the direction (0 right, 90 degrees
/// up), value is the size up to `flow_range`, saturation is 1.
template <class W>
PROPWASH_FN Vec3<Integer<W>> flow_code(const W& u, const W& v) {
  const W size = sqrt(u * u + v * v);
  const Vec3<W> rgb = from_hue(angle_in_turns(u, -v), min(size * (1.0F / flow_range), W(1.0F)));
  return {nearest(rgb.x * 255.0F), nearest(rgb.y * 255.0F), nearest(rgb.z * 255.0F)};
}

/// The luma of display colours (Rec. 601).
template <class W>
PROPWASH_FN W luma(const Vec3<W>& display) {
  return 0.299F * display.x + 0.587F * display.y + 0.114F * display.z;
}

/// Projects a direction d (x forward, y left, z up; d.x > 0) to the pixel (u, v), relative to the
/// centre of the image.
template <class W>
PROPWASH_FN void project(const Vec3<W>& d, const PinholeCamera& camera, W& u, W& v) {
  if (camera.lens.is_none()) {
    const W scale = W(-camera.focal) / d.x;
    u = d.y * scale;
    v = d.z * scale;
    return;
  }
  const W per_depth = -1.0F / d.x;
  const DistortedPoint<W> at = distort(camera.lens, d.y * per_depth, d.z * per_depth);
  u = at.x * camera.focal;
  v = at.y * camera.focal;
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
