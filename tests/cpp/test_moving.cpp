// Moving items: a scene of static and moving parts equals the static scene with the items at the
// same poses; waypoints.
#include <cmath>
#include <cstdint>
#include <limits>
#include <propwash/world/collide.hpp>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <propwash/world/waypoints.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_moving {

namespace pw = propwash;
using Vec = pw::Vec3<double>;

namespace {

const std::vector<pw::Shape>& shapes() {
  static const std::vector<pw::Shape> all{pw::Box{{1.0, 0.6, 0.4}},
                                          pw::Sphere{0.5},
                                          pw::Capsule{0.3, 0.9},
                                          pw::Cylinder{0.4, 0.7},
                                          pw::Gate{},
                                          pw::Mesh{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}}};
  return all;
}

/// Static items on the ground, moving ones above, and the same scene at rest.
struct Worlds {
  pw::Scene mixed, at_rest;
  std::vector<pw::PlacedItem> placed;

  explicit Worlds(std::uint64_t seed) {
    Dice dice(seed);
    std::vector<pw::Pose> bodies;
    for (int i = 0; i < 24; ++i) {
      const bool moves = i % 3 == 0;
      const pw::Pose pose{dice.vec3(4.0), dice.unit_quat()};
      pw::SceneItem item{"item" + std::to_string(i),
                         "",
                         {},
                         pose,
                         shapes()[static_cast<std::size_t>(i) % shapes().size()],
                         moves};
      if (moves) item.pose = {};
      bodies.push_back(pose);
      mixed.add(item);
      item.pose = pose;
      item.moves = false;
      at_rest.add(item);
    }
    for (std::size_t i = 0; i < bodies.size(); i += 3) {
      placed.push_back({&mixed.items()[i], bodies[i], static_cast<std::int32_t>(i)});
    }
  }
};

template <class T>
struct Hits {
  std::vector<T> distance, normal;
  std::vector<std::int32_t> id;
};

template <class T>
Hits<T> rays(const pw::SceneView<T>& view, std::size_t n, const std::vector<T>& from,
             const std::vector<T>& along) {
  Hits<T> hits{std::vector<T>(n), std::vector<T>(3 * n), std::vector<std::int32_t>(n)};
  pw::raycast(view, n, from.data(), along.data(), T(30), hits.distance.data(), hits.id.data(),
              hits.normal.data());
  return hits;
}

template <class T>
void compare(std::uint64_t seed) {
  const Worlds worlds(seed);
  const pw::SceneIndex<T> still(worlds.mixed), moving(worlds.placed), whole(worlds.at_rest);
  auto view = still.view();
  const auto parts = moving.view();
  view.next = &parts;
  const std::size_t n = 2000;
  Dice dice(seed + 1);
  std::vector<T> from, along;
  for (std::size_t i = 0; i < 3 * n; ++i) {
    from.push_back(static_cast<T>(dice.uniform(-6.0, 6.0)));
    along.push_back(static_cast<T>(dice.uniform(-1.0, 1.0)));
  }
  const auto a = rays(view, n, from, along), b = rays(whole.view(), n, from, along);
  CHECK(a.distance == b.distance);
  CHECK(a.id == b.id);
  CHECK(a.normal == b.normal);
  std::vector<std::uint8_t> free(n), expected(n);
  pw::visible(view, n, from.data(), along.data(), free.data());
  pw::visible(whole.view(), n, from.data(), along.data(), expected.data());
  CHECK(free == expected);
}

}  // namespace

TEST_CASE("moving items are hit as static ones at the same poses", "[moving]") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    compare<double>(seed);
    compare<float>(seed);
  }
}

TEST_CASE("moving items are touched as static ones at the same poses", "[moving]") {
  const Worlds worlds(7);
  const pw::SceneIndex<double> still(worlds.mixed), moving(worlds.placed), whole(worlds.at_rest);
  auto view = still.view();
  const auto parts = moving.view();
  view.next = &parts;
  Dice dice(8);
  int touching = 0;
  for (int i = 0; i < 1000; ++i) {
    const Vec start = dice.vec3(5.0), end = dice.vec3(5.0);
    const double radius = dice.uniform(0.05, 0.5);
    const auto a = pw::spherecast(view, start, end, radius);
    const auto b = pw::spherecast(whole.view(), start, end, radius);
    CHECK(a.fraction == b.fraction);
    CHECK(a.id == b.id);
    const pw::Pose box{start, dice.unit_quat()};
    const Vec size = dice.vec3(0.4) + Vec{0.5, 0.5, 0.5};
    CHECK(pw::collide(view, box, size) == pw::collide(whole.view(), box, size));
    CHECK(pw::clearance(view, start) <= norm(start) + 10.0);
    touching += a.id >= 0;
  }
  CHECK(touching > 300);
}

