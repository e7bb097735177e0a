// Range finders and depth images against closed forms: a plane at every tilt, out of range, noise.
// Statistics at four sigma; seeds are fixed.
#include <cmath>
#include <propwash/world/depth_camera.hpp>
#include <propwash/world/range_finder.hpp>
#include <propwash/world/raycast.hpp>
#include <propwash/world/scene_index.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_range_finder {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Vec = pw::Vec3<double>;

/// Ground at height 0, and a cast function for it.
template <class T>
struct World {
  explicit World(std::vector<pw::SceneItem> items = {{"ground", "ground", {}, {}, pw::Plane{}}})
      : index(pw::Scene(std::move(items))) {}

  auto caster() const {
    return [this](std::size_t n, const T* origins, const T* directions, T max_range, T* distance) {
      std::vector<std::int32_t> id(n);
      pw::raycast(index.view(), n, origins, directions, max_range, distance, id.data(),
                  static_cast<T*>(nullptr));
    };
  }

  pw::SceneIndex<T> index;
};

/// Poses in the sensors' layout.
template <class T>
struct Bodies {
  std::vector<T> position, attitude;

  void add(const Vec& p, const pw::Quat<double>& q) {
    for (int k = 0; k < 3; ++k) position.push_back(static_cast<T>(p[k]));
    for (const double x : {q.w, q.x, q.y, q.z}) attitude.push_back(static_cast<T>(x));
  }
  std::size_t size() const { return position.size() / 3; }
  pw::Poses<T> poses() const { return {position.data(), attitude.data()}; }
};

template <class T>
std::vector<T> ranges(const pw::RangeFinderParameters<T>& finder,
                      const std::vector<pw::Vec3<T>>& rays, const Bodies<T>& bodies,
                      const World<T>& world, pw::SampleNoise noise = {}) {
  std::vector<T> readings(bodies.size() * rays.size(), T(-1));
  pw::measure_ranges(finder, rays, bodies.poses(), {0, bodies.size()}, noise, world.caster(),
                     readings.data());
  return readings;
}

const Vec down{0.0, 0.0, -1.0};

}  // namespace

TEST_CASE("the range to the ground is height over cosine, at every tilt", "[range_finder]") {
  const World<double> world;
  Bodies<double> bodies;
  std::vector<double> expected;
  for (double tilt = 0.0; tilt < 1.5; tilt += 0.05) {
    for (double heading = 0.0; heading < 6.0; heading += 0.7) {
      const double height = 1.0 + heading;
      const auto q = pw::from_axis_angle(Vec{std::cos(heading), std::sin(heading), 0.0}, tilt);
      bodies.add({3.0, -2.0, height}, q);
      const double range = height / std::cos(tilt);
      expected.push_back(range <= 20.0 ? range : 21.0);
    }
  }
  pw::RangeFinderParameters<double> finder;
  finder.variance = 0.0;
  const auto readings = ranges(finder, {down}, bodies, world);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    CHECK(readings[i] == Approx(expected[i]).epsilon(1e-12));
  }
}

TEST_CASE("a reading out of range is max_range + 1 without noise", "[range_finder]") {
  const World<float> world;
  Bodies<float> bodies;
  const auto level = pw::Quat<double>::identity();
  bodies.add({0.0, 0.0, 20.5}, level);
  bodies.add({0.0, 0.0, 5.0}, pw::from_axis_angle(Vec{1.0, 0.0, 0.0}, pi()));
  const auto readings = ranges<float>({}, {pw::cast<float>(down)}, bodies, world, {1, 2, 3, 16});
  CHECK(readings[0] == 21.0f);
  CHECK(readings[1] == 21.0f);
}

TEST_CASE("rays start at the sensor and rotate with the body", "[range_finder]") {
  Dice dice(1001);
  const World<double> world;
  pw::RangeFinderParameters<double> finder;
  finder.variance = 0.0, finder.max_range = 1000.0, finder.position = {0.2, -0.1, -0.05};
  std::vector<Vec> rays;
  for (int j = 0; j < 7; ++j) rays.push_back(dice.unit_vec3());
  Bodies<double> bodies;
  std::vector<double> expected;
  for (int i = 0; i < 1500; ++i) {  // more rays than are cast at once
    const Vec position_W = dice.vec3(10.0) + Vec{0.0, 0.0, 12.0};
    const auto q_WB = dice.unit_quat();
    bodies.add(position_W, q_WB);
    for (const auto& ray : rays) {
      const double height = position_W.z + rotate(q_WB, finder.position).z;
      const double slope = rotate(q_WB, ray).z;
      const double range = slope < 0.0 ? -height / slope : 1e9;
      expected.push_back(range <= 1000.0 ? range : 1001.0);
    }
  }
  const auto readings = ranges(finder, rays, bodies, world);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    REQUIRE(readings[i] == Approx(expected[i]).epsilon(1e-9));
  }
}

TEST_CASE("the noise has the published variance", "[range_finder]") {
  // chi-square of 20000 independent readings: relative standard deviation sqrt(2/n) = 1 %
  constexpr int n = 20000;
  const World<double> world;
  Bodies<double> bodies;
  for (int i = 0; i < n; ++i) bodies.add({0.0, 0.0, 5.0}, pw::Quat<double>::identity());
  const auto readings = ranges<double>({}, {down}, bodies, world, {11, 5, 0, 16});
  double sum = 0.0, squares = 0.0;
  for (const double r : readings) sum += r - 5.0, squares += (r - 5.0) * (r - 5.0);
  CHECK(std::abs(squares / (n * 0.009) - 1.0) < 4.0 * std::sqrt(2.0 / n));
  CHECK(std::abs(sum / n) < 4.0 * std::sqrt(0.009 / n));
}

