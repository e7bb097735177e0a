// Ray-shape intersections: the closed forms compared with sphere tracing of the distance to the
// shape.
#include <algorithm>
#include <cmath>
#include <limits>
#include <propwash/world/intersect.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_shapes {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Signed distance: negative inside.
double to_box(const Vec& p, const Vec& half) {
  const Vec q{std::abs(p.x) - half.x, std::abs(p.y) - half.y, std::abs(p.z) - half.z};
  const Vec out{std::max(q.x, 0.0), std::max(q.y, 0.0), std::max(q.z, 0.0)};
  return norm(out) + std::min(std::max({q.x, q.y, q.z}), 0.0);
}
double to_cylinder(const Vec& p, double radius, double half_height) {
  const double across = std::hypot(p.x, p.y) - radius;
  const double along = std::abs(p.z) - half_height;
  return std::hypot(std::max(across, 0.0), std::max(along, 0.0)) +
         std::min(std::max(across, along), 0.0);
}
double to_capsule(const Vec& p, double radius, double half_length) {
  return norm(Vec{p.x, p.y, std::max(std::abs(p.z) - half_length, 0.0)}) - radius;
}
/// Four bars, the upper and lower between the others.
double to_gate(const Vec& p, const Vec& half, double open_y, double open_z) {
  const double bar_y = 0.5 * (half.y - open_y), bar_z = 0.5 * (half.z - open_z);
  const Vec upright{half.x, bar_y, half.z}, beam{half.x, open_y, bar_z};
  const Vec side{0.0, open_y + bar_y, 0.0}, top{0.0, 0.0, open_z + bar_z};
  return std::min({to_box(p - side, upright), to_box(p + side, upright), to_box(p - top, beam),
                   to_box(p + top, beam)});
}

/// The first point along a ray at distance zero, up to 30 m.
template <class Distance>
double march(const Vec& origin, const Vec& direction, const Distance& distance) {
  double t = 0.0;
  for (int i = 0; i < 100000 && t < 30.0; ++i) {
    const double step = std::abs(distance(origin + direction * t));
    if (step < 1e-9) return t;
    t += step;
  }
  return infinite;
}

/// A ray that passes near the origin, from outside or inside.
struct Ray {
  Vec origin, direction;
  explicit Ray(Dice& dice) : origin(dice.vec3(4.0)) {
    const Vec towards = dice.vec3(1.3) - origin;
    direction = towards * (1.0 / norm(towards));
  }
};

/// The number of rays that hit something.
struct Seen {
  int hits = 0, misses = 0;
};

/// Checks each crossing against `distance`: its position, and its normal, which is the gradient and
/// points against the ray.
template <class Intersect, class Distance>
Seen check(std::uint64_t seed, const Intersect& intersect, const Distance& distance) {
  Dice dice(seed);
  Seen seen;
  for (int i = 0; i < 3000; ++i) {
    const Ray ray(dice);
    const auto met = intersect(ray.origin, ray.direction);
    const double expected = march(ray.origin, ray.direction, distance);
    // a grazing ray: tracing may end before a surface that it narrowly misses
    const Vec at = ray.origin + ray.direction * std::min(met.distance, 100.0);
    if (std::isinf(met.distance) != std::isinf(expected)) {
      const double t = std::min(met.distance, expected);
      CHECK(std::abs(distance(ray.origin + ray.direction * t)) < 1e-6);
      continue;
    }
    if (std::isinf(expected)) {
      ++seen.misses;
      continue;
    }
    ++seen.hits;
    CAPTURE(i, met.distance, expected);
    CHECK(met.distance == Approx(expected).margin(1e-5));
    CHECK(std::abs(distance(at)) < 1e-9);
    CHECK(norm(met.normal) == Approx(1.0).epsilon(1e-12));
    CHECK(dot(met.normal, ray.direction) <= 0.0);
    // moving along the normal by h changes the distance by h, away from the surface
    const double h = 1e-6;
    const bool at_an_edge = std::abs(distance(at + met.normal * h)) < 0.9 * h;
    CHECK_FALSE(at_an_edge);
  }
  return seen;
}

}  // namespace

