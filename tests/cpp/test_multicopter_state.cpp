// Snapshots, resets and rejected commands of a multicopter.
#include <cmath>
#include <limits>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"

namespace test_multicopter_state {

namespace pw = propwash;

namespace {

constexpr double dt = 1e-3;

/// Noisy, with an IMU that is slower than the physics.
pw::Multicopter<> in_flight() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.rate = 100.0;
  pw::Multicopter<> uav(vehicle);
  for (int i = 0; i < 25; ++i) uav.step(pw::RateThrust<double>{{0.3, -0.2, 0.1}, 10.0}, dt);
  return uav;
}

bool same(const pw::Multicopter<>& a, const pw::Multicopter<>& b) {
  const auto p = a.state().position;
  const auto q = b.state().position;
  const auto r = a.imu();
  const auto s = b.imu();
  return p.x == q.x && p.y == q.y && p.z == q.z && a.time() == b.time() && r.time == s.time &&
         r.angular_rate.x == s.angular_rate.x && r.specific_force.z == s.specific_force.z;
}

}  // namespace

TEST_CASE("restoring the current snapshot changes nothing", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  uav.restore(uav.snapshot());
  CHECK(same(uav, before));
}

TEST_CASE("a snapshot does not change while the vehicle continues", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  const auto& snapshot = uav.snapshot();
  for (int i = 0; i < 40; ++i) uav.step(pw::RateThrust<double>{{0.0, 0.0, 0.0}, 9.0}, dt);
  CHECK_FALSE(same(uav, before));
  uav.restore(snapshot);
  CHECK(same(uav, before));
}

TEST_CASE("a reset with a seed equals a new vehicle after any steps", "[state]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Multicopter<> fresh(vehicle);
  pw::Multicopter<> used(vehicle);
  for (int i = 0; i < 10; ++i) used.step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.0}, dt);
  auto other = used;
  other.reset();
  CHECK(other.time() == 0.0);
  CHECK(other.steps() == 10);
  CHECK_FALSE(same(fresh, other));  // the noise continues
  used.reset(used.trim(), used.options().seed);
  CHECK(used.steps() == 0);
  CHECK(same(fresh, used));
  for (int i = 0; i < 100; ++i) {
    for (auto* uav : {&fresh, &used}) uav->step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.0}, dt);
  }
  CHECK(same(fresh, used));
}

TEST_CASE("invalid calls are rejected before anything changes", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  const pw::RateThrust<double> command{{0.0, 0.0, 0.0}, 9.81};
  for (const double bad : {0.0, -1e-3, 1e-320, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS(uav.step(command, bad), pw::ParameterError);
  }
  const pw::RotorSpeeds<3, double> three{{{500.0, 500.0, 500.0}}};
  CHECK_THROWS_AS(uav.step(three, dt), std::invalid_argument);
  CHECK_THROWS_AS(uav.set_state({}), std::invalid_argument);
  CHECK_THROWS_AS(uav.reset({}), std::invalid_argument);
  CHECK_THROWS_AS(uav.reset({}, 7), std::invalid_argument);
  CHECK_THROWS_AS(uav.restore(pw::Multicopter<>(pw::vehicles::hexacopter()).snapshot()),
                  std::invalid_argument);
  CHECK(same(uav, before));
}

TEST_CASE("rate commands are rejected if the rotors cannot control rates, speeds are not",
          "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  for (auto& rotor : vehicle.rotors) rotor.position = {};
  pw::Multicopter<> uav(vehicle);
  CHECK_THROWS_AS(uav.step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.81}, dt), pw::ParameterError);
  CHECK(uav.steps() == 0);
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, dt);
  CHECK(uav.steps() == 1);
  CHECK_THROWS_AS(pw::RateController<>(vehicle, dt), std::invalid_argument);
}

TEST_CASE("a dead time of too many steps is rejected", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.1;
  pw::Multicopter<> uav(vehicle);
  CHECK_THROWS_AS(uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, 1.0 / 960.0),
                  pw::ParameterError);
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, 1.0 / 240.0);
  CHECK(uav.steps() == 1);
}

