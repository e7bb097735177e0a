// Motors: lag against its exponential, limits, dead time, battery voltage.
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_motor {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

pw::RotorSpeeds<4> all(double speed) { return {{{speed, speed, speed, speed}}}; }

/// At rest with its rotors and past commands at `speed`.
Uav at_speed(const pw::VehicleParameters& vehicle, double speed) {
  Uav uav(vehicle, quiet());
  auto state = uav.trim();
  state.rotor_speeds = all(speed).speeds;
  uav.reset(state);
  return uav;
}

/// The solution of dw/dt = (c - w) / tau.
double lagged(double start, double command, double tau, double t) {
  return command + (start - command) * std::exp(-t / tau);
}

}  // namespace

TEST_CASE("a step of the command is followed by an exponential", "[motor]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const double tau = vehicle.motor.time_constant_up[0];
  for (const double command : {1500.0, 300.0}) {
    Uav uav = at_speed(vehicle, 1000.0);
    double worst = 0.0;
    for (int n = 1; n <= 200; ++n) {
      uav.step(all(command), 1e-3);
      const double exact = lagged(1000.0, command, tau, n * 1e-3);
      worst = std::max(worst, std::abs(uav.state().rotor_speeds[2] - exact));
    }
    // RK4's relative error per step is (dt / tau)^5 / 120 = 2.6e-9; at most tau / dt of them
    // accumulate
    CHECK(worst <= std::abs(command - 1000.0) * 20 * 2.7e-9);
    CHECK(uav.state().rotor_speeds[2] == Approx(command).epsilon(1e-3));
  }
}

TEST_CASE("rise and fall have separate time constants", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.time_constant_up = 0.05;
  vehicle.motor.time_constant_down = 0.08;
  const double dt = 1e-3;
  Uav up = at_speed(vehicle, 1000.0);
  Uav down = at_speed(vehicle, 1000.0);
  for (int n = 1; n <= 100; ++n) {
    up.step(all(1400.0), dt);
    down.step(all(600.0), dt);
    CHECK(up.state().rotor_speeds[0] == Approx(lagged(1000.0, 1400.0, 0.05, n * dt)).epsilon(1e-9));
    CHECK(down.state().rotor_speeds[0] ==
          Approx(lagged(1000.0, 600.0, 0.08, n * dt)).epsilon(1e-9));
  }
  // rotors are independent: one rises while its neighbour falls
  Uav mixed = at_speed(vehicle, 1000.0);
  for (int n = 0; n < 100; ++n) mixed.step(pw::RotorSpeeds{1400.0, 600.0, 1400.0, 600.0}, dt);
  CHECK(mixed.state().rotor_speeds[0] == up.state().rotor_speeds[0]);
  CHECK(mixed.state().rotor_speeds[1] == down.state().rotor_speeds[1]);
}

TEST_CASE("each motor follows its own time constants to its own limits", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.time_constant_up = {0.02, 0.03, 0.04, 0.05};
  vehicle.motor.time_constant_down = {0.05, 0.04, 0.03, 0.02};
  vehicle.motor.speed_min = {100.0, 200.0, 300.0, 400.0};
  vehicle.motor.speed_max = {1400.0, 1500.0, 1600.0, 1700.0};
  const double dt = 1e-3;
  for (const double command : {1e4, 0.0}) {
    Uav uav = at_speed(vehicle, 1000.0);
    for (int n = 1; n <= 1000; ++n) {
      uav.step(all(command), dt);
      for (int i = 0; i < 4; ++i) {
        const bool up = command > 0.0;
        const double limit = up ? vehicle.motor.speed_max[i] : vehicle.motor.speed_min[i];
        const double tau =
            up ? vehicle.motor.time_constant_up[i] : vehicle.motor.time_constant_down[i];
        CHECK(uav.rotor_command()[i] == limit);
        CHECK(uav.state().rotor_speeds[i] ==
              Approx(lagged(1000.0, limit, tau, n * dt)).epsilon(1e-7));
      }
    }
  }
}

TEST_CASE("equal numbers for all motors equal one number for all", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  const double up = vehicle.motor.time_constant_up[0];
  const double highest = vehicle.motor.speed_max[0];
  const Uav one(vehicle);
  vehicle.motor.time_constant_up = {up, up, up, up};
  vehicle.motor.speed_max = {highest, highest, highest, highest};
  CHECK(pw::is_parallel(vehicle));  // so it uses the fast equations
  Uav plain = one;
  Uav listed(vehicle);
  for (int n = 0; n < 500; ++n) {
    const pw::RateThrust<double> command{{0.3, -0.2, 0.5}, 10.0};
    plain.step(command, 1e-3);
    listed.step(command, 1e-3);
  }
  CHECK(plain.state().position.x == listed.state().position.x);
  CHECK(plain.state().attitude.z == listed.state().attitude.z);
  CHECK(plain.state().rotor_speeds[3] == listed.state().rotor_speeds[3]);
}

