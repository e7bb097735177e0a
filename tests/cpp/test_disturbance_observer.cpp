// The disturbance observer of geometric and backstepping tracking: what it measures, zero steady
// error under constant forces and torques and with an unknown mass, and no windup at limits.
#include <algorithm>
#include <cmath>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "smooth_flight.hpp"
#include "support.hpp"

namespace test_disturbance_observer {

namespace pw = propwash;
using pw::OuterLoop;
using pw::Vec3;

namespace {

constexpr double dt = 1.0 / 960, bandwidth = 20.0;
constexpr OuterLoop observed[] = {OuterLoop::geometric, OuterLoop::backstepping};

/// A vehicle without noise, whose controllers assume `control`.
pw::Multicopter<> make_vehicle(const pw::VehicleParameters& vehicle,
                               const pw::VehicleParameters& control, double observer = bandwidth) {
  pw::MulticopterOptions options;
  options.noise = false;
  options.control_vehicle = control;
  pw::Multicopter<> uav(vehicle, options);
  auto loops = uav.outer_loops();
  loops.disturbance_bandwidth = observer;
  uav.set_outer_loops(loops);
  return uav;
}

void hold(pw::Multicopter<>& uav, OuterLoop loop, const Vec3<double>& position, double seconds) {
  pw::TrajectoryCommand<double> command;
  command.controller = loop;
  command.point.position = position;
  for (int i = 0; i < seconds / dt; ++i) uav.step(command, dt);
}

}  // namespace

TEST_CASE("(O31) and (O32) are the force and torque that the model lacks") {
  auto vehicle = pw::vehicles::crazyflie();
  vehicle.drag.translational = 0.002;
  vehicle.drag.rotational = {{2e-7, 0, 1e-8, 0, 3e-7, 0, 1e-8, 0, 1e-7}};
  vehicle.rotor_drag.linear = {0.4, 0.4, 0.1};
  for (auto& rotor : vehicle.rotors) rotor.inertia = 0.0;
  const auto control = pw::make_control_model<double>(vehicle);
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  Dice dice(11);
  for (double t = 0.0; t < 6.0; t += 0.1) {
    const auto p = smooth_point(t);
    pw::MulticopterState<double, 4> state;
    state.velocity = p.velocity;
    state.attitude = dice.unit_quat();
    state.body_rates = dice.vec3(3.0);
    for (auto& speed : state.rotor_speeds) speed = dice.uniform(1000.0, 2000.0);
    pw::MulticopterInput<double, 4> input;
    input.command = state.rotor_speeds;
    input.force_W = dice.vec3(0.1);
    input.torque_B = dice.vec3(1e-4);
    const auto rate = pw::multicopter_derivative(model, state, input);
    const auto force_B = rotate_inverse(state.attitude, rate.velocity - vehicle.body.gravity);
    const auto rotors = pw::attained_wrench(allocation, state.rotor_speeds);
    const pw::MotionEstimate<double> x{{}, state.velocity, state.attitude, state.body_rates};
    const double mass = vehicle.body.mass;
    const auto acceleration_W = pw::unmodelled_acceleration(control, mass, x, p, rotors, force_B);
    REQUIRE(distance(acceleration_W, input.force_W * (1.0 / mass)) < 1e-9);
    const auto torque_B = pw::unmodelled_torque(control, x, rotors, rate.body_rates);
    REQUIRE(distance(torque_B, {input.torque_B.x, input.torque_B.y, 0.0}) < 1e-12);
  }
}

TEST_CASE("Constant forces, torques, wind and a wrong mass cause no steady error") {
  for (const auto& control :
       {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie(), pw::vehicles::hexacopter()}) {
    auto heavy = control;
    heavy.body.mass *= 1.2;
    const double weight = pw::weight_of(control.body);
    for (const auto loop : observed) {
      for (const double observer : {0.0, bandwidth}) {
        INFO(control.name << ", loop " << static_cast<int>(loop) << ", observer " << observer);
        auto uav = make_vehicle(heavy, control, observer);
        uav.set_wind({3.0, -2.0, 0.5});
        uav.set_external_wrench({-0.1 * weight, 0.05 * weight, -0.1 * weight},
                                Vec3<double>{0.002, 0.003, 0.0} * weight);
        hold(uav, loop, {}, 20.0);
        const double error = norm(uav.state().position);
        if (observer > 0.0) {
          REQUIRE(error < 1e-6);
        } else {
          REQUIRE(error > 0.1);
        }
      }
    }
  }
}

TEST_CASE("Without a disturbance the observer estimates zero in hover") {
  for (const auto loop : observed) {
    auto uav = make_vehicle(pw::vehicles::crazyflie(), pw::vehicles::crazyflie());
    hold(uav, loop, {}, 2.0);
    REQUIRE(norm(uav.snapshot().outer.acceleration_W.value) < 1e-9);
    REQUIRE(norm(uav.snapshot().outer.torque_B.value) < 1e-12);
  }
}

TEST_CASE("The estimate does not wind up while thrust and tilt are at their limits") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag.translational = 0.0;  // that of the climb is not that of the demanded rest
  for (const auto loop : observed) {
    INFO("loop " << static_cast<int>(loop));
    double overshoot[2];
    for (const int k : {0, 1}) {
      auto uav = make_vehicle(vehicle, vehicle, k * bandwidth);
      auto loops = uav.outer_loops();
      loops.thrust_max = 1.1 * pw::weight_of(vehicle.body);
      uav.set_outer_loops(loops);
      hold(uav, loop, {0.0, 0.0, 8.0}, 2.0);  // cannot accelerate as demanded
      REQUIRE(uav.state().position.z < 4.0);
      if (k == 1) REQUIRE(norm(uav.snapshot().outer.acceleration_W.value) < 0.1);
      overshoot[k] = 0.0;
      for (int i = 0; i < 100; ++i) {
        hold(uav, loop, {0.0, 0.0, 8.0}, 0.1);
        overshoot[k] = std::max(overshoot[k], uav.state().position.z - 8.0);
      }
      REQUIRE(std::abs(uav.state().position.z - 8.0) < 1e-2);
    }
    REQUIRE(overshoot[1] < overshoot[0] + 0.01);
  }
}

}  // namespace test_disturbance_observer
