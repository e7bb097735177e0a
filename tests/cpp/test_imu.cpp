// The IMU: lever arm, mounting, scale, quantisation, saturation, sampling rate.
#include <limits>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_imu {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;
constexpr double dt = 1.0 / 960;

/// A vehicle without gravity and drag, rotors off, which keeps rotating.
pw::VehicleParameters drifting_vehicle() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.gravity = {};
  vehicle.drag.translational = 0.0;
  vehicle.drag.rotational = {};
  return vehicle;
}

Uav::State spinning(const pw::Vec3<double>& rates) {
  Uav::State state{};
  state.body_rates = rates;
  state.rotor_speeds = {};
  return state;
}

pw::RotorSpeeds<4> uneven(int n) {
  const double s = std::sin(0.05 * n);
  return {{{1130.0 + 60.0 * s, 1140.0, 1120.0 - 50.0 * s, 1150.0 + 40.0 * s}}};
}

}  // namespace

TEST_CASE("in hover the accelerometer reads g upwards, for any heading", "[imu]") {
  Dice dice(71);
  Uav uav(pw::vehicles::flightgoggles(), quiet());
  for (int n = 0; n < 20; ++n) {
    auto state = uav.trim();
    state.attitude = pw::from_axis_angle(pw::Vec3<double>{0.0, 0.0, 1.0}, dice.uniform(-3.0, 3.0));
    uav.reset(state);
    CHECK(distance(uav.imu().specific_force, {0.0, 0.0, 9.81}) <= 1e-12);
    uav.step(pw::RotorSpeeds{state.rotor_speeds}, dt);
    CHECK(distance(uav.imu().specific_force, {0.0, 0.0, 9.81}) <= 1e-11);
    CHECK(norm(uav.imu().angular_rate) <= 1e-12);
    CHECK(uav.imu().time == Approx(dt));
  }
}

TEST_CASE("a lever arm adds the centripetal acceleration", "[imu]") {
  auto vehicle = drifting_vehicle();
  vehicle.imu.position = {0.2, -0.1, 0.05};
  Uav uav(vehicle, quiet());
  const auto& p = vehicle.imu.position;
  const double w = 7.0;
  // about each principal axis rotation is constant: -w^2 times the distance from the axis
  const pw::Vec3<double> expected_force[3] = {{0.0, -w * w * p.y, -w * w * p.z},
                                              {-w * w * p.x, 0.0, -w * w * p.z},
                                              {-w * w * p.x, -w * w * p.y, 0.0}};
  for (int axis = 0; axis < 3; ++axis) {
    pw::Vec3<double> rates;
    rates[axis] = w;
    uav.reset(spinning(rates));
    for (int n = 0; n < 100; ++n) uav.step(pw::RotorSpeeds<4>{}, dt);
    CHECK(distance(uav.imu().specific_force, expected_force[axis]) <= 1e-10);
    CHECK(distance(uav.imu().angular_rate, rates) <= 1e-12);
  }
}

TEST_CASE("a lever arm adds the tangential acceleration", "[imu]") {
  auto vehicle = drifting_vehicle();
  vehicle.imu.position = {0.2, -0.1, 0.05};
  Uav uav(vehicle, quiet());
  uav.reset(spinning({}));
  // two opposite rotors with the same spin: aerodynamic and motor torque about z only
  const pw::RotorSpeeds<4> yaw{{{1000.0, 0.0, 1000.0, 0.0}}};
  double before = 0.0;
  const double h = 1e-5;
  for (int n = 0; n < 4000; ++n) {
    before = uav.state().body_rates.z;
    uav.step(yaw, h);
  }
  const auto reading = uav.imu().specific_force;
  const double w = uav.state().body_rates.z;
  uav.step(yaw, h);
  const double alpha = (uav.state().body_rates.z - before) / (2.0 * h);
  REQUIRE(std::abs(alpha) > 1.0);
  const auto& p = vehicle.imu.position;
  CHECK(reading.x == Approx(-alpha * p.y - w * w * p.x).epsilon(1e-6));
  CHECK(reading.y == Approx(alpha * p.x - w * w * p.y).epsilon(1e-6));
}

TEST_CASE("a sensor with a lever arm reads the acceleration of its position", "[imu]") {
  // for any motion: the second difference of the point's path minus gravity, in body axes
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.position = {0.1, 0.2, -0.15};
  Uav uav(vehicle, quiet());
  auto state = uav.trim();
  state.body_rates = {1.0, -2.0, 1.5};
  state.velocity = {2.0, 1.0, 0.0};
  uav.reset(state);
  const double h = 1e-4;
  const auto point = [&] {
    return uav.state().position + rotate(uav.state().attitude, vehicle.imu.position);
  };
  for (int n = 0; n < 500; ++n) uav.step(uneven(0), h);
  const auto first = point();
  uav.step(uneven(0), h);
  const auto second = point();
  const auto reading = uav.imu().specific_force;
  const auto q = uav.state().attitude;
  uav.step(uneven(0), h);
  const auto acceleration = (point() - second * 2.0 + first) * (1.0 / (h * h));
  CHECK(distance(reading, rotate_inverse(q, acceleration - vehicle.body.gravity)) <= 1e-4);
}