TEST_CASE("a reading depends only on seed, vehicle and sample", "[range_finder]") {
  const World<double> world;
  Bodies<double> all, second_half;
  for (int i = 0; i < 10; ++i) {
    const Vec position_W{0.1 * i, 0.0, 2.0 + i};
    all.add(position_W, pw::Quat<double>::identity());
    if (i >= 5) second_half.add(position_W, pw::Quat<double>::identity());
  }
  const auto whole = ranges<double>({}, {down}, all, world, {11, 5, 100, 16});
  const auto half = ranges<double>({}, {down}, second_half, world, {11, 5, 105, 16});
  for (std::size_t i = 0; i < 5; ++i) CHECK(half[i] == whole[5 + i]);
  const auto later = ranges<double>({}, {down}, all, world, {11, 6, 100, 16});
  for (std::size_t i = 0; i < 10; ++i) CHECK(later[i] != whole[i]);
}

TEST_CASE("the readings of a diverged body are NaN, and other bodies are unaffected",
          "[range_finder]") {
  const World<float> world;
  Bodies<float> bodies;
  for (int i = 0; i < 3; ++i) bodies.add({0.0, 0.0, 2.0}, pw::Quat<double>::identity());
  const auto before = ranges<float>({}, {pw::cast<float>(down)}, bodies, world, {1, 2, 3, 16});
  bodies.position[5] = std::numeric_limits<float>::quiet_NaN();
  const auto after = ranges<float>({}, {pw::cast<float>(down)}, bodies, world, {1, 2, 3, 16});
  CHECK(after[0] == before[0]);
  CHECK(std::isnan(after[1]));
  CHECK(after[2] == before[2]);
}

TEST_CASE("the reading of a lane equals the scalar's", "[range_finder]") {
  const pw::RangeFinderParameters<double> finder;
  const Pair both = pw::range_reading(finder, Pair(3.0, 20.1), Pair(0.5, 2.0));
  CHECK(first(both) == pw::range_reading(finder, 3.0, 0.5));
  CHECK(second(both) == 21.0);
  CHECK(pw::range_reading(finder, 0.01, -5.0) == 0.0);
}

TEST_CASE("the depth of a wall is its distance along the axis, at every pixel", "[range_finder]") {
  // a wall across the view at 4 m, its near side at x = 4
  pw::SceneItem wall{"wall", "wall", {}, {}, pw::Box{{2.0, 100.0, 100.0}}};
  wall.pose.position_W = {5.0, 0.0, 0.0};
  const World<float> world({wall});
  const auto camera = pw::make_camera(64, 48, 70.0 * pi() / 180.0);
  const auto rays = pw::pixel_rays<float>(camera);
  Bodies<float> bodies;
  bodies.add({0.0, 0.0, 0.0}, pw::Quat<double>::identity());
  bodies.add({-2.0, 0.0, 0.0}, pw::Quat<double>::identity());
  bodies.add({0.0, 0.0, 0.0},
             pw::from_axis_angle(Vec{0.0, 0.0, 1.0}, pi()));  // rotated by 180 degrees
  std::vector<float> images(3 * rays.size());
  const auto mount = pw::cast<float>(camera);
  const auto camera_of = [&](std::size_t) -> const pw::Camera<float>& { return mount; };
  const pw::DepthParameters<float> parameters{30.0f};
  pw::measure_depth(camera_of, rays, parameters, bodies.poses(), {0, 3}, {}, world.caster(),
                    images.data());
  for (std::size_t j = 0; j < rays.size(); ++j) {
    REQUIRE(images[j] == Approx(4.0).epsilon(1e-5));
    REQUIRE(images[rays.size() + j] == Approx(6.0).epsilon(1e-5));
    REQUIRE(images[2 * rays.size() + j] == 30.0f);
  }
}

TEST_CASE("the depth of the ground follows its closed form in each row", "[range_finder]") {
  const World<double> world;
  const auto camera = pw::make_camera(8, 6, 1.0);
  const auto rays = pw::pixel_rays<double>(camera);
  Bodies<double> bodies;
  bodies.add({0.0, 0.0, 1.5}, pw::Quat<double>::identity());
  std::vector<double> image(rays.size());
  const auto camera_of = [&](std::size_t) -> const pw::Camera<double>& { return camera; };
  pw::measure_depth(camera_of, rays, pw::DepthParameters<double>{}, bodies.poses(), {0, 1}, {},
                    world.caster(), image.data());
  for (int row = 0; row < 6; ++row) {
    // a pixel at v below the horizon at 3 looks down by (v - 3)/f: depth h f / (v - 3)
    const double below = row + 0.5 - 3.0;
    const double expected = below > 0.0 ? 1.5 * camera.focal / below : 100.0;
    for (int column = 0; column < 8; ++column) {
      CHECK(image[static_cast<std::size_t>(8 * row + column)] ==
            Approx(std::min(expected, 100.0)).epsilon(1e-12));
    }
  }
}

}  // namespace test_range_finder
