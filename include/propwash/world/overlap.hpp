#pragma once
/// @file
/// Overlap tests of a sphere or an oriented box with each shape, in closed form in the frame of the
/// shape. NaN overlaps nothing.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "propwash/math/vec3.hpp"
#include "propwash/world/impl/point_distance.hpp"

namespace propwash {

/// A box in some frame F.
struct OrientedBox {
  Vec3<double> centre_F;                 ///< m
  std::array<Vec3<double>, 3> axes_F{};  ///< unit, along its edges
  Vec3<double> half;                     ///< m, half the edges

  /// Half its extent along a direction, times the norm of `direction_F`.
  double reach(const Vec3<double>& direction_F) const {
    return half.x * std::abs(dot(axes_F[0], direction_F)) +
           half.y * std::abs(dot(axes_F[1], direction_F)) +
           half.z * std::abs(dot(axes_F[2], direction_F));
  }
};

namespace detail {

/// Whether two boxes overlap, the first one axis-aligned at the origin of F: a separating axis test
/// with 15 axes (Gottschalk et al., 1996).
inline bool box_overlaps_box(const Vec3<double>& half, const OrientedBox& box) {
  const auto apart = [&](const Vec3<double>& axis) {
    const double reach =
        half.x * std::abs(axis.x) + half.y * std::abs(axis.y) + half.z * std::abs(axis.z);
    // 1e-12: the cross product of parallel edges is rounding error, which must not separate
    return !(std::abs(dot(box.centre_F, axis)) <= reach + box.reach(axis) + 1e-12);
  };
  const Vec3<double> unit[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  for (const auto& edge : unit) {
    if (apart(edge)) return false;
  }
  for (const auto& axis : box.axes_F) {
    if (apart(axis)) return false;
    for (const auto& edge : unit) {
      if (apart(cross(edge, axis))) return false;
    }
  }
  return true;
}

/// The same for a box and a triangle, with 13 axes.
inline bool box_overlaps_triangle(const OrientedBox& box, const Vec3<double> (&corners)[3],
                                  const Vec3<double>& normal) {
  const auto& [a, b, c] = corners;
  const auto apart = [&](const Vec3<double>& axis) {
    const double p = dot(corners[0] - box.centre_F, axis);
    const double q = dot(corners[1] - box.centre_F, axis);
    const double r = dot(corners[2] - box.centre_F, axis);
    const double reach = box.reach(axis) + 1e-12;
    return !(std::min({p, q, r}) <= reach) || !(std::max({p, q, r}) >= -reach);
  };
  if (apart(normal)) return false;
  for (const auto& axis : box.axes_F) {
    if (apart(axis) || apart(cross(b - a, axis)) || apart(cross(c - b, axis)) ||
        apart(cross(a - c, axis))) {
      return false;
    }
  }
  return true;
}

/// A point of a plane.
struct Point2 {
  double x, y;
  friend Point2 operator-(const Point2& a, const Point2& b) { return {a.x - b.x, a.y - b.y}; }
  friend Point2 operator*(const Point2& a, double s) { return {a.x * s, a.y * s}; }
  friend double dot(const Point2& a, const Point2& b) { return a.x * b.x + a.y * b.y; }
  friend double squared_norm(const Point2& a) { return dot(a, a); }
};

/// The vertices of a box clipped at the planes z = ±half_height, projected along z.
struct CutBox {
  std::array<Point2, 32> points{};  ///< at most 8 corners and two cuts of each of 12 edges
  std::size_t count = 0;

  CutBox(const OrientedBox& box, double half_height) {
    std::array<Vec3<double>, 8> corners;
    for (std::size_t i = 0; i < 8; ++i) {
      corners[i] = box.centre_F;
      for (std::size_t k = 0; k < 3; ++k) {
        const double side = (i >> k & 1u) != 0 ? 1.0 : -1.0;
        corners[i] += box.axes_F[k] * (side * box.half[static_cast<int>(k)]);
      }
      if (std::abs(corners[i].z) <= half_height) add(corners[i]);
    }
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t bit = 1; bit < 8; bit *= 2) {
        if ((i & bit) == 0) cut(corners[i], corners[i | bit], half_height);
      }
    }
  }

  /// Squared distance from the z axis; 0 if the axis is inside.
  double squared_distance_to_axis() const {
    if (count == 0) return std::numeric_limits<double>::infinity();
    // the edges of the convex hull are among the segments between points, and no segment is closer
    // than the hull; the axis is inside if no line through it has all points on one side
    double nearest = std::numeric_limits<double>::infinity();
    bool inside = true;
    for (std::size_t i = 0; i < count; ++i) {
      bool left = false, right = false;
      for (std::size_t j = 0; j < count; ++j) {
        nearest = std::min(nearest, squared_distance_to_segment({0.0, 0.0}, points[i], points[j]));
        const double side = points[i].x * points[j].y - points[i].y * points[j].x;
        left = left || side > 0.0;
        right = right || side < 0.0;
      }
      inside = inside && left && right;
    }
    return inside ? 0.0 : nearest;
  }

 private:
  void add(const Vec3<double>& p) { points[count++] = {p.x, p.y}; }
  void cut(const Vec3<double>& a, const Vec3<double>& b, double half_height) {
    for (const double z : {-half_height, half_height}) {
      if ((a.z < z) == (b.z < z)) continue;
      add(a + (b - a) * ((z - a.z) / (b.z - a.z)));
    }
  }
};

inline bool box_overlaps_cylinder(const OrientedBox& box, double radius, double half_height) {
  return CutBox(box, half_height).squared_distance_to_axis() < radius * radius;
}

}  // namespace detail

}  // namespace propwash
