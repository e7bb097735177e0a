// Laws of the whole vehicle: trim, free fall, symmetries of space, momentum balance, energy.
#include <algorithm>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_multicopter_laws {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;

/// All terms that do not depend on the position: tilted rotors, full inertia, asymmetric motors,
/// rotor drag, inflow, dead time, a lever arm.
pw::VehicleParameters everything() {
  auto vehicle = pw::vehicles::flightgoggles();
  Dice dice(51);
  vehicle.body.inertia = rotated(dice.unit_quat(), pw::Mat3<double>::diagonal(0.004, 0.005, 0.007));
  for (auto& rotor : vehicle.rotors) {
    const auto axis = dice.vec3(0.2) + pw::Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
    rotor.position += dice.vec3(0.02);
  }
  vehicle.motor.time_constant_down = 0.03;
  vehicle.motor.command_delay = 0.0035;
  vehicle.rotor_drag.linear = {0.3, 0.4, 0.1};
  vehicle.rotor_drag.blow_back = 0.002;
  vehicle.inflow = {2e-4, 3e-3, 0.06, 1e-4, 2e-3, 1e-5};
  vehicle.imu.position = {0.05, 0.02, -0.03};
  return vehicle;
}

Uav::State in_motion(const Uav& uav, Dice& dice) {
  auto state = uav.trim();
  state.position = dice.vec3(5.0);
  state.velocity = dice.vec3(3.0);
  state.attitude = dice.unit_quat();
  state.body_rates = dice.vec3(2.0);
  return state;
}

pw::RateThrust<double> command(int n, double sign = 1.0) {
  const double t = n * 1e-3;
  return {{sign * std::sin(5.0 * t), 0.7 * std::cos(3.0 * t), sign * 0.4}, 9.0 + std::sin(4.0 * t)};
}

pw::Vec3<double> mirrored(const pw::Vec3<double>& v) { return {v.x, -v.y, v.z}; }
pw::Vec3<double> axially_mirrored(const pw::Vec3<double>& v) { return {-v.x, v.y, -v.z}; }
pw::Quat<double> mirrored(const pw::Quat<double>& q) { return {q.w, -q.x, q.y, -q.z}; }
double distance_of(const pw::Quat<double>& a, const pw::Quat<double>& b) {
  return std::sqrt(squared_norm(a + b * -1.0));
}

}  // namespace

TEST_CASE("a vehicle in trim stays in place", "[multicopter]") {
  for (const auto& vehicle :
       {pw::vehicles::flightgoggles(), pw::vehicles::penguin(), pw::vehicles::blackbird(),
        pw::vehicles::crazyflie(), pw::vehicles::hexacopter()}) {
    INFO(vehicle.name);
    pw::Multicopter<> uav(vehicle, quiet());
    auto start = uav.trim();
    start.position = {1.0, 2.0, 3.0};
    uav.reset(start);
    for (int n = 0; n < 1920; ++n) {
      uav.step(pw::RotorSpeeds{start.rotor_speeds}, 1.0 / 960);
    }
    CHECK(distance(uav.state().position, start.position) <= 1e-10);
    CHECK(norm(uav.state().velocity) <= 1e-10);
    CHECK(norm(uav.state().body_rates) <= 1e-9);
    CHECK(distance(uav.imu().specific_force, {0.0, 0.0, 9.81}) <= 1e-10);
    // the rate controller holds it too, commanded zero rates and the weight
    uav.reset(start);
    const pw::RateThrust<double> hover{{}, vehicle.body.mass * 9.81};
    for (int n = 0; n < 1920; ++n) uav.step(hover, 1.0 / 960);
    CHECK(distance(uav.state().position, start.position) <= 1e-9);
  }
}

