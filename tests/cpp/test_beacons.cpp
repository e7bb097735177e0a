// Beacons: those in view and not occluded are seen at their pinhole projections, and no others.
// Statistics at four sigma; seeds are fixed.
#include <cmath>
#include <memory>
#include <propwash/world/beacons.hpp>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <vector>

#include "catch.hpp"
#include "support.hpp"

namespace test_beacons {

namespace pw = propwash;

namespace {

using Vec = pw::Vec3<double>;

/// A camera at the origin looks along x at markers, optionally with obstacles.
template <class T>
struct Setting {
  pw::Scene scene;
  std::vector<Vec> markers;
  std::vector<T> position, attitude;
  pw::Camera<double> camera = pw::make_camera(640, 480, 1.2);

  std::vector<T> u, v;
  std::unique_ptr<bool[]> visible;

  void add_body(const Vec& p, const pw::Quat<double>& q) {
    for (int k = 0; k < 3; ++k) position.push_back(static_cast<T>(p[k]));
    for (const double x : {q.w, q.x, q.y, q.z}) attitude.push_back(static_cast<T>(x));
  }
  void look(const pw::BeaconParameters<T>& parameters = {}, pw::SampleNoise noise = {}) {
    const pw::SceneIndex<T> index(scene);
    const std::size_t n = position.size() / 3;
    u.assign(n * markers.size(), T(-1)), v = u;
    visible = std::make_unique<bool[]>(n * markers.size());
    const auto mount = pw::cast<T>(camera);
    const auto camera_of = [&](std::size_t) -> const pw::Camera<T>& { return mount; };
    const auto see = [&](std::size_t count, const T* from, const T* to, std::uint8_t* flags) {
      pw::visible(index.view(), count, from, to, flags);
    };
    const pw::BeaconReadings<T> readings{u.data(), v.data(), visible.get()};
    pw::measure_beacons(camera_of, pw::Markers<T>(markers),
                        pw::Poses<T>{position.data(), attitude.data()}, {0, n}, noise, parameters,
                        see, readings);
  }
};

const auto level = pw::Quat<double>::identity();

}  // namespace

TEMPLATE_TEST_CASE("beacons are seen at their pinhole projections", "[beacons]", float, double) {
  Dice dice(1101);
  Setting<TestType> s;
  s.camera.position = dice.vec3(0.2);
  s.camera.attitude = pw::from_axis_angle(Vec{0.0, 0.0, 1.0}, 0.3);
  for (int j = 0; j < 45; ++j)
    s.markers.push_back(dice.vec3(8.0));  // not a multiple of any number of lanes
  for (int i = 0; i < 20; ++i) s.add_body(dice.vec3(4.0), dice.unit_quat());
  s.look();
  const double tolerance = sizeof(TestType) == 4 ? 1e-4 : 1e-11;
  int seen = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const pw::Poses<TestType> poses{s.position.data(), s.attitude.data()};
    const auto pose = pw::camera_pose(s.camera, pw::cast<double>(poses.position_of(i)),
                                      pw::cast<double>(poses.attitude_of(i)));
    for (std::size_t j = 0; j < 45; ++j) {
      const auto pixel = pw::project(s.camera, pw::in_camera(pose, s.markers[j]));
      const double margin = pw::view_margin(s.camera, pixel);
      const std::size_t k = 45 * i + j;
      if (std::abs(margin) < 1e-3) continue;
      REQUIRE(s.visible[k] == (margin > 0.0));
      if (!s.visible[k]) {
        CHECK(std::isnan(s.u[k]));
        CHECK(std::isnan(s.v[k]));
        continue;
      }
      ++seen;
      CHECK(std::abs(static_cast<double>(s.u[k]) - pixel.u) < tolerance * 640.0);
      CHECK(std::abs(static_cast<double>(s.v[k]) - pixel.v) < tolerance * 480.0);
    }
  }
  CHECK(seen > 50);
}