TEST_CASE("rays meet a box where the distance to it is zero", "[shapes]") {
  const Vec half{0.7, 1.1, 0.4};
  const auto intersect = [&](const Vec& o, const Vec& d) { return pw::intersect_box(o, d, half); };
  const Seen seen = check(1, intersect, [&](const Vec& p) { return to_box(p, half); });
  CHECK(seen.hits > 1000);
  CHECK(seen.misses > 100);
}

TEST_CASE("rays meet a sphere where the distance to it is zero", "[shapes]") {
  const auto intersect = [&](const Vec& o, const Vec& d) {
    return pw::intersect_sphere(o, d, 0.9);
  };
  const Seen seen = check(2, intersect, [&](const Vec& p) { return norm(p) - 0.9; });
  CHECK(seen.hits > 1000);
  CHECK(seen.misses > 100);
}

TEST_CASE("rays meet a cylinder where the distance to it is zero", "[shapes]") {
  const auto intersect = [&](const Vec& o, const Vec& d) {
    return pw::intersect_cylinder(o, d, 0.8, 0.6);
  };
  const Seen seen = check(3, intersect, [&](const Vec& p) { return to_cylinder(p, 0.8, 0.6); });
  CHECK(seen.hits > 1000);
  CHECK(seen.misses > 100);
}

TEST_CASE("rays meet a capsule where the distance to it is zero", "[shapes]") {
  const auto intersect = [&](const Vec& o, const Vec& d) {
    return pw::intersect_capsule(o, d, 0.6, 0.7);
  };
  const Seen seen = check(8, intersect, [&](const Vec& p) { return to_capsule(p, 0.6, 0.7); });
  CHECK(seen.hits > 1000);
  CHECK(seen.misses > 100);
}

TEST_CASE("rays meet a gate where the distance to its bars is zero", "[shapes]") {
  const Vec half{0.3, 1.4, 1.2};
  const auto intersect = [&](const Vec& o, const Vec& d) {
    return pw::intersect_gate(o, d, half, 0.9, 0.8);
  };
  const Seen seen = check(4, intersect, [&](const Vec& p) { return to_gate(p, half, 0.9, 0.8); });
  CHECK(seen.hits > 500);
  CHECK(seen.misses > 500);
}

TEST_CASE("rays along the axes hit shapes at known points", "[shapes]") {
  const Vec half{0.5, 1.0, 2.0};
  for (int axis = 0; axis < 3; ++axis) {
    for (const double sign : {-1.0, 1.0}) {
      Vec origin, direction;
      origin[axis] = -5.0 * sign;
      direction[axis] = sign;
      CAPTURE(axis, sign);
      const auto box = pw::intersect_box(origin, direction, half);
      CHECK(box.distance == Approx(5.0 - half[axis]));
      CHECK(box.normal[axis] == -sign);
      const auto sphere = pw::intersect_sphere(origin, direction, 0.5);
      CHECK(sphere.distance == Approx(4.5));
      const auto cylinder = pw::intersect_cylinder(origin, direction, 0.5, 2.0);
      CHECK(cylinder.distance == Approx(axis == 2 ? 3.0 : 4.5));
      CHECK(cylinder.normal[axis] == Approx(-sign));
      const auto capsule = pw::intersect_capsule(origin, direction, 0.5, 1.5);
      CHECK(capsule.distance == Approx(axis == 2 ? 3.0 : 4.5));
      CHECK(capsule.normal[axis] == Approx(-sign));
      // from the centre outwards
      CHECK(pw::intersect_capsule(Vec{}, direction, 0.5, 1.5).distance ==
            Approx(axis == 2 ? 2.0 : 0.5));
      CHECK(pw::intersect_box(Vec{}, direction, half).distance == Approx(half[axis]));
      CHECK(pw::intersect_cylinder(Vec{}, direction, 0.5, 2.0).distance ==
            Approx(axis == 2 ? 2.0 : 0.5));
    }
  }
  // beside the axis of a cylinder, and beside the cylinder
  CHECK(pw::intersect_cylinder(Vec{0.4, 0.0, 9.0}, Vec{0.0, 0.0, -1.0}, 0.5, 2.0).distance ==
        Approx(7.0));
  CHECK(pw::intersect_cylinder(Vec{0.6, 0.0, 9.0}, Vec{0.0, 0.0, -1.0}, 0.5, 2.0).distance ==
        infinite);
}

