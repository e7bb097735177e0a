#pragma once
/// @file
/// Named looks, and the finish of each category's surfaces. Kernels do not include this.

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "propwash/math/config.hpp"
#include "propwash/paint/data.hpp"

namespace propwash::paint {

/// The linear light of an sRGB value in [0, 1] (IEC 61966-2-1).
inline float linear_light(double display) {
  const double x = std::fmin(std::fmax(display, 0.0), 1.0);
  return static_cast<float>(x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4));
}
inline Vec3<float> linear_light(const Vec3<double>& display) {
  return {linear_light(display.x), linear_light(display.y), linear_light(display.z)};
}

namespace look_detail {

/// The unit vector to the sun at this elevation and bearing from x towards y [degrees].
inline Vec3<float> sun_at(double elevation, double bearing) {
  constexpr double degree = 3.14159265358979323846 / 180.0;
  const double level = std::cos(elevation * degree);
  return cast<float>(make_vec3(level * std::cos(bearing * degree),
                               level * std::sin(bearing * degree), std::sin(elevation * degree)));
}

inline Look morning() {
  Look look;
  look.light_W = sun_at(36.0, -55.0);
  look.light = {2.35F, 2.05F, 1.62F};
  look.zenith = {0.13F, 0.29F, 0.66F};
  look.horizon = {0.62F, 0.72F, 0.84F};
  look.bounce = {0.26F, 0.23F, 0.20F};
  look.ambient = 0.9F;
  look.clouds = 0.55F;
  look.haze = 420.0F;
  look.exposure = 0.72F;
  return look;
}

inline Look noon() {
  Look look = morning();
  look.light_W = sun_at(64.0, 40.0);
  look.light = {2.45F, 2.35F, 2.15F};
  look.zenith = {0.10F, 0.26F, 0.68F};
  look.horizon = {0.55F, 0.70F, 0.90F};
  look.clouds = 0.4F;
  look.haze = 800.0F;
  return look;
}

inline Look sunset() {
  Look look = morning();
  look.light_W = sun_at(11.0, 205.0);
  look.light = {2.7F, 1.35F, 0.55F};
  look.zenith = {0.10F, 0.16F, 0.36F};
  look.horizon = {0.95F, 0.52F, 0.27F};
  look.bounce = {0.20F, 0.13F, 0.09F};
  look.ambient = 0.8F;
  look.haze = 300.0F;
  look.exposure = 0.8F;
  return look;
}

inline Look overcast() {
  Look look = morning();
  look.light = {0.25F, 0.25F, 0.25F};
  look.zenith = {0.52F, 0.56F, 0.60F};
  look.horizon = {0.72F, 0.75F, 0.77F};
  look.ambient = 1.15F;
  look.clouds = 0.0F;
  look.haze = 260.0F;
  return look;
}

/// A lamp below the ceiling; the caller sets `light_W` and `lamp_reach` for the scene.
inline Look indoor() {
  Look look;
  look.light_W = {0.0F, 0.0F, 4.6F};
  look.is_lamp = true;
  look.lamp_reach = 5.0F;
  look.light = {1.15F, 1.10F, 1.0F};
  look.zenith = {0.36F, 0.38F, 0.42F};
  look.horizon = {0.42F, 0.43F, 0.45F};
  look.bounce = {0.30F, 0.28F, 0.26F};
  look.haze = 5000.0F;
  look.exposure = 0.75F;
  return look;
}

struct NamedLook {
  std::string_view name;
  Look (*make)();
};
inline constexpr std::array<NamedLook, 5> looks{{{"morning", &morning},
                                                 {"noon", &noon},
                                                 {"sunset", &sunset},
                                                 {"overcast", &overcast},
                                                 {"indoor", &indoor}}};

struct NamedFinish {
  std::string_view category;
  Finish finish;
};
// tile, contrast, checker, joint, grain, contrast, gloss
inline constexpr std::array<NamedFinish, 14> finishes{{
    {"ground", {2.5F, 0.18F, 0.0F, 0.03F, 2.3F, 0.5F, 0.0F}},
    {"floor", {0.5F, 0.10F, 0.0F, 0.012F, 0.9F, 0.16F, 0.25F}},
    {"wall", {1.2F, 0.08F, 0.0F, 0.02F, 1.1F, 0.20F, 0.05F}},
    {"ceiling", {0.6F, 0.04F, 0.0F, 0.02F, 0.5F, 0.06F, 0.0F}},
    {"gate", {0.3F, 0.35F, 1.0F, 0.0F, 1.0F, 0.06F, 0.10F}},
    {"trunk", {1.0F, 0.0F, 0.0F, 0.0F, 0.25F, 0.75F, 0.0F}},
    {"crown", {1.0F, 0.0F, 0.0F, 0.0F, 0.45F, 0.85F, 0.0F}},
    {"shelf", {0.9F, 0.0F, 0.0F, 0.02F, 0.5F, 0.10F, 0.10F}},
    {"crate", {0.3F, 0.12F, 0.0F, 0.0F, 0.6F, 0.35F, 0.0F}},
    {"pillar", {1.0F, 0.10F, 0.0F, 0.02F, 0.6F, 0.25F, 0.0F}},
    {"vehicle", {1.0F, 0.0F, 0.0F, 0.0F, 1.0F, 0.0F, 0.5F}},
    {"person", {1.0F, 0.0F, 0.0F, 0.0F, 0.1F, 0.15F, 0.0F}},
    {"obstacle", {1.0F, 0.12F, 0.0F, 0.015F, 0.6F, 0.2F, 0.05F}},
    {"grid", {1.0F, 0.12F, 1.0F, 0.03F, 2.3F, 0.12F, 0.0F}},
}};

}  // namespace look_detail

/// The look with this name.
/// @throws std::invalid_argument for an unknown name.
inline Look look_named(const std::string& name) {
  std::string known;
  for (const auto& each : look_detail::looks) {
    if (each.name == name) return each.make();
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  PROPWASH_THROW(std::invalid_argument("look: expected one of " + known + ", got '" + name + "'"));
}

/// The finish of a category; a light grain for unknown ones. Green ground is grass, without tiles.
inline Finish finish_of(std::string_view category, const Vec3<double>& colour = {}) {
  if (category == "ground" && colour.y > colour.x && colour.y > 1.3 * colour.z) {
    return {1.0F, 0.0F, 0.0F, 0.0F, 2.8F, 0.7F, 0.0F};
  }
  for (const auto& each : look_detail::finishes) {
    if (each.category == category) return each.finish;
  }
  return {1.0F, 0.0F, 0.0F, 0.0F, 0.5F, 0.18F, 0.05F};
}

/// The colour 0xRRGGBB of number n in images of ids: a bijection below 2^24 that maps 0 to black
/// and consecutive numbers to distinct colours.
inline std::uint32_t colour_of_id(std::uint32_t n) { return (n * 0x61C885U) & 0xFFFFFFU; }
/// The inverse: 0x61C885 * 0x52F04D = 1 (mod 2^24).
inline std::uint32_t id_of_colour(std::uint32_t colour) { return (colour * 0x52F04DU) & 0xFFFFFFU; }

/// The number of a category in semantic images: 1, 2, … in the order of `finishes`; for other
/// names a hash of at least 64 (FNV-1a).
inline std::uint32_t category_id(std::string_view category) {
  std::uint32_t number = 1;
  for (const auto& each : look_detail::finishes) {
    if (each.category == category) return number;
    ++number;
  }
  std::uint32_t hash = 0x811C9DC5U;
  for (const char letter : category) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193U;
  }
  return 64U + hash % (0x1000000U - 64U);
}

}  // namespace propwash::paint