TEST_CASE("without thrust and air all vehicles fall equally", "[multicopter]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag.translational = 0.0;
  Uav uav(vehicle, quiet());
  Uav::State start{};
  start.position = {1.0, 2.0, 30.0};
  start.velocity = {3.0, -1.0, 5.0};
  start.body_rates = {1.0, 2.0, 3.0};
  start.rotor_speeds = {};
  uav.reset(start);
  for (int n = 1; n <= 2000; ++n) {
    uav.step(pw::RotorSpeeds<4>{}, 1e-3);
    const double t = n * 1e-3;
    const auto parabola =
        start.position + start.velocity * t + pw::Vec3<double>{0.0, 0.0, -9.81} * (0.5 * t * t);
    REQUIRE(distance(uav.state().position, parabola) <= 1e-11);
    REQUIRE(norm(uav.imu().specific_force) == 0.0);  // weightless
  }
  CHECK(uav.time() == Approx(2.0));
  CHECK(uav.steps() == 2000);
}

TEST_CASE("a thrust step gives the momentum of its closed form", "[multicopter]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag.translational = 0.0;
  Uav uav(vehicle, quiet());
  uav.reset();
  const double tau = vehicle.motor.time_constant_up[0];
  const double k = 4.0 * vehicle.rotors[0].thrust_coefficient / vehicle.body.mass;
  const double from = uav.trim().rotor_speeds[0];
  const double to = 1.3 * from;
  const double d = from - to;
  for (int n = 1; n <= 500; ++n) {
    uav.step(pw::RotorSpeeds{to, to, to, to}, 1e-3);
    const double t = n * 1e-3;
    // the integral of k (to + d exp(-t/tau))^2 - g
    const double speed = k * (to * to * t + 2.0 * to * d * tau * (1.0 - std::exp(-t / tau)) +
                              d * d * tau / 2.0 * (1.0 - std::exp(-2.0 * t / tau))) -
                         9.81 * t;
    // margin: RK4 with dt = tau / 20
    REQUIRE(uav.state().velocity.z == Approx(speed).epsilon(1e-7).margin(1e-8));
  }
}

TEST_CASE("the physics does not depend on the direction of the world's axes", "[multicopter]") {
  const auto vehicle = everything();
  REQUIRE_FALSE(pw::is_parallel(vehicle));
  Dice dice(52);
  for (int n = 0; n < 6; ++n) {
    // a rotation about the vertical keeps gravity; any other rotates it too
    const auto r =
        n < 3 ? pw::from_axis_angle(pw::Vec3<double>{0.0, 0.0, 1.0}, 1.0 + n) : dice.unit_quat();
    auto rotated_vehicle = n % 2 == 0 ? vehicle : pw::vehicles::flightgoggles();
    const auto plain_vehicle = rotated_vehicle;
    rotated_vehicle.body.gravity = rotate(r, rotated_vehicle.body.gravity);
    if (n < 3) CHECK(distance(rotated_vehicle.body.gravity, vehicle.body.gravity) <= 1e-14);
    Uav plain(plain_vehicle, quiet());
    Uav other(rotated_vehicle, quiet());
    const auto wind = dice.vec3(2.0);
    plain.set_wind(wind), other.set_wind(rotate(r, wind));
    auto start = in_motion(plain, dice);
    plain.reset(start);
    start.position = rotate(r, start.position);
    start.velocity = rotate(r, start.velocity);
    start.attitude = r * start.attitude;
    other.reset(start);
    for (int i = 0; i < 500; ++i) {
      plain.step(command(i), 1e-3);
      other.step(command(i), 1e-3);
    }
    CHECK(distance(other.state().position, rotate(r, plain.state().position)) <= 1e-10);
    CHECK(distance(other.state().velocity, rotate(r, plain.state().velocity)) <= 1e-10);
    CHECK(distance_of(other.state().attitude, r * plain.state().attitude) <= 1e-10);
    CHECK(distance(other.state().body_rates, plain.state().body_rates) <= 1e-9);
    CHECK(distance(other.imu().specific_force, plain.imu().specific_force) <= 1e-8);
    CHECK(distance(plain.state().velocity, start.velocity) > 0.1);
  }
}

