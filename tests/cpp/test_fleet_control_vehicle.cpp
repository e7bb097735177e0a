// Controllers that assume another vehicle than the one that they control: rate controllers, outer
// loops, fleets, linear models, snapshots.
#include <cmath>
#include <propwash/vehicle/linearize.hpp>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "support.hpp"

namespace test_fleet_control_vehicle {

namespace pw = propwash;
using pw::FleetField;
using pw::OuterLoop;

namespace {

constexpr double dt = 1.0 / 960;
constexpr OuterLoop trackers[] = {OuterLoop::geometric, OuterLoop::backstepping,
                                  OuterLoop::incremental};

/// A vehicle with other values of all that its controllers assume.
pw::VehicleParameters other_than(pw::VehicleParameters vehicle) {
  vehicle.body.mass *= 1.2;
  for (double& x : vehicle.body.inertia.elements) x *= 1.3;
  for (auto& rotor : vehicle.rotors) {
    rotor.thrust_coefficient *= 0.95;
    rotor.torque_coefficient *= 1.1;
    rotor.position = rotor.position * 1.02;
  }
  vehicle.motor.time_constant_up = vehicle.motor.time_constant_down = 0.03;
  vehicle.drag.translational *= 1.5;
  return vehicle;
}

pw::MulticopterOptions single_options(const pw::VehicleParameters& control) {
  pw::MulticopterOptions options;
  options.seed = 5;
  options.control_vehicle = control;
  return options;
}

pw::FleetOptions fleet_options(const pw::VehicleParameters& control) {
  pw::FleetOptions options;
  options.seed = 5;
  options.control_vehicle = control;
  return options;
}

pw::TrajectoryCommand<double> tracked(OuterLoop loop, double t) {
  pw::TrajectoryCommand<double> command;
  command.controller = loop;
  command.point.position = {std::sin(t), std::cos(t) - 1.0, 0.5 * std::sin(t)};
  command.point.velocity = {std::cos(t), -std::sin(t), 0.5 * std::cos(t)};
  return command;
}

void step(pw::Fleet<pw::Multicopter<>, double>& fleet, const pw::TrajectoryCommand<double>& command,
          int substeps) {
  std::vector<double> position, velocity;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    for (int k = 0; k < 3; ++k) position.push_back(command.point.position[k]);
    for (int k = 0; k < 3; ++k) velocity.push_back(command.point.velocity[k]);
  }
  pw::FleetTrajectoryCommand<double> rows;
  rows.position = position;
  rows.velocity = velocity;
  rows.controller = command.controller;
  fleet.step(rows, substeps);
}

}  // namespace

TEST_CASE("Controllers that assume the true vehicle change no bit") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    pw::FleetOptions plain;
    plain.seed = 5;
    for (const auto loop : trackers) {
      auto known = make_fleet<double>(vehicle, 3, plain);
      auto assumed = make_fleet<double>(vehicle, 3, fleet_options(vehicle));
      pw::Multicopter<> one(vehicle, {pw::Integrator::rk4, 5}),
          other(vehicle, single_options(vehicle));
      for (int call = 0; call < 20; ++call) {
        const auto command = tracked(loop, 0.02 * call);
        step(known, command, 7), step(assumed, command, 7);
        one.step(command, dt), other.step(command, dt);
      }
      REQUIRE(same_bits(everything_of(known), everything_of(assumed)));
      REQUIRE(one.state().position.x == other.state().position.x);
      REQUIRE(one.state().body_rates.y == other.state().body_rates.y);
    }
  }
}

TEST_CASE("Every vehicle of a fleet equals a single vehicle with the same control vehicle") {
  for (const auto& control :
       {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter(), pw::vehicles::crazyflie()}) {
    const auto truth = other_than(control);
    const std::vector<pw::VehicleParameters> all(3, truth);
    for (const double observer : {0.0, 20.0}) {
      for (const auto loop : trackers) {
        INFO(control.name << ", loop " << static_cast<int>(loop) << ", observer " << observer);
        auto fleet = make_fleet<double>(control, 3, fleet_options(control));
        fleet.set_parameters(pw::EachVehicle{all});
        fleet.reset();
        auto options = single_options(control);
        options.id = 2;
        pw::Multicopter<> uav(truth, options);
        auto loops = fleet.outer_loops();
        REQUIRE(loops.tracking_position == uav.outer_loops().tracking_position);
        loops.disturbance_bandwidth = observer;
        fleet.set_outer_loops(loops), uav.set_outer_loops(loops);
        for (int call = 0; call < 48; ++call) {
          const auto command = tracked(loop, 0.02 * call);
          step(fleet, command, 10);
          for (int k = 0; k < 10; ++k) uav.step(command, dt);
        }
        const auto position = rows(fleet, FleetField::position);
        const auto rates = rows(fleet, FleetField::body_rates);
        for (int k = 0; k < 3; ++k) {
          const auto at = 6 + static_cast<std::size_t>(k);
          REQUIRE(std::abs(position[at] - uav.state().position[k]) < 1e-10);
          REQUIRE(std::abs(rates[at] - uav.state().body_rates[k]) < 1e-8);
        }
      }
    }
  }
}

