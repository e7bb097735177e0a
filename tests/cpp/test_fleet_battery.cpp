// Battery circuits of a fleet: as those of single vehicles, with parameters and charge of each.
#include <array>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "quiet.hpp"

namespace test_fleet_battery {

namespace pw = propwash;
using pw::FleetField;

namespace {

/// Vehicles with batteries that differ in every parameter but cells and nominal voltage.
std::vector<pw::VehicleParameters> powered(std::size_t count) {
  std::vector<pw::VehicleParameters> vehicles;
  for (std::size_t i = 0; i < count; ++i) {
    auto vehicle = pw::vehicles::flightgoggles();
    for (auto& rotor : vehicle.rotors) rotor.torque_coefficient = 3e-8;
    const double k = 1.0 + 0.1 * static_cast<double>(i);
    vehicle.battery = {14.8,     4.0,     0.3 * k, 4.1 + 0.04 * k, 0.02 * k,
                       0.01 * k, 2.0 * k, 0.7 / k, 5.0 * k};
    vehicles.push_back(vehicle);
  }
  return vehicles;
}

pw::FleetOptions without_noise() {
  pw::FleetOptions options;
  options.noise = false;
  return options;
}

}  // namespace

TEST_CASE("a vehicle of a fleet discharges its battery as a single one does", "[fleet]") {
  const std::size_t size = 5;
  auto vehicles = powered(size);
  for (const bool symmetric : {true, false}) {
    if (!symmetric) {
      for (auto& vehicle : vehicles) vehicle.motor.time_constant_down = 0.03;
    }
    auto fleet = make_fleet<double>(vehicles[0], size, without_noise());
    fleet.set_parameters(pw::EachVehicle{vehicles});
    fleet.reset();  // to their own full voltages
    std::vector<pw::Multicopter<>> singles;
    for (const auto& vehicle : vehicles) singles.emplace_back(vehicle, quiet());
    const std::vector<double> factors{1.0, 0.9, 0.8, 0.7};
    fleet.set_rotor_effectiveness(factors);
    for (auto& uav : singles) uav.set_rotor_effectiveness({1.0, 0.9, 0.8, 0.7});
    const auto same = [&] {
      for (std::size_t i = 0; i < size; ++i) {
        const auto& uav = singles[i];
        CHECK(rows(fleet, FleetField::battery_voltage)[i] ==
              Approx(uav.battery_voltage()).epsilon(1e-11));
        CHECK(rows(fleet, FleetField::battery_current)[i] ==
              Approx(uav.battery_current()).epsilon(1e-10));
        CHECK(rows(fleet, FleetField::state_of_charge)[i] ==
              Approx(uav.state_of_charge()).margin(1e-15));
        CHECK(rows(fleet, FleetField::rotor_speeds)[4 * i] ==
              Approx(uav.state().rotor_speeds[0]).epsilon(1e-11));
      }
    };
    same();
    for (int call = 0; call < 40; ++call) {
      const auto commands = fleet_commands<double>(call, vehicles[0], size);
      fly(fleet, false, commands, 25);
      for (std::size_t i = 0; i < size; ++i) {
        pw::SmallArray<double> speeds;
        speeds.resize(4);
        for (int r = 0; r < 4; ++r) speeds[r] = commands.speeds[4 * i + std::size_t(r)];
        for (int k = 0; k < 25; ++k) step_single(singles[i], speeds, fleet.options().dt);
      }
    }
    same();
    CHECK(rows(fleet, FleetField::state_of_charge)[0] < 0.99);
  }
}

TEST_CASE("a reset charges the chosen batteries, and snapshots contain all", "[fleet]") {
  const std::size_t size = 6;
  const auto vehicles = powered(size);
  auto fleet = make_fleet<float>(vehicles[0], size, without_noise());
  fleet.set_parameters(pw::EachVehicle{vehicles});
  const auto fly_on = [&] {
    for (int call = 0; call < 10; ++call) {
      fly(fleet, false, fleet_commands<float>(call, vehicles[0], size), 20);
    }
    std::vector<float> all;
    for (const auto field : {FleetField::battery_voltage, FleetField::battery_current,
                             FleetField::state_of_charge, FleetField::rotor_speeds}) {
      const auto some = rows(fleet, field);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  fly_on();
  const auto snapshot = fleet.snapshot();
  const auto before = rows(fleet, FleetField::state_of_charge);
  const auto after = fly_on();
  fleet.restore(snapshot);
  CHECK(same_bits(fly_on(), after));

  fleet.restore(snapshot);
  const std::array<bool, size> mask{false, true, false, false, true, false};
  fleet.reset({}, mask);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(rows(fleet, FleetField::state_of_charge)[i] == (mask[i] ? 1.0f : before[i]));
    if (!mask[i]) continue;
    CHECK(rows(fleet, FleetField::battery_voltage)[i] ==
          Approx(4 * vehicles[i].battery.full_voltage).epsilon(1e-6));
    CHECK(rows(fleet, FleetField::battery_current)[i] == 0.0f);
  }

  const std::vector<float> charges{0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
  fleet.set_state_of_charge(charges);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(rows(fleet, FleetField::state_of_charge)[i] == Approx(charges[i]).margin(1e-5));
  }
  const std::vector<float> one{0.5f}, bad{1.5f};
  fleet.set_state_of_charge(one);
  CHECK(rows(fleet, FleetField::state_of_charge)[5] == 0.5f);
  CHECK_THROWS_WITH(fleet.set_state_of_charge(bad), Catch::Matchers::Contains("expected 0 to 1"));
  CHECK_THROWS_WITH(fleet.set_battery_voltage(one),
                    Catch::Matchers::Contains("the battery circuit computes it"));
  auto plain = make_fleet<float>(pw::vehicles::flightgoggles(), 2);
  CHECK_THROWS_WITH(plain.set_state_of_charge(one), Catch::Matchers::Contains("battery.cells = 0"));
  CHECK(rows(plain, FleetField::state_of_charge)[1] == 1.0f);
}

TEST_CASE("single steps and substeps use the same charge", "[fleet]") {
  const auto vehicles = powered(7);
  const auto flown = [&](int substeps) {
    auto fleet = make_fleet<double>(vehicles[0], 7, without_noise());
    fleet.set_parameters(pw::EachVehicle{vehicles});
    const auto commands = fleet_commands<double>(3, vehicles[0], 7);
    for (int step = 0; step < 60; step += substeps) fly(fleet, false, commands, substeps);
    auto all = rows(fleet, FleetField::battery_voltage);
    for (const double x : rows(fleet, FleetField::state_of_charge)) all.push_back(x);
    return all;
  };
  CHECK(same_bits(flown(20), flown(1)));
}

TEST_CASE("a fleet of floats keeps the charge of doubles", "[fleet]") {
  auto vehicles = powered(3);
  for (auto& vehicle : vehicles) vehicle.battery.capacity = 6.0;
  auto fleet = make_fleet<double>(vehicles[0], 3, without_noise());
  auto fleet32 = make_fleet<float>(vehicles[0], 3, without_noise());
  for (int call = 0; call < 200; ++call) {
    fly(fleet, false, fleet_commands<double>(call, vehicles[0], 3), 100);
    fly(fleet32, false, fleet_commands<float>(call, vehicles[0], 3), 100);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(rows(fleet, FleetField::state_of_charge)[i] < 0.98);
    CHECK(double{rows(fleet32, FleetField::state_of_charge)[i]} ==
          Approx(rows(fleet, FleetField::state_of_charge)[i]).margin(3e-5));
    CHECK(double{rows(fleet32, FleetField::battery_voltage)[i]} ==
          Approx(rows(fleet, FleetField::battery_voltage)[i]).epsilon(1e-5));
  }
}

}  // namespace test_fleet_battery
