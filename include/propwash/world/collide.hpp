#pragma once
/// @file
/// Whether a vehicle, a sphere or an oriented box, touches a scene, and what a moving sphere
/// touches first. Bodies are solid; a plane is solid below its surface; a mesh is a surface.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

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

/// More than any fraction of a way: no contact.
inline constexpr double no_contact = 2.0;

/// A point and its value.
struct Probe {
  double at, value;
};

/// A t in (0, 1) at which a convex function is below a bound, by golden section search for its
/// minimum; no_contact where there is none. It is not below the bound at the ends.
template <class F>
double any_below(const F& distance, double bound, double length, double first, double last) {
  constexpr double golden = 0.3819660112501051;
  const auto probe = [&](double t) { return Probe{t, distance(t)}; };
  Probe low{0.0, first}, high{1.0, last}, middle = probe(golden);
  while (!(middle.value < bound)) {
    // the slopes are limited, and so is how far below its ends the function may get
    const double reach = length * (high.at - low.at);
    if (!(0.5 * (low.value + high.value - reach) < bound) || !(reach > 1e-12)) return no_contact;
    const bool is_right = high.at - middle.at > middle.at - low.at;
    Probe next = probe(middle.at + golden * ((is_right ? high.at : low.at) - middle.at));
    if (next.value < middle.value) std::swap(next, middle);
    ((next.at < middle.at) ? low : high) = next;
  }
  return middle.at;
}

/// The least t in (0, 1] at which a convex function is below a bound, or no_contact.
/// distance: of t; m. first: its value at 0, not below the bound. length: m, by which it changes at
/// most from t = 0 to 1.
template <class F>
double first_below(const F& distance, double first, double bound, double length) {
  if (!(first - length < bound)) return no_contact;
  const double last = distance(1.0);
  double inside = last < bound ? 1.0 : any_below(distance, bound, length, first, last);
  if (inside > 1.0) return no_contact;
  double outside = 0.0;
  while (length * (inside - outside) > 1e-10) {
    const double middle = 0.5 * (outside + inside);
    if (!(outside < middle && middle < inside)) break;
    (distance(middle) < bound ? inside : outside) = middle;
  }
  return inside;
}

/// A sphere that moves straight on, or rests where the way is zero.
struct MovingSphere {
  Vec3<double> start_W, way_W;
  double radius;
  double length = norm(way_W);

  /// The fraction of the way at which it first touches something, or no_contact.
  double contact(const WorldPlane<double>& plane) const {
    const double height = dot(start_W - plane.point_W, plane.normal_W) - radius;
    const double climb = dot(way_W, plane.normal_W);
    if (height < 0.0) return 0.0;
    return height + climb < 0.0 ? height / -climb : no_contact;
  }
  double contact(const WorldTriangle<double>& t) const {
    return along(start_W, way_W, [&](const Vec3<double>& p) {
      return squared_distance_to_triangle(p, t.corners_W, t.normal_W);
    });
  }
  double contact(const Solid<double>& solid) const {
    const Mat3<double> turn = rotation_of(solid);
    const Vec3<double> start_S = turn * (start_W - solid.position_W);
    const Vec3<double> way_S = length > 0.0 ? turn * way_W : way_W;
    const Vec3<double>& half = solid.half;
    switch (solid.kind) {
      case SolidKind::box:
        return along(start_S, way_S,
                     [&](const Vec3<double>& p) { return squared_distance_to_box(p, half); });
      case SolidKind::sphere:
        return along(start_S, way_S, [&](const Vec3<double>& p) {
          const double off = std::max(norm(p) - half.x, 0.0);
          return off * off;
        });
      case SolidKind::cylinder:
        return along(start_S, way_S, [&](const Vec3<double>& p) {
          return squared_distance_to_cylinder(p, half.x, half.z);
        });
      case SolidKind::gate:
        break;
    }
    const GateBars bars(solid);
    double first = no_contact;
    for (std::size_t i = 0; i < 4; ++i) {
      const Vec3<double>& bar = bars.half[i];
      first = std::min(first, along(start_S - bars.centre_S[i], way_S, [&](const Vec3<double>& p) {
                         return squared_distance_to_box(p, bar);
                       }));
    }
    return first;
  }

 private:
  /// The distance to a convex body is a convex function along a straight way.
  template <class F>
  double along(const Vec3<double>& start, const Vec3<double>& way, const F& squared) const {
    const double square = squared(start);
    if (square < radius * radius) return 0.0;
    if (!(length > 0.0)) return no_contact;
    const auto distance = [&](double t) { return std::sqrt(squared(start + way * t)); };
    return first_below(distance, std::sqrt(square), radius, length);
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

/// Calls visit(x) for all planes, and for the solids and triangles in boxes of the tree that a box
/// from `lower` to `upper` meets.
template <class Visit>
void visit_near(const SceneView<double>& scene, const Vec3<double>& lower,
                const Vec3<double>& upper, const Visit& visit) {
  for (std::int32_t i = 0; i < scene.plane_count; ++i) visit(scene.planes[i]);
  if (scene.node_count == 0) return;
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
        visit(scene.solids[k]);
      } else {
        visit(scene.triangles[-1 - k]);
      }
    }
  }
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

/// What a moving sphere touches first.
struct SphereHit {
  double fraction = 1.0;  ///< of the way, at the first contact; 1 for none
  std::int32_t id = -1;   ///< of the item, the least of those touched at once; -1 for none
};

/// What a sphere that moves straight from start to end touches first. A way that is not finite
/// touches nothing.
inline SphereHit spherecast(const SceneView<double>& scene, const Vec3<double>& start_W,
                            const Vec3<double>& end_W, double radius) {
  const detail::MovingSphere body{start_W, end_W - start_W, radius};
  SphereHit hit;
  if (!(body.length <= std::numeric_limits<double>::max())) return hit;
  Vec3<double> lower, upper;
  for (int i = 0; i < 3; ++i) {
    lower[i] = std::min(start_W[i], end_W[i]) - radius;
    upper[i] = std::max(start_W[i], end_W[i]) + radius;
  }
  detail::visit_near(scene, lower, upper, [&](const auto& item) {
    const double fraction = body.contact(item);
    if (!(fraction <= 1.0)) return;
    if (hit.id < 0 || fraction < hit.fraction) {
      hit = {fraction, item.id};
    } else if (!(hit.fraction < fraction)) {
      hit.id = std::min(hit.id, item.id);
    }
  });
  return hit;
}

/// The least id of the items that a sphere [m] touches, -1 for none.
inline std::int32_t collide(const SceneView<double>& scene, const Vec3<double>& centre_W,
                            double radius) {
  return spherecast(scene, centre_W, centre_W, radius).id;
}

/// The same for a box of full edges `size` [m] about the origin of its pose.
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
                       found = found < 0 ? item.id : std::min(found, item.id);
                     });
  return found;
}

}  // namespace propwash
