// The Dubins car (24) to (26): straight lines, circles, limits, noise.
#include <algorithm>
#include <cstring>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_car {

namespace pw = propwash;

namespace {

pw::CarOptions quiet(pw::Integrator integrator = pw::Integrator::rk4) {
  pw::CarOptions options;
  options.integrator = integrator;
  options.noise = false;
  return options;
}

}  // namespace

TEST_CASE("without steering a car goes straight along its heading", "[car]") {
  for (const auto integrator : {pw::Integrator::euler, pw::Integrator::rk4}) {
    pw::Car<> car(pw::vehicles::car(), quiet(integrator));
    for (const double heading : {0.0, 0.7, -2.5}) {
      const auto before = car.steps();
      car.reset({1.0, 2.0, heading});
      for (int n = 0; n < 500; ++n) car.step(pw::SpeedYawRate{3.0, 0.0}, 0.01);
      CHECK(car.state().x == Approx(1.0 + 15.0 * std::cos(heading)).epsilon(1e-12));
      CHECK(car.state().y == Approx(2.0 + 15.0 * std::sin(heading)).epsilon(1e-12));
      CHECK(car.state().heading == heading);
      CHECK(car.time() == Approx(5.0));
      CHECK(car.steps() - before == 500);
    }
  }
}

TEST_CASE("under constant yaw rate it drives a circle of radius v / omega", "[car]") {
  pw::Car<> car(pw::vehicles::car(), quiet());
  for (const double yaw_rate : {0.8, -0.5}) {
    const double v = 2.0;
    const int steps = 1000;
    const double dt = 2.0 * pi() / std::abs(yaw_rate) / steps;
    const double radius = v / yaw_rate;  // signed: the centre is to the left of a left turn
    const double heading = 0.3;
    const double cx = 1.0 - radius * std::sin(heading);
    const double cy = 2.0 + radius * std::cos(heading);
    car.reset({1.0, 2.0, heading});
    for (int n = 0; n < steps; ++n) {
      car.step(pw::SpeedYawRate{v, yaw_rate}, dt);
      CHECK(std::hypot(car.state().x - cx, car.state().y - cy) ==
            Approx(std::abs(radius)).epsilon(1e-10));
    }
    CHECK(car.state().x == Approx(1.0).margin(1e-9));
    CHECK(car.state().y == Approx(2.0).margin(1e-9));
    CHECK(std::abs(car.state().heading - heading) == Approx(2.0 * pi()).epsilon(1e-12));
  }
}

TEST_CASE("the error on an arc decreases with the method's order", "[car]") {
  const auto error = [](pw::Integrator integrator, int steps) {
    pw::Car<> car(pw::vehicles::car(), quiet(integrator));
    for (int n = 0; n < steps; ++n) car.step(pw::SpeedYawRate{2.0, 1.0}, 2.0 / steps);
    return std::hypot(car.state().x - 2.0 * std::sin(2.0),
                      car.state().y - 2.0 * (1.0 - std::cos(2.0)));
  };
  CHECK(std::log2(error(pw::Integrator::euler, 200) / error(pw::Integrator::euler, 400)) ==
        Approx(1.0).margin(0.05));
  CHECK(std::log2(error(pw::Integrator::rk4, 20) / error(pw::Integrator::rk4, 40)) ==
        Approx(4.0).margin(0.2));
}

TEST_CASE("commands are limited to the car's range", "[car]") {
  auto parameters = pw::vehicles::car();
  parameters.speed_min = -1.0;
  const auto moved = [&](double speed, double yaw_rate) {
    pw::Car<> car(parameters, quiet());
    car.step(pw::SpeedYawRate{speed, yaw_rate}, 0.1);
    return car.state();
  };
  CHECK(moved(100.0, 0.0).x == moved(parameters.speed_max, 0.0).x);
  CHECK(moved(-100.0, 0.0).x == moved(-1.0, 0.0).x);
  CHECK(moved(1.0, 100.0).heading == Approx(0.1 * parameters.yaw_rate_limit));
  CHECK(moved(1.0, -100.0).heading == Approx(-0.1 * parameters.yaw_rate_limit));
  CHECK(moved(2.0, 0.5).x < 0.2);
  CHECK(moved(2.0, 0.5).x > 0.19);
}

