// The IMU's noise is a density: the same at 960 and at 240 Hz, in white noise, walk and initial
// bias. Three sigma everywhere; seeds are fixed.
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_imu_noise {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

/// Hovers in still air, so that its IMU reads (0, 0, 9.81) plus noise.
pw::VehicleParameters calm() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.process_noise = {};
  vehicle.imu = {};
  return vehicle;
}

Uav hovering(const pw::VehicleParameters& vehicle, std::uint64_t seed, std::uint32_t id = 0) {
  pw::MulticopterOptions options;
  options.seed = seed, options.id = id;
  return Uav(vehicle, options);
}

void hover(Uav& uav, double dt, int steps) {
  const auto speeds = pw::RotorSpeeds{uav.trim().rotor_speeds};
  for (int n = 0; n < steps; ++n) uav.step(speeds, dt);
}

/// Three axes of a sensor, minus its reading in hover.
struct Record {
  std::vector<pw::Vec3<double>> accelerometer, gyroscope;
};

Record record(const pw::VehicleParameters& vehicle, std::uint64_t seed, double rate,
              double duration) {
  Uav uav = hovering(vehicle, seed);
  const auto speeds = pw::RotorSpeeds{uav.trim().rotor_speeds};
  Record out;
  for (int n = 0; n < static_cast<int>(duration * rate + 0.5); ++n) {
    uav.step(speeds, 1.0 / rate);
    const auto imu = uav.imu();
    out.accelerometer.push_back(imu.specific_force - pw::Vec3<double>{0.0, 0.0, 9.81});
    out.gyroscope.push_back(imu.angular_rate);
  }
  return out;
}

/// The Allan deviation of clusters of `size` samples, pooled over the axes, and their number.
struct Allan {
  double deviation = 0.0;
  int clusters = 0;
};
Allan allan(const std::vector<pw::Vec3<double>>& samples, int size) {
  const int clusters = static_cast<int>(samples.size()) / size;
  double sum = 0.0;
  pw::Vec3<double> before;
  for (int c = 0; c < clusters; ++c) {
    pw::Vec3<double> mean;
    for (int i = 0; i < size; ++i) mean += samples[static_cast<std::size_t>(c * size + i)];
    mean *= 1.0 / size;
    if (c > 0) sum += squared_norm(mean - before);
    before = mean;
  }
  return {std::sqrt(sum / (6.0 * (clusters - 1))), 3 * clusters};
}

/// One sigma of the Allan deviation of white noise over M clusters, relative: sqrt(3/M)/2, since
/// neighbouring differences share a cluster.
double sigma(int clusters) { return 0.5 * std::sqrt(3.0 / clusters); }

double mean_square(const std::vector<pw::Vec3<double>>& v) {
  double sum = 0.0;
  for (const auto& x : v) sum += squared_norm(x);
  return sum / (3.0 * static_cast<double>(v.size()));
}

/// Three sigma of a variance estimated from the three axes of `count` samples, relative.
double variance_band(std::size_t count) {
  return 3.0 * std::sqrt(2.0 / (3.0 * static_cast<double>(count)));
}

}  // namespace

TEST_CASE("white noise has one Allan deviation at 960 and at 240 Hz, of slope -1/2",
          "[imu noise]") {
  auto vehicle = calm();
  vehicle.imu.accelerometer_noise_density = 2e-3;
  vehicle.imu.gyroscope_noise_density = 1.5e-4;
  const auto fast = record(vehicle, 81, 960.0, 160.0);
  const auto slow = record(vehicle, 82, 240.0, 160.0);
  const auto check = [&](const auto& f, const auto& s, double density) {
    Allan shortest, longest;
    for (const int size : {1, 4, 16, 64}) {
      const double tau = size / 240.0;
      const Allan a = allan(f, 4 * size);
      const Allan b = allan(s, size);
      INFO("tau " << tau << " s");
      CHECK(std::abs(a.deviation / (density / std::sqrt(tau)) - 1.0) < 3.0 * sigma(a.clusters));
      CHECK(std::abs(b.deviation / (density / std::sqrt(tau)) - 1.0) < 3.0 * sigma(b.clusters));
      CHECK(std::abs(a.deviation / b.deviation - 1.0) < 3.0 * std::sqrt(2.0) * sigma(a.clusters));
      if (size == 1) shortest = a;
      longest = a;
    }
    const double slope = std::log(longest.deviation / shortest.deviation) / std::log(64.0);
    CHECK(std::abs(slope + 0.5) < 3.0 * sigma(longest.clusters) / std::log(64.0) * 1.1);
  };
  check(fast.accelerometer, slow.accelerometer, 2e-3);
  check(fast.gyroscope, slow.gyroscope, 1.5e-4);
}