TEST_CASE("an attitude of any length is normalised", "[state]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::MulticopterOptions quiet;
  quiet.noise = false;
  for (const double length : {2.0, 1e-3, 1e150}) {
    CAPTURE(length);
    for (const bool by_reset : {false, true}) {
      pw::Multicopter<> unit(vehicle, quiet), other(vehicle, quiet);
      auto state = unit.trim();
      state.attitude = pw::from_axis_angle(pw::Vec3<double>{0.6, 0.0, 0.8}, 0.4);
      const auto q = state.attitude;
      by_reset ? unit.reset(state) : unit.set_state(state);
      CHECK(unit.state().attitude.w == q.w);  // unit quaternions are unchanged
      CHECK(unit.state().attitude.z == q.z);
      state.attitude = q * length;
      by_reset ? other.reset(state) : other.set_state(state);
      for (int i = 0; i < 100; ++i) {
        for (auto* uav : {&unit, &other}) {
          uav->step(pw::RotorSpeeds{uav->trim().rotor_speeds}, dt);
        }
      }
      CHECK(norm(unit.state().velocity - other.state().velocity) < 1e-12);
    }
  }
}

TEST_CASE("a state that is not finite, or an attitude of zero, changes nothing", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  using State = pw::Multicopter<>::State;
  const auto refused = [&](auto&& change) {
    State bad = uav.state();
    change(bad);
    CHECK_THROWS_AS(uav.set_state(bad), std::invalid_argument);
    CHECK_THROWS_AS(uav.reset(bad), std::invalid_argument);
    CHECK(same(uav, before));
  };
  for (const double number : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    refused([&](State& x) { x.position.y = number; });
    refused([&](State& x) { x.velocity.z = number; });
    refused([&](State& x) { x.attitude.w = number; });
    refused([&](State& x) { x.body_rates.x = number; });
    refused([&](State& x) { x.rotor_speeds[3] = number; });
  }
  refused([](State& x) { x.attitude = {0.0, 0.0, 0.0, 0.0}; });
}

TEST_CASE("a snapshot belongs to a vehicle, an integrator and a noise switch", "[state]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Multicopter<> uav(vehicle);
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, dt);
  const auto before = uav;
  auto heavier = vehicle;
  heavier.body.mass *= 1.01;
  auto other_filter = vehicle;
  other_filter.rate_controller.discretisation = pw::Discretisation::backward_euler;
  for (const auto& other : {heavier, other_filter, pw::vehicles::blackbird()}) {
    CHECK_THROWS_AS(uav.restore(pw::Multicopter<>(other).snapshot()), std::invalid_argument);
  }
  pw::MulticopterOptions options;
  options.noise = false;
  CHECK_THROWS_AS(uav.restore(pw::Multicopter<>(vehicle, options).snapshot()),
                  std::invalid_argument);
  options = {};
  options.integrator = pw::Integrator::euler;
  CHECK_THROWS_AS(uav.restore(pw::Multicopter<>(vehicle, options).snapshot()),
                  std::invalid_argument);
  CHECK(same(uav, before));
  auto renamed = vehicle;
  renamed.name = "the same under another name";
  CHECK_NOTHROW(uav.restore(pw::Multicopter<>(renamed).snapshot()));
}

TEST_CASE("a snapshot includes the noise state", "[state]") {
  auto uav = in_flight();
  auto vehicle = uav.parameters();
  pw::MulticopterOptions options;
  options.seed = 99;
  options.id = 7;
  pw::Multicopter<> other(vehicle, options);
  other.restore(uav.snapshot());
  CHECK(other.options().seed == uav.options().seed);
  for (int i = 0; i < 50; ++i) {
    for (auto* each : {&uav, &other}) each->step(pw::RateThrust<double>{{0.1, 0.0, 0.0}, 9.0}, dt);
  }
  CHECK(same(uav, other));
}

TEST_CASE("a step that is too long for the motors is accepted with a warning", "[state]") {
  pw::Multicopter<> uav(pw::vehicles::flightgoggles());
  const pw::RotorSpeeds hover{uav.trim().rotor_speeds};
  CHECK(uav.warning().empty());
  uav.step(hover, dt);
  CHECK(uav.warning().empty());
  uav.step(hover, 960.0);
  CHECK(uav.warning().find("dt = 960") != std::string::npos);
  uav.step(hover, dt);
  CHECK(uav.warning().empty());
}

