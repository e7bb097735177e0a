// Contact with the ground: rest, passivity, friction, landings, convergence, linear models.
#include <propwash/model/contact.hpp>
#include <propwash/vehicle/linearize.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_contact {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Uav = pw::Multicopter<>;
using State = pw::MulticopterState<double, pw::Dynamic>;
constexpr double dt = 1.0 / 960;
constexpr double gravity = 9.81;
constexpr double frequency = 14.0;  // Hz
constexpr double ground = -2.0, leg = 0.03;

double rate() { return 2.0 * pi() * frequency; }
double deflection() { return gravity / (rate() * rate()); }

pw::VehicleParameters on_feet(pw::VehicleParameters vehicle) {
  auto& contact = vehicle.contact;
  contact.frequency = frequency, contact.leg = leg, contact.height = ground;
  return vehicle;
}

std::vector<pw::VehicleParameters> shipped() {
  return {on_feet(pw::vehicles::flightgoggles()), on_feet(pw::vehicles::crazyflie()),
          on_feet(pw::vehicles::blackbird()), on_feet(pw::vehicles::hexacopter()),
          on_feet(pw::vehicles::penguin())};
}

/// Height of the centre of mass of a vehicle that stands level.
double standing(const pw::VehicleParameters& vehicle) {
  return ground + leg - vehicle.rotors[0].position.z - deflection();
}

State at_height(const Uav& uav, double z) {
  State state;
  state.position = {1.0, -2.0, z};
  state.rotor_speeds = pw::SmallArray<double>::filled(uav.rotors(), 0.0);
  return state;
}

void let_go(Uav& uav, double seconds, double speed = 0.0) {
  const auto speeds = pw::SmallArray<double>::filled(uav.rotors(), speed);
  for (int n = 0; n < static_cast<int>(std::lround(seconds / dt)); ++n) {
    uav.step(pw::RotorSpeeds<pw::Dynamic>{speeds}, dt);
  }
}

double tilt(const State& x) {
  return std::acos(std::min(1.0, rotate(x.attitude, pw::Vec3<double>{0.0, 0.0, 1.0}).z));
}

/// Kinetic, potential and spring energy [J] of a vehicle without rotor speeds.
double energy(const pw::VehicleParameters& vehicle, const State& x) {
  const double mass = vehicle.body.mass;
  const auto foot =
      pw::foot_constants(vehicle.contact, mass, static_cast<int>(vehicle.rotors.size()));
  double sum = 0.5 * mass * squared_norm(x.velocity) + mass * gravity * x.position.z +
               0.5 * dot(x.body_rates, vehicle.body.inertia * x.body_rates);
  for (const auto& rotor : vehicle.rotors) {
    const auto arm = rotor.position - pw::Vec3<double>{0.0, 0.0, vehicle.contact.leg};
    const double depth = vehicle.contact.height - x.position.z - rotate(x.attitude, arm).z;
    if (depth > 0.0) sum += 0.5 * foot.stiffness * depth * depth;
  }
  return sum;
}

constexpr pw::Integrator integrators[] = {pw::Integrator::rk4, pw::Integrator::euler};

}  // namespace

