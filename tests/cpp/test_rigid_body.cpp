// Rigid body with rotor momentum, (8), (9), (12) to (14): conservation, closed forms, choice of
// axes.
#include <algorithm>
#include <propwash/integrate/integrate.hpp>
#include <propwash/vehicle/make_model.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_rigid_body {

namespace pw = propwash;

namespace {

using Model = pw::MulticopterModel<double, 4, pw::GeneralShape>;
using State = pw::MulticopterState<double, 4>;
using Input = pw::MulticopterInput<double, 4>;

/// Rotors that spin without thrust, no drag, no gravity: no external forces.
pw::VehicleParameters isolated(const pw::Vec3<double>& principal_moments) {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.gravity = {};
  vehicle.body.inertia =
      pw::Mat3<double>::diagonal(principal_moments.x, principal_moments.y, principal_moments.z);
  vehicle.drag.translational = 0.0;
  vehicle.drag.rotational = {};
  for (auto& rotor : vehicle.rotors) {
    rotor.thrust_coefficient = 0.0;
    rotor.torque_coefficient = 0.0;
  }
  return vehicle;
}

State fly(const Model& model, State x, const Input& input, double duration, int steps) {
  const double dt = duration / steps;
  const auto f = [&](const State& s) { return pw::multicopter_derivative(model, s, input); };
  for (int n = 0; n < steps; ++n) x = pw::projected(model, pw::Rk4{}(f, x, dt));
  return x;
}

pw::Vec3<double> momentum_in_world(const Model& model, const State& x) {
  const auto rotors = pw::rotor_wrench(model.rotors, x.rotor_speeds, x.rotor_speeds);
  return rotate(x.attitude, pw::angular_momentum(model.body, x.body_rates, rotors.momentum_B));
}

double energy(const Model& model, const State& x) {
  return 0.5 * dot(x.body_rates, model.body.inertia * x.body_rates) +
         0.5 * model.body.mass * squared_norm(x.velocity);
}

State tumbling() {
  State x;
  x.velocity = {1.0, -2.0, 0.5};
  x.body_rates = {3.0, 5.0, -2.0};
  x.rotor_speeds = {{2000.0, 500.0, 1500.0, 100.0}};
  return x;
}

Input held(const State& x) {
  Input input;
  input.command = x.rotor_speeds;
  return input;
}

/// The order of convergence, from 400 and 800 steps.
template <class Error>
double order(const Error& error) {
  return std::log2(error(400) / error(800));
}

}  // namespace

TEST_CASE("a free asymmetric body with spinning rotors conserves momentum and energy",
          "[rigid body]") {
  // tilted rotors: their momentum has all components
  auto vehicle = isolated({0.004, 0.006, 0.009});
  Dice dice(41);
  for (auto& rotor : vehicle.rotors) {
    rotor.axis = dice.unit_vec3();
    rotor.inertia = 5e-6;
  }
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  const State start = tumbling();
  const auto momentum = momentum_in_world(model, start);
  const double e = energy(model, start);
  // the rotors' contribution must be significant for the test
  const auto rotors = pw::rotor_wrench(model.rotors, start.rotor_speeds, start.rotor_speeds);
  REQUIRE(norm(rotors.momentum_B) > 0.1 * norm(momentum));

  const auto momentum_error = [&](int steps) {
    const State end = fly(model, start, held(start), 4.0, steps);
    return distance(momentum_in_world(model, end), momentum) / norm(momentum);
  };
  const auto energy_error =
      [&](int steps) {  // the maximum of eight, because the error may change sign near one
        State x = start;
        double worst = 0.0;
        for (int part = 0; part < 8; ++part) {
          x = fly(model, x, held(start), 0.5, steps / 8);
          worst = std::max(worst, std::abs(energy(model, x) - e) / e);
        }
        return worst;
      };
  CHECK(momentum_error(400) < 1e-5);
  CHECK(energy_error(400) < 1e-5);
  CHECK(order(momentum_error) >= 3.8);
  CHECK(order(energy_error) >= 3.8);
  CHECK(momentum_error(12800) < 1e-11);
  CHECK(energy_error(12800) < 1e-11);

  const State end = fly(model, start, held(start), 4.0, 400);
  CHECK(distance(end.position, start.velocity * 4.0) <= 1e-12);
  CHECK(std::abs(squared_norm(end.attitude) - 1.0) <= 1e-14);
  // it tumbled
  CHECK(distance(end.body_rates, start.body_rates) > 1.0);
}

TEST_CASE("accelerating rotors take their momentum from the body", "[rigid body]") {
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(isolated({0.004, 0.006, 0.009}));
  State start = tumbling();
  Input input;
  input.command = {{100.0, 2000.0, 0.0, 1800.0}};
  const auto momentum = momentum_in_world(model, start);
  const auto error = [&](int steps) {
    const State end = fly(model, start, input, 1.0, steps);
    return distance(momentum_in_world(model, end), momentum) / norm(momentum);
  };
  CHECK(order(error) >= 3.8);
  CHECK(error(6400) < 1e-11);
  // for a body at rest there is a closed form: its rate is minus the rotors' momentum / inertia
  start.body_rates = {};
  start.rotor_speeds = {};
  input.command = {{1000.0, 0.0, 1000.0, 0.0}};
  const State end = fly(model, start, input, 1.0, 1000);
  const auto vehicle = isolated({0.004, 0.006, 0.009});
  const double spun = 2.0 * pw::rotor_momentum(vehicle.rotors[0], 1000.0);
  CHECK(end.body_rates.z == Approx(-spun / 0.009).epsilon(1e-9));
}

