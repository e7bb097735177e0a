#pragma once
/// @file
/// Collision of a sphere with a scene, and the first contact of a moving sphere. Bodies are solid;
/// a plane is solid below its surface; a mesh is a surface. The kernels of a GPU include this
/// header.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "propwash/math/finite.hpp"
#include "propwash/world/impl/point_distance.hpp"
#include "propwash/world/scene_view.hpp"

namespace propwash {

namespace detail {

/// The centres and half extents of a gate's bars.
struct GateBars {
  Vec3<double> centre_S[4], half[4];

  explicit GateBars(const Solid<double>& gate) {
    const double border_y = 0.5 * (gate.half.y - gate.opening_y);
    const double border_z = 0.5 * (gate.half.z - gate.opening_z);
    const double y = gate.opening_y + border_y, z = gate.opening_z + border_z;
    centre_S[0] = {0.0, y, 0.0}, centre_S[1] = {0.0, -y, 0.0};
    centre_S[2] = {0.0, 0.0, z}, centre_S[3] = {0.0, 0.0, -z};
    half[0] = half[1] = {gate.half.x, border_y, gate.half.z};
    half[2] = half[3] = {gate.half.x, gate.opening_y, border_z};
  }
};

/// The fraction of a motion without contact; larger than any valid fraction.
inline constexpr double no_contact = 2.0;

/// A point and its value.
struct Probe {
  double at, value;
};

/// A t in (0, 1) at which a convex function is below a bound, by golden section search for its
/// minimum, or no_contact. first, last: its values at 0 and 1, not below the bound. length: the
/// upper bound of its change from 0 to 1.
template <class F>
double any_below(const F& distance, double bound, double length, double first, double last) {
  constexpr double golden = 0.3819660112501051;
  const auto probe = [&](double t) { return Probe{t, distance(t)}; };
  Probe low{0.0, first}, high{1.0, last}, middle = probe(golden);
  while (!(middle.value < bound)) {
    // the limited slope bounds how far the minimum can be below both ends
    const double reach = length * (high.at - low.at);
    if (!(0.5 * (low.value + high.value - reach) < bound) || !(reach > 1e-12)) return no_contact;
    const bool is_right = high.at - middle.at > middle.at - low.at;
    Probe next = probe(middle.at + golden * ((is_right ? high.at : low.at) - middle.at));
    if (next.value < middle.value) {
      const Probe kept = middle;
      middle = next;
      next = kept;
    }
    ((next.at < middle.at) ? low : high) = next;
  }
  return middle.at;
}

/// The smallest t in (0, 1] at which a convex function is below a bound, or no_contact. distance:
/// the function [m] of t. first: its value at 0, not below the bound. length: m, the upper bound of
/// its change from 0 to 1.
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

/// A sphere that moves along a straight line, or is at rest.
struct MovingSphere {
  Vec3<double> start_W, motion_W;
  double radius;
  double length = norm(motion_W);

  /// The fraction of the motion at the first contact, or no_contact.
  double contact(const WorldPlane<double>& plane) const {
    const double height = dot(start_W - plane.point_W, plane.normal_W) - radius;
    const double climb = dot(motion_W, plane.normal_W);
    if (height < 0.0) return 0.0;
    return height + climb < 0.0 ? height / -climb : no_contact;
  }
  double contact(const WorldTriangle<double>& t) const {
    return along(start_W, motion_W, [&](const Vec3<double>& p) {
      return squared_distance_to_triangle(p, t.corners_W, t.normal_W);
    });
  }
  double contact(const Solid<double>& solid) const {
    const Vec3<double> start_S = solid.rotation_SW * (start_W - solid.position_W);
    const Vec3<double> motion_S = length > 0.0 ? solid.rotation_SW * motion_W : motion_W;
    const Vec3<double>& half = solid.half;
    switch (solid.kind) {
      case SolidKind::box:
        return along(start_S, motion_S,
                     [&](const Vec3<double>& p) { return squared_distance_to_box(p, half); });
      case SolidKind::sphere:
        return along(start_S, motion_S, [&](const Vec3<double>& p) {
          const double off = max(norm(p) - half.x, 0.0);
          return off * off;
        });
      case SolidKind::cylinder:
        return along(start_S, motion_S, [&](const Vec3<double>& p) {
          return squared_distance_to_cylinder(p, half.x, half.z);
        });
      case SolidKind::capsule:
        return along(start_S, motion_S, [&](const Vec3<double>& p) {
          return squared_distance_to_capsule(p, half.x, half.z);
        });
      case SolidKind::gate:
        break;
    }
    const GateBars bars(solid);
    double first = no_contact;
    for (int i = 0; i < 4; ++i) {
      const Vec3<double>& bar = bars.half[i];
      first = min(first, along(start_S - bars.centre_S[i], motion_S, [&](const Vec3<double>& p) {
                    return squared_distance_to_box(p, bar);
                  }));
    }
    return first;
  }