TEST_CASE("a mirrored vehicle with reversed spins flies the mirrored path", "[multicopter]") {
  const auto vehicle = everything();
  auto image = vehicle;
  for (auto& rotor : image.rotors) {
    rotor.position = mirrored(rotor.position);
    rotor.axis = mirrored(rotor.axis);
    rotor.spin = -rotor.spin;
  }
  for (const auto& [i, j] : {std::pair{0, 1}, std::pair{1, 2}}) {
    image.body.inertia(i, j) *= -1.0;
    image.body.inertia(j, i) *= -1.0;
  }
  image.imu.position = mirrored(image.imu.position);
  Uav plain(vehicle, quiet());
  Uav other(image, quiet());
  Dice dice(53);
  const auto wind = dice.vec3(2.0);
  plain.set_wind(wind), other.set_wind(mirrored(wind));
  auto start = in_motion(plain, dice);
  plain.reset(start);
  start.position = mirrored(start.position);
  start.velocity = mirrored(start.velocity);
  start.attitude = mirrored(start.attitude);
  start.body_rates = axially_mirrored(start.body_rates);
  other.reset(start);
  for (int i = 0; i < 500; ++i) {
    plain.step(command(i), 1e-3);
    other.step(command(i, -1.0), 1e-3);
  }
  CHECK(distance(other.state().position, mirrored(plain.state().position)) <= 1e-10);
  CHECK(distance(other.state().velocity, mirrored(plain.state().velocity)) <= 1e-10);
  CHECK(distance_of(other.state().attitude, mirrored(plain.state().attitude)) <= 1e-10);
  CHECK(distance(other.state().body_rates, axially_mirrored(plain.state().body_rates)) <= 1e-9);
  CHECK(distance(other.imu().specific_force, mirrored(plain.imu().specific_force)) <= 1e-8);
  for (int i = 0; i < 4; ++i) {
    CHECK(other.state().rotor_speeds[i] == Approx(plain.state().rotor_speeds[i]).epsilon(1e-9));
  }
}

TEST_CASE("acceleration is specific force plus gravity", "[multicopter]") {
  auto vehicle = everything();
  vehicle.imu.position = {};
  Uav uav(vehicle, quiet());
  Dice dice(54);
  uav.set_wind(dice.vec3(3.0));
  uav.reset(in_motion(uav, dice));
  for (int n = 0; n < 50; ++n) {
    uav.step(command(n), 1e-3);
    const auto specific_force_W = rotate(uav.state().attitude, uav.imu().specific_force);
    CHECK(distance(uav.derivative().velocity, specific_force_W + vehicle.body.gravity) <= 1e-11);
  }
}

TEST_CASE("symplectic Euler conserves its modified energy in free fall", "[multicopter]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag.translational = 0.0;
  Uav uav(vehicle, quiet(pw::Integrator::symplectic_euler));
  Uav::State start{};
  start.velocity = {0.0, 0.0, 10.0};
  start.rotor_speeds = {};
  uav.reset(start);
  const double dt = 0.01;
  const double g = 9.81;
  const auto energy = [&] {
    const double v = uav.state().velocity.z;
    return 0.5 * v * v + g * uav.state().position.z;
  };
  // with constant gravity, v^2/2 + g z - g v dt/2 is conserved exactly
  const double own = energy() - 0.5 * g * dt * 10.0;
  double worst = 0.0;
  for (int n = 0; n < 200; ++n) {
    uav.step(pw::RotorSpeeds<4>{}, dt);
    CHECK(energy() - 0.5 * g * dt * uav.state().velocity.z == Approx(own).epsilon(1e-12));
    worst = std::max(worst, std::abs(energy() - 50.0));
  }
  CHECK(worst <= 0.5 * g * dt * 20.0);
}

}  // namespace test_multicopter_laws