TEST_CASE("a rotated sensor reads the same vectors in its axes, a scaled one scaled", "[imu]") {
  Dice dice(72);
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.position = {0.1, 0.0, 0.02};
  auto other = vehicle;
  other.imu.attitude = dice.unit_quat();
  other.imu.accelerometer_scale = {1.02, 0.97, 1.0};
  other.imu.gyroscope_scale = {0.99, 1.0, 1.05};
  Uav plain(vehicle, quiet());
  Uav rotated_uav(other, quiet());
  for (int n = 0; n < 100; ++n) {
    plain.step(uneven(n), dt);
    rotated_uav.step(uneven(n), dt);
    const auto a = plain.imu();
    const auto b = rotated_uav.imu();
    CHECK(distance(b.specific_force,
                   cwise_product(rotate_inverse(other.imu.attitude, a.specific_force),
                                 other.imu.accelerometer_scale)) <= 1e-12);
    CHECK(distance(b.angular_rate, cwise_product(rotate_inverse(other.imu.attitude, a.angular_rate),
                                                 other.imu.gyroscope_scale)) <= 1e-12);
  }
}

TEST_CASE("the rate controller transforms a rotated sensor's readings to body axes", "[imu]") {
  Dice dice(73);
  auto other = pw::vehicles::flightgoggles();
  other.imu.attitude = dice.unit_quat();
  Uav plain(pw::vehicles::flightgoggles(), quiet());
  Uav rotated_uav(other, quiet());
  const pw::RateThrust<double> command{{1.0, -0.5, 0.3}, 10.0};
  for (int n = 0; n < 500; ++n) plain.step(command, dt), rotated_uav.step(command, dt);
  CHECK(distance(plain.state().body_rates, rotated_uav.state().body_rates) <= 1e-10);
}

TEST_CASE("a digital reading lies on the grid, within half a step, and within the range", "[imu]") {
  auto vehicle = pw::vehicles::flightgoggles();
  auto digital = vehicle;
  digital.imu.accelerometer_resolution = 0.05;
  digital.imu.gyroscope_resolution = 0.01;
  digital.imu.gyroscope_range = 0.3;
  Uav plain(vehicle, quiet());
  Uav coarse(digital, quiet());
  const auto on_grid = [](double x, double step) {
    return std::abs(x / step - std::nearbyint(x / step)) < 1e-9;
  };
  int saturated = 0;
  for (int n = 0; n < 500; ++n) {
    plain.step(uneven(n), dt);
    coarse.step(uneven(n), dt);
    const auto a = plain.imu();
    const auto b = coarse.imu();
    for (int i = 0; i < 3; ++i) {
      CHECK(on_grid(b.specific_force[i], 0.05));
      CHECK(std::abs(b.specific_force[i] - a.specific_force[i]) <= 0.025 + 1e-12);
      CHECK(std::abs(b.angular_rate[i]) <= 0.3);
      if (std::abs(a.angular_rate[i]) > 0.3 + 0.005) {
        CHECK(std::abs(b.angular_rate[i]) == 0.3);
        CHECK(a.angular_rate[i] * b.angular_rate[i] > 0.0);
        ++saturated;
      } else {
        CHECK(on_grid(b.angular_rate[i], 0.01));
        CHECK(std::abs(b.angular_rate[i] - a.angular_rate[i]) <= 0.005 + 1e-12);
      }
    }
  }
  CHECK(saturated > 10);
}

TEST_CASE("range alone limits without rounding", "[imu]") {
  auto limited = pw::vehicles::flightgoggles();
  limited.imu.accelerometer_range = 5.0;
  Uav uav(limited, quiet());
  uav.step(uneven(3), dt);
  CHECK(uav.imu().specific_force.z == 5.0);
  Uav plain(pw::vehicles::flightgoggles(), quiet());
  plain.step(uneven(3), dt);
  CHECK(uav.imu().specific_force.x == plain.imu().specific_force.x);
  CHECK(distance(uav.imu().angular_rate, plain.imu().angular_rate) == 0.0);
}

TEST_CASE("a slow sensor holds its reading and reports its time", "[imu]") {
  for (const double rate : {100.0, 240.0, 333.3, 700.0}) {
    INFO(rate << " Hz");
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.imu.rate = rate;
    Uav slow(vehicle, quiet());
    Uav fast(pw::vehicles::flightgoggles(), quiet());
    slow.reset(), fast.reset();
    CHECK(slow.imu().time == 0.0);
    CHECK(distance(slow.imu().specific_force, {0.0, 0.0, 9.81}) <= 1e-12);
    int readings = 0;
    auto held = slow.imu();
    for (int n = 0; n < 960 * 4; ++n) {
      slow.step(uneven(n), dt);
      fast.step(uneven(n), dt);
      const auto now = slow.imu();
      if (now.time != held.time) {
        ++readings;
        CHECK(now.time == fast.time());
        CHECK(distance(now.specific_force, fast.imu().specific_force) == 0.0);
        // at a physics step within one step of the due time, none lost, none early
        CHECK(now.time >= readings / rate - 1e-6);
        CHECK(now.time < readings / rate + dt * 1.001);
        held = now;
      } else {
        CHECK(distance(now.specific_force, held.specific_force) == 0.0);
        CHECK(distance(now.angular_rate, held.angular_rate) == 0.0);
      }
    }
    CHECK(std::abs(readings - 4.0 * rate) <= 1.0);
  }
  // a sensor faster than the physics samples in every step
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.rate = 2000.0;
  Uav uav(vehicle, quiet());
  uav.step(uneven(0), dt);
  CHECK(uav.imu().time == uav.time());
}

}  // namespace test_imu