TEST_CASE("rays pass through the opening of a gate", "[shapes]") {
  const Vec half{0.1, 1.2, 1.0};
  const double open_y = 1.0, open_z = 0.8;
  Dice dice(5);
  for (int i = 0; i < 500; ++i) {
    const double y = dice.uniform(-1.5, 1.5), z = dice.uniform(-1.5, 1.5);
    const auto met = pw::intersect_gate(Vec{-3.0, y, z}, Vec{1.0, 0.0, 0.0}, half, open_y, open_z);
    const bool inside = std::abs(y) < open_y && std::abs(z) < open_z;
    const bool outside = std::abs(y) > half.y || std::abs(z) > half.z;
    CAPTURE(y, z);
    CHECK(std::isinf(met.distance) == (inside || outside));
    if (!inside && !outside) {
      CHECK(met.distance == Approx(2.9));
      CHECK(met.normal.x == -1.0);
    }
  }
  // from inside the opening to the inner face of a bar
  const auto met =
      pw::intersect_gate(Vec{0.0, 0.0, 0.0}, Vec{0.0, -1.0, 0.0}, half, open_y, open_z);
  CHECK(met.distance == Approx(open_y));
  CHECK(met.normal.y == 1.0);
}

TEST_CASE("rays meet a plane at height over slope", "[shapes]") {
  Dice dice(6);
  for (int i = 0; i < 1000; ++i) {
    const Vec normal = dice.unit_vec3(), point = dice.vec3(2.0);
    const Ray ray(dice);
    const auto met = pw::intersect_plane(ray.origin, ray.direction, point, normal);
    const double height = dot(ray.origin - point, normal);
    const double slope = -dot(ray.direction, normal);
    CAPTURE(i, height, slope);
    CHECK(std::isinf(met.distance) == (height * slope <= 0.0));
    if (std::isinf(met.distance)) continue;
    CHECK(met.distance == Approx(height / slope).epsilon(1e-9));
    CHECK(dot(met.normal, ray.direction) < 0.0);
    CHECK(norm(cross(met.normal, normal)) < 1e-12);
  }
  const auto along =
      pw::intersect_plane(Vec{0.0, 0.0, 1.0}, Vec{1.0, 0.0, 0.0}, Vec{}, Vec{0.0, 0.0, 1.0});
  CHECK(along.distance == infinite);
}

TEST_CASE("rays meet a triangle at barycentric combinations of its corners", "[shapes]") {
  Dice dice(7);
  int hits = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec a = dice.vec3(), edge1 = dice.vec3(), edge2 = dice.vec3();
    const Vec across = cross(edge1, edge2);
    const Vec normal = across * (1.0 / norm(across));
    if (norm(across) < 0.05) continue;
    const double u = dice.uniform(-0.5, 1.2), v = dice.uniform(-0.5, 1.2);
    const Vec target = a + edge1 * u + edge2 * v;
    const Vec origin = dice.vec3(3.0);
    const double distance = norm(target - origin);
    const Vec direction = (target - origin) * (1.0 / distance);
    const bool inside = u >= 0.0 && v >= 0.0 && u + v <= 1.0;
    const Vec corners[3] = {a, a + edge1, a + edge2};
    const auto met = pw::intersect_triangle(origin, direction, corners, normal);
    CAPTURE(i, u, v);
    CHECK(std::isinf(met.distance) == !inside);
    if (!inside) continue;
    ++hits;
    CHECK(met.distance == Approx(distance).epsilon(1e-9));
    CHECK(dot(met.normal, direction) < 0.0);
  }
  CHECK(hits > 100);
}

}  // namespace test_shapes
