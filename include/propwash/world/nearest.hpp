#pragma once
/// @file
/// The signed distance from a point to the nearest item of a scene, and its derivative.
///
/// Negative inside bodies; a plane is solid below its surface; a mesh is a surface, so its distance
/// is never negative. The distance is exact outside, and inside a body that overlaps no other;
/// inside several it is that of the deepest.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "propwash/math/finite.hpp"
#include "propwash/world/collide.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash {

/// Result of nearest().
struct NearestItem {
  double distance = std::numeric_limits<double>::infinity();  ///< m, negative inside
  Vec3<double>
      normal_W{};        ///< unit, the derivative of the distance by the point; 0 if there is none
  std::int32_t id = -1;  ///< of the item; -1: none
};

namespace detail {

/// A signed distance [m] and its derivative, in one frame.
struct SignedDistance {
  double distance;
  Vec3<double> normal;
};

/// The distance to a surface at `inner` from the origin of `off`, along it. An arbitrary direction
/// where the distance has no derivative.
inline SignedDistance around(const Vec3<double>& off, double inner, const Vec3<double>& otherwise) {
  const double length = norm(off);
  return {length - inner, length > 0.0 ? off * (1.0 / length) : otherwise};
}

/// 1 or -1.
inline double side(double x) { return std::copysign(1.0, x); }

inline SignedDistance signed_distance_to_box(const Vec3<double>& point, const Vec3<double>& half) {
  Vec3<double> off;
  int deepest = 0;
  for (int i = 0; i < 3; ++i) {
    off[i] = std::abs(point[i]) - half[i];
    if (off[i] > off[deepest]) deepest = i;
  }
  Vec3<double> face{}, normal{};
  face[deepest] = side(point[deepest]);
  if (!(off[deepest] > 0.0)) return {off[deepest], face};
  for (int i = 0; i < 3; ++i) normal[i] = std::max(off[i], 0.0) * side(point[i]);
  return around(normal, 0.0, face);
}

/// A capped cylinder about z.
inline SignedDistance signed_distance_to_cylinder(const Vec3<double>& point, double radius,
                                                  double half_height) {
  const double far = std::hypot(point.x, point.y);
  const Vec3<double> out =
      far > 0.0 ? Vec3<double>{point.x / far, point.y / far, 0.0} : Vec3<double>{1.0, 0.0, 0.0};
  const Vec3<double> up{0.0, 0.0, side(point.z)};
  const double across = far - radius, along = std::abs(point.z) - half_height;
  if (across > 0.0 && along > 0.0) {
    const double corner = std::hypot(across, along);
    return {corner, out * (across / corner) + up * (along / corner)};
  }
  return across > along ? SignedDistance{across, out} : SignedDistance{along, up};
}

/// A capsule about z.
inline SignedDistance signed_distance_to_capsule(const Vec3<double>& point, double radius,
                                                 double half_length) {
  const double end = std::min(std::max(point.z, -half_length), half_length);
  return around({point.x, point.y, point.z - end}, radius, {1.0, 0.0, 0.0});
}

inline SignedDistance signed_distance(const WorldPlane<double>& plane,
                                      const Vec3<double>& point_W) {
  return {dot(point_W - plane.point_W, plane.normal_W), plane.normal_W};
}

/// The point of a segment that is nearest to another.
inline Vec3<double> nearest_on_segment(const Vec3<double>& point, const Vec3<double>& a,
                                       const Vec3<double>& b) {
  const Vec3<double> line = b - a;
  const double square = squared_norm(line);
  const double at = square > 0.0 ? dot(point - a, line) / square : 0.0;
  return a + line * std::min(std::max(at, 0.0), 1.0);
}

inline SignedDistance signed_distance(const WorldTriangle<double>& t, const Vec3<double>& point_W) {
  const auto& [a, b, c] = t.corners_W;
  const Vec3<double> from = point_W - a;
  const double area = dot(cross(b - a, c - a), t.normal_W);
  const double u = dot(cross(from, c - a), t.normal_W) / area;
  const double v = dot(cross(b - a, from), t.normal_W) / area;
  Vec3<double> off = t.normal_W * dot(from, t.normal_W);
  if (!(u >= 0.0 && v >= 0.0 && u + v <= 1.0)) {
    off = point_W - nearest_on_segment(point_W, a, b);
    for (const auto& end : {nearest_on_segment(point_W, b, c), nearest_on_segment(point_W, c, a)}) {
      const Vec3<double> other = point_W - end;
      if (squared_norm(other) < squared_norm(off)) off = other;
    }
  }
  return around(off, 0.0, t.normal_W);
}

inline SignedDistance signed_distance(const Solid<double>& solid, const Vec3<double>& point_W) {
  const Vec3<double> point_S = solid.rotation_SW * (point_W - solid.position_W);
  const auto in_shape = [&]() -> SignedDistance {
    switch (solid.kind) {
      case SolidKind::box:
        return signed_distance_to_box(point_S, solid.half);
      case SolidKind::sphere:
        return around(point_S, solid.half.x, {1.0, 0.0, 0.0});
      case SolidKind::cylinder:
        return signed_distance_to_cylinder(point_S, solid.half.x, solid.half.z);
      case SolidKind::capsule:
        return signed_distance_to_capsule(point_S, solid.half.x, solid.half.z);
      case SolidKind::gate:
        break;
    }
    // inside: to the faces of the outer box, or to the opening
    const auto outer = signed_distance_to_box(point_S, solid.half);
    const auto opening = signed_distance_to_box(
        {0.0, point_S.y, point_S.z},
        {std::numeric_limits<double>::infinity(), solid.opening_y, solid.opening_z});
    if (outer.distance <= 0.0 && opening.distance >= 0.0) {
      return outer.distance > -opening.distance
                 ? outer
                 : SignedDistance{-opening.distance, -opening.normal};
    }
    const GateBars bars(solid);
    SignedDistance found{std::numeric_limits<double>::infinity(), {}};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto bar = signed_distance_to_box(point_S - bars.centre_S[i], bars.half[i]);
      if (bar.distance < found.distance) found = bar;
    }
    return found;
  };
  const SignedDistance found = in_shape();
  return {found.distance, transpose(solid.rotation_SW) * found.normal};
}

