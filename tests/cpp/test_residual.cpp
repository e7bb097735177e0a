// The residual: its reflection, its domain, its derivatives, and vehicles without coefficients.
#include <limits>
#include <propwash/math/dual.hpp>
#include <propwash/model/residual.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <string>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_residual {

namespace pw = propwash;

namespace {

using Vec3 = pw::Vec3<double>;
using Parameters = pw::ResidualParameters<double>;

/// What the residual depends on.
template <class T>
struct Flow {
  pw::Vec3<T> velocity, rates;
  T thrust;
  pw::Vec3<T> torque;
};

template <class T>
pw::ResidualWrench<T> at(const Parameters& residual, const Flow<T>& flow) {
  return pw::residual_wrench(pw::with_inverse_axes(residual), flow.velocity, flow.rates,
                             flow.thrust, flow.torque);
}

/// `distance` semi-axes from the centre of the domain, in a random direction.
Flow<double> flow_at(const Parameters& domain, double distance, Dice& dice) {
  double numbers[10], square = 0.0;
  for (double& x : numbers) x = dice.uniform(-1.0, 1.0), square += x * x;
  for (double& x : numbers) x *= distance / std::sqrt(square);
  const Vec3 v{numbers[0], numbers[1], numbers[2]}, rates{numbers[3], numbers[4], numbers[5]},
      torque{numbers[7], numbers[8], numbers[9]};
  return {cwise_product(v, domain.velocity) + domain.velocity_centre,
          cwise_product(rates, domain.rates), numbers[6] * domain.thrust + domain.thrust_centre,
          cwise_product(torque, domain.torque)};
}

bool is_zero(const pw::ResidualWrench<double>& wrench) {
  return norm(wrench.force_B) == 0.0 && norm(wrench.torque_B) == 0.0;
}

}  // namespace

TEST_CASE("a reflected flight has the reflected residual", "[residual]") {
  auto residual = some_residual();
  residual.velocity_centre.y = 0.0;
  Dice dice(1);
  for (int n = 0; n < 100; ++n) {
    const auto flow = flow_at(residual, dice.uniform(0.0, 1.5), dice);
    // velocity and force are vectors, rates and torque pseudovectors
    const auto vector = [](const Vec3& v) { return Vec3{v.x, -v.y, v.z}; };
    const auto pseudo = [](const Vec3& v) { return Vec3{-v.x, v.y, -v.z}; };
    const auto wrench = at(residual, flow);
    const auto reflected = at(residual, Flow<double>{vector(flow.velocity), pseudo(flow.rates),
                                                     flow.thrust, pseudo(flow.torque)});
    CHECK(distance(reflected.force_B, vector(wrench.force_B)) < 1e-15);
    CHECK(distance(reflected.torque_B, pseudo(wrench.torque_B)) < 1e-15);
  }
}

TEST_CASE("the residual fades to zero outside its domain", "[residual]") {
  const auto residual = some_residual();
  const double edge = std::sqrt(2.0);
  Dice dice(2);
  for (int n = 0; n < 100; ++n) {
    Dice direction = dice;
    const auto along = [&](double distance) {
      Dice same = direction;
      return at(residual, flow_at(residual, distance, same));
    };
    dice.uniform(0.0, 1.0);
    CHECK_FALSE(is_zero(along(1.4)));
    CHECK(is_zero(along(edge * (1.0 + 1e-9))));
    CHECK(is_zero(along(1e9)));
    // continuous, with a continuous derivative
    const double h = 1e-6;
    for (const double place : {1.0, edge}) {
      const Vec3 before = along(place - h).force_B, there = along(place).force_B,
                 after = along(place + h).force_B;
      CHECK(distance(before, after) < 1e-4);
      CHECK(distance(after - there, there - before) < 1e-8);
    }
  }
  const double huge = std::numeric_limits<double>::max();
  CHECK(is_zero(at(residual, Flow<double>{{huge, -huge, huge}, {huge, 0, 0}, huge, {}})));
}

TEST_CASE("within the domain the residual is the polynomial", "[residual]") {
  auto residual = some_residual();
  residual.velocity_centre = {}, residual.thrust_centre = 0.0;
  // at the tip of one axis only a constant, a linear and a quadratic monomial remain
  const auto forward = at(residual, Flow<double>{{4.5, 0, 0}, {}, 0, {}});
  CHECK(forward.force_B.x ==
        Approx(residual.force_x[0] + 0.5 * residual.force_x[1] + 0.25 * residual.force_x[6]));
}

TEST_CASE("derivatives of the residual equal central differences", "[residual]") {
  using Number = pw::Dual<double, 10>;
  const auto residual = some_residual();
  Dice dice(3);
  for (const double distance_from_centre : {0.3, 0.9, 1.2, 1.35}) {
    const auto flow = flow_at(residual, distance_from_centre, dice);
    double numbers[10] = {flow.velocity.x, flow.velocity.y, flow.velocity.z, flow.rates.x,
                          flow.rates.y,    flow.rates.z,    flow.thrust,     flow.torque.x,
                          flow.torque.y,   flow.torque.z};
    const auto wrench_of = [&](const auto* x) {
      using T = std::decay_t<decltype(*x)>;
      return at(residual,
                Flow<T>{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}, x[6], {x[7], x[8], x[9]}});
    };
    Number variables[10];
    for (int i = 0; i < 10; ++i) variables[i] = Number::variable(numbers[i], i);
    const auto exact = wrench_of(variables);
    for (int i = 0; i < 10; ++i) {
      const double x = numbers[i], h = 1e-5;
      numbers[i] = x + h;
      const auto after = wrench_of(numbers);
      numbers[i] = x - h;
      const auto before = wrench_of(numbers);
      numbers[i] = x;
      const Vec3 force = (after.force_B - before.force_B) * (0.5 / h);
      const Vec3 torque = (after.torque_B - before.torque_B) * (0.5 / h);
      const auto& f = exact.force_B;
      const auto& t = exact.torque_B;
      CHECK(distance(force, {f.x.partials[i], f.y.partials[i], f.z.partials[i]}) < 1e-8);
      CHECK(distance(torque, {t.x.partials[i], t.y.partials[i], t.z.partials[i]}) < 1e-8);
    }
  }
}

TEST_CASE("without coefficients every vehicle keeps its bits", "[residual]") {
  for (auto vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::crazyflie()}) {
    pw::Multicopter<4> before{vehicle, quiet()};
    vehicle.residual = some_residual();
    for (auto* odd :
         {&vehicle.residual.force_y, &vehicle.residual.torque_x, &vehicle.residual.torque_z}) {
      for (double& x : *odd) x = 0.0;
    }
    for (auto* even :
         {&vehicle.residual.force_x, &vehicle.residual.force_z, &vehicle.residual.torque_y}) {
      for (double& x : *even) x = 0.0;
    }
    pw::Multicopter<4> after{vehicle, quiet()};
    auto start = before.state();
    start.velocity = {1.0, -2.0, 0.5}, start.body_rates = {0.4, 0.2, -0.3};
    before.set_state(start), after.set_state(start);
    const double speed = 0.6 * vehicle.motor.speed_max[0];
    for (int n = 0; n < 100; ++n) {
      const pw::RotorSpeeds<4> command{{speed, 1.01 * speed, 0.99 * speed, speed}};
      before.step(command, 2e-3), after.step(command, 2e-3);
    }
    CHECK(before.state().position.x == after.state().position.x);
    CHECK(before.state().attitude.y == after.state().attitude.y);
    CHECK(before.state().body_rates.z == after.state().body_rates.z);
  }
}

}  // namespace test_residual
