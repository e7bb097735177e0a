#pragma once
/// @file
/// Rays against a scene, one in each lane: for kernels, which work on packs. raycast.hpp has the
/// functions over arrays.

#include <cstdint>

#include "propwash/math/finite.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/world/intersect.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash {

/// What rays meet first.
template <class W>
struct PackHit {
  W distance;      ///< m, infinity where nothing is met
  W id;            ///< of the item, a whole number; -1 where nothing is met
  Vec3<W> normal;  ///< unit, world frame, against the ray; zero where nothing is met
};

namespace detail {

/// Rays on their way through a scene. Lanes whose `limit` is negative meet nothing.
template <class W>
struct Tracer {
  using T = value_type_t<W>;

  const SceneView<T>& scene;
  Vec3<W> origin, direction, inverse;
  W limit;  ///< m, of the nearest crossing so far
  W id;
  Vec3<W> normal;

  PROPWASH_FN Tracer(const SceneView<T>& scene_, const Vec3<W>& origin_W,
                     const Vec3<W>& direction_W, const W& max_range)
      : scene(scene_), origin(origin_W), direction(direction_W) {
    inverse = safe_inverse(direction);
    // a sum with a number that is none, or is infinite, is not below any bound
    const W sum = abs(origin.x) + abs(origin.y) + abs(origin.z) + abs(direction.x) +
                  abs(direction.y) + abs(direction.z);
    const auto sound = both(is_finite(sum), both(sum<W(constant<W>(1e18)), max_range> zero<W>()));
    limit = select(sound, max_range, W(constant<W>(-1)));
    id = W(constant<W>(-1));
    normal = {zero<W>(), zero<W>(), zero<W>()};
  }

