#pragma once
/// @file
/// What the bytes of the six kinds of pictures mean, as functions of what was seen: docs/
/// render-reference.md has the inverses. Depth is along the optical axis; 100 m in 16 bits is
/// FlightGoggles' (W. Guerra et al., IROS 2019, section V-C), the curve of eight bits the Blackbird
/// data set's (A. Antonini et al., eq. 4.2 of the thesis behind it).

#include "propwash/paint/data.hpp"
#include "propwash/paint/math.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

inline constexpr float depth_range = 100.0F;  ///< m, the largest depth of 16 bits
inline constexpr float near_plane = 0.01F;    ///< m, 0 in eight bits
inline constexpr float flow_range = 20.0F;    ///< pixels, of the brightest flow

/// To the nearest whole number, halves up; x >= 0.
template <class W>
PROPWASH_FN Whole<W> nearest(const W& x) {
  return truncated(x + 0.5F);
}

/// Depth [m] in 16 bits; what is further than the range, or infinitely far, is 65535.
template <class W>
PROPWASH_FN Whole<W> depth_code(const W& depth) {
  return nearest(clamp(depth * (65535.0F / depth_range), 0.0F, 65535.0F));
}

/// Depth [m] in eight bits, c with depth = near + c^4 far^2 / (255^4 (far + near)).
template <class W>
PROPWASH_FN Whole<W> short_depth_code(const W& depth) {
  constexpr float scale = (depth_range + near_plane) / (depth_range * depth_range);
  const W share = clamp((depth - near_plane) * scale, 0.0F, 1.0F);
  return nearest(sqrt(sqrt(share)) * 255.0F);
}

/// A vector of components in [−1, 1] in three bytes: 0 is −1 and 255 is 1.
template <class W>
PROPWASH_FN Vec3<Whole<W>> normal_code(const Vec3<W>& n) {
  const auto code = [](const W& x) PROPWASH_LAMBDA {
    return nearest(clamp(x * 127.5F + 127.5F, 0.0F, 255.0F));
  };
  return {code(n.x), code(n.y), code(n.z)};
}

/// Flow [pixels], u to the right and v down, as colour: the hue is its direction (0 to the right, a
/// quarter of a turn up), the value its size up to `flow_range`, the saturation is full.
template <class W>
PROPWASH_FN Vec3<Whole<W>> flow_code(const W& u, const W& v) {
  const W size = sqrt(u * u + v * v);
  const Vec3<W> rgb = from_hue(turns(u, -v), min(size * (1.0F / flow_range), W(1.0F)));
  return {nearest(rgb.x * 255.0F), nearest(rgb.y * 255.0F), nearest(rgb.z * 255.0F)};
}

/// The luma of display colours (Rec. 601).
template <class W>
PROPWASH_FN W luma(const Vec3<W>& display) {
  return 0.299F * display.x + 0.587F * display.y + 0.114F * display.z;
}

/// The pixel (u, v) on which a camera sees the direction d (x forward, y left, z up), relative to
/// the centre of the picture; d.x > 0.
template <class W>
PROPWASH_FN void project(const Vec3<W>& d, float focal, W& u, W& v) {
  const W scale = W(-focal) / d.x;
  u = d.y * scale;
  v = d.z * scale;
}

/// A vector of floats in every lane.
template <class W>
PROPWASH_FN Vec3<W> broadcast(const Vec3<float>& v) {
  return {W(v.x), W(v.y), W(v.z)};
}

/// R v and R^T v for one rotation and many vectors.
template <class W>
PROPWASH_FN Vec3<W> turned(const Mat3<float>& m, const Vec3<W>& v) {
  return {m(0, 0) * v.x + m(0, 1) * v.y + m(0, 2) * v.z,
          m(1, 0) * v.x + m(1, 1) * v.y + m(1, 2) * v.z,
          m(2, 0) * v.x + m(2, 1) * v.y + m(2, 2) * v.z};
}
/// The inverse of turned.
template <class W>
PROPWASH_FN Vec3<W> turned_back(const Mat3<float>& m, const Vec3<W>& v) {
  return {m(0, 0) * v.x + m(1, 0) * v.y + m(2, 0) * v.z,
          m(0, 1) * v.x + m(1, 1) * v.y + m(2, 1) * v.z,
          m(0, 2) * v.x + m(1, 2) * v.y + m(2, 2) * v.z};
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
