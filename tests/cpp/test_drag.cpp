// Drag of body and rotors: terminal speed, wind, decay, blow-back.
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_drag {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

const pw::RotorSpeeds<4> off{};

Uav::State still() {
  Uav::State state{};
  state.rotor_speeds = {};
  return state;
}

/// A body without thrust and gravity.
pw::VehicleParameters drifting_vehicle() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.gravity = {};
  return vehicle;
}

}  // namespace

TEST_CASE("a fall with motors off follows tanh to its terminal speed", "[drag]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const double g = 9.81;
  const double terminal = std::sqrt(vehicle.body.mass * g / vehicle.drag.translational);
  Uav uav(vehicle, quiet());
  uav.reset(still());
  const double dt = 1e-3;
  for (int n = 1; n <= 10000; ++n) {
    uav.step(off, dt);
    const double exact = -terminal * std::tanh(g * n * dt / terminal);
    REQUIRE(uav.state().velocity.z == Approx(exact).epsilon(1e-10));
  }
  CHECK(uav.state().velocity.z == Approx(-terminal).epsilon(1e-6));
  // from above the terminal speed as from below
  auto fast = still();
  fast.velocity = {0.0, 0.0, -3.0 * terminal};
  uav.reset(fast);
  for (int n = 0; n < 10000; ++n) uav.step(off, dt);
  CHECK(uav.state().velocity.z == Approx(-terminal).epsilon(1e-6));
}

TEST_CASE("wind is a change of the frame of reference", "[drag]") {
  Dice dice(31);
  auto parallel = pw::vehicles::flightgoggles();
  auto general = pw::vehicles::crazyflie();  // rotor drag and blow-back follow the wind too
  general.motor.command_delay = 0.0;
  for (const auto& vehicle : {parallel, general}) {
    INFO(vehicle.name);
    const auto wind = dice.vec3(3.0);
    Uav calm(vehicle, quiet());
    Uav windy(vehicle, quiet());
    auto state = calm.trim();
    state.velocity = dice.vec3(2.0);
    calm.reset(state);
    state.velocity += wind;
    windy.set_wind(wind);
    windy.reset(state);
    CHECK(distance(windy.wind(), wind) == 0.0);
    const double dt = 1e-3;
    const double hover = calm.trim().rotor_speeds[0];
    for (int n = 0; n < 300; ++n) {
      const pw::RotorSpeeds<4> command{{{hover * 1.02, hover, hover * 0.98, hover}}};
      calm.step(command, dt);
      windy.step(command, dt);
    }
    CHECK(distance(windy.state().velocity, calm.state().velocity + wind) <= 1e-9);
    CHECK(distance(windy.state().position, calm.state().position + wind * 0.3) <= 1e-9);
    CHECK(distance(windy.state().body_rates, calm.state().body_rates) <= 1e-9);
    CHECK(distance(windy.imu().specific_force, calm.imu().specific_force) <= 1e-9);
  }
}

TEST_CASE("drag opposes the motion and dissipates energy in any direction", "[drag]") {
  Dice dice(32);
  pw::DragParameters<double> drag;
  drag.translational = 0.3;
  for (int n = 0; n < 100; ++n) {
    const auto v = dice.vec3(10.0);
    const auto force = pw::drag_force(drag, v);
    CHECK(norm(force) == Approx(0.3 * squared_norm(v)));
    CHECK(dot(force, v) == Approx(-norm(force) * norm(v)));
    CHECK(distance(pw::drag_force(drag, v * 2.0), force * 4.0) <= 1e-11);
    // a positive definite matrix dissipates any rotation, symmetric or not
    drag.rotational = dice.mat3(0.1);
    for (int i = 0; i < 3; ++i) drag.rotational(i, i) = 1.0;
    const auto rates = dice.vec3(5.0);
    CHECK(dot(pw::drag_torque(drag, rates), rates) < 0.0);
    CHECK(distance(pw::drag_torque(drag, rates), (drag.rotational * rates) * -norm(rates)) <=
          1e-11);
  }
  CHECK(norm(pw::drag_force(drag, pw::Vec3<double>{})) == 0.0);
}

TEST_CASE("a spin about one axis decays by the quadratic law", "[drag]") {
  auto vehicle = drifting_vehicle();
  Uav uav(vehicle, quiet());
  const auto& j = vehicle.body.inertia;
  const auto& k = vehicle.drag.rotational;
  const double start = 20.0;
  const double dt = 1e-3;
  for (int axis = 0; axis < 3; ++axis) {
    auto state = still();
    state.body_rates[axis] = start;
    uav.reset(state);
    for (int n = 0; n < 500; ++n) uav.step(off, dt);
    // J dW/dt = -k W^2
    const double exact = start / (1.0 + k(axis, axis) / j(axis, axis) * start * 0.5);
    CHECK(uav.state().body_rates[axis] == Approx(exact).epsilon(1e-8));
  }
}

TEST_CASE("under linear rotor drag, speed decays as exp(-d t) along each body axis", "[drag]") {
  auto vehicle = drifting_vehicle();
  vehicle.drag.translational = 0.0;
  vehicle.rotor_drag.linear = {0.4, 0.3, 0.1};
  Uav uav(vehicle, quiet());
  Dice dice(33);
  const double dt = 1e-2;
  for (int n = 0; n < 5; ++n) {
    auto state = still();
    const auto v_B = dice.vec3(4.0);
    state.attitude = dice.unit_quat();
    state.velocity = rotate(state.attitude, v_B);
    uav.reset(state);
    for (int i = 0; i < 200; ++i) uav.step(off, dt);
    const pw::Vec3<double> exact{v_B.x * std::exp(-0.8), v_B.y * std::exp(-0.6),
                                 v_B.z * std::exp(-0.2)};
    CHECK(distance(rotate_inverse(state.attitude, uav.state().velocity), exact) <= 1e-9);
    // the accelerometer measures only the drag
    const pw::Vec3<double> expected_force{-0.4 * exact.x, -0.3 * exact.y, -0.1 * exact.z};
    CHECK(distance(uav.imu().specific_force, expected_force) <= 1e-9);
  }
}

TEST_CASE("blow-back tilts the thrust away from the direction of flight", "[drag]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.rotor_drag.blow_back = 0.01;
  Uav uav(vehicle, quiet());
  const auto hover = pw::RotorSpeeds<4>{uav.trim().rotor_speeds};
  Dice dice(34);
  for (int n = 0; n < 20; ++n) {
    auto state = uav.trim();
    const double direction = dice.uniform(-pi(), pi());
    const pw::Vec3<double> v{2.0 * std::cos(direction), 2.0 * std::sin(direction), 0.0};
    state.velocity = v;
    uav.reset(state);
    for (int i = 0; i < 20; ++i) uav.step(hover, 1e-3);
    const auto thrust_W = rotate(uav.state().attitude, pw::Vec3<double>{0.0, 0.0, 1.0});
    CHECK(dot(thrust_W, v) < 0.0);
    // mu = -c e_z x v_B: no moment about the thrust, none along the motion
    const auto torque = pw::blow_back_torque(vehicle.rotor_drag, v);
    CHECK(torque.z == 0.0);
    CHECK(dot(torque, v) == Approx(0.0).margin(1e-15));
    CHECK(norm(torque) == Approx(0.01 * 2.0));
    CHECK(distance(torque, cross(pw::Vec3<double>{0.0, 0.0, -0.01}, v)) <= 1e-16);
  }
}

}  // namespace test_drag
