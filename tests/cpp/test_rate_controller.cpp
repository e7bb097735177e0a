// The rate controller, stand-alone and in each vehicle.
#include <algorithm>
#include <propwash/control/rate_controller.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_rate_controller {

namespace pw = propwash;

namespace {

constexpr double dt = 1.0 / 960;

pw::VehicleParameters fleet(int i) {
  switch (i) {
    case 0:
      return pw::vehicles::flightgoggles();
    case 1:
      return pw::vehicles::penguin();
    case 2:
      return pw::vehicles::blackbird();
    case 3:
      return pw::vehicles::crazyflie();
    default:
      return pw::vehicles::hexacopter();
  }
}

/// The response of one axis to a step of the commanded rate.
struct Response {
  double peak = 0.0;     ///< maximum, relative to the command
  double settled = 0.0;  ///< largest error from 1.5 to 2 s, relative to the command
  double rise = 0.0;     ///< s, to 90 %
};
Response step_response(const pw::VehicleParameters& vehicle, int axis, double rate) {
  pw::Multicopter<> uav(vehicle, quiet());
  uav.reset();
  pw::RateThrust<double> command{{}, vehicle.body.mass * 9.81};
  command.rates[axis] = rate;
  Response r;
  for (int n = 1; n <= 960 * 2; ++n) {
    uav.set_wind(
        uav.state().velocity);  // keeps the fall after a roll from affecting the loop by drag
    uav.step(command, dt);
    const double y = uav.state().body_rates[axis] / rate;
    r.peak = std::max(r.peak, y);
    if (r.rise == 0.0 && y > 0.9) r.rise = n * dt;
    if (n > 1440) r.settled = std::max(r.settled, std::abs(y - 1.0));
  }
  return r;
}

/// The same arithmetic compiled twice: bit-identical unless the compiler fuses multiply and add.
#if defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
constexpr double rounding = 1e-10;
#else
constexpr double rounding = 0.0;
#endif

}  // namespace

TEST_CASE("each vehicle's rate loop settles to its command", "[rate controller]") {
  for (int i = 0; i < 5; ++i) {
    const auto vehicle = fleet(i);
    for (int axis = 0; axis < 3; ++axis) {
      INFO(vehicle.name << ", axis " << axis);
      const auto r = step_response(vehicle, axis, axis < 2 ? 0.5 : 0.2);
      CAPTURE(r.peak, r.settled, r.rise);
      CHECK(r.settled < 0.05);
      CHECK(r.peak < 1.35);
      CHECK(r.rise > 0.0);
      CHECK(r.rise < 1.0);
    }
  }
}

TEST_CASE("a small step response is linear and symmetric", "[rate controller]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto one = step_response(vehicle, 0, 0.2);
  const auto two = step_response(vehicle, 0, 0.4);
  const auto back = step_response(vehicle, 0, -0.2);
  CHECK(two.peak == Approx(one.peak).epsilon(0.02));
  CHECK(back.peak == Approx(one.peak).epsilon(1e-3));
}

TEST_CASE("the stand-alone controller equals the one inside the vehicle", "[rate controller]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.inertia(0, 1) = vehicle.body.inertia(1, 0) = 3e-4;
  for (const bool published : {false, true}) {
    vehicle.rate_controller.gyroscopic_term = !published;
    vehicle.rate_controller.discretisation =
        published ? pw::Discretisation::backward_euler : pw::Discretisation::exact;
    pw::MulticopterOptions options;  // with noise, so that the readings matter
    options.seed = 131;
    pw::Multicopter<> whole(vehicle, options);
    pw::Multicopter<> driven(vehicle, options);
    pw::RateController<> controller(vehicle, dt);
    whole.reset(), driven.reset();
    for (int n = 0; n < 960; ++n) {
      const pw::RateThrust<double> command{
          {std::sin(4.0 * n * dt), 0.8 * std::cos(3.0 * n * dt), -0.4}, 9.81};
      const auto speeds = controller.update(driven.imu().angular_rate, command).speeds;
      driven.step(pw::RotorSpeeds{speeds}, dt);
      whole.step(command, dt);
      if (n == 0) {  // the first tick used the same dt as all others
        CHECK(distance(whole.controller().filter.value, controller.snapshot().filter.value) <=
              rounding);
      }
    }
    CHECK(distance(whole.state().body_rates, driven.state().body_rates) <= rounding);
    CHECK(distance(whole.state().position, driven.state().position) <= rounding);
    CHECK(distance(whole.controller().integral, controller.snapshot().integral) <= rounding);
    CHECK(distance(whole.controller().filter.derivative, controller.snapshot().filter.derivative) <=
          rounding);
    for (int i = 0; i < 4; ++i) {
      CHECK(std::abs(whole.state().rotor_speeds[i] - driven.state().rotor_speeds[i]) <= rounding);
    }
  }
}

