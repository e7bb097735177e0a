// Collisions of spheres and boxes, compared with distances, with points of bodies, between
// equivalent shapes, and in transformed scenes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <propwash/world/collide.hpp>
#include <propwash/world/scene_index.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_collide {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

/// A scene of one item about the origin, or at a pose.
class Lone {
 public:
  explicit Lone(pw::Shape shape, const pw::Pose& pose = {})
      : index_(make(std::move(shape), pose)) {}

  bool touches(const Vec& centre, double radius) const {
    return pw::collide(index_.view(), centre, radius) == 0;
  }
  bool touches(const pw::Pose& pose, const Vec& size) const {
    return pw::collide(index_.view(), pose, size) == 0;
  }
  pw::SphereHit cast(const Vec& start, const Vec& end, double radius) const {
    return pw::spherecast(index_.view(), start, end, radius);
  }

 private:
  static pw::Scene make(pw::Shape shape, const pw::Pose& pose) {
    pw::Scene scene;
    scene.add({"it", "", {}, pose, std::move(shape)});
    return scene;
  }
  pw::SceneIndex<double> index_;
};

struct Named {
  const char* name;
  pw::Shape shape;
  /// Whether a point is inside the body at the origin.
  bool (*holds)(const Vec& p);
};

bool in_box(const Vec& p, double x, double y, double z) {
  return std::abs(p.x) <= x && std::abs(p.y) <= y && std::abs(p.z) <= z;
}

const std::vector<Named>& bodies() {
  static const std::vector<Named> all{
      {"plane", pw::Plane{}, [](const Vec& p) { return p.z <= 0.0; }},
      {"box", pw::Box{{2.0, 1.0, 0.6}}, [](const Vec& p) { return in_box(p, 1.0, 0.5, 0.3); }},
      {"sphere", pw::Sphere{0.8}, [](const Vec& p) { return norm(p) <= 0.8; }},
      {"cylinder", pw::Cylinder{0.7, 1.2},
       [](const Vec& p) { return std::hypot(p.x, p.y) <= 0.7 && std::abs(p.z) <= 0.6; }},
      {"capsule", pw::Capsule{0.6, 1.0},
       [](const Vec& p) { return norm(Vec{p.x, p.y, std::max(std::abs(p.z) - 0.5, 0.0)}) <= 0.6; }},
      {"gate", pw::Gate{1.2, 1.0, 0.3, 0.4}, [](const Vec& p) {
         return in_box(p, 0.2, 0.9, 0.8) && !(std::abs(p.y) < 0.6 && std::abs(p.z) < 0.5);
       }}};
  return all;
}

/// A grid over a box, including corners, edges and faces. For a body in contact, the nearest grid
/// point is at most half a cell's diagonal away.
template <class F>
void for_points_of(const pw::Pose& pose, const Vec& size, int cells, const F& f) {
  for (int i = 0; i <= cells; ++i) {
    for (int j = 0; j <= cells; ++j) {
      for (int k = 0; k <= cells; ++k) {
        const Vec part{i * 1.0 / cells - 0.5, j * 1.0 / cells - 0.5, k * 1.0 / cells - 0.5};
        f(pw::to_world(pose, cwise_product(size, part)));
      }
    }
  }
}

}  // namespace

TEST_CASE("a sphere touches where one of its points is inside", "[collide]") {
  Dice dice(1);
  for (const auto& body : bodies()) {
    const Lone scene(body.shape);
    int touching = 0, touching_barely = 0;
    for (int i = 0; i < 400; ++i) {
      const Vec centre = dice.vec3(1.8);
      const double radius = dice.uniform(0.1, 0.7);
      bool found = body.holds(centre);
      // on concentric spheres, with a spacing of about a tenth of the radius
      for (int k = 0; k < 3000 && !found; ++k) {
        const double part = k % 3 == 0 ? dice.uniform(0.5, 1.0) : 1.0;
        found = body.holds(centre + dice.unit_vec3() * (radius * part));
      }
      const bool reported = scene.touches(centre, radius);
      CAPTURE(body.name, i, radius);
      if (found) CHECK(reported);
      if (reported && !found) ++touching_barely;
      touching += reported;
    }
    CAPTURE(body.name, touching, touching_barely);
    CHECK(touching > 50);
    CHECK(touching < 390);
    CHECK(touching_barely < 12);
  }
}

