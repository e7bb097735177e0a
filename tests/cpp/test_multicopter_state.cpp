// Snapshots, resets and refused commands: what a multicopter remembers, and what it does not.
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"

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

TEST_CASE("restoring one's own snapshot changes nothing", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  uav.restore(uav.snapshot());
  CHECK(same(uav, before));
}

TEST_CASE("a snapshot stays what it was while the vehicle flies on", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  const auto& snapshot = uav.snapshot();
  for (int i = 0; i < 40; ++i) uav.step(pw::RateThrust<double>{{0.0, 0.0, 0.0}, 9.0}, dt);
  CHECK_FALSE(same(uav, before));
  uav.restore(snapshot);
  CHECK(same(uav, before));
}

TEST_CASE("after reset a vehicle is as new, whatever steps it made", "[state]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Multicopter<> fresh(vehicle);
  pw::Multicopter<> flown(vehicle);
  for (int i = 0; i < 10; ++i) flown.step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.0}, dt);
  flown.reset();
  CHECK(same(fresh, flown));
  for (int i = 0; i < 100; ++i) {
    for (auto* uav : {&fresh, &flown}) uav->step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.0}, dt);
  }
  CHECK(same(fresh, flown));
}

TEST_CASE("what cannot be is refused before anything changes", "[state]") {
  auto uav = in_flight();
  const auto before = uav;
  const pw::RateThrust<double> command{{0.0, 0.0, 0.0}, 9.81};
  for (const double bad : {0.0, -1e-3, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS(uav.step(command, bad), pw::ParameterError);
  }
  const pw::RotorSpeeds<3, double> three{{{500.0, 500.0, 500.0}}};
  CHECK_THROWS_AS(uav.step(three, dt), std::invalid_argument);
  CHECK_THROWS_AS(uav.set_state({}), std::invalid_argument);
  CHECK_THROWS_AS(uav.reset({}), std::invalid_argument);
  CHECK_THROWS_AS(uav.restore(pw::Multicopter<>(pw::vehicles::hexacopter()).snapshot()),
                  std::invalid_argument);
  CHECK(same(uav, before));
}

TEST_CASE("rates are refused where the rotors cannot control them, speeds are not", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  for (auto& rotor : vehicle.rotors) rotor.position = {};
  pw::Multicopter<> uav(vehicle);
  CHECK_THROWS_AS(uav.step(pw::RateThrust<double>{{1.0, 0.0, 0.0}, 9.81}, dt), pw::ParameterError);
  CHECK(uav.steps() == 0);
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, dt);
  CHECK(uav.steps() == 1);
  CHECK_THROWS_AS(pw::RateController<>(vehicle, dt), std::invalid_argument);
}

TEST_CASE("a dead time that no step of this length can hold is refused", "[state]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.1;
  pw::Multicopter<> uav(vehicle);
  CHECK_THROWS_AS(uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, 1.0 / 960.0),
                  pw::ParameterError);
  uav.step(pw::RotorSpeeds{uav.trim().rotor_speeds}, 1.0 / 240.0);
  CHECK(uav.steps() == 1);
}