TEST_CASE("rotor speeds and commands stay within the motor's range", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.speed_min = -200.0;
  Uav uav = at_speed(vehicle, 1000.0);
  Uav at_limit = at_speed(vehicle, 1000.0);
  for (int n = 0; n < 500; ++n) {
    uav.step(all(1e6), 1e-3);
    at_limit.step(all(2200.0), 1e-3);
    REQUIRE(uav.state().rotor_speeds[0] <= 2200.0);
  }
  // commands beyond the limit change nothing
  CHECK(uav.state().rotor_speeds[0] == at_limit.state().rotor_speeds[0]);
  CHECK(uav.rotor_command()[0] == 2200.0);
  for (int n = 0; n < 500; ++n) {
    uav.step(all(-1e6), 1e-3);
    REQUIRE(uav.state().rotor_speeds[0] >= -200.0);
  }
  CHECK(uav.state().rotor_speeds[0] == Approx(-200.0));
  // a state beyond the limits is brought back by the first step
  auto state = uav.trim();
  state.rotor_speeds = all(5000.0).speeds;
  uav.reset(state);
  uav.step(all(2200.0), 1e-3);
  CHECK(uav.state().rotor_speeds[0] == 2200.0);
}

TEST_CASE("a command arrives after its dead time", "[motor]") {
  const double dt = 1e-3;
  for (const double delay : {0.0, 0.001, 0.005, 0.017, 0.0055, 0.00025}) {
    INFO("delay " << delay);
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.motor.command_delay = delay;
    Uav uav = at_speed(vehicle, 1000.0);
    const int whole = static_cast<int>(std::floor(delay / dt + 1e-9));
    const double fraction = delay / dt - whole;
    for (int n = 0; n < 60; ++n) {
      uav.step(all(1400.0), dt);
      const double acting = uav.rotor_command()[0];
      if (n < whole) {
        REQUIRE(acting == 1000.0);
      } else if (n == whole) {
        // for a fraction of this step the old command still acts
        CHECK(acting == Approx(1400.0 - 400.0 * fraction).epsilon(1e-12));
      } else {
        REQUIRE(acting == 1400.0);
      }
    }
    // the undelayed exponential, later; averaging in the mixed step has a second-order error
    const double t = 60 * dt - delay;
    CHECK(
        uav.state().rotor_speeds[0] ==
        Approx(lagged(1000.0, 1400.0, 0.02, t)).margin(400.0 * std::pow(dt / 0.02, 2) / 8 + 1e-3));
  }
}

TEST_CASE("with a dead time every command acts once, in order", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.0125;
  const double dt = 1e-3;
  Uav uav = at_speed(vehicle, 0.0);
  double commanded = 0.0;
  double acted = 0.0;
  Dice dice(11);
  for (int n = 0; n < 500; ++n) {
    const double speed = n < 450 ? dice.uniform(0.0, 2000.0) : 0.0;
    uav.step(all(speed), dt);
    commanded += speed;
    acted += uav.rotor_command()[1];
  }
  CHECK(acted == Approx(commanded).epsilon(1e-12));
}

TEST_CASE("with a battery, speed follows duty cycle times voltage", "[motor]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.battery.nominal_voltage = 12.0;
  for (const double voltage : {12.0, 10.5, 6.0}) {
    Uav uav = at_speed(vehicle, 1000.0);
    uav.set_battery_voltage(voltage);
    for (int n = 0; n < 1000; ++n) uav.step(all(1200.0), 1e-3);
    CHECK(uav.state().rotor_speeds[0] == Approx(1200.0 * voltage / 12.0).epsilon(1e-12));
  }
  Uav full = at_speed(vehicle, 1000.0);
  full.set_battery_voltage(24.0);
  full.step(all(2000.0), 1e-3);
  CHECK(full.rotor_command()[0] == vehicle.motor.speed_max[0]);

  Uav speed_controlled = at_speed(pw::vehicles::flightgoggles(), 1000.0);
  speed_controlled.set_battery_voltage(6.0);
  speed_controlled.step(all(1200.0), 1e-3);
  CHECK(speed_controlled.rotor_command()[0] == 1200.0);
}

TEST_CASE("dead time in steps has the right duration", "[motor]") {
  Dice dice(12);
  for (int n = 0; n < 200; ++n) {
    const double seconds = dice.uniform(0.0, 0.05);
    const double dt = dice.uniform(0.001, 0.01);
    const auto delay = pw::step_delay(seconds, dt, 64);
    CHECK((delay.steps + delay.fraction) * dt == Approx(seconds).epsilon(1e-12));
    CHECK(delay.fraction >= 0.0);
    CHECK(delay.fraction < 1.0);
  }
}

}  // namespace test_motor
