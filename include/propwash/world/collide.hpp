#pragma once
/// @file
/// Collision of an oriented box with a scene, and of a sphere: see spherecast.hpp.

#include <cstdint>

#include "propwash/math/quat.hpp"
#include "propwash/world/overlap.hpp"
#include "propwash/world/scene_view.hpp"
#include "propwash/world/shapes.hpp"
#include "propwash/world/spherecast.hpp"

namespace propwash {

namespace detail {

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
    const Mat3<double>& r_SW = solid.rotation_SW;
    const Vec3<double> p = r_SW * (box_W.centre_F - solid.position_W);
    const auto& axes = box_W.axes_F;
    const OrientedBox box_S{p, {r_SW * axes[0], r_SW * axes[1], r_SW * axes[2]}, box_W.half};
    switch (solid.kind) {
      case SolidKind::box:
        return box_overlaps_box(solid.half, box_S);
      case SolidKind::sphere:
        return squared_distance_to_box(
                   {dot(box_S.axes_F[0], p), dot(box_S.axes_F[1], p), dot(box_S.axes_F[2], p)},
                   box_S.half) < solid.half.x * solid.half.x;
      case SolidKind::cylinder:
        return box_overlaps_cylinder(box_S, solid.half.x, solid.half.z);
      case SolidKind::capsule:
        return overlaps_capsule(box_S, solid.half.x, solid.half.z);
      case SolidKind::gate:
        break;
    }
    const GateBars bars(solid);
    for (int i = 0; i < 4; ++i) {
      const OrientedBox from_bar{p - bars.centre_S[i], box_S.axes_F, box_S.half};
      if (box_overlaps_box(bars.half[i], from_bar)) return true;
    }
    return false;
  }

 private:
  /// Whether a capsule's segment is closer than its radius: the segment is the path of a sphere.
  static bool overlaps_capsule(const OrientedBox& box_S, double radius, double half_length) {
    const Vec3<double> z{box_S.axes_F[0].z, box_S.axes_F[1].z, box_S.axes_F[2].z};
    const Vec3<double> middle{-dot(box_S.axes_F[0], box_S.centre_F),
                              -dot(box_S.axes_F[1], box_S.centre_F),
                              -dot(box_S.axes_F[2], box_S.centre_F)};
    const MovingSphere end{middle - z * half_length, z * (2.0 * half_length), radius};
    const Solid<double> box{Mat3<double>::identity(), {}, box_S.half, 0.0, 0.0, SolidKind::box, 0};
    return end.contact(box) <= 1.0;
  }
};

}  // namespace detail

/// The lowest id of the items that a box with edges `size` [m], centred at its pose, touches, or
/// -1.
inline std::int32_t collide(const SceneView<double>& scene, const Pose& pose,
                            const Vec3<double>& size) {
  const Mat3<double> m = to_matrix(pose.attitude_WS);
  const detail::BoxBody body{
      {pose.position_W,
       {{{m(0, 0), m(1, 0), m(2, 0)}, {m(0, 1), m(1, 1), m(2, 1)}, {m(0, 2), m(1, 2), m(2, 2)}}},
       size * 0.5}};
  const Vec3<double> reach = body.reach_W();
  std::int32_t found = -1;
  detail::visit_near(scene, pose.position_W - reach, pose.position_W + reach,
                     [&](const auto& item) {
                       if (!body.touches(item)) return;
                       if (found < 0 || item.id < found) found = item.id;
                     });
  return found;
}

}  // namespace propwash