TEST_CASE("the torque is J times the PID's acceleration, and the gyroscopic term",
          "[rate controller]") {
  Dice dice(132);
  auto gains = pw::vehicles::flightgoggles().rate_controller;
  for (int n = 0; n < 20; ++n) {
    const auto inertia = rotated(dice.unit_quat(), pw::Mat3<double>::diagonal(0.004, 0.005, 0.007));
    gains.gyroscopic_term = false;
    const auto without = pw::make_rate_control_law<double>(gains, inertia, dt);
    gains.gyroscopic_term = true;
    const auto with = pw::make_rate_control_law<double>(gains, inertia, dt);
    pw::RateControllerState<double> a, b;
    a.filter.value = b.filter.value = dice.vec3(3.0);
    a.filter.derivative = b.filter.derivative = dice.vec3(30.0);
    const auto gyroscope = dice.vec3(3.0);
    const auto command = dice.vec3(3.0);
    const auto plain = pw::rate_control(without, a, gyroscope, command);
    const auto full = pw::rate_control(with, b, gyroscope, command);
    const auto& w = a.filter.value;
    CHECK(distance(full - plain, cross(w, inertia * w)) <= 1e-14);
    // the order: filter, integral, output
    const auto acceleration = (command - w) * 9.0 + a.integral * 3.0 - a.filter.derivative * 0.3;
    CHECK(distance(a.integral, (command - w) * dt) <= 1e-15);
    CHECK(distance(plain, inertia * acceleration) <= 1e-13);
    CHECK(distance(inverse(inertia) * (full - cross(w, inertia * w)), acceleration) <= 1e-10);
  }
}

TEST_CASE("the gyroscopic term decouples the axes of a fast tumble", "[rate controller]") {
  // rates on two axes of different inertia: without the term, J W x W acts on the third
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.inertia = pw::Mat3<double>::diagonal(0.004, 0.006, 0.009);
  vehicle.rate_controller.integral = {};
  const auto error = [&](bool term) {
    vehicle.rate_controller.gyroscopic_term = term;
    pw::Multicopter<> uav(vehicle, quiet());
    uav.reset();
    for (int n = 0; n < 1920; ++n) uav.step(pw::RateThrust<double>{{2.0, 0.0, 2.0}, 9.81}, dt);
    return std::abs(uav.state().body_rates.y);
  };
  CHECK(error(true) < 0.2 * error(false));
}

TEST_CASE("unattainable commands are reported", "[rate controller]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::RateController<> controller(vehicle, dt);
  const auto easy = controller.update({}, {{0.1, 0.0, 0.0}, 9.81});
  CHECK(distance(easy.attained.torque_B, easy.desired.torque_B) <= 1e-12);
  CHECK(easy.attained.thrust == Approx(9.81).epsilon(1e-12));
  controller.reset();
  CHECK(norm(controller.snapshot().integral) == 0.0);
  const auto hard = controller.update({}, {{0.0, 0.0, 0.0}, 1000.0});
  CHECK(hard.desired.thrust == 1000.0);
  CHECK(hard.attained.thrust == Approx(4 * 1.91e-6 * 2200.0 * 2200.0).epsilon(1e-12));
  for (const double w : hard.speeds) CHECK(w == 2200.0);
}

TEST_CASE("an error of a rate controller states the value", "[rate_controller]") {
  auto vehicle = pw::vehicles::flightgoggles();
  const auto error = [&](double step) -> std::string {
    try {
      pw::RateController<>(vehicle, step);
      return "";
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  };
  CHECK(error(dt).empty());
  CHECK(error(-1.0).find("dt = -1") == 0);
  vehicle.rotors.resize(2);
  CHECK(error(dt).find("rank of the allocation matrix = 2: expected 4") == 0);
}

}  // namespace test_rate_controller