/// The items of one part of a scene that are nearer than `found`.
inline void nearest_of_part(const SceneView<double>& scene, std::int32_t ignored,
                            const Vec3<double>& point_W, NearestItem& found) {
  const auto compare = [&](const auto& item) {
    if (item.id == ignored) return;
    const SignedDistance to = signed_distance(item, point_W);
    if (to.distance < found.distance) found = {to.distance, to.normal, item.id};
  };
  for (std::int32_t i = 0; i < scene.plane_count; ++i) compare(scene.planes[i]);
  if (scene.node_count == 0) return;
  struct Waiting {
    std::int32_t node;
    double apart;
  } stack[max_scene_depth];
  int count = 1;
  stack[0] = {0, distance_to(scene.nodes[0], point_W)};
  while (count > 0) {
    const Waiting at = stack[--count];
    // inside a body, others may be deeper only where their boxes contain the point too
    if (!(at.apart < std::max(found.distance, std::numeric_limits<double>::min()))) continue;
    const auto& node = scene.nodes[at.node];
    if (node.count == 0) {
      Waiting near{at.node + 1, distance_to(scene.nodes[at.node + 1], point_W)};
      Waiting far{node.next, distance_to(scene.nodes[node.next], point_W)};
      if (far.apart < near.apart) std::swap(near, far);
      stack[count++] = far;
      stack[count++] = near;
      continue;
    }
    for (std::int32_t i = node.next; i < node.next + node.count; ++i) {
      const std::int32_t k = scene.references[i];
      if (k >= 0) {
        compare(scene.solids[k]);
      } else {
        compare(scene.triangles[-1 - k]);
      }
    }
  }
}

}  // namespace detail

/// The nearest item at less than `reach` [m] from a point. A point that is not finite has none.
inline NearestItem nearest(const SceneView<double>& scene, const Vec3<double>& point_W,
                           double reach = std::numeric_limits<double>::infinity()) {
  if (!is_finite(point_W)) return {};
  NearestItem found;
  found.distance = reach;
  for (const auto* part = &scene; part != nullptr; part = part->next) {
    detail::nearest_of_part(*part, scene.ignored, point_W, found);
  }
  return found.id < 0 ? NearestItem{} : found;
}

}  // namespace propwash