TEST_CASE("An unknown mass of a fleet's vehicles disturbs their outer loops") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto heavy = vehicle;
  heavy.body.mass *= 1.2;
  const std::vector<pw::VehicleParameters> all(1, heavy);
  const auto error = [&](bool is_known, OuterLoop loop) {
    pw::FleetOptions options;
    options.noise = false;
    if (!is_known) options.control_vehicle = vehicle;
    auto fleet = make_fleet<double>(vehicle, 1, options);
    fleet.set_parameters(pw::EachVehicle{all});
    fleet.reset();
    pw::TrajectoryCommand<double> hover;
    hover.controller = loop;
    step(fleet, hover, 9600);
    return std::abs(rows(fleet, FleetField::position)[2]);
  };
  REQUIRE(error(true, OuterLoop::geometric) < 1e-6);
  REQUIRE(error(false, OuterLoop::geometric) > 0.3);
  REQUIRE(error(false, OuterLoop::incremental) < 1e-6);
}

TEST_CASE("A rate controller commands the rotor speeds of the assumed vehicle") {
  const auto control = pw::vehicles::flightgoggles();
  const auto truth = other_than(control);
  pw::Multicopter<4> uav(truth, single_options(control));
  REQUIRE(uav.control_vehicle().body.mass == control.body.mass);
  REQUIRE(uav.parameters().body.mass == truth.body.mass);
  // hover trim is that of the true vehicle
  REQUIRE(uav.trim().rotor_speeds[0] == pw::Multicopter<4>(truth).trim().rotor_speeds[0]);
  const auto allocation = pw::make_allocation<double, 4>(control.rotors, control.motor);
  uav.reset();
  uav.step(pw::RateThrust<double>{{}, 12.0}, dt);
  pw::Multicopter<4> known(control, {pw::Integrator::rk4, 5});
  known.step(pw::RateThrust<double>{{}, 12.0}, dt);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(uav.rotor_command()[i] == Approx(known.rotor_command()[i]).epsilon(1e-6));
  }
  REQUIRE(allocate(allocation, pw::Wrench<double>{{}, 12.0})[0] ==
          Approx(uav.rotor_command()[0]).epsilon(0.05));
}

TEST_CASE("The linear model of a closed loop contains the assumed inertia") {
  const auto control = pw::vehicles::flightgoggles();
  auto truth = control;
  for (double& x : truth.body.inertia.elements) x *= 2.0;
  pw::LinearizeOptions options;
  options.discrete = true;
  const pw::RateThrust<double> command{{}, pw::weight_of(control.body)};
  const auto gain = [&](const pw::VehicleParameters& vehicle) {
    const pw::Linearizer linear(vehicle, options);
    return linear.at(linear.trim(), command).D(6, 0);  // rotor command per rate command
  };
  const double known = gain(truth);
  options.control_vehicle = control;
  REQUIRE(gain(truth) == Approx(0.5 * known).epsilon(1e-9));
  REQUIRE(gain(control) == Approx(0.5 * known).epsilon(1e-9));
}

TEST_CASE("Snapshots belong to the control vehicle, whose number of rotors is checked") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Multicopter<> known(vehicle), unknown(vehicle, single_options(other_than(vehicle)));
  REQUIRE_THROWS_AS(known.restore(unknown.snapshot()), std::invalid_argument);
  REQUIRE_THROWS_AS(unknown.restore(known.snapshot()), std::invalid_argument);
  auto fleet = make_fleet<double>(vehicle, 2, fleet_options(vehicle));
  auto plain = make_fleet<double>(vehicle, 2);
  REQUIRE_THROWS_AS(plain.restore(fleet.snapshot()), std::invalid_argument);
  const auto refused = [](auto make) {
    try {
      make();
    } catch (const pw::ParameterError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto six = pw::vehicles::hexacopter();
  const std::string expected = "control_vehicle 'hexacopter': number of rotors = 6: expected 4";
  REQUIRE(refused([&] { pw::Multicopter<>(vehicle, single_options(six)); }).find(expected) !=
          std::string::npos);
  REQUIRE(refused([&] { make_fleet<double>(vehicle, 2, fleet_options(six)); }).find(expected) !=
          std::string::npos);
  auto wrong = vehicle;
  wrong.body.mass = -1.0;
  REQUIRE(!refused([&] { make_fleet<double>(vehicle, 2, fleet_options(wrong)); }).empty());
}

}  // namespace test_fleet_control_vehicle
