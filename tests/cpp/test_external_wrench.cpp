// Effects outside the model: external force and torque, reduced rotor effectiveness.
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_external_wrench {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;
using Vec3 = pw::Vec3<double>;
constexpr double dt = 1e-3;

/// The default quadcopter without drag, its rotors at rest.
Uav drifting_vehicle(const pw::Quat<double>& attitude = pw::Quat<double>::identity()) {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag = {};
  Uav uav(vehicle, quiet());
  Uav::State state{};
  state.attitude = attitude;
  uav.reset(state);
  return uav;
}

const pw::RotorSpeeds<4> stopped{{{0.0, 0.0, 0.0, 0.0}}};

}  // namespace

TEST_CASE("an external force changes the momentum by its impulse", "[wrench]") {
  Uav uav = drifting_vehicle();
  const Vec3 force_W{1.5, -0.7, 12.0};
  uav.set_external_wrench(force_W, {});
  const int steps = 500;
  for (int i = 0; i < steps; ++i) uav.step(stopped, dt);
  const auto& body = uav.parameters().body;
  const auto momentum = uav.state().velocity * body.mass;
  const auto impulse = (force_W + body.gravity * body.mass) * (steps * dt);
  CHECK(norm(momentum - impulse) < 1e-11);
  CHECK(norm(uav.state().body_rates) == 0.0);
  uav.set_external_wrench({}, {});  // held until changed
  const auto before = uav.state().velocity;
  uav.step(stopped, dt);
  CHECK(norm(uav.state().velocity - before - body.gravity * dt) < 1e-12);
}

TEST_CASE("an external torque about a principal axis changes its momentum by its impulse",
          "[wrench]") {
  for (int axis = 0; axis < 3; ++axis) {
    Uav uav = drifting_vehicle(Dice(4).unit_quat());
    Vec3 torque_B{};
    torque_B[axis] = 0.02;
    uav.set_external_wrench({}, torque_B);
    for (int i = 0; i < 500; ++i) uav.step(stopped, dt);
    const double momentum =
        uav.parameters().body.inertia(axis, axis) * uav.state().body_rates[axis];
    CHECK(momentum == Approx(0.02 * 0.5).epsilon(1e-10));
  }
}

TEST_CASE("the accelerometer measures an external force in its own axes", "[wrench]") {
  const auto q_WB = Dice(8).unit_quat();
  const Vec3 force_W{2.0, -1.0, 3.0};
  Uav free = drifting_vehicle(q_WB), pushed = drifting_vehicle(q_WB);
  pushed.set_external_wrench(force_W, {});
  for (auto* uav : {&free, &pushed}) uav->step(stopped, dt);
  const auto difference = pushed.imu().specific_force - free.imu().specific_force;
  const auto expected = rotate_inverse(q_WB, force_W) * (1.0 / free.parameters().body.mass);
  CHECK(norm(difference - expected) < 1e-12);
}

TEST_CASE("a force equal to the weight gives hover without thrust", "[wrench]") {
  Uav uav = drifting_vehicle();
  const auto& body = uav.parameters().body;
  uav.set_external_wrench(body.gravity * -body.mass, {});
  for (int i = 0; i < 1000; ++i) uav.step(stopped, dt);
  CHECK(norm(uav.state().position) < 1e-12);
  CHECK(uav.imu().specific_force.z == Approx(9.81).epsilon(1e-12));
}

TEST_CASE("wrench and effectiveness persist across a reset and are in the snapshot", "[wrench]") {
  Uav uav(pw::vehicles::flightgoggles());
  uav.set_external_wrench({0.4, 0.0, 0.3}, {0.0, 0.001, 0.0});
  uav.set_rotor_effectiveness({0.9, 1.0, 0.8, 1.0});
  uav.reset();
  CHECK(uav.external_force().x == 0.4);
  CHECK(uav.rotor_effectiveness()[2] == 0.8);
  const pw::RateThrust<double> command{{0.2, 0.1, 0.0}, 10.0};
  for (int i = 0; i < 50; ++i) uav.step(command, dt);
  Uav other(pw::vehicles::flightgoggles());
  other.restore(uav.snapshot());
  for (int i = 0; i < 50; ++i) {
    uav.step(command, dt);
    other.step(command, dt);
  }
  CHECK(uav.state().velocity.x == other.state().velocity.x);
  CHECK(uav.state().body_rates.y == other.state().body_rates.y);
  CHECK(uav.imu().specific_force.z == other.imu().specific_force.z);
}

TEST_CASE("a rotor of reduced effectiveness has smaller coefficients, which controllers ignore",
          "[wrench]") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    auto reduced = vehicle;
    const pw::SmallArray<double, 4> factors{0.7, 1.0, 0.0, 1.1};
    for (int i = 0; i < 4; ++i) {
      auto& rotor = reduced.rotors[static_cast<std::size_t>(i)];
      rotor.thrust_coefficient *= factors[i];
      rotor.torque_coefficient *= factors[i];
    }
    Uav uav(vehicle, quiet());
    uav.set_rotor_effectiveness(factors);
    auto state = uav.trim();
    state.velocity = {1.0, 2.0, 0.5};
    uav.set_state(state);
    const auto model = pw::make_model<double, 4, pw::GeneralShape>(reduced);
    pw::MulticopterInput<double, 4> input;
    uav.step(pw::RotorSpeeds{state.rotor_speeds}, dt);
    input.command = uav.rotor_command();
    const auto expected = pw::multicopter_derivative(model, uav.state(), input);
    const auto got = uav.derivative();
    CHECK(norm(got.velocity - expected.velocity) < 1e-10);
    CHECK(norm(got.body_rates - expected.body_rates) < 1e-9 * norm(expected.body_rates));
    // the allocation is that of full effectiveness
    const Uav whole(vehicle, quiet());
    for (int row = 0; row < 4; ++row) {
      CHECK(uav.allocation().squares_from_wrench[row][2] ==
            whole.allocation().squares_from_wrench[row][2]);
    }
    // factors of 1 equal the nominal vehicle, bit for bit
    uav.set_rotor_effectiveness({1.0, 1.0, 1.0, 1.0});
    uav.reset();
    Uav plain(vehicle, quiet());
    for (auto* each : {&uav, &plain}) each->step(pw::RotorSpeeds{800.0, 900.0, 700.0, 850.0}, dt);
    CHECK(uav.state().body_rates.x == plain.state().body_rates.x);
    CHECK(uav.state().velocity.z == plain.state().velocity.z);
  }
}

TEST_CASE("invalid factors of effectiveness are rejected", "[wrench]") {
  Uav uav(pw::vehicles::flightgoggles());
  for (const double bad : {-0.1, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS(uav.set_rotor_effectiveness({1.0, bad, 1.0, 1.0}), std::invalid_argument);
  }
  pw::Multicopter<> any(pw::vehicles::flightgoggles());
  CHECK_THROWS_AS(any.set_rotor_effectiveness({1.0, 1.0, 1.0}), std::invalid_argument);
  CHECK(uav.rotor_effectiveness()[1] == 1.0);
}

}  // namespace test_external_wrench
