// The stages of an integrator on a first-order lag are known before the step. Formulations of the
// equations of motion that use this, and internal units, agree with the plain ones.
#include <algorithm>
#include <cmath>
#include <propwash/integrate/euler.hpp>
#include <propwash/integrate/rk4.hpp>
#include <propwash/vehicle/make_model.hpp>
#include <propwash/vehicle/tick.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_decay {

namespace pw = propwash;

namespace {

constexpr double dt = 1.0 / 960.0;
using State = pw::MulticopterState<double, 4>;

/// A random quadcopter that fits ParallelShape.
pw::VehicleParameters some_vehicle(std::uint64_t seed) {
  Dice dice(seed);
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.mass = dice.uniform(0.5, 2.0);
  const double x = dice.uniform(0.003, 0.01);
  const double y = dice.uniform(0.003, 0.01);
  vehicle.body.inertia = pw::Mat3<double>::diagonal(x, y, dice.uniform(0.7, 0.95) * (x + y));
  vehicle.body.gravity = {dice.uniform(-1.0, 1.0), 0.3, -9.5};
  for (auto& rotor : vehicle.rotors) {
    rotor.position = dice.vec3(0.2);
    rotor.thrust_coefficient *= dice.uniform(0.7, 1.4);
    rotor.torque_coefficient *= dice.uniform(0.5, 2.0);
    rotor.inertia *= dice.uniform(0.5, 5.0);
  }
  vehicle.motor.time_constant_up = dice.uniform(0.01, 0.04);
  vehicle.motor.time_constant_down = vehicle.motor.time_constant_up;
  vehicle.drag.translational = dice.uniform(0.05, 0.5);
  vehicle.drag.rotational =
      pw::Mat3<double>::diagonal(dice.uniform(1e-3, 5e-3), dice.uniform(1e-3, 5e-3), 2e-3);
  return vehicle;
}

/// A state with rates of several revolutions per second and very different rotor speeds.
State thrown(Dice& dice) {
  State x;
  x.position = dice.vec3(2.0);
  x.velocity = dice.vec3(8.0);
  x.attitude = dice.unit_quat();
  x.body_rates = dice.vec3(15.0);
  for (int i = 0; i < 4; ++i) x.rotor_speeds[i] = dice.uniform(300.0, 1900.0);
  return x;
}

/// The largest difference of vectors, relative to their lengths.
double difference(const State& a, const State& b) {
  const auto relative = [](const pw::Vec3<double>& x, const pw::Vec3<double>& y) {
    return distance(x, y) / (1.0 + norm(x));
  };
  double largest = std::max({relative(a.position, b.position), relative(a.velocity, b.velocity),
                             relative(a.body_rates, b.body_rates)});
  const auto& p = a.attitude;
  const auto& q = b.attitude;
  largest = std::max({largest, std::abs(p.w - q.w), std::abs(p.x - q.x), std::abs(p.y - q.y),
                      std::abs(p.z - q.z)});
  for (int i = 0; i < 4; ++i) {
    largest = std::max(largest, std::abs(a.rotor_speeds[i] - b.rotor_speeds[i]) /
                                    (1.0 + std::abs(a.rotor_speeds[i])));
  }
  return largest;
}

/// Simulates a second of aggressive flight with two formulations: `first` and `second` take a state
/// in rad/s and command, force and torque in SI. Returns the largest difference.
template <class First, class Second>
double largest_difference(std::uint64_t seed, const First& first, const Second& second) {
  Dice dice(seed);
  State a = thrown(dice);
  State b = a;
  double largest = 0.0;
  for (int n = 0; n < 960; ++n) {
    pw::MulticopterInput<double, 4, pw::Zero3> input;
    const double phase = 0.02 * n;
    for (int i = 0; i < 4; ++i) input.command[i] = 1100.0 + 500.0 * std::sin(phase * (i + 1));
    input.force_W = dice.vec3(2.0);
    input.torque_B = dice.vec3(0.05);
    a = first(a, input);
    b = second(b, input);
    largest = std::max(largest, difference(a, b));
  }
  // all terms were significant in this flight
  CHECK(norm(a.body_rates) > 1.0);
  CHECK(norm(a.velocity) > 1.0);
  return largest;
}

using Input = pw::MulticopterInput<double, 4, pw::Zero3>;

template <class Method, class Shape>
auto plain(const pw::VehicleParameters& vehicle) {
  const auto model = pw::make_model<double, 4, Shape>(vehicle);
  return [model](const State& x, const Input& input) {
    return pw::multicopter_step(Method{}, model, x, input, dt);
  };
}

template <class Method>
auto principal(const pw::VehicleParameters& vehicle, bool with_stages) {
  const auto own = pw::make_principal_model<4>(vehicle);
  const auto lag = pw::decay_stages<Method>(own.model.motor[0].rate, dt);
  return [own, lag, with_stages](const State& x, const Input& input) {
    State in = x;
    in.body_rates = x.body_rates * 0.5;
    Input scaled = input;
    scaled.force_W = input.force_W * own.per_force;
    scaled.torque_B = cwise_product(input.torque_B, own.per_torque);
    State out = with_stages ? pw::multicopter_step(Method{}, own.model, lag, in, scaled, dt)
                            : pw::multicopter_step(Method{}, own.model, in, scaled, dt);
    out.body_rates = out.body_rates * 2.0;
    return out;
  };
}

template <class Method>
void check_formulations() {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto vehicle = some_vehicle(seed);
    const auto parallel = plain<Method, pw::ParallelShape>(vehicle);
    CAPTURE(seed);
    CHECK(largest_difference(seed, parallel, principal<Method>(vehicle, true)) < 1e-12);
    CHECK(largest_difference(seed, parallel, principal<Method>(vehicle, false)) < 1e-12);
    CHECK(largest_difference(seed, plain<Method, pw::GeneralShape>(vehicle),
                             principal<Method>(vehicle, true)) < 1e-12);
  }
}

