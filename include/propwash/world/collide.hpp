#pragma once
/// @file
/// Whether a vehicle, a sphere or an oriented box, touches a scene. Bodies are solid to it; a plane
/// is below its surface; a mesh is a surface.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "propwash/math/quat.hpp"
#include "propwash/world/overlap.hpp"
#include "propwash/world/scene_view.hpp"
#include "propwash/world/shapes.hpp"

namespace propwash {

namespace detail {

/// The bars of a gate: their middles and half their edges.
struct GateBars {
  std::array<Vec3<double>, 4> centre_S, half;

  explicit GateBars(const Solid<double>& gate) {
    const double border_y = 0.5 * (gate.half.y - gate.opening_y);
    const double border_z = 0.5 * (gate.half.z - gate.opening_z);
    const double y = gate.opening_y + border_y, z = gate.opening_z + border_z;
    centre_S = {{{0.0, y, 0.0}, {0.0, -y, 0.0}, {0.0, 0.0, z}, {0.0, 0.0, -z}}};
    half[0] = half[1] = {gate.half.x, border_y, gate.half.z};
    half[2] = half[3] = {gate.half.x, gate.opening_y, border_z};
  }
};

inline Mat3<double> rotation_of(const Solid<double>& solid) {
  Mat3<double> m;
  for (int i = 0; i < 9; ++i) m(i / 3, i % 3) = solid.rotation_SW[i];
  return m;
}

struct SphereBody {
  Vec3<double> centre_W;
  double radius;

  Vec3<double> reach_W() const { return {radius, radius, radius}; }
  bool touches(const WorldPlane<double>& plane) const {
    return dot(centre_W - plane.point_W, plane.normal_W) < radius;
  }
  bool touches(const WorldTriangle<double>& t) const {
    return squared_distance_to_triangle(centre_W, t.corners_W, t.normal_W) < radius * radius;
  }
  bool touches(const Solid<double>& solid) const {
    const Vec3<double> p = rotation_of(solid) * (centre_W - solid.position_W);
    const double square = radius * radius;
    switch (solid.kind) {
      case SolidKind::box:
        return squared_distance_to_box(p, solid.half) < square;
      case SolidKind::sphere:
        return norm(p) < radius + solid.half.x;
      case SolidKind::cylinder:
        return squared_distance_to_cylinder(p, solid.half.x, solid.half.z) < square;
      case SolidKind::gate:
        break;
    }
    const GateBars bars(solid);
    for (std::size_t i = 0; i < 4; ++i) {
      if (squared_distance_to_box(p - bars.centre_S[i], bars.half[i]) < square) return true;
    }
    return false;
  }
};

struct BoxBody {
  OrientedBox box_W;

