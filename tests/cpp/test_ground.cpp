// The ground: a falling vehicle stops and stays until thrust lifts it; other vehicles are
// unaffected.
#include <limits>
#include <propwash/model/ground.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_ground {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Uav = pw::Multicopter<4>;
constexpr double dt = 1.0 / 960;

/// Steps a vehicle above ground; returns whether it touched the ground.
bool step(Uav& uav, double speed, double floor) {
  uav.step(pw::RotorSpeeds<4>{{speed, speed, speed, speed}}, dt);
  auto state = uav.state();
  const bool contact = pw::stop_at_ground(state.position, state.velocity, state.body_rates, floor);
  uav.set_state(state);
  return contact;
}

Uav at_height(double height, pw::Integrator integrator = pw::Integrator::rk4) {
  Uav uav(pw::vehicles::flightgoggles(), quiet(integrator));
  auto state = uav.trim();
  state.position = {1.0, -2.0, height};
  state.rotor_speeds = {};
  uav.reset(state);
  return uav;
}

double angle_between(const pw::Quat<double>& a, const pw::Quat<double>& b) {
  const auto d = a + b * -1.0;
  return std::hypot(std::hypot(d.w, d.x), std::hypot(d.y, d.z));
}

}  // namespace

TEST_CASE("a falling vehicle stops at the plane and stays", "[ground]") {
  for (const auto integrator : {pw::Integrator::rk4, pw::Integrator::euler}) {
    const double floor = -3.5;
    Uav uav = at_height(floor + 1.0, integrator);
    auto state = uav.state();
    state.velocity = {0.7, -0.4, 0.0};
    state.body_rates = {0.3, 0.2, -0.5};
    uav.set_state(state);
    int steps = 0;
    while (!step(uav, 0.0, floor)) {
      REQUIRE(uav.state().position.z >= floor);
      REQUIRE(++steps < 960);
    }
    // half a second: sqrt(2 h / g), a little more with drag
    CHECK(steps * dt == Approx(std::sqrt(2.0 / 9.81)).epsilon(0.02));
    const auto landed = uav.state();
    CHECK(landed.position.z == floor);
    CHECK(norm(landed.velocity) == 0.0);
    CHECK(norm(landed.body_rates) == 0.0);
    int contacts = 0;
    for (int n = 0; n < 960; ++n) {
      contacts += step(uav, 0.0, floor) ? 1 : 0;
      const auto now = uav.state();
      // explicit Euler uses the velocity before the step, so the vehicle falls in every second step
      REQUIRE(now.velocity.z >= -9.81 * dt);
      REQUIRE(distance(now.position, landed.position) == 0.0);
      REQUIRE(angle_between(now.attitude, landed.attitude) < 1e-13);
    }
    CHECK(contacts == (integrator == pw::Integrator::rk4 ? 960 : 480));
  }
}

TEST_CASE("thrust below weight does not lift, thrust above weight does", "[ground]") {
  Uav uav = at_height(0.0);
  const double hover = uav.trim().rotor_speeds[0];
  for (int n = 0; n < 480; ++n) step(uav, 0.95 * hover, 0.0);
  CHECK(uav.state().position.z == 0.0);
  CHECK(norm(uav.state().velocity) == 0.0);
  for (int n = 0; n < 480; ++n) step(uav, 1.05 * hover, 0.0);
  CHECK(uav.state().position.z > 0.0);
  CHECK(uav.state().velocity.z > 0.0);
  CHECK_FALSE(step(uav, 1.05 * hover, 0.0));

  // off the ground, it has no effect
  Uav free = uav;
  for (int n = 0; n < 200; ++n) {
    CHECK_FALSE(step(uav, 1.05 * hover, 0.0));
    free.step(pw::RotorSpeeds<4>{{1.05 * hover, 1.05 * hover, 1.05 * hover, 1.05 * hover}}, dt);
  }
  CHECK(distance(uav.state().position, free.state().position) < 1e-12);
  CHECK(distance(uav.state().velocity, free.state().velocity) < 1e-12);
}

TEST_CASE("contact in one lane leaves the other alone", "[ground]") {
  const auto stopped = [](double height, double floor) {
    pw::Vec3<double> x{1.0, 2.0, height}, v{3.0, 4.0, -5.0}, w{6.0, 7.0, 8.0};
    const bool contact = pw::stop_at_ground(x, v, w, floor);
    CHECK(contact == (height < floor));
    CHECK(x.z == (contact ? floor : height));
    return std::vector<double>{x.x, x.y, x.z, v.x, v.y, v.z, w.x, w.y, w.z, contact ? 1.0 : 0.0};
  };
  const auto both = [](const Pair& height, const auto& floor) {
    pw::Vec3<Pair> x{Pair(1.0), Pair(2.0), height}, v{Pair(3.0), Pair(4.0), Pair(-5.0)},
        w{Pair(6.0), Pair(7.0), Pair(8.0)};
    const auto contact = pw::stop_at_ground(x, v, w, floor);
    const Pair flag = select(contact, Pair(1.0), Pair(0.0));
    return std::vector<Pair>{x.x, x.y, x.z, v.x, v.y, v.z, w.x, w.y, w.z, flag};
  };
  const auto compare = [&](double h1, double h2, double floor1, double floor2, const auto& pair) {
    const auto a = stopped(h1, floor1);
    const auto b = stopped(h2, floor2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(first(pair[i]) == a[i]);
      CHECK(second(pair[i]) == b[i]);
    }
  };
  for (const double other : {-0.2, 0.2}) {
    compare(-0.1, other, 0.0, 0.0, both(Pair(-0.1, other), 0.0));
    compare(other, -0.1, 0.0, 0.0, both(Pair(other, -0.1), 0.0));
    compare(0.5, 0.5, 1.0, other, both(Pair(0.5), Pair(1.0, other)));  // a floor for each
  }
}

TEST_CASE("NaN and an infinitely deep floor give no contact", "[ground]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto contact = [](double height, double floor) {
    pw::Vec3<double> x{0.0, 0.0, height}, v{0.0, 0.0, -5.0}, w{1.0, 0.0, 0.0};
    const bool met = pw::stop_at_ground(x, v, w, floor);
    CHECK((v.z == 0.0) == met);
    CHECK((w.x == 0.0) == met);
    CHECK((std::isnan(x.z) == std::isnan(height)));
    return met;
  };
  CHECK_FALSE(contact(nan, 0.0));
  CHECK_FALSE(contact(-1e300, -infinity));
  CHECK_FALSE(contact(-infinity, -infinity));
  CHECK_FALSE(contact(0.0, 0.0));
  CHECK_FALSE(contact(0.0, nan));
  CHECK(contact(-1e-300, 0.0));
  CHECK(contact(-infinity, 0.0));
}

}  // namespace test_ground
