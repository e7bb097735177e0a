#pragma once
/// @file
/// Traces a pack of pixels: the first hit of each ray, the light from it and its optical flow. Uses
/// the rays of rays.hpp; tile.hpp encodes the results.

#include "propwash/paint/data.hpp"
#include "propwash/paint/encode.hpp"
#include "propwash/paint/math.hpp"
#include "propwash/paint/surface.hpp"
#include "propwash/paint/texture.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// The arguments for rendering an image. `Rays` is the type of the ray caster, such as SceneRays.
template <class Rays>
struct ImageCall {
  Rays rays;                           ///< casts the rays
  const PaintedItem* items = nullptr;  ///< indexed by the ids of hits
  PinholeCamera camera{};              ///< pose, focal length and size
  Look look{};                         ///< light and air
  int antialias = 1;                   ///< rays along each edge of a pixel at colour edges
  std::uint8_t* scratch = nullptr;     ///< (h, w, 3), for antialias > 1
  std::uint32_t* seams = nullptr;      ///< (h, w) SurfaceColours::seam, likewise; null: no textures
  ImageOutputs to{};                   ///< the output arrays
};

/// The rays through a pack of pixels, and their first hits.
template <class W>
struct PixelHit {
  W x, y;               ///< the image plane at depth 1, right of and below the axis
  W to_x, to_y;         ///< pixels, right of and below the centre of the image
  Vec3<W> ray_W;        ///< per metre of depth
  Vec3<W> direction_W;  ///< unit
  W distance;           ///< m; infinite without a hit
  W depth;              ///< m, along the optical axis
  Integer<W> id;        ///< -1 without a hit
  Vec3<W> normal_W;     ///< unit, against the ray
  MaskOf<W> is_hit;     ///< the lanes with a hit
};

/// Calls f(item, lanes) once for each item that the pack hits.
template <class W, class F>
PROPWASH_FN void for_each_item(const PixelHit<W>& hit, const PaintedItem* items, F&& f) {
  Integer<W> rest = hit.id;
  for (int lane = 0; lane < W::lanes; ++lane) {
    const std::int32_t id = rest[lane];
    if (id < 0) continue;
    const MaskOf<W> same{rest == id};
    f(items[id], same);
    rest = same.bits ? Integer<W>{} - 1 : rest;
  }
}

/// Traces rays through the pixels at (x, y) from the centre.
template <class W, class Rays>
PROPWASH_FN PixelHit<W> trace_pixels(const ImageCall<Rays>& call, const W& x, const W& y) {
  const PinholeCamera& camera = call.camera;
  const float per_focal = 1.0F / camera.focal;
  PixelHit<W> hit;
  hit.to_x = x;
  hit.to_y = y;
  hit.x = x * per_focal;
  hit.y = y * per_focal;
  if (!camera.lens.is_none()) undistort(camera.lens, hit.x, hit.y);
  const Vec3<W> ray_C{W(1.0F), -hit.x, -hit.y};
  hit.ray_W = camera.now.rotation_WS * ray_C;
  const W length = norm(ray_C);
  hit.direction_W = hit.ray_W * (1.0F / length);
  call.rays.first(cast<W>(camera.now.position_W), hit.direction_W, hit.distance, hit.id,
                  hit.normal_W);
  hit.is_hit = {hit.id >= 0};
  hit.depth = hit.distance / length;
  return hit;
}

/// The derivatives of the surface point with respect to the pixel coordinates, m per pixel, world
/// frame: the footprint of the pixel.
template <class W>
PROPWASH_FN void pixel_edges(const PinholeCamera& camera, const PixelHit<W>& hit, Vec3<W>& right_W,
                             Vec3<W>& down_W) {
  const Mat3<float>& r = camera.now.rotation_WS;
  const float step = -1.0F / camera.focal;
  Vec3<W> du = cast<W>(make_vec3(r(0, 1) * step, r(1, 1) * step, r(2, 1) * step));
  Vec3<W> dv = cast<W>(make_vec3(r(0, 2) * step, r(1, 2) * step, r(2, 2) * step));
  if (!camera.lens.is_none()) {
    const DistortedPoint<W> at = distort(camera.lens, hit.x, hit.y);
    const W per = 1.0F / (at.xx * at.yy - at.xy * at.xy);
    const Vec3<W> du_0 = du;
    du = (du_0 * at.yy - dv * at.xy) * per;
    dv = (dv * at.xx - du_0 * at.xy) * per;
  }
  const W slope = -1.0F / max(-dot(hit.normal_W, hit.ray_W), W(1e-3F));
  right_W = (du - hit.ray_W * (dot(hit.normal_W, du) * slope)) * hit.depth;
  down_W = (dv - hit.ray_W * (dot(hit.normal_W, dv) * slope)) * hit.depth;
}

/// The colours of the surfaces that a pack hits.
template <class W>
struct SurfaceColours {
  Vec3<W> albedo{W(0.0F), W(0.0F), W(0.0F)};  ///< linear
  W gloss = W(0.0F);                          ///< see Finish
  /// Differs between two surfaces with a texture, 0 on others. A texture is filtered, so only the
  /// seams are anti-aliased.
  Integer<W> seam{};
};