TEST_CASE("a sphere smaller than the clearance touches nothing", "[collide]") {
  Dice dice(7);
  pw::Scene all;
  for (const auto& body : bodies()) {
    all.add({body.name, "", {}, {dice.vec3(6.0), dice.unit_quat()}, body.shape});
  }
  const pw::SceneIndex<double> index(all);
  int useful = 0;
  for (int i = 0; i < 4000; ++i) {
    const Vec centre = dice.vec3(12.0);
    const double distance_bound = pw::clearance(index.view(), centre);
    useful += distance_bound > 0.1;
    if (distance_bound > 0.0)
      CHECK(pw::collide(index.view(), centre, 0.999 * distance_bound) == -1);
    // and it is Lipschitz continuous in the position
    const Vec step = dice.vec3(0.5);
    CHECK(std::abs(pw::clearance(index.view(), centre + step) - distance_bound) <=
          norm(step) + 1e-9);
  }
  CHECK(useful > 400);
  CHECK(std::isinf(pw::clearance(pw::SceneView<double>{}, Vec{})));
}

TEST_CASE("a box touches where one of its points is inside", "[collide]") {
  Dice dice(2);
  for (const auto& body : bodies()) {
    const Lone scene(body.shape);
    int touching = 0, unseen = 0;
    for (int i = 0; i < 250; ++i) {
      const pw::Pose pose{dice.vec3(1.8), dice.unit_quat()};
      const Vec size{dice.uniform(0.1, 1.5), dice.uniform(0.1, 1.5), dice.uniform(0.1, 1.5)};
      bool found = false;
      for_points_of(pose, size, 16, [&](const Vec& p) { found = found || body.holds(p); });
      const bool reported = scene.touches(pose, size);
      CAPTURE(body.name, i);
      if (found) CHECK(reported);
      // the error of the grid must vanish with the cell size
      if (reported && !found) {
        ++unseen;
        const Vec less{size.x * 0.9 - 0.12, size.y * 0.9 - 0.12, size.z * 0.9 - 0.12};
        if (less.x > 0.0 && less.y > 0.0 && less.z > 0.0) CHECK_FALSE(scene.touches(pose, less));
      }
      touching += reported;
    }
    CAPTURE(body.name, touching, unseen);
    CHECK(touching > 30);
    CHECK(touching < 245);
    CHECK(unseen < 15);
  }
}

TEST_CASE("collision of boxes is symmetric", "[collide]") {
  Dice dice(3);
  int touching = 0;
  for (int i = 0; i < 3000; ++i) {
    const pw::Pose a{dice.vec3(1.0), dice.unit_quat()}, b{dice.vec3(1.0), dice.unit_quat()};
    const Vec size_a{dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0)};
    const Vec size_b{dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0)};
    const bool one = Lone(pw::Box{size_a}, a).touches(b, size_b);
    CAPTURE(i);
    CHECK(one == Lone(pw::Box{size_b}, b).touches(a, size_a));
    touching += one;
  }
  CHECK(touching > 500);
  CHECK(touching < 2800);
}

TEST_CASE("a box touches a sphere item where a sphere touches the box item", "[collide]") {
  // box against sphere and sphere against box use different formulas
  Dice dice(4);
  for (int i = 0; i < 2000; ++i) {
    const pw::Pose pose{dice.vec3(1.5), dice.unit_quat()};
    const Vec size{dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0), dice.uniform(0.1, 2.0)};
    const Vec centre = dice.vec3(1.5);
    const double radius = dice.uniform(0.1, 1.0);
    CAPTURE(i);
    CHECK(Lone(pw::Box{size}, pose).touches(centre, radius) ==
          Lone(pw::Sphere{radius}, {centre}).touches(pose, size));
  }
}

