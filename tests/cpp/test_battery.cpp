// The battery circuit: curve, conservation of charge and energy, time constant, limits, endurance.
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_battery {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

/// A racing quadcopter with four cells.
pw::VehicleParameters powered() {
  auto vehicle = pw::vehicles::flightgoggles();
  for (auto& rotor : vehicle.rotors) rotor.torque_coefficient = 3e-8;  // of a real propeller
  vehicle.battery = {14.8, 4.0, 1.5, 4.2, 0.02, 0.01, 8.0, 0.7, 5.0};
  return vehicle;
}

template <class T>
pw::BatteryCircuit<T, 4> circuit(const pw::VehicleParameters& vehicle, double dt) {
  pw::BatteryCircuit<T, 4> c;
  pw::set_circuit(c, vehicle.battery, dt);
  return c;
}

double published_curve(double s) {
  return -1.031 * std::exp(-35.0 * s) + 3.685 + 0.2156 * s - 0.1178 * s * s + 0.3201 * s * s * s;
}

/// V, mean of the open-circuit voltage from a state of charge to full.
double mean_voltage(const pw::BatteryParameters<double>& battery, double from) {
  const int n = 2000;
  double sum = 0.0;
  for (int i = 0; i <= n; ++i) {
    const double s = from + (1.0 - from) * i / n;
    const double weight = i == 0 || i == n ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    sum += weight * (published_curve(s) + (battery.full_voltage - published_curve(1.0)) * s);
  }
  return battery.cells * sum / (3.0 * n);  // Simpson's rule over [from, 1], over its length
}

/// W, aerodynamic power of all rotors.
double aerodynamic_power(const pw::VehicleParameters& vehicle, const Uav::State& state) {
  double power = 0.0;
  for (int i = 0; i < 4; ++i) {
    power += vehicle.rotors[static_cast<std::size_t>(i)].torque_coefficient *
             std::pow(state.rotor_speeds[i], 3.0);
  }
  return power;
}

/// Hover speeds at any voltage, as a speed controller holds them.
pw::RotorSpeeds<4> compensated(const Uav& uav) {
  return {uav.trim().rotor_speeds *
          (uav.parameters().battery.nominal_voltage / uav.battery_voltage())};
}

}  // namespace

TEST_CASE("the open-circuit voltage is the published curve and increases with charge",
          "[battery]") {
  double last = -1e3;
  for (int i = -40; i <= 1000; ++i) {
    const double s = i * 1e-3;
    CHECK(pw::cell_voltage(s) == Approx(published_curve(s)).margin(1e-6));
    CHECK(double{pw::cell_voltage(static_cast<float>(s))} ==
          Approx(published_curve(s)).margin(2e-5));
    CHECK(pw::cell_voltage(s) > last);
    last = pw::cell_voltage(s);
  }
  const auto vehicle = powered();
  const auto c = circuit<double>(vehicle, 1e-3);
  CHECK(open_circuit_voltage(c, pw::battery_at_rest<double>(1.0)) == Approx(4 * 4.2));
}

TEST_CASE("source, losses and terminals balance in power, up to the largest power", "[battery]") {
  auto vehicle = powered();
  const double r = vehicle.battery.resistance;
  Dice dice(1);
  for (int n = 0; n < 200; ++n) {
    if (n == 100) vehicle.battery.resistance = 0.0;
    const double resistance = n < 100 ? r : 0.0;
    const auto c = circuit<double>(vehicle, 1e-3);
    auto x = pw::battery_at_rest<double>(dice.uniform(0.05, 1.0));
    x.polarisation = dice.uniform(0.0, 1.0);
    const double power = dice.uniform(0.0, 1500.0);
    const auto out = battery_output(c, x, power);
    const double source = open_circuit_voltage(c, x);
    const double lost = resistance * out.current * out.current + x.polarisation * out.current;
    CHECK(source * out.current == Approx(out.voltage * out.current + lost));
    CHECK(out.voltage * out.current == Approx(power / 0.7 + 5.0));
  }
  // E^2 / (4 R) at half the voltage, however much is asked for
  const auto c = circuit<double>(powered(), 1e-3);
  const auto full = pw::battery_at_rest<double>(1.0);
  const double e = 4 * 4.2, limit = (e * e / (4 * r) - 5.0) * 0.7;
  for (const double demand : {limit * (1.0 + 1e-12), 2.0 * limit, 1e6}) {
    const auto out = battery_output(c, full, demand);
    CHECK(out.voltage == Approx(0.5 * e).epsilon(1e-5));
    CHECK(out.current == Approx(0.5 * e / r).epsilon(1e-5));
  }
  CHECK(battery_output(c, full, limit * (1.0 - 1e-9)).voltage == Approx(0.5 * e).epsilon(1e-4));
}