  PROPWASH_FN void keep(const Crossing<W>& met, std::int32_t item) {
    const auto nearer = met.distance < limit;
    limit = select(nearer, met.distance, limit);
    id = select(nearer, W(static_cast<T>(item)), id);
    normal = {select(nearer, met.normal.x, normal.x), select(nearer, met.normal.y, normal.y),
              select(nearer, met.normal.z, normal.z)};
  }
  PROPWASH_FN void planes() {
    for (std::int32_t i = 0; i < scene.plane_count; ++i) {
      const auto& plane = scene.planes[i];
      keep(intersect_plane(origin, direction, plane.point_W, plane.normal_W), plane.id);
    }
  }
  /// Those lanes that pass through a node's box before their limit.
  PROPWASH_FN auto reaches(const SceneNode<T>& node) const {
    const auto side = [](const T& low, const T& high, const W& o, const W& inv) PROPWASH_LAMBDA {
      const W a = (low - o) * inv;
      const W b = (high - o) * inv;
      return Interval<W>{min(a, b), max(a, b)};
    };
    const auto x = side(node.lower_W.x, node.upper_W.x, origin.x, inverse.x);
    const auto y = side(node.lower_W.y, node.upper_W.y, origin.y, inverse.y);
    const auto z = side(node.lower_W.z, node.upper_W.z, origin.z, inverse.z);
    const auto inside = overlap(overlap(x, y), overlap(z, Interval<W>{zero<W>(), limit}));
    return inside.enter < inside.leave;
  }
  PROPWASH_FN Vec3<W> turned(const T* rotation, const Vec3<W>& v) const {
    return {v.x * rotation[0] + v.y * rotation[1] + v.z * rotation[2],
            v.x * rotation[3] + v.y * rotation[4] + v.z * rotation[5],
            v.x * rotation[6] + v.y * rotation[7] + v.z * rotation[8]};
  }
  PROPWASH_FN Vec3<W> turned_back(const T* rotation, const Vec3<W>& v) const {
    return {v.x * rotation[0] + v.y * rotation[3] + v.z * rotation[6],
            v.x * rotation[1] + v.y * rotation[4] + v.z * rotation[7],
            v.x * rotation[2] + v.y * rotation[5] + v.z * rotation[8]};
  }
  PROPWASH_FN void meet(const Solid<T>& solid) {
    const Vec3<W> from = origin - solid.position_W;
    if (solid.kind == SolidKind::sphere) {
      return keep(intersect_sphere(from, direction, solid.half.x), solid.id);
    }
    const Vec3<W> origin_S = turned(solid.rotation_SW, from);
    const Vec3<W> direction_S = turned(solid.rotation_SW, direction);
    Crossing<W> met;
    if (solid.kind == SolidKind::box) {
      met = intersect_box(origin_S, direction_S, solid.half);
    } else if (solid.kind == SolidKind::cylinder) {
      met = intersect_cylinder(origin_S, direction_S, solid.half.x, solid.half.z);
    } else {
      met = intersect_gate(origin_S, direction_S, solid.half, solid.opening_y, solid.opening_z);
    }
    met.normal = turned_back(solid.rotation_SW, met.normal);
    keep(met, solid.id);
  }
  PROPWASH_FN void meet(const SceneNode<T>& leaf) {
    for (std::int32_t i = 0; i < leaf.count; ++i) {
      const std::int32_t reference = scene.references[leaf.next + i];
      if (reference >= 0) {
        meet(scene.solids[reference]);
      } else {
        const auto& flat = scene.triangles[-1 - reference];
        keep(intersect_triangle(origin, direction, flat.corners_W, flat.normal_W), flat.id);
      }
    }
  }
  /// Through the tree, nearer children first. Ends where `done()` says so after a leaf.
  template <class Done>
  PROPWASH_FN void bodies(const Done& done) {
    if (scene.node_count == 0) return;
    const bool backwards[3] = {first_lane(direction.x) < T(0), first_lane(direction.y) < T(0),
                               first_lane(direction.z) < T(0)};
    std::int32_t waiting[max_scene_depth];
    int count = 0;
    std::int32_t at = 0;
    for (;;) {
      const auto& node = scene.nodes[at];
      if (any(reaches(node))) {
        if (node.count == 0) {
          const bool second_first = backwards[node.axis];
          waiting[count++] = second_first ? at + 1 : node.next;
          at = second_first ? node.next : at + 1;
          continue;
        }
        meet(node);
        if (done()) return;
      }
      if (count == 0) return;
      at = waiting[--count];
    }
  }
};

}  // namespace detail

/// What rays from `origin_W` along unit vectors meet before `max_range` [m]. A ray whose numbers
/// are not finite meets nothing.
template <class W>
PROPWASH_FN PackHit<W> cast(const SceneView<value_type_t<W>>& scene, const Vec3<W>& origin_W,
                            const Vec3<W>& direction_W, const W& max_range) {
  detail::Tracer<W> rays(scene, origin_W, direction_W, max_range);
  rays.planes();
  rays.bodies([]() PROPWASH_LAMBDA { return false; });
  const auto met = rays.id > W(constant<W>(-0.5));
  return {select(met, rays.limit, detail::infinite<W>()), rays.id, rays.normal};
}

/// Which rays meet something before `max_range`: a mask. Ends as soon as all have.
template <class W>
PROPWASH_FN auto meets_any(const SceneView<value_type_t<W>>& scene, const Vec3<W>& origin_W,
                           const Vec3<W>& direction_W, const W& max_range) {
  detail::Tracer<W> rays(scene, origin_W, direction_W, max_range);
  // what has met something looks no further
  const auto stop = [&]() PROPWASH_LAMBDA {
    const auto met = rays.id > W(constant<W>(-0.5));
    rays.limit = select(met, W(constant<W>(-1)), rays.limit);
    return !any(rays.limit > detail::zero<W>());
  };
  rays.planes();
  if (!stop()) rays.bodies(stop);
  return rays.id > W(constant<W>(-0.5));
}

}  // namespace propwash
