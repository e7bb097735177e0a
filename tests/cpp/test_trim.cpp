/// @file
/// Steady flight: in a frame that rotates with the vehicle nothing changes, and a simulated vehicle
/// stays on its circle. And the derivative of any state.

#include <cmath>
#include <cstring>
#include <limits>
#include <propwash/vehicle/trim.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_trim {

namespace pw = propwash;
using pw::SteadyFlight;
using pw::Vec3;

namespace {

using Any = pw::Multicopter<>;

/// The residual linear and angular acceleration in the rotating frame.
double residual(const Any& uav, const Any::State& state, const SteadyFlight& flight) {
  const auto rate = uav.derivative(state, pw::RotorSpeeds<>{state.rotor_speeds});
  const auto through_air = state.velocity - uav.wind();
  const auto turning = cross(Vec3<double>{0.0, 0.0, flight.yaw_rate}, through_air);
  double motors = 0.0;
  for (const double x : rate.rotor_speeds) motors = std::max(motors, std::abs(x));
  return std::max({norm(rate.velocity - turning), norm(rate.body_rates), motors});
}

/// A vehicle with all terms: tilted rotors, full inertia, all kinds of drag.
pw::VehicleParameters random_vehicle(pw::VehicleParameters vehicle, Dice& dice) {
  const auto& j = vehicle.body.inertia;
  const double scale = dice.uniform(0.7, 1.5);
  vehicle.body.inertia = rotated(pw::from_axis_angle(dice.unit_vec3(), 0.3),
                                 pw::Mat3<double>::diagonal(j(0, 0), j(1, 1), j(2, 2)));
  vehicle.body.mass *= dice.uniform(0.8, 1.2);
  for (auto& rotor : vehicle.rotors) {
    const auto axis = dice.vec3(0.15) + Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
    rotor.position += dice.vec3(0.1 * norm(rotor.position));
    rotor.inertia *= scale;
  }
  vehicle.drag.translational = dice.uniform(0.0, 0.02) * vehicle.body.mass;
  vehicle.drag.rotational = pw::Mat3<double>::diagonal(1e-3, 2e-3, 3e-3);
  for (double& x : vehicle.drag.rotational.elements) x *= j(2, 2);
  vehicle.rotor_drag.linear = {dice.uniform(0.0, 0.5), dice.uniform(0.0, 0.5),
                               dice.uniform(0.0, 0.2)};
  vehicle.rotor_drag.blow_back = dice.uniform(0.0, 0.3) * j(0, 0);
  const double coefficient = vehicle.rotors[0].thrust_coefficient;
  vehicle.inflow = {dice.uniform(0.0, 30.0) * coefficient, dice.uniform(0.0, 300.0) * coefficient};
  vehicle.inflow.radius = 0.5 * norm(vehicle.rotors[0].position);
  vehicle.inflow.drag = 0.3 * vehicle.inflow.axial;
  vehicle.inflow.flapping = 0.03 * vehicle.inflow.axial;
  return vehicle;
}

std::string message(const pw::VehicleParameters& vehicle, const SteadyFlight& flight) {
  try {
    pw::trim(vehicle, flight);
  } catch (const pw::ParameterError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every shipped vehicle has steady flights, straight and turning", "[trim]") {
  for (const auto& vehicle :
       {pw::vehicles::flightgoggles(), pw::vehicles::penguin(), pw::vehicles::blackbird(),
        pw::vehicles::crazyflie(), pw::vehicles::hexacopter(), pw::vehicles::neurobem()}) {
    const Any uav(vehicle, quiet());
    for (double velocity : {0.0, 2.0, 4.0, -3.0}) {
      if (vehicle.name == "neurobem") velocity *= 5.0;
      for (const double climb : {0.0, 1.5, -2.0}) {
        for (const double yaw_rate : {0.0, 0.7, -2.0}) {
          const SteadyFlight flight{velocity, climb, yaw_rate};
          const auto state = uav.trim(flight);
          INFO(vehicle.name << " " << velocity << " " << climb << " " << yaw_rate);
          CHECK(residual(uav, state, flight) < 1e-9);
          CHECK(state.velocity.x == velocity);
          CHECK(state.velocity.z == climb);
          CHECK(std::abs(rotate(state.attitude, Vec3<double>{1.0, 0.0, 0.0}).y) < 1e-12);
          CHECK(distance(rotate(state.attitude, state.body_rates), {0.0, 0.0, yaw_rate}) < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("random vehicles in random flights are in equilibrium or rejected", "[trim]") {
  Dice dice(23);
  int accepted = 0;
  for (int n = 0; n < 300; ++n) {
    const auto base = n % 3 == 0   ? pw::vehicles::flightgoggles()
                      : n % 3 == 1 ? pw::vehicles::crazyflie()
                                   : pw::vehicles::hexacopter();
    const auto vehicle = random_vehicle(base, dice);
    const SteadyFlight flight{dice.uniform(-12.0, 12.0), dice.uniform(-3.0, 3.0),
                              dice.uniform(-3.0, 3.0)};
    const auto text = message(vehicle, flight);
    INFO(n << " " << text);
    if (text.empty()) {
      const Any uav(vehicle, quiet());
      CHECK(residual(uav, uav.trim(flight), flight) < 1e-9);
      ++accepted;
    } else {
      // rejected flights exceed the motors, or have no hover
      CHECK((text.find("the limit of the motor") != std::string::npos ||
             text.find("in hover") != std::string::npos));
    }
  }
  CHECK(accepted > 100);
}

TEST_CASE("a flight from trim stays on its circle", "[trim]") {
  const double dt = 1.0 / 960;
  const auto largest_error = [&](const pw::VehicleParameters& vehicle, const SteadyFlight& flight,
                                 double seconds) {
    Any uav(vehicle, quiet());
    const auto start = uav.trim(flight);
    uav.reset(start);
    double largest = 0.0;
    for (int n = 1; n <= static_cast<int>(seconds / dt); ++n) {
      uav.step(pw::RotorSpeeds<>{start.rotor_speeds}, dt);
      const double t = n * dt, w = flight.yaw_rate;
      const Vec3<double> on_circle{flight.velocity / w * std::sin(w * t),
                                   flight.velocity / w * (1.0 - std::cos(w * t)), flight.climb * t};
      largest = std::max(largest, distance(uav.state().position, on_circle));
    }
    return largest;
  };
  const SteadyFlight flight{4.0, 0.5, 0.8};
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::penguin(),
                              pw::vehicles::blackbird(), pw::vehicles::hexacopter()}) {
    INFO(vehicle.name);
    CHECK(largest_error(vehicle, flight, 10.0) < 1e-7);
  }
  // blow-back makes the crazyflie unstable without a controller
  CHECK(largest_error(pw::vehicles::crazyflie(), flight, 1.0) < 1e-9);
}

TEST_CASE("a steady flight is relative to the air", "[trim]") {
  Any uav(pw::vehicles::crazyflie(), quiet());
  uav.set_wind({1.0, -2.0, 0.5});
  const SteadyFlight flight{3.0, 0.0, 1.0};
  const auto state = uav.trim(flight);
  CHECK(distance(state.velocity, {4.0, -2.0, 0.5}) < 1e-15);
  CHECK(residual(uav, state, flight) < 1e-9);
}

TEST_CASE("a steady flight at zero speed is a hover", "[trim]") {
  const Any uav(pw::vehicles::flightgoggles(), quiet());
  const auto hover = uav.trim();
  const auto steady = uav.trim(SteadyFlight{});
  CHECK(norm(steady.velocity) == 0.0);
  for (int i = 0; i < 4; ++i) {
    CHECK(std::abs(steady.rotor_speeds[i] - hover.rotor_speeds[i]) < 1e-9);
  }
}

TEST_CASE("an infeasible flight is rejected with the reason", "[trim]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto fast = message(vehicle, {60.0, 0.0, 0.0});
  CHECK(fast.find("trim at velocity = 60 m/s") != std::string::npos);
  CHECK(fast.find("speed of rotors[0] = ") != std::string::npos);
  CHECK(fast.find("expected at most 2200 rad/s") != std::string::npos);
  CHECK(message(vehicle, {5.0, 0.0, 12.0}).find("the limit of the motor") != std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SteadyFlight& flight :
       {SteadyFlight{nan, 0, 0}, SteadyFlight{0, nan, 0}, SteadyFlight{0, 0, nan}}) {
    CHECK(message(vehicle, flight).find("expected finite numbers") != std::string::npos);
  }
  auto leaning = vehicle;
  leaning.body.gravity = {1.0, 0.0, -9.7};
  CHECK(message(leaning, {1.0, 0.0, 1.0}).find("body.gravity") != std::string::npos);
  CHECK(message(leaning, {1.0, 0.0, 0.0}).empty());
  auto uncontrolled = vehicle;
  for (auto& rotor : uncontrolled.rotors) rotor.spin = 1.0;
  CHECK(message(uncontrolled, {1.0, 0.0, 0.0}).find("rank") != std::string::npos);
}

TEST_CASE("the derivative of any state equals that of the step", "[derivative]") {
  auto vehicle = pw::vehicles::crazyflie();
  vehicle.motor.command_delay = 0.0;
  vehicle.battery.nominal_voltage = 4.0;
  pw::Multicopter<4> uav(vehicle, quiet());
  uav.set_wind({1.0, 2.0, -0.5});
  uav.set_battery_voltage(3.6);
  Dice dice(3);
  for (int n = 0; n < 20; ++n) {
    auto state = uav.trim();
    state.velocity = dice.vec3(3.0);
    state.attitude = dice.unit_quat();
    state.body_rates = dice.vec3(2.0);
    pw::RotorSpeeds<4> command{uav.trim().rotor_speeds};
    for (double& x : command.speeds.values) x *= dice.uniform(0.0, 3.0);  // beyond the limits too
    const auto rate = uav.derivative(state, command);
    const auto before = uav.snapshot();
    uav.reset(state);
    uav.step(command, 1e-7);
    CHECK(distance((uav.state().velocity - state.velocity) * 1e7, rate.velocity) < 1e-4);
    CHECK(distance((uav.state().body_rates - state.body_rates) * 1e7, rate.body_rates) < 1e-2);
    for (int i = 0; i < 4; ++i) {
      const double change = (uav.state().rotor_speeds[i] - state.rotor_speeds[i]) * 1e7;
      CHECK(std::abs(change - rate.rotor_speeds[i]) < 1e-4 * std::abs(change) + 1e-2);
    }
    // bit-identical to the input of the step
    const auto acted = uav.derivative();
    const auto again = uav.derivative(uav.state(), command);
    CHECK(std::memcmp(&acted, &again, sizeof acted) == 0);
    uav.restore(before);
  }
}

TEST_CASE("the derivative of any state has no noise, and changes nothing", "[derivative]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Multicopter<4> noisy(vehicle);
  pw::Multicopter<4> calm(vehicle, quiet());
  const pw::RotorSpeeds<4> command{noisy.trim().rotor_speeds};
  for (int n = 0; n < 10; ++n) noisy.step(command, 1e-3);
  const auto before = noisy.snapshot();
  const auto rate = noisy.derivative(calm.state(), command);
  const auto expected = calm.derivative(calm.state(), command);
  CHECK(std::memcmp(&rate, &expected, sizeof rate) == 0);
  const auto after = noisy.snapshot();
  CHECK(std::memcmp(&before, &after, sizeof before) == 0);

  pw::Multicopter<> any(vehicle, quiet());
  CHECK_THROWS_AS(any.derivative(any.state(), pw::RotorSpeeds<>{{1.0, 2.0}}),
                  std::invalid_argument);
  auto few = any.state();
  few.rotor_speeds.resize(3);
  CHECK_THROWS_AS(any.derivative(few, pw::RotorSpeeds<>{any.state().rotor_speeds}),
                  std::invalid_argument);
}

}  // namespace test_trim