TEST_CASE("a foot pushes, brakes and stays within the friction cone", "[contact]") {
  Dice dice(81);
  const pw::FootConstants<double> foot{2000.0, 30.0, 0.5};
  for (int n = 0; n < 2000; ++n) {
    const auto up = dice.unit_vec3();
    const auto velocity = dice.vec3(std::pow(10.0, dice.uniform(-4.0, 1.0)));
    const double height = dice.uniform(-0.01, 0.002);
    const auto force = pw::foot_force(foot, up, height, velocity);
    const double normal = dot(up, force), spring = 2000.0 * std::max(0.0, -height);
    CHECK(normal >= -1e-12);
    CHECK(normal <= 4.0 * spring * (1.0 + 1e-12));
    const auto tangential = force - up * normal;
    CHECK(norm(tangential) <= 0.5 * normal * (1.0 + 1e-9) + 1e-12);
    // all but the spring takes energy
    CHECK(dot(force - up * spring, velocity) <= 1e-12);
    CHECK(dot(tangential, velocity) <= 1e-12);
    if (height >= 0.0) CHECK(norm(force) == 0.0);
  }
  const Pair height{-0.001, 0.4};
  const auto both = pw::foot_force(foot, pw::Vec3<Pair>{Pair(0.0), Pair(0.0), Pair(1.0)}, height,
                                   pw::Vec3<Pair>{Pair(0.3), Pair(0.0), Pair(-0.1)});
  const auto one = pw::foot_force(foot, pw::Vec3<double>{0.0, 0.0, 1.0}, -0.001,
                                  pw::Vec3<double>{0.3, 0.0, -0.1});
  CHECK(first(both.z) == one.z);
  CHECK(first(both.x) == one.x);
  CHECK(second(both.z) == 0.0);
  CHECK(second(both.x) == 0.0);
}

TEST_CASE("every vehicle stands: weight is balanced and the IMU measures +g", "[contact]") {
  for (const auto& vehicle : shipped()) {
    for (const auto integrator : integrators) {
      INFO(vehicle.name);
      Uav uav(vehicle, quiet(integrator));
      CHECK(pw::validate_time_step(vehicle, integrator, dt).empty());
      uav.reset(at_height(uav, ground + leg));
      let_go(uav, 1.0);
      const auto rest = uav.state();
      // penetration m g / (n k) = g / w^2, whatever the mass
      CHECK(rest.position.z == Approx(standing(vehicle)).epsilon(0.0).margin(1e-9));
      CHECK(distance(uav.imu().specific_force, {0.0, 0.0, gravity}) < 1e-6);
      CHECK(norm(uav.imu().angular_rate) < 1e-9);
      let_go(uav, 2.0);
      CHECK(distance(uav.state().position, rest.position) < 1e-9);  // no drift
      CHECK(tilt(uav.state()) < 1e-9);
    }
  }
}

TEST_CASE("energy never grows, from any attitude and motion", "[contact]") {
  Dice dice(82);
  for (auto vehicle : shipped()) {
    vehicle.contact.friction = 0.3;
    for (const auto integrator : integrators) {
      for (int trial = 0; trial < 8; ++trial) {
        INFO(vehicle.name << ", trial " << trial << ", integrator "
                          << static_cast<int>(integrator));
        Uav uav(vehicle, quiet(integrator));
        auto state = at_height(uav, ground + 0.5);
        state.attitude = dice.unit_quat();
        state.velocity = dice.vec3(3.0);
        state.body_rates = dice.vec3(6.0);
        uav.reset(state);
        const auto speeds = pw::SmallArray<double>::filled(uav.rotors(), 0.0);
        const double start = energy(vehicle, state) - vehicle.body.mass * gravity * ground;
        double before = start;
        double worst = 0.0;
        for (int n = 0; n < 2000; ++n) {
          uav.step(pw::RotorSpeeds<pw::Dynamic>{speeds}, dt);
          const double now = energy(vehicle, uav.state()) - vehicle.body.mass * gravity * ground;
          worst = std::max(worst, (now - before) / start);
          before = std::min(before, now);
        }
        // a step moves a foot into the ground before it brakes: (w dt)^2 of the energy with Euler
        CHECK(worst < (integrator == pw::Integrator::rk4 ? 1e-3 : 7e-3));
        CHECK(norm(uav.state().velocity) < 0.05);
        CHECK(norm(uav.state().body_rates) < 0.5);
      }
    }
  }
}

