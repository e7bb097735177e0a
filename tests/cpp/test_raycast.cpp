// Rays in a scene: the tree compared with a test of each item, packs with single rays, meshes with
// closed forms, transformed scenes, lines of sight.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_raycast {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

pw::Mesh box_mesh(const Vec& size) {
  pw::Mesh mesh;
  for (int i = 0; i < 8; ++i) {
    mesh.vertices.push_back({(i & 1 ? 0.5 : -0.5) * size.x, (i & 2 ? 0.5 : -0.5) * size.y,
                             (i & 4 ? 0.5 : -0.5) * size.z});
  }
  mesh.triangles = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                    {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  return mesh;
}

pw::Shape random_shape(Dice& dice, int kind) {
  const auto length = [&] { return dice.uniform(0.2, 1.5); };
  if (kind == 0) return pw::Box{{length(), length(), length()}};
  if (kind == 1) return pw::Sphere{length()};
  if (kind == 2) return pw::Cylinder{length(), length()};
  if (kind == 3) return pw::Gate{length(), length(), 0.2 * length(), 0.2 * length()};
  return box_mesh({length(), length(), length()});
}

/// Random shapes of all kinds in a cube of 20 m, and two planes.
pw::Scene clutter(std::uint64_t seed, int count) {
  Dice dice(seed);
  pw::Scene scene;
  scene.add({"floor", "ground", {}, {{0.0, 0.0, -9.0}}, pw::Plane{}});
  for (int i = 0; i < count; ++i) {
    scene.add({"item" + std::to_string(i),
               "thing",
               {},
               {dice.vec3(10.0), dice.unit_quat()},
               random_shape(dice, i % 5)});
  }
  scene.add({"slope", "ground", {}, {{15.0, 0.0, 0.0}, {0.5, 0.5, -0.5, 0.5}}, pw::Plane{}});
  return scene;
}

template <class T>
struct Rays {
  std::vector<T> origins, directions;
  std::size_t size() const { return origins.size() / 3; }

  void add(const Vec& origin, const Vec& direction) {
    for (int i = 0; i < 3; ++i) {
      origins.push_back(static_cast<T>(origin[i]));
      directions.push_back(static_cast<T>(direction[i]));
    }
  }
  Rays() = default;
  Rays(std::uint64_t seed, std::size_t n) {
    Dice dice(seed);
    for (std::size_t i = 0; i < n; ++i) {
      const Vec origin = dice.vec3(10.0);
      add(origin, dice.unit_vec3() * dice.uniform(0.1, 3.0));
    }
  }
};

template <class T>
struct Hits {
  std::vector<T> distance, normal;
  std::vector<std::int32_t> id;

  Hits(const pw::SceneView<T>& view, const Rays<T>& rays, T max_range = static_cast<T>(infinite))
      : distance(rays.size()), normal(3 * rays.size()), id(rays.size()) {
    pw::raycast(view, rays.size(), rays.origins.data(), rays.directions.data(), max_range,
                distance.data(), id.data(), normal.data());
  }
};

/// The same with a separate scene for each item.
Hits<double> one_by_one(const pw::Scene& scene, const Rays<double>& rays) {
  Hits<double> best(pw::SceneView<double>{}, rays);
  for (std::size_t k = 0; k < scene.items().size(); ++k) {
    pw::Scene alone;
    alone.add(scene.items()[k]);
    const pw::SceneIndex<double> index(alone);
    const Hits<double> hits(index.view(), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) {
      if (!(hits.distance[i] < best.distance[i])) continue;
      best.distance[i] = hits.distance[i];
      best.id[i] = static_cast<std::int32_t>(k);
      for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) best.normal[c] = hits.normal[c];
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the tree gives the hits of separate items", "[raycast]") {
  for (const int count : {0, 1, 2, 7, 200}) {
    const pw::Scene scene = clutter(11, count);
    const pw::SceneIndex<double> index(scene);
    const Rays<double> rays(12, 1003);
    const Hits<double> found(index.view(), rays);
    const Hits<double> expected = one_by_one(scene, rays);
    int met = 0;
    for (std::size_t i = 0; i < rays.size(); ++i) {
      CAPTURE(count, i);
      CHECK(found.distance[i] == expected.distance[i]);
      CHECK(found.id[i] == expected.id[i]);
      CHECK(found.normal[3 * i + 1] == expected.normal[3 * i + 1]);
      met += found.id[i] >= 0;
    }
    CHECK(met > 300);
  }
}

TEST_CASE("packs give the hits of single rays", "[raycast]") {
  const pw::SceneIndex<float> index(clutter(13, 60));
  const Rays<float> rays(14, 517);
  const Hits<float> found(index.view(), rays);
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const float* o = rays.origins.data() + 3 * i;
    const float* d = rays.directions.data() + 3 * i;
    const pw::Vec3<float> direction{d[0], d[1], d[2]};
    const auto hit =
        pw::cast(index.view(), pw::Vec3<float>{o[0], o[1], o[2]},
                 direction * (1.0F / norm(direction)), std::numeric_limits<float>::infinity());
    CAPTURE(i);
    CHECK(found.id[i] == static_cast<std::int32_t>(hit.id));
    // a compiler may fuse different products in the two versions
    if (hit.id >= 0.0F) CHECK(found.distance[i] == Approx(hit.distance).epsilon(1e-4));
  }
}

TEST_CASE("float gives the hits of double, to its precision", "[raycast]") {
  const pw::Scene scene = clutter(15, 60);
  const pw::SceneIndex<float> singles(scene);
  const pw::SceneIndex<double> doubles(scene);
  const Rays<float> rays(16, 4000);
  Rays<double> same;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const float *o = rays.origins.data() + 3 * i, *d = rays.directions.data() + 3 * i;
    same.add({o[0], o[1], o[2]}, {d[0], d[1], d[2]});
  }
  const Hits<float> single(singles.view(), rays);
  const Hits<double> full(doubles.view(), same);
  int grazes = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    if (single.id[i] != full.id[i]) {
      ++grazes;
      continue;
    }
    if (full.id[i] < 0) continue;
    double slope = 0.0, length = 0.0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      slope -= full.normal[c] * same.directions[c];
      length += same.directions[c] * same.directions[c];
    }
    CAPTURE(i, full.distance[i], slope);
    const double margin = 2e-5 / (slope / std::sqrt(length));
    CHECK(std::abs(static_cast<double>(single.distance[i]) - full.distance[i]) < margin + 2e-5);
  }
  CHECK(grazes < 5);
}

