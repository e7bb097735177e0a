// Signed distances to the items of a scene; the Python tests compare them with collisions.
#include <cmath>
#include <limits>
#include <propwash/world/nearest.hpp>
#include <propwash/world/scene_index.hpp>
#include <utility>

#include "catch.hpp"
#include "support.hpp"

namespace test_nearest {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

pw::NearestItem nearest_of(pw::Shape shape, const Vec& point) {
  pw::Scene scene;
  scene.add({"it", "", {}, {}, std::move(shape)});
  const pw::SceneIndex<double> index(scene);
  return pw::nearest(index.view(), point);
}

}  // namespace

TEST_CASE("a body has the distance to its surface on both sides", "[nearest]") {
  const pw::Shape shapes[] = {pw::Box{{2.0, 1.0, 0.6}}, pw::Sphere{0.7}, pw::Cylinder{0.6, 1.4},
                              pw::Capsule{0.5, 0.8}, pw::Gate{1.2, 0.9, 0.3, 1.0}};
  Dice dice(4);
  for (const auto& shape : shapes) {
    int inside = 0;
    for (int i = 0; i < 2000; ++i) {
      const Vec point = dice.vec3(1.2);
      const auto found = nearest_of(shape, point);
      CAPTURE(shape.index(), i, found.distance);
      REQUIRE(found.id == 0);
      inside += found.distance < -0.02;
      CHECK(std::abs(norm(found.normal_W) - 1.0) < 1e-12);
      const auto surface = nearest_of(shape, point - found.normal_W * found.distance);
      CHECK(std::abs(surface.distance) < 1e-12);
    }
    CHECK(inside > 50);
  }
}

TEST_CASE("a point that is not finite has no nearest item", "[nearest]") {
  const double inf = std::numeric_limits<double>::infinity();
  const pw::Shape shapes[] = {pw::Plane{}, pw::Box{}};
  for (const auto& shape : shapes) {
    CHECK(nearest_of(shape, {0.0, 0.0, -inf}).id == -1);
    CHECK(nearest_of(shape, {0.0, std::nan(""), 0.0}).distance == inf);
  }
}

}  // namespace test_nearest