TEST_CASE("a beacon to the left appears left of the centre, one above appears above", "[beacons]") {
  Setting<float> s;
  s.markers = {{5.0, 1.0, 0.0}, {5.0, 0.0, 1.0}, {-5.0, 0.0, 0.0}, {5.0, 50.0, 0.0}};
  s.add_body({}, level);
  s.look();
  REQUIRE(s.visible[0]);
  CHECK(s.u[0] < 320.0f);
  CHECK(s.v[0] == 240.0f);
  REQUIRE(s.visible[1]);
  CHECK(s.u[1] == 320.0f);
  CHECK(s.v[1] < 240.0f);
  CHECK_FALSE(s.visible[2]);
  CHECK_FALSE(s.visible[3]);
}

TEST_CASE("a beacon behind an obstacle is hidden, one in front of it is not", "[beacons]") {
  Setting<double> s;
  pw::SceneItem screen{"screen", "wall", {}, {}, pw::Box{{0.1, 2.0, 2.0}}};
  screen.pose.position_W = {5.0, 0.0, 0.0};
  s.scene.add(screen);
  // behind, in front of, beside, and on the side facing the camera
  s.markers = {{8.0, 0.0, 0.0}, {3.0, 0.0, 0.0}, {8.0, 3.0, 0.0}, {4.95, 0.5, 0.5}};
  s.add_body({}, level);
  s.add_body({16.0, 0.0, 0.0}, pw::from_axis_angle(Vec{0.0, 0.0, 1.0}, pi()));  // from behind
  s.look();
  CHECK_FALSE(s.visible[0]);
  CHECK(s.visible[1]);
  CHECK(s.visible[2]);
  CHECK(s.visible[3]);
  CHECK(s.visible[4]);
  CHECK_FALSE(s.visible[5]);
  CHECK(s.visible[6]);
  CHECK_FALSE(s.visible[7]);
}

TEST_CASE("the four markers of a gate are seen from its front", "[beacons]") {
  Setting<float> s;
  pw::SceneItem gate{"Gate10", "gate", {}, {}, pw::Gate{}};
  gate.pose.position_W = {6.0, 0.0, 0.0};
  s.scene.add(gate);
  for (const auto& marker : s.scene.markers()) s.markers.push_back(marker.position_W);
  s.add_body({}, level);
  s.look();
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(s.visible[j]);
    CHECK(s.scene.markers()[j].gate == "Gate10");
    CHECK(s.scene.markers()[j].corner == static_cast<int>(j));
  }
  // upper left, upper right, lower right, lower left
  CHECK(s.u[0] < s.u[1]);
  CHECK(s.v[0] < s.v[3]);
  CHECK(s.u[3] < s.u[2]);
  CHECK(s.v[1] < s.v[2]);
}

TEST_CASE("pixel noise has its variance and is independent between u, v and vehicles",
          "[beacons]") {
  // 500 vehicles x 30 beacons x 2: relative standard deviation of the variance sqrt(2/n) = 0.8 %
  Setting<double> s;
  for (int j = 0; j < 30; ++j) s.markers.push_back({5.0, 0.05 * (j - 15), 0.0});
  constexpr std::size_t bodies = 500, n = bodies * 30;
  for (std::size_t i = 0; i < bodies; ++i) s.add_body({}, level);
  s.look();
  const auto u = s.u, v = s.v;
  s.look({2.0}, {5, 6, 7, 16});
  double uu = 0.0, vv = 0.0, uv = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    REQUIRE(s.visible[k]);
    const double du = s.u[k] - u[k], dv = s.v[k] - v[k];
    uu += du * du, vv += dv * dv, uv += du * dv;
  }
  const double band = 4.0 / std::sqrt(double(n));
  CHECK(std::abs(uu / (4.0 * n) - 1.0) < band * std::sqrt(2.0));
  CHECK(std::abs(vv / (4.0 * n) - 1.0) < band * std::sqrt(2.0));
  CHECK(std::abs(uv / (4.0 * n)) < band);
  // the second half separately, as a fleet with a higher first id
  const auto whole = s.u;
  Setting<double> half;
  half.markers = s.markers;
  for (std::size_t i = 0; i < bodies / 2; ++i) half.add_body({}, level);
  half.look({2.0}, {5, 6, 7 + bodies / 2, 16});
  for (std::size_t k = 0; k < n / 2; ++k) REQUIRE(half.u[k] == whole[n / 2 + k]);
}

