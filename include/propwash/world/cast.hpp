#pragma once
/// @file
/// Ray casting with one ray in each lane, for kernels. raycast.hpp has the functions over arrays.

#include <cstdint>

#include "propwash/math/finite.hpp"
#include "propwash/math/lanes.hpp"
#include "propwash/world/intersect.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash {

/// First hits of rays.
template <class W>
struct PackHit {
  W distance;      ///< m; infinity without a hit
  W id;            ///< of the item, an integer; -1 without a hit
  Vec3<W> normal;  ///< unit, world frame, against the ray; zero without a hit
};

namespace detail {

/// The traversal of a scene by rays. Lanes with a negative `limit` are inactive.
template <class W>
struct Tracer {
  using T = value_type_t<W>;

  const SceneView<T>* part;  ///< of the scene
  const std::int32_t ignored;
  Vec3<W> origin, direction, inverse;
  W limit;  ///< m, of the nearest crossing so far
  W id;
  Vec3<W> normal;

  PROPWASH_FN Tracer(const SceneView<T>& scene, const Vec3<W>& origin_W, const Vec3<W>& direction_W,
                     const W& max_range)
      : part(&scene), ignored(scene.ignored), origin(origin_W), direction(direction_W) {
    inverse = safe_inverse(direction);
    // checks all six numbers at once: the sum is finite only if all of them are
    const W sum = abs(origin.x) + abs(origin.y) + abs(origin.z) + abs(direction.x) +
                  abs(direction.y) + abs(direction.z);
    const auto sound = both(is_finite(sum), both(sum<W(constant<W>(1e18)), max_range> zero<W>()));
    limit = select(sound, max_range, W(constant<W>(-1)));
    id = W(constant<W>(-1));
    normal = {zero<W>(), zero<W>(), zero<W>()};
  }

  PROPWASH_FN void record(const Crossing<W>& met, std::int32_t item) {
    const auto nearer = met.distance < limit;
    limit = select(nearer, met.distance, limit);
    id = select(nearer, W(static_cast<T>(item)), id);
    normal = {select(nearer, met.normal.x, normal.x), select(nearer, met.normal.y, normal.y),
              select(nearer, met.normal.z, normal.z)};
  }
  PROPWASH_FN void planes() {
    for (std::int32_t i = 0; i < part->plane_count; ++i) {
      const auto& plane = part->planes[i];
      record(intersect_plane(origin, direction, plane.point_W, plane.normal_W), plane.id);
    }
  }
  /// The lanes that pass through a node's box before their limit.
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
  PROPWASH_FN void meet(const Solid<T>& solid) {
    const Vec3<W> from = origin - solid.position_W;
    if (solid.kind == SolidKind::sphere) {
      return record(intersect_sphere(from, direction, solid.half.x), solid.id);
    }
    const Vec3<W> origin_S = solid.rotation_SW * from;
    const Vec3<W> direction_S = solid.rotation_SW * direction;
    Crossing<W> met;
    if (solid.kind == SolidKind::box) {
      met = intersect_box(origin_S, direction_S, solid.half);
    } else if (solid.kind == SolidKind::cylinder) {
      met = intersect_cylinder(origin_S, direction_S, solid.half.x, solid.half.z);
    } else if (solid.kind == SolidKind::capsule) {
      met = intersect_capsule(origin_S, direction_S, solid.half.x, solid.half.z);
    } else {
      met = intersect_gate(origin_S, direction_S, solid.half, solid.opening_y, solid.opening_z);
    }
    met.normal = transpose(solid.rotation_SW) * met.normal;
    record(met, solid.id);
  }
  PROPWASH_FN void meet(const SceneNode<T>& leaf) {
    for (std::int32_t i = 0; i < leaf.count; ++i) {
      const std::int32_t reference = part->references[leaf.next + i];
      if (reference >= 0) {
        const auto& solid = part->solids[reference];
        if (solid.id != ignored) meet(solid);
      } else {
        const auto& flat = part->triangles[-1 - reference];
        if (flat.id == ignored) continue;
        record(intersect_triangle(origin, direction, flat.corners_W, flat.normal_W), flat.id);
      }
    }
  }
  /// Traverses the tree, nearer children first, until done() is true after a leaf.
  template <class Done>
  PROPWASH_FN void bodies(const Done& done) {
    if (part->node_count == 0) return;
    const bool backwards[3] = {first_lane(direction.x) < T(0), first_lane(direction.y) < T(0),
                               first_lane(direction.z) < T(0)};
    std::int32_t stack[max_scene_depth];
    int count = 0;
    std::int32_t at = 0;
    for (;;) {
      const auto& node = part->nodes[at];
      if (any(reaches(node))) {
        if (node.count == 0) {
          const bool second_first = backwards[node.axis];
          stack[count++] = second_first ? at + 1 : node.next;
          at = second_first ? node.next : at + 1;
          continue;
        }
        meet(node);
        if (done()) return;
      }
      if (count == 0) return;
      at = stack[--count];
    }
  }
  /// All parts of the scene, until done() is true.
  template <class Done>
  PROPWASH_FN void trace(const Done& done) {
    for (;;) {
      planes();
      if (done()) return;
      bodies(done);
      part = part->next;
      if (part == nullptr || done()) return;
    }
  }
};

}  // namespace detail

/// First hits of rays from `origin_W` [m] along unit vectors, before `max_range` [m]. A ray that is
/// not finite hits nothing.
template <class W>
PROPWASH_FN PackHit<W> cast(const SceneView<value_type_t<W>>& scene, const Vec3<W>& origin_W,
                            const Vec3<W>& direction_W, const W& max_range) {
  detail::Tracer<W> rays(scene, origin_W, direction_W, max_range);
  rays.trace([]() PROPWASH_LAMBDA { return false; });
  const auto met = rays.id > W(constant<W>(-0.5));
  return {select(met, rays.limit, detail::infinite<W>()), rays.id, rays.normal};
}

/// A mask of the rays that hit something before `max_range`. Stops at any hit, unlike cast().
template <class W>
PROPWASH_FN auto meets_any(const SceneView<value_type_t<W>>& scene, const Vec3<W>& origin_W,
                           const Vec3<W>& direction_W, const W& max_range) {
  detail::Tracer<W> rays(scene, origin_W, direction_W, max_range);
  // lanes with a hit become inactive
  const auto stop = [&]() PROPWASH_LAMBDA {
    const auto met = rays.id > W(constant<W>(-0.5));
    rays.limit = select(met, W(constant<W>(-1)), rays.limit);
    return !any(rays.limit > detail::zero<W>());
  };
  rays.trace(stop);
  return rays.id > W(constant<W>(-0.5));
}

}  // namespace propwash