/// Compares decay_stages with the stages and the result of the integrator's step.
template <class Method>
void check_stages() {
  for (const double rate : {3.0, 50.0, 300.0}) {
    const auto stages = pw::decay_stages<Method>(rate, dt);
    CHECK(stages.factor[0] == 1.0);
    int stage = 0;
    const double start = 730.0;
    const double end = Method{}(
        [&](double x) {
          CHECK(x == Approx(start * stages.factor[stage]).epsilon(1e-15));
          CHECK(-rate * x == Approx(start * stages.slope[stage]).epsilon(1e-15));
          ++stage;
          return -rate * x;
        },
        start, dt);
    CHECK(end == Approx(start * stages.end).epsilon(1e-15));
  }
}

/// How the error of one step of a decay shrinks when the step is halved.
template <class Method>
double local_order(double dt_long) {
  const auto error = [](double h) {
    return std::abs(pw::decay_stages<Method>(1.0, h).end - std::exp(-h));
  };
  return std::log2(error(dt_long) / error(0.5 * dt_long));
}

}  // namespace

TEST_CASE("the stages of a lag equal the integrator's", "[decay]") {
  check_stages<pw::Euler>();
  check_stages<pw::Rk4>();
}

TEST_CASE("a lag follows the exponential to the integrator's order", "[decay]") {
  // the error of one step has one order more than the method
  CHECK(local_order<pw::Euler>(0.01) == Approx(2.0).margin(0.02));
  CHECK(local_order<pw::Rk4>(0.1) == Approx(5.0).margin(0.1));
}

TEST_CASE("known stages give the rotor speeds of the plain step", "[decay]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto model = pw::make_model<double, 4, pw::ParallelShape>(vehicle);
  const auto check = [&](auto method) {
    using Method = decltype(method);
    const auto lag = pw::decay_stages<Method>(model.motor[0].rate, dt);
    Dice dice(7);
    for (int n = 0; n < 100; ++n) {
      const State x = thrown(dice);
      Input input;
      for (int i = 0; i < 4; ++i) input.command[i] = dice.uniform(0.0, 2200.0);
      const State with = pw::multicopter_step(method, model, lag, x, input, dt);
      const State without = pw::multicopter_step(method, model, x, input, dt);
      REQUIRE(difference(with, without) < 1e-13);
      REQUIRE(std::abs(with.rotor_speeds[0] - x.rotor_speeds[0]) > 0.0);
    }
  };
  check(pw::Euler{});
  check(pw::Rk4{});
}

TEST_CASE("internal units and known stages do not change a flight", "[decay]") {
  // three random vehicles, noise in force and torque, one second each
  SECTION("Euler") { check_formulations<pw::Euler>(); }
  SECTION("RK4") { check_formulations<pw::Rk4>(); }
}

}  // namespace test_decay