TEST_CASE("hiding one beacon does not change the noise of another", "[beacons]") {
  Setting<double> s;
  s.markers = {{8.0, 0.0, 0.0}, {3.0, 1.0, 0.0}};
  s.add_body({}, level);
  s.look({1.0}, {5, 6, 7, 16});
  const double alone = s.u[1];
  REQUIRE(s.visible[0]);
  pw::SceneItem screen{"screen", "wall", {}, {}, pw::Box{{0.1, 0.2, 0.2}}};
  screen.pose.position_W = {5.0, 0.0, 0.0};
  s.scene.add(screen);
  s.look({1.0}, {5, 6, 7, 16});
  CHECK_FALSE(s.visible[0]);
  CHECK(s.u[1] == alone);
}

TEST_CASE("a beacon is seen up to the reach, measured from the camera", "[beacons]") {
  Setting<double> s;
  s.camera.position = {1.0, 0.0, 0.0};
  s.markers = {{16.0, 0.0, 0.0}, {16.001, 0.0, 0.0}, {13.0, 9.0, 0.0}, {13.0, 9.001, 0.0}};
  s.add_body({}, level);
  s.look({0.0, 15.0});
  CHECK(s.visible[0]);
  CHECK_FALSE(s.visible[1]);
  CHECK(std::isnan(s.u[1]));
  CHECK(s.visible[2]);
  CHECK_FALSE(s.visible[3]);
}

TEST_CASE("misses have their rate, are independent and do not change the pixels", "[beacons]") {
  Setting<double> s;
  for (int j = 0; j < 30; ++j) s.markers.push_back({5.0, 0.05 * (j - 15), 0.0});
  constexpr std::size_t bodies = 500, n = bodies * 30;
  for (std::size_t i = 0; i < bodies; ++i) s.add_body({}, level);
  s.look({2.0}, {5, 6, 7, 16});
  const auto u = s.u, v = s.v;
  for (const double rate : {0.1, 0.7}) {
    s.look({2.0, 15.0, rate}, {5, 6, 7, 16});
    double missed = 0.0, neighbours = 0.0, with_noise = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      REQUIRE(std::isnan(s.u[k]) != s.visible[k]);
      if (s.visible[k]) REQUIRE((s.u[k] == u[k] && s.v[k] == v[k]));
      const double miss = s.visible[k] ? 0.0 : 1.0;
      missed += miss;
      if (k + 1 < n) neighbours += (miss - rate) * ((s.visible[k + 1] ? 0.0 : 1.0) - rate);
      with_noise += (miss - rate) * (u[k] - u[k % 30]);
    }
    const double deviation = std::sqrt(rate * (1.0 - rate));
    const double band = 4.0 / std::sqrt(double(n));
    CHECK(std::abs(missed / n - rate) < band * deviation);
    CHECK(std::abs(neighbours / n) < band * deviation * deviation);
    CHECK(std::abs(with_noise / n) < band * deviation * 2.0 * std::sqrt(2.0));
  }
  s.look({2.0, 15.0, 1.0}, {5, 6, 7, 16});
  for (std::size_t k = 0; k < n; ++k) REQUIRE_FALSE(s.visible[k]);
}

TEST_CASE("no beacon is visible to a body that has diverged", "[beacons]") {
  Setting<float> s;
  s.markers = {{5.0, 0.0, 0.0}};
  s.add_body({}, level);
  s.add_body({}, level);
  s.attitude[1] = std::numeric_limits<float>::infinity();
  s.look();
  CHECK_FALSE(s.visible[0]);
  CHECK(std::isnan(s.u[0]));
  CHECK(s.visible[1]);
}

}  // namespace test_beacons