  Vec3<double> reach_W() const {
    return {box_W.reach({1.0, 0.0, 0.0}), box_W.reach({0.0, 1.0, 0.0}),
            box_W.reach({0.0, 0.0, 1.0})};
  }
  bool touches(const WorldPlane<double>& plane) const {
    return dot(box_W.centre_F - plane.point_W, plane.normal_W) < box_W.reach(plane.normal_W);
  }
  bool touches(const WorldTriangle<double>& t) const {
    return box_overlaps_triangle(box_W, t.corners_W, t.normal_W);
  }
  bool touches(const Solid<double>& solid) const {
    const Mat3<double> turn = rotation_of(solid);
    const Vec3<double> p = turn * (box_W.centre_F - solid.position_W);
    const auto& axes = box_W.axes_F;
    const OrientedBox box_S{p, {turn * axes[0], turn * axes[1], turn * axes[2]}, box_W.half};
    switch (solid.kind) {
      case SolidKind::box:
        return box_overlaps_box(solid.half, box_S);
      case SolidKind::sphere:
        return squared_distance_to_box(
                   {dot(box_S.axes_F[0], p), dot(box_S.axes_F[1], p), dot(box_S.axes_F[2], p)},
                   box_S.half) < solid.half.x * solid.half.x;
      case SolidKind::cylinder:
        return box_overlaps_cylinder(box_S, solid.half.x, solid.half.z);
      case SolidKind::gate:
        break;
    }
    const GateBars bars(solid);
    for (std::size_t i = 0; i < 4; ++i) {
      const OrientedBox from_bar{p - bars.centre_S[i], box_S.axes_F, box_S.half};
      if (box_overlaps_box(bars.half[i], from_bar)) return true;
    }
    return false;
  }
};

/// The least id of what a body touches, -1 for nothing.
template <class Body>
std::int32_t first_touched(const SceneView<double>& scene, const Body& body,
                           const Vec3<double>& centre_W) {
  std::int32_t found = -1;
  const auto keep = [&](std::int32_t id) { found = found < 0 ? id : std::min(found, id); };
  for (std::int32_t i = 0; i < scene.plane_count; ++i) {
    if (body.touches(scene.planes[i])) keep(scene.planes[i].id);
  }
  if (scene.node_count == 0) return found;
  const Vec3<double> reach = body.reach_W();
  const Vec3<double> lower = centre_W - reach, upper = centre_W + reach;
  std::int32_t waiting[max_scene_depth] = {0};
  int count = 1;
  while (count > 0) {
    const std::int32_t at = waiting[--count];
    const auto& node = scene.nodes[at];
    bool meets = true;
    for (int i = 0; i < 3; ++i) {
      meets = meets && node.lower_W[i] <= upper[i] && lower[i] <= node.upper_W[i];
    }
    if (!meets) continue;
    if (node.count == 0) {
      waiting[count++] = node.next;
      waiting[count++] = at + 1;
      continue;
    }
    for (std::int32_t i = node.next; i < node.next + node.count; ++i) {
      const std::int32_t k = scene.references[i];
      if (k >= 0) {
        if (body.touches(scene.solids[k])) keep(scene.solids[k].id);
      } else if (body.touches(scene.triangles[-1 - k])) {
        keep(scene.triangles[-1 - k].id);
      }
    }
  }
  return found;
}

/// m, from a point to a node's box; 0 inside.
inline double distance_to(const SceneNode<double>& node, const Vec3<double>& point_W) {
  Vec3<double> apart{};
  for (int i = 0; i < 3; ++i) {
    apart[i] = std::max({0.0, node.lower_W[i] - point_W[i], point_W[i] - node.upper_W[i]});
  }
  return norm(apart);
}

}  // namespace detail

/// m, from a point to anything that can be touched, at least: to planes, and to boxes around all
/// else. 0 or less where they hold the point, infinity in an empty scene.
inline double clearance(const SceneView<double>& scene, const Vec3<double>& point_W) {
  double least = std::numeric_limits<double>::infinity();
  for (std::int32_t i = 0; i < scene.plane_count; ++i) {
    const auto& plane = scene.planes[i];
    least = std::min(least, dot(point_W - plane.point_W, plane.normal_W));
  }
  if (scene.node_count == 0) return least;
  std::int32_t waiting[max_scene_depth] = {0};
  int count = 1;
  while (count > 0) {
    const std::int32_t at = waiting[--count];
    const auto& node = scene.nodes[at];
    const double apart = detail::distance_to(node, point_W);
    if (!(apart < least)) continue;
    if (node.count > 0) {
      least = apart;
    } else {
      waiting[count++] = node.next;
      waiting[count++] = at + 1;
    }
  }
  return least;
}

/// The least id of the items that a sphere [m] touches, -1 for none.
inline std::int32_t collide(const SceneView<double>& scene, const Vec3<double>& centre_W,
                            double radius) {
  return detail::first_touched(scene, detail::SphereBody{centre_W, radius}, centre_W);
}

/// The same for a box of full edges `size` [m] about the origin of its pose.
inline std::int32_t collide(const SceneView<double>& scene, const Pose& pose,
                            const Vec3<double>& size) {
  const Mat3<double> m = to_matrix(pose.attitude_WS);
  const detail::BoxBody body{
      {pose.position_W,
       {{{m(0, 0), m(1, 0), m(2, 0)}, {m(0, 1), m(1, 1), m(2, 1)}, {m(0, 2), m(1, 2), m(2, 2)}}},
       size * 0.5}};
  return detail::first_touched(scene, body, pose.position_W);
}

}  // namespace propwash
