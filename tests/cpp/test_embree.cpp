// Hits of large meshes with Embree equal those of the library's triangles.
#include <propwash/world/embree.hpp>

#include "catch.hpp"

#if PROPWASH_TEST_EMBREE && PROPWASH_HAS_EMBREE

#include <cmath>
#include <limits>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <vector>

#include "support.hpp"

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

/// A bumpy sphere of 2 * n * n triangles.
pw::Mesh ball(int n, Dice& dice) {
  pw::Mesh mesh;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double polar_angle = pi() * (0.02 + 0.96 * i / n), azimuth = 2.0 * pi() * j / n;
      const double r = dice.uniform(0.9, 1.1);
      mesh.vertices.push_back({r * std::sin(polar_angle) * std::cos(azimuth),
                               r * std::sin(polar_angle) * std::sin(azimuth),
                               r * std::cos(polar_angle)});
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const int a = i * n + j, b = i * n + (j + 1) % n;
      mesh.triangles.push_back({a, b, a + n});
      mesh.triangles.push_back({b, b + n, a + n});
    }
  }
  return mesh;
}

struct Hits {
  std::vector<float> distance, normal;
  std::vector<std::int32_t> id;
  explicit Hits(std::size_t n) : distance(n), normal(3 * n), id(n) {}
};

}  // namespace

TEST_CASE("Embree gives the hits of the library's triangles", "[embree]") {
  Dice dice(1);
  pw::Scene scene;
  scene.add({"ground", "", {}, {{0.0, 0.0, -2.0}}, pw::Plane{}});
  scene.add({"ball", "", {}, {{1.0, 0.5, 0.0}, dice.unit_quat()}, ball(40, dice)});
  scene.add({"box", "", {}, {{-1.5, 0.0, 0.0}}, pw::Box{{1.0, 1.0, 1.0}}});
  scene.add({"small", "", {}, {{0.0, -2.0, 0.0}}, ball(5, dice)});
  scene.add({"other", "", {}, {{0.0, 2.0, 1.0}}, ball(30, dice)});
  const std::size_t n = 5000;
  std::vector<float> origins, directions;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec o = dice.vec3(4.0), d = dice.unit_vec3() * dice.uniform(0.5, 2.0);
    for (int k = 0; k < 3; ++k) {
      origins.push_back(static_cast<float>(o[k]));
      directions.push_back(static_cast<float>(d[k]));
    }
  }
  origins[30] = std::numeric_limits<float>::quiet_NaN();
  const float range = 6.0F;
  const auto cast = [&](const pw::SceneIndex<float>& index, Hits& hits) {
    pw::raycast(index.view(), n, origins.data(), directions.data(), range, hits.distance.data(),
                hits.id.data(), hits.normal.data());
  };
  Hits own(n), both(n);
  cast(pw::SceneIndex<float>(scene), own);
  cast(pw::SceneIndex<float>(scene, 500), both);
  CHECK(both.id != own.id);
  const pw::EmbreeMeshes meshes(scene, 500);
  meshes.refine(n, origins.data(), directions.data(), range, both.distance.data(), both.id.data(),
                both.normal.data());
  int apart = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (both.id[i] != own.id[i]) {
      ++apart;
      continue;
    }
    if (own.id[i] < 0) continue;
    double along = 0.0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      along += static_cast<double>(own.normal[c] * both.normal[c]);
    }
    if (along < 0.99 || std::abs(both.distance[i] - own.distance[i]) > 1e-3F) ++apart;
  }
  CHECK(apart < 10);  // grazing rays
}

#else

TEST_CASE("Embree gives the hits of the library's triangles", "[embree]") {
  PROPWASH_SKIP("Embree is missing (Debian: libembree-dev)");
}

#endif
