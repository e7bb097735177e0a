#pragma once
/// @file
/// What a pack of pixels sees: the first surface along each ray, its light, and how the picture has
/// moved. Sits between the rays of raycast.hpp and the bytes of tile.hpp.

#include "propwash/paint/data.hpp"
#include "propwash/paint/encode.hpp"
#include "propwash/paint/math.hpp"
#include "propwash/paint/surface.hpp"

#if PROPWASH_HAS_PACKS

namespace propwash::paint {

/// A picture to paint. Rays is what casts them; see rays.hpp.
template <class Rays>
struct PictureCall {
  Rays rays;                           ///< casts the rays
  const PaintedItem* items = nullptr;  ///< by the ids of the rays' hits
  PinholeCamera camera{};              ///< pose, field of view and size
  Look look{};                         ///< light and air
  int antialias = 1;                   ///< rays along each edge of a pixel where the colours change
  std::uint8_t* scratch = nullptr;     ///< (h, w, 3), for antialias > 1
  PictureOutputs to{};                 ///< where the pictures are written
};

/// The rays of a pack of pixels, and what they meet.
template <class W>
struct Sight {
  W x, y;               ///< pixels right of and below the centre of the picture
  Vec3<W> ray_W;        ///< per metre of depth
  Vec3<W> direction_W;  ///< unit
  W distance;           ///< m; infinite for nothing
  W depth;              ///< m, along the optical axis
  Whole<W> id;          ///< -1 for nothing
  Vec3<W> normal_W;     ///< unit normal of the surface
  MaskOf<W> seen;       ///< whether there is something
};

/// Calls f(item, its lanes) once for each item that the pack sees.
template <class W, class F>
PROPWASH_FN void for_each_item(const Sight<W>& sight, const PaintedItem* items, F&& f) {
  Whole<W> rest = sight.id;
  for (int lane = 0; lane < W::lanes; ++lane) {
    const std::int32_t id = rest[lane];
    if (id < 0) continue;
    const MaskOf<W> same{rest == id};
    f(items[id], same);
    rest = same.bits ? Whole<W>{} - 1 : rest;
  }
}

/// Looks through the pixels at (x, y) from the centre.
template <class W, class Rays>
PROPWASH_FN Sight<W> look_through(const PictureCall<Rays>& call, const W& x, const W& y) {
  const PinholeCamera& camera = call.camera;
  const float per_focal = 1.0F / camera.focal;
  Sight<W> sight;
  sight.x = x;
  sight.y = y;
  const Vec3<W> ray_C{W(1.0F), x * -per_focal, y * -per_focal};
  sight.ray_W = turned(camera.now.rotation_WS, ray_C);
  const W length = norm(ray_C);
  sight.direction_W = sight.ray_W * (1.0F / length);
  call.rays.first(broadcast<W>(camera.now.position_W), sight.direction_W, sight.distance, sight.id,
                  sight.normal_W);
  sight.seen = {sight.id >= 0};
  sight.depth = sight.distance / length;
  return sight;
}

/// How far the edges of a pixel reach on the surface, along each axis of the world: the change of
/// the point where a ray meets the plane of the surface, with the pixel.
template <class W>
PROPWASH_FN void pixel_edges(const PinholeCamera& camera, const Sight<W>& sight, Vec3<W>& right_W,
                             Vec3<W>& down_W) {
  const Mat3<float>& r = camera.now.rotation_WS;
  const float step = -1.0F / camera.focal;
  const Vec3<W> du = broadcast<W>({r(0, 1) * step, r(1, 1) * step, r(2, 1) * step});
  const Vec3<W> dv = broadcast<W>({r(0, 2) * step, r(1, 2) * step, r(2, 2) * step});
  const W slope = -1.0F / max(-dot(sight.normal_W, sight.ray_W), W(1e-3F));
  right_W = (du - sight.ray_W * (dot(sight.normal_W, du) * slope)) * sight.depth;
  down_W = (dv - sight.ray_W * (dot(sight.normal_W, dv) * slope)) * sight.depth;
}

/// The colour of the surfaces, and their gloss, each in its item's axes.
template <class W>
PROPWASH_FN void surface_colours(const PinholeCamera& camera, const PaintedItem* items,
                                 std::uint32_t seed, const Sight<W>& sight, const Vec3<W>& point_W,
                                 Vec3<W>& albedo, W& gloss) {
  Vec3<W> right_W, down_W;
  pixel_edges(camera, sight, right_W, down_W);
  for_each_item(sight, items, [&](const PaintedItem& item, const MaskOf<W>& lanes) PROPWASH_LAMBDA {
    const Mat3<float>& r = item.now.rotation_WS;
    const Vec3<W> point_S = turned_back(r, point_W - broadcast<W>(item.now.position_W));
    const Vec3<W> right_S = turned_back(r, right_W), down_S = turned_back(r, down_W);
    const Vec3<W> width_S{abs(right_S.x) + abs(down_S.x), abs(right_S.y) + abs(down_S.y),
                          abs(right_S.z) + abs(down_S.z)};
    const auto at = on_face(point_S, turned_back(r, sight.normal_W), width_S);
    const W bright = brightness(item.finish, at, seed + item.instance);
    albedo.x = select(lanes, bright * item.albedo.x, albedo.x);
    albedo.y = select(lanes, bright * item.albedo.y, albedo.y);
    albedo.z = select(lanes, bright * item.albedo.z, albedo.z);
    gloss = select(lanes, W(item.finish.gloss), gloss);
  });
}

/// The light that reaches the camera along the rays, exposed and in [0, 1), linear.
template <class W, class Rays>
PROPWASH_FN Vec3<W> seen_light(const PictureCall<Rays>& call, const Sight<W>& sight) {
  const Look& look = call.look;
  const W zero(0.0F);
  Vec3<W> light{zero, zero, zero};
  if (any(sight.seen)) {
    const W distance = select(sight.seen, sight.distance, zero);
    const Vec3<W> point_W = broadcast<W>(call.camera.now.position_W) + sight.direction_W * distance;
    Vec3<W> albedo{zero, zero, zero};
    W gloss = zero;
    surface_colours(call.camera, call.items, look.seed, sight, point_W, albedo, gloss);
    const Lighting<W> source = lighting(look, point_W);
    const auto facing = dot(sight.normal_W, source.direction_W) > zero;
    W lit = zero;
    if (any(facing & sight.seen)) {
      // from a little above the surface, so that it does not shade itself
      const Vec3<W> from_W = point_W + sight.normal_W * (1e-3F + 2e-5F * distance);
      lit = select(
          facing & sight.seen,
          call.rays.reaches(from_W, source.direction_W, source.distance, facing & sight.seen),
          zero);
    }
    light = surface_light(look, albedo, gloss, sight.normal_W, sight.direction_W, source, lit);
    light = through_air(look, light, distance);
  }
  if (any(inverted(sight.seen))) {
    const Vec3<W> above = sky(look, sight.direction_W);
    light = {select(sight.seen, light.x, above.x), select(sight.seen, light.y, above.y),
             select(sight.seen, light.z, above.z)};
  }
  const auto toned = [](const W& x) PROPWASH_LAMBDA { return tone(max(x, W(0.0F))); };
  return map(light * look.exposure, toned);
}

/// How far what the pixels show has moved since the picture before, pixels right and down; 0 where
/// it was not in front of the camera. The sky is infinitely far.
template <class W>
PROPWASH_FN void motion(const PinholeCamera& camera, const PaintedItem* items,
                        const Sight<W>& sight, W& u, W& v) {
  const W zero(0.0F);
  const W distance = select(sight.seen, sight.distance, zero);
  const Vec3<W> point_W = broadcast<W>(camera.now.position_W) + sight.direction_W * distance;
  // relative to the camera of then; of nothing seen, the direction alone
  Vec3<W> from_W = sight.direction_W;
  for_each_item(sight, items, [&](const PaintedItem& item, const MaskOf<W>& lanes) PROPWASH_LAMBDA {
    const Vec3<W> point_S =
        turned_back(item.now.rotation_WS, point_W - broadcast<W>(item.now.position_W));
    const Vec3<W> then_W = turned(item.before.rotation_WS, point_S) +
                           broadcast<W>(item.before.position_W - camera.before.position_W);
    from_W = {select(lanes, then_W.x, from_W.x), select(lanes, then_W.y, from_W.y),
              select(lanes, then_W.z, from_W.z)};
  });
  const Vec3<W> from_C = turned_back(camera.before.rotation_WS, from_W);
  const auto in_front = from_C.x > W(1e-4F);
  const Vec3<W> safe_C{select(in_front, from_C.x, W(1.0F)), from_C.y, from_C.z};
  W x, y;
  project(safe_C, camera.focal, x, y);
  u = select(in_front, sight.x - x, zero);
  v = select(in_front, sight.y - y, zero);
}

}  // namespace propwash::paint

#endif  // PROPWASH_HAS_PACKS
