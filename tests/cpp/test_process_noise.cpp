// Process noise (10): a white force whose effect does not depend on the time step. Three sigma of
// the chi-square distribution; seeds are fixed.
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_process_noise {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

/// Only noise acts: no gravity, no drag, rotors off, a perfect accelerometer.
pw::VehicleParameters drifting_vehicle() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.mass = 0.8;
  vehicle.body.gravity = {};
  vehicle.drag.translational = 0.0;
  vehicle.drag.rotational = {};
  vehicle.imu = {};
  vehicle.process_noise.force = 5e-4;
  vehicle.process_noise.torque = 1e-11;  // small, so that the gyroscopic torque is negligible
  return vehicle;
}

Uav drifting(std::uint64_t seed, std::uint32_t id) {
  pw::MulticopterOptions options;
  options.seed = seed, options.id = id;
  Uav uav(drifting_vehicle(), options);
  Uav::State state{};
  state.rotor_speeds = {};
  uav.reset(state);
  return uav;
}

struct Sum {
  pw::Vec3<double> squares{};
  void add(const pw::Vec3<double>& v) { squares += cwise_product(v, v); }
};

}  // namespace

TEST_CASE("the variance of velocity is W t / m^2 at any step", "[process noise]") {
  const auto vehicle = drifting_vehicle();
  constexpr int count = 1200;
  const double band = 3.0 * std::sqrt(2.0 / count);  // for each axis
  for (const double rate : {960.0, 240.0}) {
    INFO(rate << " Hz");
    Sum early, late, late_rates;
    for (std::uint32_t id = 0; id < count; ++id) {
      Uav uav = drifting(91, id);
      const int quarter = static_cast<int>(rate / 16);
      for (int n = 0; n < quarter; ++n) uav.step(pw::RotorSpeeds<4>{}, 1.0 / rate);
      early.add(uav.state().velocity);
      for (int n = 0; n < 3 * quarter; ++n) uav.step(pw::RotorSpeeds<4>{}, 1.0 / rate);
      late.add(uav.state().velocity);
      late_rates.add(uav.state().body_rates);
    }
    const double m = vehicle.body.mass;
    for (int i = 0; i < 3; ++i) {
      const double force = vehicle.process_noise.force / (m * m);
      CHECK(std::abs(early.squares[i] / (count * force / 16.0) - 1.0) < band);
      CHECK(std::abs(late.squares[i] / (count * force / 4.0) - 1.0) < band);
      const double j = vehicle.body.inertia(i, i);
      const double torque = vehicle.process_noise.torque / (j * j);
      CHECK(std::abs(late_rates.squares[i] / (count * torque / 4.0) - 1.0) < band);
    }
  }
}

TEST_CASE("force, torque and successive samples are independent", "[process noise]") {
  Uav uav = drifting(92, 0);
  constexpr int count = 20000;
  const double dt = 1e-3;
  std::vector<double> column[6];
  for (int n = 0; n < count; ++n) {
    const auto before = uav.state();
    uav.step(pw::RotorSpeeds<4>{}, dt);
    const auto dv = uav.state().velocity - before.velocity;
    const auto dw = uav.state().body_rates - before.body_rates;
    for (int i = 0; i < 3; ++i) {
      column[i].push_back(dv[i]);
      column[3 + i].push_back(dw[i]);
    }
  }
  const auto correlation = [](const std::vector<double>& a, const std::vector<double>& b,
                              std::size_t lag) {
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (std::size_t n = 0; n + lag < a.size(); ++n) {
      ab += a[n] * b[n + lag], aa += a[n] * a[n], bb += b[n + lag] * b[n + lag];
    }
    return ab / std::sqrt(aa * bb);
  };
  // 21 correlations at once: four sigma, one false alarm in a thousand seeds
  const double four_sigma = 4.0 / std::sqrt(double(count));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < i; ++j) {
      CHECK(std::abs(correlation(column[i], column[j], 0)) < four_sigma);
    }
    CHECK(std::abs(correlation(column[i], column[i], 1)) < four_sigma);
  }
}

TEST_CASE("the accelerometer measures the force that moved the body", "[process noise]") {
  Uav uav = drifting(93, 0);
  auto state = uav.state();
  state.attitude = Dice(94).unit_quat();
  uav.set_state(state);
  for (int n = 0; n < 50; ++n) {
    const auto before = uav.state().velocity;
    uav.step(pw::RotorSpeeds<4>{}, 1e-3);
    const auto acceleration = (uav.state().velocity - before) * 1e3;
    const auto specific_force_W = rotate(uav.state().attitude, uav.imu().specific_force);
    CHECK(norm(acceleration) > 1e-3);
    CHECK(distance(specific_force_W, acceleration) <= 1e-9 * norm(acceleration) + 1e-11);
  }
}

TEST_CASE("a held sample's deviation is sqrt(W / dt)", "[process noise]") {
  Dice dice(95);
  for (int n = 0; n < 20; ++n) {
    const double w = dice.uniform(0.0, 1.0);
    const double dt = dice.uniform(1e-4, 1e-1);
    // the impulse of a step has variance W dt
    const double impulse = pw::held_noise_deviation(w, dt) * dt;
    CHECK(impulse * impulse == Approx(w * dt).epsilon(1e-14));
  }
  CHECK(pw::held_noise_deviation(0.0, 0.01) == 0.0);
}

}  // namespace test_process_noise