TEST_CASE("a slow sensor's noise is that of its sampling rate", "[imu noise]") {
  auto vehicle = calm();
  vehicle.imu.gyroscope_noise_density = 1.5e-4;
  vehicle.imu.rate = 100.0;
  Uav uav = hovering(vehicle, 83);
  const auto speeds = pw::RotorSpeeds{uav.trim().rotor_speeds};
  std::vector<pw::Vec3<double>> readings;
  double last = -1.0;
  while (readings.size() < 2000) {
    uav.step(speeds, 1.0 / 960);
    if (uav.imu().time == last) continue;
    last = uav.imu().time;
    readings.push_back(uav.imu().angular_rate);
  }
  const double variance = 1.5e-4 * 1.5e-4 * 100.0;
  CHECK(std::abs(mean_square(readings) / variance - 1.0) < variance_band(readings.size()));
}

TEST_CASE("a bias walks with the square root of time, at 960 and at 240 Hz", "[imu noise]") {
  auto vehicle = calm();
  const double walk = 1e-3;
  vehicle.imu.accelerometer_bias_walk = walk;
  vehicle.imu.gyroscope_bias_walk = 0.5 * walk;
  constexpr std::size_t count = 300;
  for (const double rate : {960.0, 240.0}) {
    INFO(rate << " Hz");
    std::vector<pw::Vec3<double>> early_a, late_a, early_w, late_w;
    for (std::uint32_t id = 0; id < count; ++id) {
      Uav uav = hovering(vehicle, 84, id);
      hover(uav, 1.0 / rate, static_cast<int>(rate / 4));
      early_a.push_back(uav.imu_bias().accelerometer);
      early_w.push_back(uav.imu_bias().gyroscope);
      hover(uav, 1.0 / rate, static_cast<int>(rate * 3 / 4));
      late_a.push_back(uav.imu_bias().accelerometer);
      late_w.push_back(uav.imu_bias().gyroscope);
      // the reading is the truth plus the bias
      CHECK(distance(uav.imu().angular_rate, late_w.back()) <= 1e-12);
    }
    const double band = variance_band(count);
    CHECK(std::abs(mean_square(early_a) / (walk * walk * 0.25) - 1.0) < band);
    CHECK(std::abs(mean_square(late_a) / (walk * walk) - 1.0) < band);
    CHECK(std::abs(mean_square(early_w) / (0.25 * walk * walk * 0.25) - 1.0) < band);
    CHECK(std::abs(mean_square(late_w) / (0.25 * walk * walk) - 1.0) < band);
    // four times the time, twice the deviation
    const double slope = 0.5 * std::log(mean_square(late_a) / mean_square(early_a)) / std::log(4.0);
    CHECK(std::abs(slope - 0.5) < 0.5 * std::sqrt(2.0) * band / std::log(4.0));
  }
}

