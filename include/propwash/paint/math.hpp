#pragma once
/// @file
/// Functions on packs of floats beyond the hooks of scalar.hpp: rounding, lattice noise, curves and
/// colour spaces, with errors below an 8-bit step.
///
/// Noise: hashed values at the points of a lattice, with Hermite interpolation (value noise after
/// K. Perlin, "An image synthesizer", SIGGRAPH 1985). Display colours: IEC 61966-2-1 (sRGB).

#include <cstdint>

#include "propwash/math/pack.hpp"
#include "propwash/math/vec3.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// The lanes of a pack as 32-bit integers.
template <class W>
using Integer = typename W::Bits;

/// A mask of the lanes of a pack of floats.
template <class W>
using MaskOf = PackMask<float, W::lanes>;

/// Logical not.
template <int N>
PROPWASH_FN PackMask<float, N> inverted(const PackMask<float, N>& mask) {
  return {~mask.bits};
}

/// Rounds towards zero; |x| < 2^31.
template <class W>
PROPWASH_FN Integer<W> truncated(const W& x) {
  return __builtin_convertvector(x.v, Integer<W>);
}
/// Converts integers to floats.
template <class W>
PROPWASH_FN W to_float(const Integer<W>& x) {
  return __builtin_convertvector(x, typename W::Vector);
}
/// Rounds down; |x| < 2^31.
template <class W>
PROPWASH_FN W floor(const W& x) {
  const W t = to_float<W>(truncated(x));
  return select(t > x, t - 1.0F, t);
}

/// Linear interpolation from a at t = 0 to b at t = 1.
template <class W>
PROPWASH_FN W mix(const W& a, const W& b, const W& t) {
  return a + (b - a) * t;
}
template <class W>
PROPWASH_FN Vec3<W> mix(const Vec3<W>& a, const Vec3<W>& b, const W& t) {
  return {mix(a.x, b.x, t), mix(a.y, b.y, t), mix(a.z, b.z, t)};
}
/// Smoothstep: from 0 at `low` to 1 at `high` along 3 t^2 − 2 t^3.
template <class W>
PROPWASH_FN W smooth_step(float low, float high, const W& x) {
  const W t = clamp((x - low) * (1.0F / (high - low)), 0.0F, 1.0F);
  return t * t * (3.0F - 2.0F * t);
}

/// A hash of a lattice point in [0, 1), with the mixing steps of "lowbias32" (C. Wellons).
template <class W>
PROPWASH_FN W lattice_value(const Integer<W>& i, const Integer<W>& j, std::uint32_t seed) {
  using Words = typename detail::VectorOf<float, W::lanes>::Words;
  Words h = detail::as<Words>(i) * 0x9E3779B1U + detail::as<Words>(j) * 0x85EBCA77U + seed;
  h ^= h >> 16;
  h *= 0x7FEB352DU;
  h ^= h >> 15;
  h *= 0x846CA68BU;
  h ^= h >> 16;
  return to_float<W>(detail::as<Integer<W>>(h >> 8)) * (1.0F / 16777216.0F);
}

/// Smooth noise in [0, 1] with one value per unit square.
template <class W>
PROPWASH_FN W value_noise(const W& x, const W& y, std::uint32_t seed) {
  const W left = floor(x), low = floor(y);
  const W tx = x - left, ty = y - low;
  const W sx = tx * tx * (3.0F - 2.0F * tx), sy = ty * ty * (3.0F - 2.0F * ty);
  const Integer<W> i = truncated(left), j = truncated(low);
  const W below = mix(lattice_value<W>(i, j, seed), lattice_value<W>(i + 1, j, seed), sx);
  const W above = mix(lattice_value<W>(i, j + 1, seed), lattice_value<W>(i + 1, j + 1, seed), sx);
  return mix(below, above, sy);
}

/// e^(−x) for x >= 0, within 0.001, as the reciprocal of a series.
template <class W>
PROPWASH_FN W decay(const W& x) {
  const W quarter = x * 0.25F;
  const W series =
      1.0F + quarter * (1.0F + quarter * (0.5F + quarter * (1.0F / 6.0F + quarter / 24.0F)));
  const W squared = series * series;
  return 1.0F / (squared * squared);
}

/// Linear light in [0, 1] to sRGB values in [0, 1], within 0.0001.
template <class W>
PROPWASH_FN W to_display(const W& linear) {
  const W x = clamp(linear, 0.0F, 1.0F);
  const W r2 = sqrt(x), r4 = sqrt(r2), r8 = sqrt(r4);
  const W curve = 0.64236964F * r2 + 0.71210576F * r4 - 0.33686797F * r8 - 0.01756432F * x;
  return select(x < W(0.0031308F), 12.92F * x, curve);
}

/// The angle of (x, y) in turns, in [0, 1), from x towards y, within 1e-6; 0 for the origin.
template <class W>
PROPWASH_FN W angle_in_turns(const W& x, const W& y) {
  const W ax = abs(x), ay = abs(y);
  const W larger = max(ax, ay), smaller = min(ax, ay);
  const W z = select(larger > W(0.0F), smaller / max(larger, W(1e-30F)), W(0.0F));
  const W s = z * z;
  const W eighth =  // arctangent over 2π for slopes up to 1
      z * 0.15915494F *
      (0.99997726F +
       s * (-0.33262347F +
            s * (0.19354346F + s * (-0.11643287F + s * (0.05265332F - s * 0.01172120F)))));
  const W quarter = select(ay > ax, 0.25F - eighth, eighth);
  const W half = select(x < W(0.0F), 0.5F - quarter, quarter);
  const W angle = select(y < W(0.0F), 1.0F - half, half);
  return select(angle < W(1.0F), angle, W(0.0F));
}

/// HSV to RGB, all in [0, 1], with saturation 1 and hue in turns.
template <class W>
PROPWASH_FN Vec3<W> from_hue(const W& hue, const W& value) {
  const W six = hue * 6.0F;
  return {value * clamp(abs(six - 3.0F) - 1.0F, 0.0F, 1.0F),
          value * clamp(2.0F - abs(six - 2.0F), 0.0F, 1.0F),
          value * clamp(2.0F - abs(six - 4.0F), 0.0F, 1.0F)};
}

/// Tone mapping from [0, ∞) to [0, 1): K. Narkowicz's fit of the ACES film curve.
template <class W>
PROPWASH_FN W tone(const W& light) {
  return light * (2.51F * light + 0.03F) / (light * (2.43F * light + 0.59F) + 0.14F);
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
