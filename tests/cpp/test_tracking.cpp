// Feed-forward of the trajectory controllers: on the trajectory they command the wrench that the
// model needs to follow it, with drag, blow-back and rotational drag, without error in steady
// flight.
#include <cmath>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "smooth_flight.hpp"
#include "support.hpp"

namespace test_tracking {

namespace pw = propwash;
using pw::OuterLoop;
using pw::Vec3;

namespace {

constexpr OuterLoop trackers[] = {OuterLoop::geometric, OuterLoop::incremental,
                                  OuterLoop::backstepping};
const pw::ForceLimits<double> no_limits{0.1, 1000.0, 50.0};

/// A Crazyflie with products of inertia and all aerodynamic forces and torques. Its rotors have no
/// momentum and wide speed limits.
pw::VehicleParameters with_all_air() {
  auto vehicle = pw::vehicles::crazyflie();
  vehicle.body.inertia(0, 1) = vehicle.body.inertia(1, 0) = 1e-6;
  vehicle.body.inertia(1, 2) = vehicle.body.inertia(2, 1) = -2e-6;
  vehicle.drag.translational = 0.002;
  vehicle.drag.rotational = {{2e-7, 0, 1e-8, 0, 3e-7, 0, 1e-8, 0, 1e-7}};
  vehicle.rotor_drag.linear = {0.4, 0.4, 0.1};
  for (auto& rotor : vehicle.rotors) rotor.inertia = 0.0;
  vehicle.motor.speed_min = -1e4;
  vehicle.motor.speed_max = 1e4;
  return vehicle;
}

pw::OuterLoopLaw<double> law_of(const pw::VehicleParameters& vehicle) {
  const double dt = 1.0 / 960;
  return pw::make_outer_loop_law<double>(vehicle, pw::outer_loops_for(vehicle, dt), dt);
}

/// The motion of a vehicle on a trajectory.
pw::MotionEstimate<double> on_trajectory(const pw::FlatMotion<double>& motion,
                                         const pw::TrajectoryPoint<double>& p) {
  return {p.position, p.velocity, motion.attitude.attitude, motion.attitude.rates_B};
}

}  // namespace

TEST_CASE("On the trajectory a controller commands the wrench with which the model follows it") {
  const auto vehicle = with_all_air();
  const auto law = law_of(vehicle);
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  const double mass = vehicle.body.mass;
  for (double t = 0.0; t < 6.0; t += 0.1) {
    const auto p = smooth_point(t);
    const auto flat = pw::flat_motion(law.model, mass, p);
    const auto x = on_trajectory(flat, p);
    for (const auto loop : {OuterLoop::geometric, OuterLoop::backstepping}) {
      INFO("loop " << static_cast<int>(loop) << " at " << t << " s");
      const auto wrench =
          loop == OuterLoop::geometric
              ? pw::geometric_control(law.tracking, law.model, no_limits, mass, x, p)
              : pw::backstepping_control(law.backstepping, law.model, no_limits, mass, x, p);
      pw::MulticopterState<double, 4> state;
      state.position = x.position, state.velocity = x.velocity;
      state.attitude = x.attitude, state.body_rates = x.rates_B;
      state.rotor_speeds = pw::allocate(allocation, wrench);
      pw::MulticopterInput<double, 4> input;
      input.command = state.rotor_speeds;
      const auto rate = pw::multicopter_derivative(model, state, input);
      REQUIRE(distance(rate.velocity, p.acceleration) < 1e-9);
      REQUIRE(distance(rate.body_rates, flat.attitude.angular_acceleration_B) < 1e-7);
      REQUIRE(distance(wrench.torque_B, flat.rotors.torque_B) < 1e-9);
      REQUIRE(wrench.thrust == Approx(flat.rotors.thrust));
    }
  }
}

TEST_CASE("Increments are zero if the measured motion is the reference, for any disturbance") {
  const auto vehicle = with_all_air();
  const auto law = law_of(vehicle);
  const double mass = vehicle.body.mass;
  Dice dice(7);
  for (double t = 0.0; t < 6.0; t += 0.1) {
    const auto p = smooth_point(t);
    const auto flat = pw::flat_motion(law.model, mass, p);
    const auto x = on_trajectory(flat, p);
    const auto drag = pw::drag_on(law.model, mass, p);
    const Vec3<double> thrust_W =
        p.acceleration + drag.value - law.model.gravity_W + dice.vec3(2.0);
    const Vec3<double> torque_B = dice.vec3(1e-3);
    pw::MotionEstimate<double> tilted = x;
    const auto rotated = pw::attitude_for_force(thrust_W, drag, p);
    tilted.attitude = rotated.attitude, tilted.rates_B = rotated.rates_B;
    const pw::MeasuredMotion<double> measured{p.acceleration, thrust_W,
                                              rotated.angular_acceleration_B, torque_B};
    const auto wrench =
        pw::incremental_control(law.tracking, law.model, no_limits, mass, tilted, measured, p);
    REQUIRE(wrench.thrust == Approx(mass * norm(thrust_W)).epsilon(1e-12));
    REQUIRE(distance(wrench.torque_B, torque_B) < 1e-12);
  }
}

TEST_CASE("In steady forward flight without noise no controller has a steady error") {
  for (auto vehicle :
       {pw::vehicles::crazyflie(), pw::vehicles::flightgoggles(), pw::vehicles::hexacopter()}) {
    vehicle.drag.translational = 0.01 * vehicle.body.mass;
    for (const auto loop : trackers) {
      pw::MulticopterOptions options;
      options.noise = false;
      pw::Multicopter<> uav(vehicle, options);
      pw::TrajectoryCommand<double> command;
      command.controller = loop;
      command.point.velocity = {4.0, 1.0, 0.5};
      auto start = uav.trim();
      start.velocity = command.point.velocity;
      uav.reset(start);
      const int steps = 960 * 12;
      for (int step = 0; step < steps; ++step) {
        command.point.position = command.point.velocity * (step / 960.0);
        uav.step(command, 1.0 / 960);
      }
      INFO(vehicle.name << ", loop " << static_cast<int>(loop));
      const Vec3<double> desired = command.point.velocity * (steps / 960.0);
      REQUIRE(distance(uav.state().position, desired) < 1e-5);
    }
  }
}

}  // namespace test_tracking