TEST_CASE("a symmetric top precesses at the rate of the closed form", "[rigid body]") {
  const double jx = 0.005;
  const double jz = 0.008;
  const auto vehicle = isolated({jx, jx, jz});
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  State x;
  x.body_rates = {0.5, 0.0, 4.0};
  x.rotor_speeds = {{2000.0, 300.0, 1700.0, 0.0}};
  double h = 0.0;
  for (int i = 0; i < 4; ++i) {
    h += pw::rotor_momentum(vehicle.rotors[static_cast<std::size_t>(i)], x.rotor_speeds[i]);
  }
  const double rate = ((jz - jx) * x.body_rates.z + h) / jx;
  REQUIRE(std::abs(h) > 0.5 * (jz - jx) * x.body_rates.z);
  const State end = fly(model, x, held(x), 2.0, 4000);
  CHECK(end.body_rates.x == Approx(0.5 * std::cos(rate * 2.0)).margin(1e-10));
  CHECK(end.body_rates.y == Approx(0.5 * std::sin(rate * 2.0)).margin(1e-10));
  CHECK(end.body_rates.z == Approx(4.0).epsilon(1e-13));
}

TEST_CASE("a full inertia equals a diagonal one in other axes", "[rigid body]") {
  Dice dice(42);
  for (int n = 0; n < 5; ++n) {
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.body.inertia = pw::Mat3<double>::diagonal(0.004, 0.006, 0.009);
    vehicle.drag.rotational = pw::Mat3<double>::diagonal(0.001, 0.002, 0.003);
    for (auto& rotor : vehicle.rotors) {
      const auto axis = dice.vec3(0.3) + pw::Vec3<double>{0.0, 0.0, 1.0};
      rotor.axis = axis * (1.0 / norm(axis));
    }
    auto other = vehicle;  // the same vehicle, described in axes rotated by r
    const auto r = dice.unit_quat();
    other.body.inertia = rotated(r, vehicle.body.inertia);
    other.drag.rotational = rotated(r, vehicle.drag.rotational);
    for (auto& rotor : other.rotors) {
      rotor.position = rotate(r, rotor.position);
      rotor.axis = rotate(r, rotor.axis);
    }
    const State x = tumbling();
    State y = x;
    y.body_rates = rotate(r, x.body_rates);
    y.attitude = x.attitude * conjugate(r);
    Input input;
    input.command = {{1000.0, 1100.0, 900.0, 1200.0}};
    const auto a = fly(pw::make_model<double, 4, pw::GeneralShape>(vehicle), x, input, 0.5, 500);
    const auto b = fly(pw::make_model<double, 4, pw::GeneralShape>(other), y, input, 0.5, 500);
    CHECK(distance(a.position, b.position) <= 1e-10);
    CHECK(distance(a.velocity, b.velocity) <= 1e-10);
    CHECK(distance(rotate(r, a.body_rates), b.body_rates) <= 1e-9);
    const auto axis = dice.unit_vec3();
    CHECK(distance(rotate(a.attitude, axis), rotate(b.attitude, rotate(r, axis))) <= 1e-9);
  }
}

TEST_CASE("rotation about the intermediate axis is unstable, about the others stable",
          "[rigid body]") {
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(isolated({0.003, 0.005, 0.007}));
  const auto lowest = [&](int axis) {
    State x;
    x.body_rates = {1e-3, 1e-3, 1e-3};
    x.body_rates[axis] = 10.0;
    double rate = 10.0;
    for (int n = 0; n < 500; ++n) {
      x = fly(model, x, Input{}, 0.01, 10);
      rate = std::min(rate, x.body_rates[axis]);
    }
    return rate;
  };
  CHECK(lowest(0) > 9.99);
  CHECK(lowest(1) < -9.99);
  CHECK(lowest(2) > 9.99);
}

TEST_CASE("the derivative follows the Newton-Euler equations", "[rigid body]") {
  Dice dice(43);
  for (int n = 0; n < 50; ++n) {
    pw::RigidBody<double> body;
    body.mass = dice.uniform(0.1, 3.0);
    body.inverse_mass = 1.0 / body.mass;
    body.inertia = rotated(dice.unit_quat(), pw::Mat3<double>::diagonal(0.004, 0.006, 0.009));
    body.inertia_inverse = inverse(body.inertia);
    body.gravity_W = dice.vec3(9.81);
    const auto force = dice.vec3(10.0);
    const auto torque = dice.vec3(0.1);
    const auto rates = dice.vec3(5.0);
    const auto rotors = dice.vec3(0.01);
    CHECK(distance(pw::linear_acceleration(body, force) * body.mass,
                   force + body.gravity_W * body.mass) <= 1e-12);
    const auto alpha = pw::angular_acceleration(body, torque, rates, rotors);
    const auto momentum = pw::angular_momentum(body, rates, rotors);
    CHECK(distance(body.inertia * alpha + cross(rates, momentum), torque) <= 1e-12);
    // (12) keeps the norm of q, and rotates the body axes at the body rates
    const auto q = dice.unit_quat();
    const auto dq = pw::attitude_rate(q, rates);
    CHECK(std::abs(q.w * dq.w + q.x * dq.x + q.y * dq.y + q.z * dq.z) <= 1e-14);
    const auto v = dice.vec3();
    const double h = 1e-6;
    const auto moved = rotate(normalized(q + dq * h), v) - rotate(normalized(q + dq * -h), v);
    CHECK(distance(moved * (0.5 / h), rotate(q, cross(rates, v))) <= 1e-8);
  }
}

}  // namespace test_rigid_body
