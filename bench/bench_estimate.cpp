/// @file
/// The error-state filter with 11 gates, 48 errors: IMU steps per second on one core, with an image
/// and a range reading after every 16 steps, as at 960 Hz and 60 Hz. `beacons` of the 44 markers
/// are in each image, those of other gates in the next.
///
///     estimate/<type>/beacons:<number>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "propwash/estimate/error_state_filter.hpp"

namespace {

namespace pw = propwash;

constexpr std::size_t gates = 11;
constexpr int frame = 16;  // IMU steps
const pw::Vec3<double> start_W{0.0, 0.0, 1.5};

pw::ImuParameters<double> imu() {
  pw::ImuParameters<double> p;
  p.accelerometer_noise_density = 2.28e-3, p.gyroscope_noise_density = 1.77e-3;
  p.accelerometer_bias_walk = 3.2e-4, p.gyroscope_bias_walk = 3.2e-4;
  return p;
}

/// Gates ahead, all in view.
std::vector<pw::GatePrior<double>> priors() {
  std::vector<pw::GatePrior<double>> all;
  for (std::size_t i = 0; i < gates; ++i) {
    const auto k = static_cast<double>(i);
    const pw::Vec3<double> place_W{9.0 + k, 0.9 * (k - 5.0), 2.0 + 0.1 * k};
    all.push_back(pw::make_gate_prior<double>({place_W}, {2.0, 1.5, 0.2, 0.1}, {1.0, 1.0, 0.1}));
  }
  return all;
}

template <class T>
std::vector<pw::BeaconSighting<T>> sightings(const pw::Camera<double>& camera) {
  const auto model = pw::make_strapdown_model<double>(imu(), {0.0, 0.0, -9.81});
  pw::StrapdownState<double> x;
  x.position_W = start_W;
  std::vector<pw::BeaconSighting<T>> all;
  const auto known = priors();
  for (std::size_t i = 0; i < gates; ++i) {
    for (int corner = 0; corner < 4; ++corner) {
      const auto marker_W = pw::marker_position(known[i], pw::GateOffset<double>{}, corner);
      const auto pixel = pw::project(camera, pw::marker_in_camera(model, x, camera, marker_W));
      const double noise = corner % 2 == 0 ? 1.0 : -1.0;
      all.push_back({i, corner, static_cast<T>(pixel.u + noise), static_cast<T>(pixel.v - noise)});
    }
  }
  return all;
}

template <class T>
void estimate(benchmark::State& state) {
  const auto camera = pw::make_camera(1024.0, 768.0, 1.2217);
  const auto all = sightings<T>(camera);
  const auto count = static_cast<std::size_t>(state.range(0));
  pw::FilterOptions options;
  options.history = frame;
  pw::ErrorStateFilter<T> filter(imu(), {start_W}, {}, priors(), options);
  bool accepted[4 * gates];
  std::size_t first = 0;
  std::int64_t used = 0;
  for (auto _ : state) {
    for (int i = 0; i < frame; ++i) filter.propagate({}, {T(0), T(0), T(9.81)}, 1.0 / 960.0);
    first = first + count > all.size() ? 0 : first;
    used += static_cast<std::int64_t>(filter.update_beacons(
        {all.data() + first, count}, pw::cast<T>(camera), T(2), filter.time(), accepted));
    first += count;
    filter.update_range(T(1.5), T(0.009), {}, {T(0), T(0), T(-1)}, filter.time());
  }
  benchmark::DoNotOptimize(filter.motion());
  state.SetItemsProcessed(state.iterations() * frame);
  state.counters["beacons"] =
      benchmark::Counter(static_cast<double>(used) / static_cast<double>(state.iterations()));
}

BENCHMARK_TEMPLATE(estimate, double)
    ->Name("estimate/double")
    ->ArgName("beacons")
    ->Arg(0)
    ->Arg(16)
    ->Arg(44);
BENCHMARK_TEMPLATE(estimate, float)->Name("estimate/float")->ArgName("beacons")->Arg(16);

}  // namespace