TEST_CASE("a mesh has contacts only at its surface, the same as the box that it encloses",
          "[collide]") {
  const Vec size{1.0, 1.4, 0.8};
  pw::Mesh mesh;
  for (int i = 0; i < 8; ++i) {
    mesh.vertices.push_back({(i & 1 ? 0.5 : -0.5) * size.x, (i & 2 ? 0.5 : -0.5) * size.y,
                             (i & 4 ? 0.5 : -0.5) * size.z});
  }
  mesh.triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                    {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  const Lone surface(mesh), solid(pw::Box{size});
  Dice dice(5);
  int inside = 0;
  for (int i = 0; i < 2000; ++i) {
    const Vec centre = dice.vec3(1.2);
    const double radius = dice.uniform(0.05, 0.5);
    // inside the box by more than the radius, so off its surface
    const bool within = std::abs(centre.x) < 0.5 * size.x - radius &&
                        std::abs(centre.y) < 0.5 * size.y - radius &&
                        std::abs(centre.z) < 0.5 * size.z - radius;
    CAPTURE(i);
    CHECK(surface.touches(centre, radius) == (solid.touches(centre, radius) && !within));
    inside += within;
    const pw::Pose pose{centre, dice.unit_quat()};
    const Vec edges{radius, 2.0 * radius, radius};
    bool all_within = true;
    for_points_of(pose, edges, 1, [&](const Vec& p) {
      all_within = all_within && in_box(p, 0.5 * size.x, 0.5 * size.y, 0.5 * size.z);
    });
    CHECK(surface.touches(pose, edges) == (solid.touches(pose, edges) && !all_within));
  }
  CHECK(inside > 20);
}

TEST_CASE("a vehicle passes a gate through its opening", "[collide]") {
  const Lone gate(pw::Gate{1.0, 1.0, 0.2, 0.1});
  CHECK_FALSE(gate.touches(Vec{}, 0.49));
  CHECK(gate.touches(Vec{}, 0.51));
  CHECK(gate.touches(Vec{0.0, 0.6, 0.0}, 0.05));
  CHECK_FALSE(gate.touches(Vec{0.0, 0.8, 0.0}, 0.05));
  CHECK_FALSE(gate.touches(pw::Pose{}, {0.5, 0.98, 0.98}));
  CHECK(gate.touches(pw::Pose{}, {0.5, 1.02, 0.2}));
  // a roll of 90 degrees does not make it wider, one of 45 degrees does
  CHECK_FALSE(
      gate.touches(pw::Pose{{}, {std::sqrt(0.5), std::sqrt(0.5), 0.0, 0.0}}, {0.5, 0.9, 0.3}));
  const double half = pi() / 8.0;
  CHECK(gate.touches(pw::Pose{{}, {std::cos(half), std::sin(half), 0.0, 0.0}}, {0.5, 0.98, 0.98}));
}

TEST_CASE("moving the scene and the vehicles together changes no collision", "[collide]") {
  Dice dice(6);
  const pw::Pose move{dice.vec3(20.0), dice.unit_quat()};
  pw::Scene here, there;
  for (int i = 0; i < 60; ++i) {
    pw::SceneItem item{std::to_string(i),
                       "",
                       {},
                       {dice.vec3(6.0), dice.unit_quat()},
                       bodies()[static_cast<std::size_t>(1 + i % 4)].shape};
    here.add(item);
    item.pose = {pw::to_world(move, item.pose.position_W),
                 move.attitude_WS * item.pose.attitude_WS};
    there.add(item);
  }
  const pw::SceneIndex<double> a(here), b(there);
  int touching = 0;
  for (int i = 0; i < 3000; ++i) {
    const pw::Pose pose{dice.vec3(6.0), dice.unit_quat()};
    const pw::Pose moved{pw::to_world(move, pose.position_W), move.attitude_WS * pose.attitude_WS};
    const double radius = dice.uniform(0.05, 0.6);
    const Vec size{dice.uniform(0.1, 1.0), dice.uniform(0.1, 1.0), dice.uniform(0.1, 1.0)};
    const auto found = pw::collide(a.view(), pose.position_W, radius);
    CAPTURE(i);
    CHECK(found == pw::collide(b.view(), moved.position_W, radius));
    CHECK(pw::collide(a.view(), pose, size) == pw::collide(b.view(), moved, size));
    // and the lowest id of the items touched individually
    std::int32_t lowest = -1;
    for (std::size_t k = 0; k < here.items().size() && lowest < 0 && i < 200; ++k) {
      const Lone lone(here.items()[k].shape, here.items()[k].pose);
      if (lone.touches(pose.position_W, radius)) lowest = static_cast<std::int32_t>(k);
    }
    if (i < 200) CHECK(found == lowest);
    touching += found >= 0;
  }
  CHECK(touching > 100);
}

TEST_CASE("a moving sphere touches if it touches at some position of its path", "[collide]") {
  // the oracle is the sphere at rest at many positions; a contact between two of them is less deep
  // than their distance
  constexpr int places = 2000;
  Dice dice(8);
  auto moved = bodies();
  const pw::Mesh triangle{{{-1.3, -0.9, 0.3}, {1.6, -0.8, -0.4}, {0.1, 1.2, 0.6}}, {{0, 1, 2}}};
  moved.push_back({"triangle", triangle, nullptr});
  for (const auto& body : moved) {
    const Lone scene(body.shape, {dice.vec3(0.3), dice.unit_quat()});
    int hits = 0, inside = 0, through = 0;
    for (int i = 0; i < 250; ++i) {
      const Vec start = dice.vec3(3.0), end = dice.vec3(3.0);
      const double radius = dice.uniform(0.02, 0.4), step = distance(start, end) / places;
      const auto at = [&](int k) { return start + (end - start) * (k * 1.0 / places); };
      int first = 0;
      while (first <= places && !scene.touches(at(first), radius)) ++first;
      const auto hit = scene.cast(start, end, radius);
      CAPTURE(body.name, i, radius, first, hit.fraction);
      if (first <= places) {
        CHECK(hit.id == 0);
        CHECK(hit.fraction <= first * 1.0 / places + 1e-9);
        CHECK(hit.fraction >= (first - 1) * 1.0 / places - 1e-9);
      } else if (hit.id == 0) {
        CHECK_FALSE(scene.cast(start, end, radius - step).id == 0);
      } else {
        CHECK(hit.id == -1);
        CHECK(hit.fraction == 1.0);
      }
      hits += hit.id == 0;
      inside += first == 0;
      through += hit.id == 0 && first > 0 && !scene.touches(end, radius);
    }
    CAPTURE(body.name, hits, inside, through);
    CHECK(hits > 30);
    CHECK(inside < hits);
    if (std::string(body.name) != "plane") CHECK(through > 15);
  }
}

TEST_CASE("a moving sphere meets planes, spheres and edges at the closed forms", "[collide]") {
  Dice dice(9);
  for (int i = 0; i < 500; ++i) {
    const double radius = dice.uniform(0.01, 0.5), height = dice.uniform(0.6, 5.0);
    // a plane: the height decreases linearly
    const double end = dice.uniform(-3.0, 0.0);
    const auto ground = Lone(pw::Plane{}).cast({0.0, 0.0, height}, {9.0, -4.0, end}, radius);
    CHECK(ground.id == 0);
    CHECK(ground.fraction == Approx((height - radius) / (height - end)).epsilon(1e-9));
    // a sphere: a quadratic equation
    const Vec start = dice.unit_vec3() * 4.0, way = dice.vec3(8.0);
    const double a = squared_norm(way), b = dot(start, way), reach = 0.8 + radius;
    const double root = b * b - a * (squared_norm(start) - reach * reach);
    const double fraction = root < 0.0 ? 2.0 : (-b - std::sqrt(root)) / a;
    const auto ball = Lone(pw::Sphere{0.8}).cast(start, start + way, radius);
    CAPTURE(i, fraction);
    CHECK((ball.id == 0) == (fraction >= 0.0 && fraction <= 1.0));
    if (ball.id == 0) CHECK(ball.fraction == Approx(fraction).margin(1e-8));
    // an edge of a box, passed at a right angle: touched within the radius only
    const double off = radius / std::sqrt(2.0);
    for (const double more : {-1e-6, 1e-6}) {
      const double x = 0.5 + off + more;
      const Vec from{x + 3.0, x - 3.0, 0.1}, to{x - 3.0, x + 3.0, 0.1};
      CHECK((Lone(pw::Box{{1.0, 1.0, 1.0}}).cast(from, to, radius).id == 0) == (more < 0.0));
    }
  }
}

TEST_CASE("of several items a moving sphere touches the first", "[collide]") {
  Dice dice(10);
  pw::Scene scene;
  for (int i = 0; i < 40; ++i) {
    const auto& shape = bodies()[static_cast<std::size_t>(1 + i % 4)].shape;
    scene.add({std::to_string(i), "", {}, {dice.vec3(6.0), dice.unit_quat()}, shape});
  }
  const pw::SceneIndex<double> index(scene);
  int hits = 0;
  for (int i = 0; i < 500; ++i) {
    const Vec start = dice.vec3(7.0), end = dice.vec3(7.0);
    double first = 2.0;
    std::int32_t id = -1;
    for (std::size_t k = 0; k < scene.items().size(); ++k) {
      const auto one = Lone(scene.items()[k].shape, scene.items()[k].pose).cast(start, end, 0.1);
      if (one.id < 0 || !(one.fraction < first)) continue;
      first = one.fraction, id = static_cast<std::int32_t>(k);
    }
    const auto hit = pw::spherecast(index.view(), start, end, 0.1);
    CAPTURE(i);
    CHECK(hit.id == id);
    CHECK(hit.fraction == (id < 0 ? 1.0 : first));
    hits += id >= 0;
  }
  CHECK(hits > 100);
}

TEST_CASE("a position that is NaN touches nothing", "[collide]") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto& body : bodies()) {
    const Lone scene(body.shape);
    CAPTURE(body.name);
    for (int i = 0; i < 3; ++i) {
      Vec at;
      at[i] = none;
      CHECK_FALSE(scene.touches(at, 1.0));
      CHECK_FALSE(scene.touches(pw::Pose{at}, {1.0, 1.0, 1.0}));
      CHECK(scene.cast(at, {}, 1.0).id == -1);
      CHECK(scene.cast({}, at, 1.0).id == -1);
      at[i] = std::numeric_limits<double>::infinity();
      CHECK(scene.cast(at, {}, 1.0).id == -1);
    }
  }
}

}  // namespace test_collide