TEST_CASE("the Allan deviation of a walk is K sqrt(tau/3), of slope +1/2", "[imu noise]") {
  auto vehicle = calm();
  vehicle.imu.gyroscope_bias_walk = 1e-3;
  const auto walk = record(vehicle, 85, 240.0, 600.0).gyroscope;
  const Allan a = allan(walk, 60);   // 0.25 s
  const Allan b = allan(walk, 960);  // 4 s
  // neighbouring differences of a walk have a correlation of 1/4, so the variance of the estimate
  // is below that of white noise, whose band is used here
  CHECK(std::abs(a.deviation / (1e-3 * std::sqrt(0.25 / 3.0)) - 1.0) < 3.0 * sigma(a.clusters));
  CHECK(std::abs(b.deviation / (1e-3 * std::sqrt(4.0 / 3.0)) - 1.0) < 3.0 * sigma(b.clusters));
  const double slope = std::log(b.deviation / a.deviation) / std::log(16.0);
  CHECK(std::abs(slope - 0.5) < 3.0 * sigma(b.clusters) / std::log(16.0) * 1.1);
}

TEST_CASE("initial biases have the specified deviation, and stay constant without a walk",
          "[imu noise]") {
  auto vehicle = calm();
  vehicle.imu.accelerometer_bias_initial = 0.2;
  vehicle.imu.gyroscope_bias_initial = 0.01;
  constexpr std::size_t count = 1000;
  std::vector<pw::Vec3<double>> a, w;
  pw::Vec3<double> mean;
  for (std::uint32_t id = 0; id < count; ++id) {
    Uav uav = hovering(vehicle, 86, id);
    a.push_back(uav.imu_bias().accelerometer);
    w.push_back(uav.imu_bias().gyroscope);
    mean += a.back() * (1.0 / count);
    if (id % 100 == 0) {
      hover(uav, 1.0 / 960, 50);
      CHECK(distance(uav.imu_bias().accelerometer, a.back()) == 0.0);
      uav.reset();  // draws them again
      CHECK(distance(uav.imu_bias().accelerometer, a.back()) > 0.0);
      uav.reset(uav.trim(), 86);
      CHECK(distance(uav.imu_bias().accelerometer, a.back()) == 0.0);
    }
  }
  CHECK(std::abs(mean_square(a) / 0.04 - 1.0) < variance_band(count));
  CHECK(std::abs(mean_square(w) / 1e-4 - 1.0) < variance_band(count));
  for (int i = 0; i < 3; ++i) CHECK(std::abs(mean[i]) < 3.0 * 0.2 / std::sqrt(double(count)));
}

TEST_CASE("the axes of both sensors are independent, and so are successive samples",
          "[imu noise]") {
  auto vehicle = calm();
  vehicle.imu.accelerometer_noise_density = 1.0;
  vehicle.imu.gyroscope_noise_density = 1e-9;
  const auto r = record(vehicle, 87, 960.0, 10.0);
  const auto column = [&](int i, std::size_t n) {
    return i < 3 ? r.accelerometer[n][i] : r.gyroscope[n][i - 3];
  };
  const std::size_t count = r.gyroscope.size() - 1;
  const auto correlation = [&](int i, int j, std::size_t lag) {
    double ij = 0.0, ii = 0.0, jj = 0.0;
    for (std::size_t n = 0; n < count; ++n) {
      const double x = column(i, n), y = column(j, n + lag);
      ij += x * y, ii += x * x, jj += y * y;
    }
    return ij / std::sqrt(ii * jj);
  };
  // 21 correlations at once: four sigma, one false alarm in a thousand seeds
  const double four_sigma = 4.0 / std::sqrt(static_cast<double>(count));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < i; ++j) CHECK(std::abs(correlation(i, j, 0)) < four_sigma);
    CHECK(std::abs(correlation(i, i, 1)) < four_sigma);
  }
}

TEST_CASE("options.noise = false disables all noise", "[imu noise]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.gyroscope_bias_initial = 0.01;
  Uav uav(vehicle, quiet());
  hover(uav, 1.0 / 960, 100);
  CHECK(distance(uav.imu().specific_force, {0.0, 0.0, 9.81}) <= 1e-10);
  CHECK(norm(uav.imu().angular_rate) <= 1e-10);
  CHECK(norm(uav.imu_bias().gyroscope) == 0.0);
}

}  // namespace test_imu_noise