TEST_CASE("an ignored item is neither hit nor touched", "[moving]") {
  const Worlds worlds(9);
  const pw::SceneIndex<double> still(worlds.mixed), moving(worlds.placed);
  const auto parts = moving.view();
  for (const auto& placed : worlds.placed) {
    auto view = still.view();
    view.next = &parts;
    view.ignored = placed.id;
    std::vector<pw::PlacedItem> others;
    for (const auto& other : worlds.placed) {
      if (other.id != placed.id) others.push_back(other);
    }
    const pw::SceneIndex<double> without(others);
    const auto other_parts = without.view();
    auto expected = still.view();
    expected.next = &other_parts;
    Dice dice(10);
    for (int i = 0; i < 200; ++i) {
      const Vec from = placed.body.position_W + dice.vec3(2.0), along = dice.unit_vec3();
      const auto a = pw::cast(view, from, along, 30.0);
      const auto b = pw::cast(expected, from, along, 30.0);
      CHECK(a.distance == b.distance);
      CHECK(a.id == b.id);
      CHECK(pw::collide(view, from, 0.3) == pw::collide(expected, from, 0.3));
    }
  }
}

TEST_CASE("an item whose pose is not finite is absent", "[moving]") {
  const Worlds worlds(11);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const pw::SceneIndex<double> none({{worlds.placed[0].item, {{nan, 0.0, 0.0}}, 0}});
  CHECK(none.view().node_count == 0);
  CHECK(pw::cast(none.view(), Vec{}, Vec{1.0, 0.0, 0.0}, 10.0).id == -1.0);
}

TEST_CASE("waypoints are reached at their times, at constant rates between them", "[moving]") {
  Dice dice(12);
  std::vector<double> times;
  std::vector<pw::Pose> poses;
  for (int i = 0; i < 6; ++i) {
    times.push_back(i * 0.7 + dice.uniform(0.0, 0.5));
    poses.push_back({dice.vec3(3.0), dice.unit_quat()});
  }
  const pw::Waypoints walk(times, poses);
  const auto angle = [](const pw::Quat<double>& a, const pw::Quat<double>& b) {
    const auto d = conjugate(a) * b;
    return 2.0 * std::asin(std::min(1.0, std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z)));
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto at = walk(times[i]);
    CHECK(distance(at.position_W, poses[i].position_W) == 0.0);
    CHECK(angle(at.attitude_WS, poses[i].attitude_WS) < 1e-12);
    if (i == 0) continue;
    const double whole = angle(poses[i - 1].attitude_WS, poses[i].attitude_WS);
    for (const double part : {0.2, 0.5, 0.9}) {
      const auto now = walk(times[i - 1] + part * (times[i] - times[i - 1]));
      CHECK(norm(now.position_W - poses[i - 1].position_W) ==
            Approx(part * norm(poses[i].position_W - poses[i - 1].position_W)));
      CHECK(angle(poses[i - 1].attitude_WS, now.attitude_WS) == Approx(part * whole));
      CHECK(squared_norm(now.attitude_WS) == Approx(1.0).epsilon(1e-14));
    }
  }
  CHECK(distance(walk(times[0] - 5.0).position_W, poses[0].position_W) == 0.0);
  CHECK(distance(walk(times[5] + 5.0).position_W, poses[5].position_W) == 0.0);
  CHECK(std::isnan(walk(std::nan("")).position_W.x));
}

TEST_CASE("repeated waypoints are periodic", "[moving]") {
  const pw::Waypoints walk({1.0, 2.0, 3.0}, {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 0, 0}}}, true);
  for (double t = -7.0; t < 9.0; t += 0.37) {
    CHECK(walk(t).position_W.x == Approx(walk(t + 2.0).position_W.x).margin(1e-12));
  }
  CHECK(walk(1.5).position_W.x == Approx(0.5));
}

TEST_CASE("invalid waypoints are refused", "[moving]") {
  using Times = std::vector<double>;
  const std::vector<pw::Pose> two(2);
  const auto make = [](Times times, std::vector<pw::Pose> poses, bool repeat = false) {
    return pw::Waypoints(std::move(times), std::move(poses), repeat);
  };
  CHECK_THROWS_AS(make({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(make({0.0}, two), std::invalid_argument);
  CHECK_THROWS_AS(make({0.0, 0.0}, two), std::invalid_argument);
  CHECK_THROWS_AS(make({0.0, std::nan("")}, two), std::invalid_argument);
  CHECK_THROWS_AS(make({0.0}, {pw::Pose{}}, true), std::invalid_argument);
  CHECK_THROWS_AS(make({0.0}, {{{}, {1.0, 1.0, 0.0, 0.0}}}), std::invalid_argument);
}

}  // namespace test_moving
