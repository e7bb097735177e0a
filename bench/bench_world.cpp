/// @file
/// Rays, lines of sight and collisions per second on one core, in the instruction set of this
/// compilation. The course approximates python/propwash/world/scenes/alphapilot.toml to
/// centimetres; the forest has random trunks and crowns.
///
/// `world/<function>/<scene>/<type>`.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "propwash/world/collide.hpp"
#include "propwash/world/raycast.hpp"
#include "propwash/world/scene_index.hpp"

namespace {

namespace pw = propwash;

/// x, y, z [m], yaw [degrees], width, height [m].
constexpr double gates[11][6] = {
    {17.25, 3.68, 6.31, 90.0, 1.8, 1.85},    {16.75, 39.48, 6.76, 137.8, 4.88, 3.23},
    {2.09, 27.82, 2.55, -90.0, 4.69, 3.23},  {2.2, 8.95, 1.99, -90.0, 1.93, 1.94},
    {-7.31, -12.19, 3.23, -90.0, 1.8, 1.85}, {-8.46, -29.4, 2.64, -45.0, 5.52, 3.23},
    {0.04, -33.91, 2.1, 0.0, 1.93, 1.94},    {6.79, -29.29, 2.57, 45.0, 5.52, 3.23},
    {7.25, -11.74, 2.55, 90.0, 3.01, 3.23},  {-10.23, 7.82, 2.02, 90.0, 1.8, 1.85},
    {-10.05, 30.67, 2.9, 90.0, 1.8, 1.85}};

pw::Scene course() {
  pw::Scene scene;
  scene.add({"ground", "ground", {}, {}, pw::Plane{}});
  for (const auto& g : gates) {
    const double half = 0.5 * g[3] * 3.14159265358979 / 180.0;
    scene.add({"Gate" + std::to_string(scene.items().size()),
               "gate",
               {},
               {{g[0], g[1], g[2]}, {std::cos(half), 0.0, 0.0, std::sin(half)}},
               pw::Gate{g[4], g[5], 0.3, 0.1}});
  }
  return scene;
}

pw::Scene forest() {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> place(-30.0, 30.0);
  pw::Scene scene;
  scene.add({"ground", "ground", {}, {}, pw::Plane{}});
  for (int i = 0; i < 180; ++i) {
    const std::string number = std::to_string(i);
    const double x = place(engine), y = place(engine);
    scene.add({"trunk" + number, "trunk", {}, {{x, y, 2.5}}, pw::Cylinder{0.2, 5.0}});
    scene.add({"crown" + number, "crown", {}, {{x, y, 5.8}}, pw::Sphere{1.5}});
  }
  return scene;
}

/// Random points in the course and random directions.
template <class T>
struct Rays {
  static constexpr std::size_t size = 65536;
  std::vector<T> origins, directions, ends, distance, normal;
  std::vector<std::int32_t> id;
  std::vector<std::uint8_t> flags;

  Rays() : distance(size), normal(3 * size), id(size), flags(size) {
    std::mt19937 engine(2);
    std::uniform_real_distribution<T> one(-1, 1);
    std::normal_distribution<T> normals;
    const T centre[3] = {4, 3, 4}, half[3] = {14, 37, T(3.5)};
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        origins.push_back(centre[c] + half[c] * one(engine));
        directions.push_back(normals(engine));
        ends.push_back(centre[c] + half[c] * one(engine));
      }
    }
  }
};

template <class T>
void raycast(benchmark::State& state, pw::Scene (*make)(), bool normals) {
  const pw::SceneIndex<T> index(make());
  Rays<T> rays;
  for (auto _ : state) {
    pw::raycast(index.view(), rays.size, rays.origins.data(), rays.directions.data(),
                std::numeric_limits<T>::infinity(), rays.distance.data(), rays.id.data(),
                normals ? rays.normal.data() : nullptr);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rays.size));
}

template <class T>
void visible(benchmark::State& state, pw::Scene (*make)()) {
  const pw::SceneIndex<T> index(make());
  Rays<T> rays;
  for (auto _ : state) {
    pw::visible(index.view(), rays.size, rays.origins.data(), rays.ends.data(), rays.flags.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rays.size));
}

void collide(benchmark::State& state, pw::Scene (*make)()) {
  const pw::SceneIndex<double> index(make());
  const Rays<double> rays;
  std::int32_t sum = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < rays.size; ++i) {
      const double* p = rays.origins.data() + 3 * i;
      sum += pw::collide(index.view(), {p[0], p[1], p[2]}, 0.15);
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rays.size));
}

const bool registered = [] {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("world/raycast/alphapilot/float", &raycast<float>, &course, true);
  RegisterBenchmark("world/raycast/alphapilot/double", &raycast<double>, &course, true);
  RegisterBenchmark("world/raycast_no_normals/alphapilot/float", &raycast<float>, &course, false);
  RegisterBenchmark("world/raycast/forest/float", &raycast<float>, &forest, true);
  RegisterBenchmark("world/visible/alphapilot/float", &visible<float>, &course);
  RegisterBenchmark("world/collide_sphere/alphapilot", &collide, &course);
  RegisterBenchmark("world/collide_sphere/forest", &collide, &forest);
  return true;
}();

}  // namespace