 private:
  /// The distance to a convex body is a convex function along a straight line.
  template <class F>
  double along(const Vec3<double>& start, const Vec3<double>& motion, const F& squared) const {
    const double square = squared(start);
    if (square < radius * radius) return 0.0;
    if (!(length > 0.0)) return no_contact;
    const auto distance = [&](double t) { return sqrt(squared(start + motion * t)); };
    return first_below(distance, sqrt(square), radius, length);
  }
};

/// Calls visit(x) for all planes of one part of a scene, and for the solids and triangles of the
/// leaves that meet the box from `lower` to `upper`.
template <class Visit>
void visit_part(const SceneView<double>& scene, const Vec3<double>& lower,
                const Vec3<double>& upper, const Visit& visit) {
  for (std::int32_t i = 0; i < scene.plane_count; ++i) visit(scene.planes[i]);
  if (scene.node_count == 0) return;
  std::int32_t stack[max_scene_depth] = {0};
  int count = 1;
  while (count > 0) {
    const std::int32_t at = stack[--count];
    const auto& node = scene.nodes[at];
    bool meets = true;
    for (int i = 0; i < 3; ++i) {
      meets = meets && node.lower_W[i] <= upper[i] && lower[i] <= node.upper_W[i];
    }
    if (!meets) continue;
    if (node.count == 0) {
      stack[count++] = node.next;
      stack[count++] = at + 1;
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

/// Calls visit(x) for the same shapes of all parts, except those of the ignored item.
template <class Visit>
void visit_near(const SceneView<double>& scene, const Vec3<double>& lower,
                const Vec3<double>& upper, const Visit& visit) {
  for (const auto* part = &scene; part != nullptr; part = part->next) {
    visit_part(*part, lower, upper, [&](const auto& shape) {
      if (shape.id != scene.ignored) visit(shape);
    });
  }
}

/// m, from a point to a node's box; 0 inside.
inline double distance_to(const SceneNode<double>& node, const Vec3<double>& point_W) {
  Vec3<double> apart{};
  for (int i = 0; i < 3; ++i) {
    apart[i] = max(max(0.0, node.lower_W[i] - point_W[i]), point_W[i] - node.upper_W[i]);
  }
  return norm(apart);
}

/// The smaller of `nearest` and the clearance of one part of a scene.
inline double clearance_of_part(const SceneView<double>& scene, const Vec3<double>& point_W,
                                double nearest) {
  for (std::int32_t i = 0; i < scene.plane_count; ++i) {
    const auto& plane = scene.planes[i];
    nearest = min(nearest, dot(point_W - plane.point_W, plane.normal_W));
  }
  if (scene.node_count == 0) return nearest;
  std::int32_t stack[max_scene_depth] = {0};
  int count = 1;
  while (count > 0) {
    const std::int32_t at = stack[--count];
    const auto& node = scene.nodes[at];
    const double apart = distance_to(node, point_W);
    if (!(apart < nearest)) continue;
    if (node.count > 0) {
      nearest = apart;
    } else {
      stack[count++] = node.next;
      stack[count++] = at + 1;
    }
  }
  return nearest;
}

}  // namespace detail

/// m, a lower bound of the distance from a point to the scene: the distance to planes and to the
/// bounding boxes of all else. 0 or less inside them, infinity in an empty scene.
inline double clearance(const SceneView<double>& scene, const Vec3<double>& point_W) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto* part = &scene; part != nullptr; part = part->next) {
    nearest = detail::clearance_of_part(*part, point_W, nearest);
  }
  return nearest;
}

/// The first contact of a moving sphere.
struct SphereHit {
  double fraction = 1.0;  ///< of the motion, at the first contact; 1: none
  std::int32_t id = -1;   ///< of the item, the lowest if it touches several; -1: none
};

/// The first contact of a sphere that moves straight from start to end [m]. A motion that is not
/// finite touches nothing.
inline SphereHit spherecast(const SceneView<double>& scene, const Vec3<double>& start_W,
                            const Vec3<double>& end_W, double radius) {
  const detail::MovingSphere body{start_W, end_W - start_W, radius};
  SphereHit hit;
  if (!is_finite(body.length)) return hit;
  Vec3<double> lower, upper;
  for (int i = 0; i < 3; ++i) {
    lower[i] = min(start_W[i], end_W[i]) - radius;
    upper[i] = max(start_W[i], end_W[i]) + radius;
  }
  detail::visit_near(scene, lower, upper, [&](const auto& item) {
    const double fraction = body.contact(item);
    if (!(fraction <= 1.0)) return;
    if (hit.id < 0 || fraction < hit.fraction) {
      hit = {fraction, item.id};
    } else if (!(hit.fraction < fraction) && item.id < hit.id) {
      hit.id = item.id;
    }
  });
  return hit;
}

/// The lowest id of the items that a sphere [m] touches, or -1.
inline std::int32_t collide(const SceneView<double>& scene, const Vec3<double>& centre_W,
                            double radius) {
  return spherecast(scene, centre_W, centre_W, radius).id;
}

}  // namespace propwash