TEST_CASE("a box of triangles equals a box", "[raycast]") {
  Dice dice(17);
  for (int round = 0; round < 20; ++round) {
    const Vec size{dice.uniform(0.5, 3.0), dice.uniform(0.5, 3.0), dice.uniform(0.5, 3.0)};
    const pw::Pose pose{dice.vec3(3.0), dice.unit_quat()};
    pw::Scene solid, mesh;
    solid.add({"box", "", {}, pose, pw::Box{size}});
    mesh.add({"box", "", {}, pose, box_mesh(size)});
    const pw::SceneIndex<double> a(solid), b(mesh);
    Rays<double> rays;
    for (int i = 0; i < 300; ++i) {
      const Vec origin = pose.position_W + dice.vec3(3.0);
      rays.add(origin, pose.position_W + dice.vec3(1.5) - origin);
    }
    const Hits<double> box(a.view(), rays), triangles(b.view(), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) {
      CAPTURE(round, i, box.distance[i], triangles.distance[i]);
      CHECK(box.id[i] == triangles.id[i]);
      if (box.id[i] < 0) continue;
      CHECK(triangles.distance[i] == Approx(box.distance[i]).epsilon(1e-9));
      for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
        CHECK(std::abs(triangles.normal[c] - box.normal[c]) < 1e-9);
      }
    }
  }
}