TEST_CASE("a sliding vehicle decelerates by mu g; within the cone it does not slide away",
          "[contact]") {
  auto vehicle = on_feet(pw::vehicles::flightgoggles());
  vehicle.drag = {};
  vehicle.contact.leg = 0.0;  // forces through the centre of mass: no pitching
  vehicle.contact.friction = 0.4;
  Uav uav(vehicle, quiet());
  auto state = at_height(uav, ground - deflection());
  state.velocity = {1.2, -1.6, 0.0};
  uav.reset(state);
  let_go(uav, 0.25);
  const double speed = norm(uav.state().velocity);
  CHECK(speed == Approx(2.0 - 0.4 * gravity * 0.25).epsilon(0.01));
  CHECK(uav.state().velocity.y / uav.state().velocity.x == Approx(-1.6 / 1.2).epsilon(1e-6));
  let_go(uav, 1.0);
  CHECK(norm(uav.state().velocity) < 1e-6);
  // a force of half the cone: it creeps at force / damping
  const double force = 0.2 * gravity * vehicle.body.mass;
  uav.set_external_wrench({force, 0.0, 0.0}, {});
  let_go(uav, 0.5);
  const double creep = 0.2 * gravity / (2.0 * vehicle.contact.damping * rate());
  CHECK(uav.state().velocity.x == Approx(creep).epsilon(1e-3));
  // a force beyond the cone accelerates
  uav.set_external_wrench({0.6 * gravity, 0.0, 0.0}, {});
  let_go(uav, 0.5);
  CHECK(uav.state().velocity.x == Approx(0.2 * gravity * 0.5).epsilon(0.03));
}

TEST_CASE("a level landing gives no rotation, a tipped one settles flat", "[contact]") {
  for (const auto& vehicle : shipped()) {
    for (const auto integrator : integrators) {
      INFO(vehicle.name);
      Uav uav(vehicle, quiet(integrator));
      auto state = at_height(uav, ground + leg + 0.2);
      uav.reset(state);
      let_go(uav, 1.0);
      CHECK(norm(uav.state().body_rates) < 1e-9);
      CHECK(tilt(uav.state()) < 1e-9);
      CHECK(std::hypot(uav.state().position.x - 1.0, uav.state().position.y + 2.0) < 1e-9);
      for (const double angle : {0.1, 0.4}) {
        state.attitude = pw::from_axis_angle(pw::Vec3<double>{0.6, 0.8, 0.0}, angle);
        uav.reset(state);
        let_go(uav, 3.0);
        CHECK(tilt(uav.state()) < 1e-6);
        CHECK(uav.state().position.z == Approx(standing(vehicle)).epsilon(0.0).margin(1e-6));
        CHECK(norm(uav.state().body_rates) < 1e-6);
      }
    }
  }
}

TEST_CASE("without gravity an impact rebounds with the same fraction of its speed", "[contact]") {
  auto vehicle = on_feet(pw::vehicles::flightgoggles());
  vehicle.drag = {}, vehicle.body.gravity = {};
  for (const double speed : {0.05, 0.5, 5.0}) {
    Uav uav(vehicle, quiet());
    auto state = at_height(uav, ground + leg);
    state.velocity.z = -speed;
    uav.reset(state);
    for (int n = 0; n < 4000; ++n) {
      uav.step(pw::RotorSpeeds<pw::Dynamic>{state.rotor_speeds}, 1e-4);
    }
    CHECK(uav.state().velocity.z == Approx(0.2677 * speed).epsilon(2e-3));  // docs/model/contact.md
  }
}

TEST_CASE("a vehicle takes off above hover speed, and flies as one without contact", "[contact]") {
  for (const auto& vehicle : shipped()) {
    INFO(vehicle.name);
    auto plain = vehicle;
    plain.contact = {};
    Uav uav(vehicle, quiet());
    auto start = at_height(uav, standing(vehicle));
    uav.reset(start);
    const double hover = uav.trim().rotor_speeds[0];
    let_go(uav, 1.0, 0.9 * hover);
    CHECK(uav.state().position.z < ground + leg);
    CHECK(norm(uav.state().velocity) < 1e-6);
    let_go(uav, 1.0, 1.1 * hover);
    CHECK(uav.state().position.z > ground + leg + 0.1);
    CHECK(tilt(uav.state()) < 1e-6);
    Uav other(plain, quiet());
    other.reset(uav.state());
    uav.reset(uav.state());
    for (auto* each : {&uav, &other}) let_go(*each, 0.5, 1.1 * hover);
    CHECK(distance(uav.state().position, other.state().position) < 1e-12);
    CHECK(distance(uav.state().velocity, other.state().velocity) < 1e-12);
  }
}