/// The colours of the surfaces that the pixels of a hit show, with textures and patterns.
template <class W>
PROPWASH_FN SurfaceColours<W> surface_colours(const PinholeCamera& camera, const PaintedItem* items,
                                              std::uint32_t seed, const PixelHit<W>& hit,
                                              const Vec3<W>& point_W) {
  SurfaceColours<W> to;
  Vec3<W> right_W, down_W;
  pixel_edges(camera, hit, right_W, down_W);
  TexturePoint<W> points;
  for_each_item(hit, items, [&](const PaintedItem& item, const MaskOf<W>& lanes) PROPWASH_LAMBDA {
    const Mat3<float> r_SW = transpose(item.now.rotation_WS);
    const Vec3<W> point_S = r_SW * (point_W - cast<W>(item.now.position_W));
    const Vec3<W> right_S = r_SW * right_W, down_S = r_SW * down_W;
    const Vec3<W> normal_S = r_SW * hit.normal_W;
    W bright(1.0F);
    if (item.texture.texels != nullptr) {
      set_points(item.texture, lanes, point_S, normal_S, right_S, down_S, points);
      const W nx = abs(normal_S.x), ny = abs(normal_S.y);
      const auto is_side = max(nx, ny) > abs(normal_S.z);
      const Integer<W> face = (is_side.bits & 2) | ((nx > ny).bits & 4);
      to.seam |= lanes.bits & (hit.id * 8 + face + 8);
    } else {
      const Vec3<W> width_S{abs(right_S.x) + abs(down_S.x), abs(right_S.y) + abs(down_S.y),
                            abs(right_S.z) + abs(down_S.z)};
      bright = brightness(item.finish, on_face(point_S, normal_S, width_S), seed + item.instance);
    }
    to.albedo.x = select(lanes, bright * item.albedo.x, to.albedo.x);
    to.albedo.y = select(lanes, bright * item.albedo.y, to.albedo.y);
    to.albedo.z = select(lanes, bright * item.albedo.z, to.albedo.z);
    to.gloss = select(lanes, W(item.finish.gloss), to.gloss);
  });
  const MaskOf<W> has_texture{to.seam != 0};
  if (any(has_texture)) {
    const Vec3<W> colour = texture_colour(points), plain = to.albedo;
    to.albedo = {select(has_texture, plain.x * colour.x, plain.x),
                 select(has_texture, plain.y * colour.y, plain.y),
                 select(has_texture, plain.z * colour.z, plain.z)};
  }
  return to;
}

/// The light that reaches the camera along the rays: linear colours in [0, 1), after exposure and
/// tone mapping. `seam`: that of SurfaceColours, with bit 0 in the light.
template <class W, class Rays>
PROPWASH_FN Vec3<W> traced_light(const ImageCall<Rays>& call, const PixelHit<W>& hit,
                                 Integer<W>& seam) {
  const Look& look = call.look;
  const W zero(0.0F);
  Vec3<W> light{zero, zero, zero};
  seam = Integer<W>{};
  if (any(hit.is_hit)) {
    const W distance = select(hit.is_hit, hit.distance, zero);
    const Vec3<W> point_W = cast<W>(call.camera.now.position_W) + hit.direction_W * distance;
    const SurfaceColours<W> surface =
        surface_colours(call.camera, call.items, look.seed, hit, point_W);
    const Lighting<W> source = lighting(look, point_W);
    const auto facing = dot(hit.normal_W, source.direction_W) > zero;
    W lit = zero;
    if (any(facing & hit.is_hit)) {
      // start slightly above the surface, to avoid self-shadowing
      const Vec3<W> from_W = point_W + hit.normal_W * (1e-3F + 2e-5F * distance);
      lit = select(
          facing & hit.is_hit,
          call.rays.reaches(from_W, source.direction_W, source.distance, facing & hit.is_hit),
          zero);
    }
    light = surface_light(look, surface.albedo, surface.gloss, hit.normal_W, hit.direction_W,
                          source, lit);
    seam = surface.seam | ((surface.seam != 0) & (lit > zero).bits & 1);
    light = through_air(look, light, distance);
  }
  if (any(inverted(hit.is_hit))) {
    const Vec3<W> above = sky(look, hit.direction_W);
    light = {select(hit.is_hit, light.x, above.x), select(hit.is_hit, light.y, above.y),
             select(hit.is_hit, light.z, above.z)};
  }
  const auto toned = [](const W& x) PROPWASH_LAMBDA { return tone(max(x, W(0.0F))); };
  return map(light * look.exposure, toned);
}

/// Optical flow since the previous image, in pixels to the right and down; 0 for points that were
/// behind the camera. The sky is at infinity.
template <class W>
PROPWASH_FN void motion(const PinholeCamera& camera, const PaintedItem* items,
                        const PixelHit<W>& hit, W& u, W& v) {
  const W zero(0.0F);
  const W distance = select(hit.is_hit, hit.distance, zero);
  const Vec3<W> point_W = cast<W>(camera.now.position_W) + hit.direction_W * distance;
  // relative to the previous camera position; for the sky, the direction only
  Vec3<W> from_W = hit.direction_W;
  for_each_item(hit, items, [&](const PaintedItem& item, const MaskOf<W>& lanes) PROPWASH_LAMBDA {
    const Vec3<W> point_S =
        transpose(item.now.rotation_WS) * (point_W - cast<W>(item.now.position_W));
    const Vec3<W> then_W = item.before.rotation_WS * point_S +
                           cast<W>(item.before.position_W - camera.before.position_W);
    from_W = {select(lanes, then_W.x, from_W.x), select(lanes, then_W.y, from_W.y),
              select(lanes, then_W.z, from_W.z)};
  });
  const Vec3<W> from_C = transpose(camera.before.rotation_WS) * from_W;
  const auto in_front = from_C.x > W(1e-4F);
  const Vec3<W> safe_C{select(in_front, from_C.x, W(1.0F)), from_C.y, from_C.z};
  W x, y;
  project(safe_C, camera, x, y);
  u = select(in_front, hit.to_x - x, zero);
  v = select(in_front, hit.to_y - y, zero);
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
