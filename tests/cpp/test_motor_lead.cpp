// Motor lead compensation: the desired time constant, up and down, and an immediate yaw torque.
#include <cmath>
#include <propwash/control/outer_loop_parameters.hpp>
#include <propwash/model/motor.hpp>
#include <propwash/model/rotor.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_motor_lead {

namespace pw = propwash;
using Speeds = pw::SmallArray<double, 4>;

namespace {

constexpr double between = 4.0 / 960;

pw::MotorLead<double> lead_of(const pw::VehicleParameters& vehicle, double time_constant) {
  return pw::detail::make_motor_lead<double>(vehicle, time_constant, between);
}

Speeds all(double speed) {
  Speeds speeds;
  for (double& x : speeds) x = speed;
  return speeds;
}

}  // namespace

TEST_CASE("Motors with lead follow commands with the time constant of the lead") {
  const auto vehicle = pw::vehicles::crazyflie();  // 54 ms up, 89 ms down
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  for (const double desired : {1900.0, 1300.0}) {
    const double time_constant = 0.02;
    const auto lead = lead_of(vehicle, time_constant);
    const double own =
        desired > 1600.0 ? vehicle.motor.time_constant_up[0] : vehicle.motor.time_constant_down[0];
    double speed = 1600.0;
    for (int run = 1; run < 20; ++run) {
      const auto command =
          pw::lead_compensated_speeds(lead, allocation, all(desired), all(speed))[0];
      REQUIRE(command < vehicle.motor.speed_max[0]);
      REQUIRE(command > vehicle.motor.speed_min[0]);
      speed = command + (speed - command) * std::exp(-between / own);  // (1) under a held command
      const double left = (1600.0 - desired) * std::exp(-run * between / time_constant);
      REQUIRE(speed - desired == Approx(left).epsilon(1e-9));
    }
  }
}

TEST_CASE("Each motor's lead uses its own time constants") {
  auto vehicle = pw::vehicles::crazyflie();
  vehicle.motor.time_constant_up = {0.03, 0.05, 0.07, 0.09};
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  const auto command =
      pw::lead_compensated_speeds(lead_of(vehicle, 0.02), allocation, all(1700.0), all(1600.0));
  for (int i = 0; i < 4; ++i) {
    auto alike = vehicle;
    alike.motor.time_constant_up = vehicle.motor.time_constant_up[i];
    REQUIRE(command[i] == pw::lead_compensated_speeds(lead_of(alike, 0.02), allocation, all(1700.0),
                                                      all(1600.0))[i]);
  }
  REQUIRE(command[3] > command[0]);
}

TEST_CASE("A lead changes nothing if rotors are at their commands or motors are fast enough") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
    const auto led = lead_of(vehicle, 0.02), slow = lead_of(vehicle, 1.0);
    Dice dice(1);
    for (int i = 0; i < 100; ++i) {
      Speeds desired, present;
      for (double& x : desired) x = dice.uniform(0.0, vehicle.motor.speed_max[0]);
      for (double& x : present) x = dice.uniform(0.0, vehicle.motor.speed_max[0]);
      const auto held = pw::lead_compensated_speeds(led, allocation, desired, desired);
      const auto own = pw::lead_compensated_speeds(slow, allocation, desired, present);
      for (int k = 0; k < 4; ++k) {
        REQUIRE(held[k] == desired[k]);
        REQUIRE(own[k] == Approx(desired[k]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("With the rotors' acceleration the yaw torque is immediate") {
  int exact = 0;
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::penguin(),
                              pw::vehicles::blackbird(), pw::vehicles::crazyflie()}) {
    const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
    const double time_constant = std::min(vehicle.motor.time_constant_up[0], 0.02);
    // a lead for commands of zero duration: the immediate effect
    const auto lead = pw::detail::make_motor_lead<double>(vehicle, time_constant, 1e-9);
    const double weight = vehicle.body.mass * 9.81;
    for (const double loading : {0.6, 1.0, 1.7}) {
      const auto present =
          pw::allocate(allocation, pw::Wrench<double>{{0.0, 0.0, 0.0}, weight * loading});
      const auto attained = pw::attained_wrench(allocation, present);
      const auto torque_at_once = [&](double allocated) {
        const auto to =
            pw::allocate(allocation, pw::Wrench<double>{{0.0, 0.0, allocated}, attained.thrust});
        const auto command = pw::lead_compensated_speeds(lead, allocation, to, present);
        double torque = 0.0;
        for (int i = 0; i < 4; ++i) {
          const auto& rotor = vehicle.rotors[static_cast<std::size_t>(i)];
          const bool rises = command[i] > present[i];
          const pw::MotorLag<double> lag{1.0 / (rises ? vehicle.motor.time_constant_up[i]
                                                      : vehicle.motor.time_constant_down[i])};
          torque += pw::rotor_torque(rotor, present[i],
                                     pw::rotor_acceleration(lag, present[i], command[i]));
        }
        return torque;
      };
      // small, so that it is linear in the speeds
      const double desired = 1e-5 * weight;
      const double allocated = pw::lead_compensated_yaw_torque(lead, desired, attained);
      INFO(vehicle.name << " at " << loading << " of its weight");
      if (pw::reaction_time(lead, attained.thrust) < time_constant) {
        REQUIRE(allocated == desired);
        REQUIRE(torque_at_once(allocated) < desired);
      } else {
        REQUIRE(torque_at_once(allocated) == Approx(desired).epsilon(2e-3));
        ++exact;
      }
    }
  }
  REQUIRE(exact == 9);
}

}  // namespace test_motor_lead