TEST_CASE("the polarisation approaches R I with its time constant", "[battery]") {
  const auto vehicle = powered();
  for (const double dt : {1e-3, 0.1}) {
    const auto c = circuit<double>(vehicle, dt);
    auto x = pw::battery_at_rest<double>(1.0);
    double worst = 0.0;
    for (int n = 1; n * dt < 40.0; ++n) {
      x = discharged(c, x, 20.0);
      const double exact = 20.0 * 0.01 * (1.0 - std::exp(-n * dt / 8.0));
      worst = std::max(worst, std::abs(x.polarisation - exact));
    }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("float keeps the charge of ten minutes at 1 kHz", "[battery]") {
  auto vehicle = powered();
  vehicle.battery.capacity = 6.0;
  const auto c = circuit<double>(vehicle, 1e-3);
  const auto c32 = circuit<float>(vehicle, 1e-3);
  auto x = pw::battery_at_rest<double>(1.0);
  auto x32 = pw::battery_at_rest<float>(1.0);
  float plain = 1.0f;
  for (int n = 0; n < 600'000; ++n) {
    // at least 4e-9 of the capacity, where the floats near 1 are 6e-8 apart
    const double current = 0.5 + 0.4 * std::sin(n * 1e-3);
    x = discharged(c, x, current);
    x32 = discharged(c32, x32, static_cast<float>(current));
    plain -= static_cast<float>(current) * c32.charge_step;
  }
  const double used = 600.0 * 0.5 / (6.0 * 3600.0);
  CHECK(1.0 - (x.state_of_charge - x.rest) == Approx(used).epsilon(0.01));
  CHECK(double{x32.state_of_charge} - double{x32.rest} ==
        Approx(x.state_of_charge - x.rest).margin(1e-7));
  CHECK(std::abs(x.rest) < 1e-5);
  CHECK(std::abs((1.0 - double{plain}) - used) > 1e-4);  // a plain sum in float does not
}

TEST_CASE(
    "in flight, the charge is the integral of the current, and falls until the battery is dead",
    "[battery]") {
  auto vehicle = powered();
  vehicle.battery.capacity = 0.2;
  Uav uav(vehicle, quiet());
  CHECK(uav.battery_voltage() == 4 * 4.2);
  CHECK(uav.state_of_charge() == 1.0);
  CHECK(uav.battery_current() == 0.0);
  const double dt = 0.01;
  double coulombs = 0.0;
  for (int n = 0; n < 20'000; ++n) {
    const double before = uav.state_of_charge();
    uav.step(pw::RotorSpeeds<4>{uav.trim().rotor_speeds}, dt);
    coulombs += uav.battery_current() * dt;
    CHECK(uav.state_of_charge() <= before);
    CHECK(uav.battery_current() >= 0.0);
  }
  CHECK(1.0 - uav.state_of_charge() == Approx(coulombs / (0.2 * 3600.0)).margin(1e-5));
  // a dead battery: the open-circuit voltage is zero just below zero charge, and the rotors stop
  CHECK(uav.state_of_charge() < 0.0);
  CHECK(uav.state_of_charge() > -0.04);
  CHECK(uav.battery_voltage() < 0.5);
  CHECK(uav.state().rotor_speeds[0] < 0.05 * uav.trim().rotor_speeds[0]);
}

TEST_CASE("an ideal battery hovers for its energy over its power", "[battery]") {
  auto vehicle = powered();
  vehicle.battery.resistance = vehicle.battery.polarisation_resistance = 0.0;
  vehicle.battery.capacity = 0.3;
  Uav uav(vehicle, quiet());
  const double power = aerodynamic_power(vehicle, uav.trim()) / 0.7 + 5.0;
  const double dt = 2e-3;
  double time = 0.0;
  for (; uav.state_of_charge() > 0.1; time += dt) uav.step(compensated(uav), dt);
  const double energy = 0.9 * 0.3 * 3600.0 * mean_voltage(vehicle.battery, 0.1);
  CHECK(time == Approx(energy / power).epsilon(1e-3));
}

TEST_CASE("the battery supplies the kinetic energy of rotors, and does not recover it",
          "[battery]") {
  auto vehicle = powered();
  vehicle.battery.resistance = vehicle.battery.polarisation_resistance = 0.0;
  vehicle.battery.load = 0.0;
  vehicle.battery.efficiency = 1.0;
  for (auto& rotor : vehicle.rotors) rotor.torque_coefficient = 1e-12;
  const double inertia = vehicle.rotors[0].inertia;
  REQUIRE(inertia > 0.0);
  double last = 1.0;
  for (const double dt : {2e-3, 1e-3, 5e-4}) {
    Uav uav(vehicle, quiet());
    auto state = uav.trim();
    for (auto& speed : state.rotor_speeds) speed = 500.0;
    uav.reset(state);
    const auto fly = [&](double speed) {
      double energy = 0.0;
      for (int n = 0; n * dt < 0.4; ++n) {
        const double command = speed * 14.8 / uav.battery_voltage();
        uav.step(pw::RotorSpeeds{command, command, command, command}, dt);
        energy += uav.battery_voltage() * uav.battery_current() * dt;
      }
      return energy;
    };
    const double exact = 2.0 * inertia * (1500.0 * 1500.0 - 500.0 * 500.0);
    const double error = std::abs(fly(1500.0) / exact - 1.0);
    CHECK(error < 0.6 * last);  // of first order in dt
    CHECK(error < 20.0 * dt);
    last = error;
    CHECK(fly(500.0) < 1e-3 * exact);
  }
}

TEST_CASE("the current depends neither on the order of the rotors nor on their spins",
          "[battery]") {
  const auto vehicle = powered();
  auto mirrored = vehicle;
  for (auto& rotor : mirrored.rotors)
    rotor.position.y = -rotor.position.y, rotor.spin = -rotor.spin;
  Uav uav(vehicle, quiet()), mirror(mirrored, quiet()), rotated(vehicle, quiet());
  for (int n = 0; n < 50; ++n) {
    const double a = 800.0 + 5.0 * n;
    uav.step(pw::RotorSpeeds{a, 900.0, 1000.0, 1100.0}, 1e-3);
    mirror.step(pw::RotorSpeeds{a, 900.0, 1000.0, 1100.0}, 1e-3);
    rotated.step(pw::RotorSpeeds{1100.0, a, 900.0, 1000.0}, 1e-3);
  }
  CHECK(mirror.battery_current() == uav.battery_current());
  CHECK(rotated.battery_current() == Approx(uav.battery_current()).epsilon(1e-12));
}

TEST_CASE("a lost propeller takes no aerodynamic power", "[battery]") {
  auto vehicle = powered();
  for (auto& rotor : vehicle.rotors) rotor.inertia = 0.0;
  Uav uav(vehicle, quiet()), damaged(vehicle, quiet());
  damaged.set_rotor_effectiveness({{1.0, 0.0, 1.0, 1.0}});
  uav.step(compensated(uav), 1e-3), damaged.step(compensated(damaged), 1e-3);
  const auto power = [](const Uav& of) {
    return of.battery_voltage() * of.battery_current() - 5.0;
  };
  CHECK(power(damaged) == Approx(0.75 * power(uav)));
}

TEST_CASE("float and double fly on the same charge", "[battery]") {
  const auto vehicle = powered();
  Uav uav(vehicle, quiet());
  pw::Multicopter<4, float> uav32(vehicle, quiet());
  for (int n = 0; n < 5000; ++n) {
    const double command = 1000.0 + 300.0 * std::sin(n * 0.01);
    uav.step(pw::RotorSpeeds{command, command, command, command}, 2e-3);
    uav32.step(pw::RotorSpeeds{command, command, command, command}, 2e-3);
  }
  CHECK(uav32.state_of_charge() == Approx(uav.state_of_charge()).margin(2e-5));
  CHECK(uav32.battery_voltage() == Approx(uav.battery_voltage()).epsilon(1e-5));
  CHECK(uav32.battery_current() == Approx(uav.battery_current()).epsilon(1e-4));
}

TEST_CASE("resets charge the battery, snapshots contain it, and it can be set", "[battery]") {
  Uav uav(powered(), quiet());
  const auto fly = [&uav](int steps) {
    for (int n = 0; n < steps; ++n) uav.step(pw::RotorSpeeds{1400.0, 1400.0, 1400.0, 1400.0}, 1e-3);
    return uav.battery_voltage();
  };
  fly(500);
  const auto snapshot = uav.snapshot();
  const double voltage = fly(500);
  const double charge = uav.state_of_charge();
  uav.reset();
  CHECK(uav.state_of_charge() == 1.0);
  CHECK(uav.battery_voltage() == 4 * 4.2);
  CHECK(uav.battery_current() == 0.0);
  uav.restore(snapshot);
  CHECK(fly(500) == voltage);
  CHECK(uav.state_of_charge() == charge);

  uav.set_state_of_charge(0.5);
  CHECK(uav.state_of_charge() == 0.5);
  CHECK(uav.battery_voltage() == Approx(4 * (published_curve(0.5) + 0.5 * (4.2 - 4.1029))));
  fly(1);
  CHECK(uav.state_of_charge() <= 0.5);
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    CHECK_THROWS_WITH(uav.set_state_of_charge(bad), Catch::Matchers::Contains("expected 0 to 1"));
  }
  CHECK_THROWS_WITH(uav.set_battery_voltage(15.0),
                    Catch::Matchers::Contains("the battery circuit computes it"));
  auto broken = uav.snapshot();
  broken.battery.current = std::nan("");
  CHECK_THROWS_AS(uav.restore(broken), std::invalid_argument);

  Uav plain(pw::vehicles::flightgoggles(), quiet());
  CHECK(plain.state_of_charge() == 1.0);
  CHECK_THROWS_WITH(plain.set_state_of_charge(0.5), Catch::Matchers::Contains("battery.cells = 0"));
}

TEST_CASE("an incomplete battery circuit is refused", "[battery]") {
  const auto refused = [](auto change, const char* text) {
    auto vehicle = powered();
    change(vehicle.battery);
    CHECK_THROWS_WITH(pw::validate(vehicle), Catch::Matchers::Contains(text));
  };
  refused([](auto& b) { b.cells = 2.5; }, "battery.cells = 2.5: expected a whole number");
  refused([](auto& b) { b.cells = -1.0; }, "battery.cells = -1: expected");
  refused([](auto& b) { b.capacity = 0.0; }, "battery.capacity = 0");
  refused([](auto& b) { b.full_voltage = 16.8; },
          "battery.full_voltage = 16.8: expected a magnitude from 4");
  refused([](auto& b) { b.full_voltage = 0.0; }, "battery.full_voltage = 0");
  refused([](auto& b) { b.efficiency = 70.0; },
          "battery.efficiency = 70: expected a magnitude from 0.01");
  refused([](auto& b) { b.efficiency = 0.0; }, "battery.efficiency = 0");
  refused([](auto& b) { b.nominal_voltage = 3.7; }, "battery.nominal_voltage = 3.7");
  refused([](auto& b) { b.nominal_voltage = 0.0; }, "battery.nominal_voltage = 0");
  refused([](auto& b) { b.resistance = -0.1; }, "battery.resistance = -0.1");
  auto off = powered();
  off.battery.cells = 0.0;
  off.battery.full_voltage = off.battery.efficiency = 0.0;
  pw::validate(off);
}

}  // namespace test_battery
