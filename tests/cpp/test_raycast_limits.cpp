// Rays at the limits of floating point: far from the origin, and directions of extreme length.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_raycast_limits {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

TEST_CASE("in float a marker on a surface is visible at any distance from the origin",
          "[raycast]") {
  Dice dice(29);
  for (const double far : {0.0, 300.0, 3000.0, 30000.0}) {
    const Vec centre{far, -far, 0.5 * far};
    pw::Scene scene;
    scene.add({"globe", "", {}, {centre}, pw::Sphere{2.0}});
    const pw::SceneIndex<float> index(scene);
    std::vector<float> from, to;
    constexpr std::size_t n = 2000;
    for (std::size_t i = 0; i < n; ++i) {
      const Vec out = dice.unit_vec3();
      for (int k = 0; k < 3; ++k) {
        from.push_back(static_cast<float>(centre[k] + 9.0 * out[k]));
        to.push_back(static_cast<float>(centre[k] + 2.0 * out[k]));
      }
    }
    std::vector<std::uint8_t> seen(n), opposite(n);
    pw::visible(index.view(), n, from.data(), to.data(), seen.data());
    // the same markers from positions where the sphere hides them
    std::vector<float> behind;
    for (std::size_t i = 0; i < 3 * n; ++i) {
      const auto middle = static_cast<float>(centre[static_cast<int>(i % 3)]);
      behind.push_back(middle - (from[i] - middle));
    }
    pw::visible(index.view(), n, behind.data(), to.data(), opposite.data());
    CAPTURE(far);
    CHECK(std::count(seen.begin(), seen.end(), 1) == n);
    CHECK(std::count(opposite.begin(), opposite.end(), 0) == n);
  }
}

TEMPLATE_TEST_CASE("directions may have any length", "[raycast]", float, double) {
  using T = TestType;
  pw::Scene scene;
  scene.add({"floor", "", {}, {}, pw::Plane{}});
  const pw::SceneIndex<T> index(scene);
  for (const T length : {std::numeric_limits<T>::min() * 4, T(1e-12), T(1), T(1e12),
                         std::numeric_limits<T>::max() / 4}) {
    const T origin[3] = {T(1), T(2), T(3)}, direction[3] = {length * T(4) / 3, 0, -length};
    T distance = 0, normal[3];
    std::int32_t id = -1;
    pw::raycast(index.view(), 1, origin, direction, T(1e6), &distance, &id, normal);
    CAPTURE(length);
    CHECK(id == 0);
    CHECK(distance == Approx(5.0));
  }
}

}  // namespace test_raycast_limits
