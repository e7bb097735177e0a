#pragma once
/// @file
/// Squared distances from a point to solid shapes, in the frame of the shape.

#include "propwash/math/vec3.hpp"

namespace propwash::detail {

/// Squared distance from a point to a box about the origin.
inline double squared_distance_to_box(const Vec3<double>& point, const Vec3<double>& half) {
  double sum = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double off = max(abs(point[i]) - half[i], 0.0);
    sum += off * off;
  }
  return sum;
}

/// Squared distance from a point to a capped cylinder about z.
inline double squared_distance_to_cylinder(const Vec3<double>& point, double radius,
                                           double half_height) {
  const double across = sqrt(point.x * point.x + point.y * point.y) - radius;
  const double along = abs(point.z) - half_height;
  const double x = across < 0.0 ? 0.0 : across;
  const double z = along < 0.0 ? 0.0 : along;
  return x * x + z * z;
}

/// Squared distance from a point to a segment, in the plane or in space.
template <class V>
double squared_distance_to_segment(const V& point, const V& a, const V& b) {
  const auto line = b - a;
  const double square = squared_norm(line);
  const double at = square > 0.0 ? dot(point - a, line) / square : 0.0;
  return squared_norm(point - a - line * min(max(at, 0.0), 1.0));
}

/// Squared distance from a point to a capsule about z.
inline double squared_distance_to_capsule(const Vec3<double>& point, double radius,
                                          double half_length) {
  const double along = max(abs(point.z) - half_length, 0.0);
  const double off = max(norm(make_vec3(point.x, point.y, along)) - radius, 0.0);
  return off * off;
}

/// Squared distance from a point to a triangle.
inline double squared_distance_to_triangle(const Vec3<double>& point,
                                           const Vec3<double> (&corners)[3],
                                           const Vec3<double>& normal) {
  const auto& [a, b, c] = corners;
  const Vec3<double> from = point - a;
  const double area = dot(cross(b - a, c - a), normal);
  const double u = dot(cross(from, c - a), normal) / area;
  const double v = dot(cross(b - a, from), normal) / area;
  if (u >= 0.0 && v >= 0.0 && u + v <= 1.0) {
    const double off = dot(from, normal);
    return off * off;
  }
  return min(
      min(squared_distance_to_segment(point, a, b), squared_distance_to_segment(point, b, c)),
      squared_distance_to_segment(point, c, a));
}

}  // namespace propwash::detail