TEST_CASE("transforming a scene and its rays together keeps the distances", "[raycast]") {
  const pw::Scene scene = clutter(18, 50);
  Dice dice(19);
  const pw::Pose move{dice.vec3(30.0), dice.unit_quat()};
  pw::Scene moved;
  for (auto item : scene.items()) {
    item.pose.position_W = pw::to_world(move, item.pose.position_W);
    item.pose.attitude_WS = move.attitude_WS * item.pose.attitude_WS;
    moved.add(item);
  }
  const Rays<double> rays(20, 1500);
  Rays<double> rays_moved;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const double *o = rays.origins.data() + 3 * i, *d = rays.directions.data() + 3 * i;
    rays_moved.add(pw::to_world(move, {o[0], o[1], o[2]}),
                   rotate(move.attitude_WS, Vec{d[0], d[1], d[2]}));
  }
  const pw::SceneIndex<double> here(scene), there(moved);
  const Hits<double> a(here.view(), rays), b(there.view(), rays_moved);
  for (std::size_t i = 0; i < rays.size(); ++i) {
    CAPTURE(i);
    CHECK(a.id[i] == b.id[i]);
    if (a.id[i] < 0) continue;
    CHECK(b.distance[i] == Approx(a.distance[i]).epsilon(1e-7));
    const double* n = a.normal.data() + 3 * i;
    const double* m = b.normal.data() + 3 * i;
    const Vec normal = rotate(move.attitude_WS, Vec{n[0], n[1], n[2]});
    CHECK(distance(normal, {m[0], m[1], m[2]}) < 1e-7);
  }
}

TEST_CASE("normals are unit and against the ray, hits lie within range", "[raycast]") {
  const pw::SceneIndex<double> index(clutter(21, 80));
  const Rays<double> rays(22, 2000);
  const Hits<double> all(index.view(), rays);
  const double range = 4.0;
  const Hits<double> near(index.view(), rays, range);
  int cut = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    double square = 0.0, along = 0.0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      square += all.normal[c] * all.normal[c];
      along += all.normal[c] * rays.directions[c];
    }
    CAPTURE(i);
    CHECK(square == Approx(all.id[i] < 0 ? 0.0 : 1.0));
    CHECK(along <= 0.0);
    CHECK(all.distance[i] > 0.0);
    CHECK((all.id[i] < 0) == std::isinf(all.distance[i]));
    const bool within = all.distance[i] < range;
    CHECK(near.distance[i] == (within ? all.distance[i] : infinite));
    CHECK(near.id[i] == (within ? all.id[i] : -1));
    cut += !within && all.id[i] >= 0;
  }
  CHECK(cut > 100);
}

TEST_CASE("rays with NaN or infinite numbers hit nothing, and do not affect their neighbours",
          "[raycast]") {
  const pw::SceneIndex<float> index(clutter(23, 40));
  Rays<float> rays(24, 400);
  const Hits<float> before(index.view(), rays);
  const float bad[3] = {std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < rays.size(); i += 3) {
    auto& numbers = i % 2 == 0 ? rays.origins : rays.directions;
    numbers[3 * i + i % 3] = bad[i / 3 % 3];
    if (i % 7 == 0) {  // a zero direction
      for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) rays.directions[c] = 0.0F;
    }
  }
  const Hits<float> after(index.view(), rays);
  for (std::size_t i = 0; i < rays.size(); ++i) {
    CAPTURE(i);
    CHECK(after.id[i] == (i % 3 == 0 ? -1 : before.id[i]));
    CHECK(after.distance[i] ==
          (i % 3 == 0 ? std::numeric_limits<float>::infinity() : before.distance[i]));
  }
  const Hits<float> none(index.view(), rays, std::numeric_limits<float>::quiet_NaN());
  CHECK(std::all_of(none.id.begin(), none.id.end(), [](std::int32_t id) { return id == -1; }));
}

TEST_CASE("a line of sight is free if its ray hits nothing before its end, in both directions",
          "[raycast]") {
  const pw::SceneIndex<double> index(clutter(25, 60));
  Dice dice(26);
  std::vector<double> from, to;
  Rays<double> rays;
  const std::size_t n = 1001;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec a = dice.vec3(10.0), b = a + dice.vec3(6.0);
    rays.add(a, b - a);
    for (int k = 0; k < 3; ++k) from.push_back(a[k]), to.push_back(b[k]);
  }
  const Hits<double> hits(index.view(), rays);
  std::vector<std::uint8_t> there(n), back(n);
  pw::visible(index.view(), n, from.data(), to.data(), there.data());
  pw::visible(index.view(), n, to.data(), from.data(), back.data());
  int free = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double square = 0.0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) square += std::pow(to[c] - from[c], 2);
    CAPTURE(i);
    CHECK(there[i] == (hits.distance[i] > std::sqrt(square) ? 1 : 0));
    CHECK(there[i] == back[i]);
    free += there[i];
  }
  CHECK(free > 100);
  CHECK(free < 900);
  from[4] = std::numeric_limits<double>::quiet_NaN();
  to[6] = infinite;
  pw::visible(index.view(), n, from.data(), to.data(), there.data());
  CHECK(there[1] == 0);
  CHECK(there[2] == 0);
}