TEST_CASE("noise has variance W t along and across the heading, at any step", "[car]") {
  auto parameters = pw::vehicles::car();
  parameters.process_noise_forward = 1e-3;
  parameters.process_noise_left = 4e-3;
  constexpr int count = 2000;
  const double band = 3.0 * std::sqrt(2.0 / count);  // three sigma
  const double heading = 0.6;
  for (const int steps : {240, 60}) {
    double along = 0.0, across = 0.0, product = 0.0;
    for (std::uint32_t id = 0; id < count; ++id) {
      pw::CarOptions options;
      options.seed = 141, options.id = id;
      pw::Car<> car(parameters, options);
      car.reset({0.0, 0.0, heading});
      for (int n = 0; n < steps; ++n) car.step(pw::SpeedYawRate{1.0, 0.0}, 0.5 / steps);
      const double c = std::cos(heading), s = std::sin(heading);
      const double forward = c * car.state().x + s * car.state().y - 0.5;
      const double left = c * car.state().y - s * car.state().x;
      along += forward * forward;
      across += left * left;
      product += forward * left;
      REQUIRE(car.state().heading == heading);
    }
    CHECK(std::abs(along / (count * 1e-3 * 0.5) - 1.0) < band);
    CHECK(std::abs(across / (count * 4e-3 * 0.5) - 1.0) < band);
    CHECK(std::abs(product) / std::sqrt(along * across) < 3.0 / std::sqrt(double(count)));
  }
}

TEST_CASE("a snapshot repeats the noise, and seeds and ids select it", "[car]") {
  const auto drive = [](pw::Car<>& car, int steps) {
    for (int n = 0; n < steps; ++n) car.step(pw::SpeedYawRate{2.0, 0.3}, 0.01);
  };
  const auto same = [](const pw::Car<>& a, const pw::Car<>& b) {
    return std::memcmp(&a.state(), &b.state(), sizeof a.state()) == 0;
  };
  pw::CarOptions options;
  options.seed = 5;
  pw::Car<> a(pw::vehicles::car(), options), b(pw::vehicles::car(), options);
  drive(a, 50);
  const auto saved = a.snapshot();
  drive(a, 50);
  CHECK_FALSE(same(a, b));
  b.restore(saved);
  drive(b, 50);
  CHECK(same(a, b));
  pw::Car<> fresh(pw::vehicles::car(), options);
  drive(fresh, 50);
  a.reset(), drive(a, 50);
  CHECK(a.steps() == 150);
  CHECK_FALSE(same(a, fresh));  // the noise continues
  a.reset({}, 5), drive(a, 50);
  CHECK(a.steps() == 50);
  CHECK(same(a, fresh));
  a.reset({}, 6), drive(a, 50);
  CHECK_FALSE(same(a, fresh));
  b.restore(a.snapshot());  // including the seed
  drive(a, 50), drive(b, 50);
  CHECK(same(a, b));
  a.reset({}, 5), drive(a, 50);
  options.id = 1;
  pw::Car<> c(pw::vehicles::car(), options);
  drive(c, 50);
  CHECK_FALSE(same(a, c));
}

TEST_CASE("a car in float follows the one in double", "[car]") {
  pw::Car<> a(pw::vehicles::car(), quiet());
  pw::Car<float> b(pw::vehicles::car(), quiet());
  for (int n = 0; n < 500; ++n) {
    a.step(pw::SpeedYawRate{3.0, 0.7}, 0.01);
    b.step(pw::SpeedYawRate{3.0f, 0.7f}, 0.01);
  }
  CHECK(std::hypot(double(b.state().x) - a.state().x, double(b.state().y) - a.state().y) < 1e-4);
}

}  // namespace test_car