TEST_CASE("wind moves the air, not the ground", "[contact]") {
  auto vehicle = on_feet(pw::vehicles::flightgoggles());
  Uav uav(vehicle, quiet());
  uav.reset(at_height(uav, standing(vehicle)));
  uav.set_wind({2.0, 1.0, 0.0});
  let_go(uav, 1.0);
  // drag k |v| v, less than friction: creep only
  const double drag = vehicle.drag.translational * 5.0;
  const double creep = drag / (vehicle.body.mass * 2.0 * vehicle.contact.damping * rate());
  CHECK(norm(uav.state().velocity) == Approx(creep).epsilon(0.05));
}

TEST_CASE("during contact the error has the order of the integrator", "[contact]") {
  // stays in contact and sticks: the equations are smooth
  const auto error = [](pw::Integrator integrator, int steps) {
    auto vehicle = on_feet(pw::vehicles::flightgoggles());
    const auto end = [&](pw::Integrator method, int count) {
      Uav uav(vehicle, quiet(method));
      auto state = at_height(uav, standing(vehicle) - 2e-4);
      state.velocity = {0.003, 0.0, 0.01};
      uav.reset(state);
      const auto speeds = pw::SmallArray<double>::filled(uav.rotors(), 0.0);
      for (int n = 0; n < count; ++n) uav.step(pw::RotorSpeeds<pw::Dynamic>{speeds}, 0.05 / count);
      return uav.state();
    };
    const auto exact = end(pw::Integrator::rk4, 3200);
    const auto got = end(integrator, steps);
    return distance(exact.position, got.position) + 0.01 * distance(exact.velocity, got.velocity);
  };
  CHECK(std::log2(error(pw::Integrator::rk4, 50) / error(pw::Integrator::rk4, 100)) > 3.7);
  const auto euler = pw::Integrator::euler;
  CHECK(std::log2(error(euler, 400) / error(euler, 800)) == Approx(1.0).margin(0.15));
}

TEST_CASE("a linear model on the ground has the stiffness and damping of the feet", "[contact]") {
  const auto vehicle = on_feet(pw::vehicles::flightgoggles());
  pw::LinearizeOptions options;
  options.discrete = false;
  const pw::Linearizer linearizer(vehicle, options);
  auto state = linearizer.trim();
  for (auto& speed : state.rotor_speeds) speed = 0.0;
  state.position.z = standing(vehicle);
  const auto model = linearizer.at(state, state.rotor_speeds);
  CHECK(model.A(5, 2) == Approx(-rate() * rate()));
  CHECK(model.A(5, 5) == Approx(-2.0 * vehicle.contact.damping * rate()));
  CHECK(model.A(3, 3) == Approx(-2.0 * vehicle.contact.damping * rate()).epsilon(1e-6));
  CHECK(model.drift.segment(3, 3).norm() < 1e-9);
  state.position.z = 3.0;
  CHECK(linearizer.at(state, state.rotor_speeds).A(5, 2) == 0.0);
}

TEST_CASE("a step too long for the contact gives a warning", "[contact]") {
  auto vehicle = on_feet(pw::vehicles::crazyflie());
  CHECK(pw::validate_time_step(vehicle, pw::Integrator::euler, dt).empty());
  CHECK(pw::validate_time_step(vehicle, pw::Integrator::rk4, 0.02).find("contact") !=
        std::string::npos);
  vehicle.contact.frequency = 100.0;
  CHECK_FALSE(pw::validate_time_step(vehicle, pw::Integrator::euler, dt).empty());
}

}  // namespace test_contact