TEST_CASE("the markers of a gate are visible from the front and not through its bars",
          "[raycast]") {
  pw::Scene scene;
  scene.add({"Gate1", "gate", {}, {}, pw::Gate{2.0, 1.5, 0.3, 0.1}});
  const pw::SceneIndex<float> index(scene);
  Dice dice(27);
  for (int i = 0; i < 300; ++i) {
    const bool before = i % 2 == 0;
    // behind the gate and outside its opening, on the marker's side, so that a bar is in between
    const auto& marker = scene.markers()[static_cast<std::size_t>(i / 2 % 4)].position_W;
    const double out = dice.uniform(1.0, 3.0);
    const Vec eye = before ? Vec{dice.uniform(-9.0, -0.5), dice.uniform(-5.0, 5.0), 0.0}
                           : Vec{dice.uniform(0.5, 9.0), marker.y * (1.0 + out), marker.z * 1.1};
    const float a[3] = {static_cast<float>(eye.x), static_cast<float>(eye.y),
                        static_cast<float>(eye.z)};
    const float b[3] = {static_cast<float>(marker.x), static_cast<float>(marker.y),
                        static_cast<float>(marker.z)};
    std::uint8_t free = 2;
    pw::visible(index.view(), 1, a, b, &free);
    CAPTURE(i, eye.x, eye.y, eye.z);
    CHECK(free == (before ? 1 : 0));
  }
}

TEST_CASE("many items at one position give a tree of limited depth", "[raycast]") {
  pw::Scene scene;
  for (int i = 0; i < 3000; ++i) {
    scene.add({std::to_string(i), "", {}, {{1.0, 2.0, 3.0}}, pw::Sphere{0.5}});
  }
  const pw::SceneIndex<double> index(scene);
  Rays<double> rays;
  rays.add({1.0, 2.0, 9.0}, {0.0, 0.0, -1.0});
  const Hits<double> hits(index.view(), rays);
  CHECK(hits.distance[0] == Approx(5.5));
}

TEST_CASE("no ray passes between the triangles of a closed mesh", "[raycast]") {
  // a finely triangulated sphere, far from the origin, in float
  pw::Mesh globe;
  constexpr int rows = 60, columns = 120;
  for (int i = 0; i <= rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const double tilt = pi() * i / rows, azimuth = 2.0 * pi() * j / columns;
      globe.vertices.push_back(
          {std::sin(tilt) * std::cos(azimuth), std::sin(tilt) * std::sin(azimuth), std::cos(tilt)});
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const int a = i * columns + j, b = i * columns + (j + 1) % columns;
      globe.triangles.push_back({a, b, a + columns});
      globe.triangles.push_back({b, b + columns, a + columns});
    }
  }
  pw::Scene scene;
  const Vec centre{40.0, -30.0, 5.0};
  scene.add({"globe", "", {}, {centre}, globe});
  const pw::SceneIndex<float> index(scene);
  Dice dice(28);
  Rays<float> rays;
  for (int i = 0; i < 20000; ++i) {
    // at vertices and edges, where cracks would be
    const auto& triangle =
        globe.triangles[static_cast<std::size_t>(dice.uniform(0, 2 * rows * columns))];
    const auto corner = [&](std::size_t k) {
      return globe.vertices[static_cast<std::size_t>(triangle[k])];
    };
    const double part = i % 2 == 0 ? 0.0 : dice.uniform(0.0, 1.0);
    const Vec target = centre + corner(0) * (1.0 - part) + corner(1) * part;
    const Vec origin = target + (corner(0) + dice.vec3(0.4)) * 9.0;
    rays.add(origin, target - origin);
  }
  const Hits<float> hits(index.view(), rays);
  int through = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    double square = 0.0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      square += static_cast<double>(rays.directions[c]) * static_cast<double>(rays.directions[c]);
    }
    through += !(static_cast<double>(hits.distance[i]) < std::sqrt(square) + 0.05);
  }
  CHECK(through == 0);
}

}  // namespace test_raycast