TEST_CASE("a time step of zero is rejected, also before the first step", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.gyroscope_bias_walk = 0.1;
  pw::Multicopter<> uav(vehicle);
  const pw::RateThrust<double> command{{1.0, 0.0, 0.0}, 10.0};
  const auto before = uav;
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(uav.step(command, none), pw::ParameterError);
  }
  CHECK(same(uav, before));
  CHECK(uav.steps() == 0);
  uav.step(command, dt);
  uav.reset();
  CHECK_THROWS_AS(uav.step(command, 0.0), pw::ParameterError);
}

TEST_CASE("the time step of a snapshot is checked like any other", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.1;  // more than 62 steps of 1/960 s
  pw::Multicopter<> uav(vehicle);
  CHECK(uav.warning().empty());
  const pw::RotorSpeeds hover{uav.trim().rotor_speeds};
  uav.restore(uav.snapshot());
  CHECK_THROWS_AS(uav.step(hover, 1.0 / 960.0), pw::ParameterError);
  uav.step(hover, 1.0 / 240.0);
  CHECK(uav.warning().empty());
}

TEST_CASE("there is no warning before the first step", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.time_constant_up = vehicle.motor.time_constant_down = 1e-4;
  pw::Multicopter<> uav(vehicle);
  CHECK(uav.warning().empty());
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, 1.0 / 960.0);
  CHECK_FALSE(uav.warning().empty());
  uav.reset();
  CHECK(uav.warning().empty());
}

TEST_CASE("the accelerometer measures the forces that move the vehicle, also after restore",
          "[state]") {
  pw::MulticopterOptions options;
  options.noise = false;
  pw::Multicopter<> uav(pw::vehicles::flightgoggles(), options);
  auto snapshot = uav.snapshot();
  snapshot.input.force_W = {5.0, 0.0, 0.0};
  snapshot.noise_force_W = {3.0, 0.0, 0.0};
  uav.restore(snapshot);
  CHECK(uav.imu().specific_force.x == 0.0);
  CHECK(uav.derivative().velocity.x == 0.0);
}

TEST_CASE("a damaged snapshot changes nothing", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  const auto refused = [&](auto&& damage) {
    auto snapshot = uav.snapshot();
    damage(snapshot);
    CHECK_THROWS_AS(uav.restore(snapshot), std::invalid_argument);
    CHECK(same(uav, before));
  };
  using Snapshot = pw::Multicopter<>::Snapshot;
  refused([](Snapshot& s) { s.delay.newest = 1000000; });
  refused([](Snapshot& s) { s.dt = 0.0; });
  refused([](Snapshot& s) { s.state.attitude = {2.0, 0.0, 0.0, 0.0}; });
  refused([](Snapshot& s) { s.rotor_effectiveness[0] = -3.0; });
  refused([](Snapshot& s) { s.rotor_effectiveness.resize(2); });
  refused([](Snapshot& s) { s.state.velocity.y = std::numeric_limits<double>::infinity(); });
}

TEST_CASE("an attitude is normalised at any magnitude", "[state]") {
  auto uav = in_flight();
  for (const double length : {1e-310, 1e-200, 1e200, 1e308}) {
    auto state = uav.state();
    state.attitude = {0.6 * length, 0.0, 0.8 * length, 0.0};
    uav.set_state(state);
    INFO(length);
    CHECK(std::abs(uav.state().attitude.w - 0.6) < 1e-12);
    CHECK(std::abs(uav.state().attitude.y - 0.8) < 1e-12);
  }
}

TEST_CASE("a rotor effectiveness out of range is rejected", "[state]") {
  auto uav = in_flight();
  for (const double factor : {-0.1, 10.5, 1e308}) {
    CHECK_THROWS_AS(uav.set_rotor_effectiveness({factor, 1.0, 1.0, 1.0}), std::invalid_argument);
  }
  CHECK(uav.rotor_effectiveness()[0] == 1.0);
}

TEST_CASE("a list of too many motors is rejected", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.speed_max = {1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3};
  CHECK_THROWS_AS(pw::Multicopter<>(vehicle), pw::ParameterError);
}

}  // namespace test_multicopter_state
