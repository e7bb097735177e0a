// Ground effect: the formula and its limits, equilibrium height, righting moment, lanes.
#include <propwash/model/ground_effect.hpp>
#include <propwash/vehicle/linearize.hpp>
#include <propwash/vehicle/trim.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_ground_effect {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Uav = pw::Multicopter<4>;
constexpr double radius = 0.12;

double factor(double height, double coefficient = 1.0, double upward = 1.0) {
  const pw::GroundEffectParameters<double> ground{radius, coefficient, 0.0};
  return pw::ground_effect_factor(pw::ground_effect_area(ground), height, upward);
}

pw::VehicleParameters near_ground(double height = 0.0) {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.ground_effect = {radius, 1.0, height};
  return vehicle;
}

}  // namespace

TEST_CASE("the factor is that of Cheeseman and Bennett down to half a radius", "[ground_effect]") {
  Dice dice(71);
  for (int n = 0; n < 200; ++n) {
    const double z = radius * dice.uniform(0.51, 10.0);
    const double ratio = radius / (4.0 * z);
    CHECK(factor(z) == Approx(1.0 / (1.0 - ratio * ratio)).epsilon(1e-13));
    CHECK(factor(z) > factor(z * 1.01));
    // a coefficient is a change of the radius by its root
    const double rho = dice.uniform(0.1, 9.0);
    CHECK(factor(z * std::sqrt(rho), rho) == Approx(factor(z)).epsilon(1e-13));
  }
  for (const double z : {0.5 * radius, 0.2 * radius, 1e-9, 0.0, -1e-9, -3.0}) {
    CHECK(factor(z) == Approx(4.0 / 3.0).epsilon(1e-13));
    CHECK(factor(z, 5.0) == Approx(4.0 / 3.0).epsilon(1e-13));
  }
  CHECK(factor(1e3) == Approx(1.0).epsilon(1e-8));
  for (const double z : {-1.0, 0.0, 1e-4, 1.0}) {
    CHECK(factor(z, 0.0) == 1.0);  // exactly: no change for a vehicle without it
    CHECK(factor(z, 1.0, 0.0) == 1.0);
    CHECK(factor(z, 1.0, -1.0) == 1.0);  // the wash of an inverted rotor goes up
  }
  // the distance along the axis of a tilted rotor is longer
  CHECK(factor(0.2, 1.0, std::cos(0.3)) == Approx(factor(0.2 / std::cos(0.3))));
}

TEST_CASE("lanes do not affect each other", "[ground_effect]") {
  const double area = radius * radius / 16.0;
  const Pair height{0.1, -5.0}, upward{1.0, -0.3};
  const auto both = pw::ground_effect_factor(area, height, upward);
  CHECK(first(both) == factor(0.1));
  CHECK(second(both) == 1.0);
}

TEST_CASE("a vehicle with less than hover speed floats at the height of its factor",
          "[ground_effect]") {
  const double ground = -2.0, gain = 1.05;
  auto vehicle = near_ground(ground);
  vehicle.inflow.axial = 4e-4;  // damps the heave
  Uav uav(vehicle, quiet());
  auto state = uav.trim();
  // z from gain = 1 / (1 - (R / 4z)^2)
  const double exact = ground + 0.25 * radius / std::sqrt(1.0 - 1.0 / gain);
  const double speed = state.rotor_speeds[0] / std::sqrt(gain);
  state.rotor_speeds = {speed, speed, speed, speed};
  for (const double offset : {-0.02, 0.03}) {
    state.position.z = exact + offset;
    uav.reset(state);
    for (int n = 0; n < 20000; ++n) uav.step(pw::RotorSpeeds<4>{speed, speed, speed, speed}, 1e-3);
    CHECK(uav.state().position.z == Approx(exact).epsilon(1e-6));
  }
}

TEST_CASE("hover far from the ground is unchanged, and so is a trim", "[ground_effect]") {
  const auto vehicle = near_ground();
  const auto plain = pw::vehicles::flightgoggles();
  CHECK(pw::trim(vehicle, {}).rotor_speeds[0] ==
        Approx(pw::trim(plain, {}).rotor_speeds[0]).epsilon(1e-12));
  Uav uav(vehicle, quiet()), other(plain, quiet());
  auto state = uav.trim();
  state.position.z = 1e4;
  uav.reset(state), other.reset(state);
  CHECK(distance(uav.imu().specific_force, other.imu().specific_force) <= 1e-9);
  state.position.z = 0.5 * radius;
  uav.reset(state);
  CHECK(uav.imu().specific_force.z == Approx(4.0 / 3.0 * 9.81));
}

TEST_CASE("a tilted vehicle is righted, because its lower rotors gain more", "[ground_effect]") {
  const auto vehicle = near_ground();
  for (int axis = 0; axis < 2; ++axis) {
    for (const double angle : {-0.1, 0.1}) {
      Uav uav(vehicle, quiet());
      auto state = uav.trim();
      pw::Vec3<double> direction{};
      direction[axis] = 1.0;
      state.position.z = 0.15;
      state.attitude = pw::from_axis_angle(direction, angle);
      uav.reset(state);
      uav.step(pw::RotorSpeeds<4>{state.rotor_speeds}, 1e-3);
      CHECK(uav.state().body_rates[axis] * angle < 0.0);
      CHECK(std::abs(uav.state().body_rates[1 - axis]) < 1e-12);
    }
  }
}

TEST_CASE("the linear model has the stiffness of the ground effect", "[ground_effect]") {
  const auto vehicle = near_ground();
  pw::LinearizeOptions options;
  options.discrete = false;
  const pw::Linearizer linearizer(vehicle, options);
  auto state = linearizer.trim();
  const double z = 0.1;
  state.position.z = z;
  const auto model = linearizer.at(state, state.rotor_speeds);
  const double h = 1e-5;
  const double slope = (factor(z + h) - factor(z - h)) / (2.0 * h);
  CHECK(model.A(5, 2) == Approx(9.81 * slope).epsilon(1e-6));
  CHECK(slope < 0.0);
}

}  // namespace test_ground_effect
