// Inflow: blade element and momentum theory, limits, damping, drag and flapping of the rotors,
// trim.
#include <propwash/control/outer_loop_parameters.hpp>
#include <propwash/model/inflow.hpp>
#include <propwash/vehicle/linearize.hpp>
#include <propwash/vehicle/trim.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_inflow {

namespace pw = propwash;

namespace {

using Uav = pw::Multicopter<4>;
const pw::Vec3<double> up{0.0, 0.0, 1.0};

/// A rotor of untwisted blades with uniform inflow (docs/model/inflow.md).
struct BladeElementRotor {
  double radius = 0.12;                // m
  double slope_solidity = 5.7 * 0.11;  // lift slope times solidity
  double pitch = 0.21;                 // rad
  double density = 1.2;                // kg/m^3

  double area() const { return pi() * radius * radius; }
  double thrust_coefficient(double inflow, double advance) const {
    return 0.5 * slope_solidity * (pitch / 3.0 * (1.0 + 1.5 * advance * advance) - 0.5 * inflow);
  }
  /// The inflow ratio, by bisection of momentum theory.
  double inflow(double climb, double advance) const {
    // below zero if the flow across the disc leaves too little induced flow against a descent
    const double induced_at_zero = thrust_coefficient(0.0, advance) / (2.0 * advance);
    double low = climb + induced_at_zero < 0.0 ? climb : std::max(climb, 0.0), high = 1.0;
    for (int n = 0; n < 200; ++n) {
      const double x = 0.5 * (low + high);
      const double induced =
          thrust_coefficient(x, advance) / (2.0 * std::sqrt(advance * advance + x * x));
      (x < climb + induced ? low : high) = x;
    }
    return 0.5 * (low + high);
  }
  /// N, at a speed of the rotor [rad/s] and of the flow along and across its axis [m/s].
  double thrust(double speed, double axial, double lateral) const {
    const double tip = speed * radius;
    const double advance = lateral / tip;
    return density * area() * tip * tip * thrust_coefficient(inflow(axial / tip, advance), advance);
  }
  double hover_inflow() const { return inflow(0.0, 0.0); }
  double k() const { return thrust(1.0, 0.0, 0.0); }
  /// The coefficients of docs/model/inflow.md.
  pw::InflowParameters<double> parameters() const {
    const double x = hover_inflow();
    const double common = density * area() * slope_solidity / (16.0 * x + slope_solidity);
    return {2.0 * radius * x * common, (1.0 + 4.0 * pitch * x) * common};
  }
  pw::InflowParameters<double> per_thrust() const {
    const auto c = parameters();
    return {c.axial / k(), c.translational / k()};
  }
  /// The same for the blades alone, with momentum theory for the induced velocity.
  pw::InflowParameters<double> of_blades_per_thrust() const {
    const double common = density * area() * slope_solidity / 4.0;
    return {radius * common / k(), pitch * common / k(), radius};
  }
};

/// A rotor in the density of the model.
BladeElementRotor rotor_in_standard_air() {
  BladeElementRotor rotor;
  rotor.density = pw::air_density;
  return rotor;
}

/// A body without drag and gravity, with inflow.
pw::VehicleParameters drifting_vehicle() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.gravity = {};
  vehicle.drag = {};
  vehicle.inflow = {2e-4, 3e-3};
  return vehicle;
}

}  // namespace

TEST_CASE("the terms are the expansion of blade element and momentum theory", "[inflow]") {
  const BladeElementRotor rotor;
  const double k = rotor.k();
  for (const double speed : {200.0, 700.0}) {  // the same coefficients at all rotor speeds
    const double induced = rotor.hover_inflow() * rotor.radius * speed;
    CHECK(rotor.thrust(speed, 0.0, 0.0) == Approx(k * speed * speed));
    const auto error = [&](double axial, double lateral) {
      const pw::Vec3<double> hub{lateral, 0.0, axial};
      const double change = pw::inflow_change(rotor.per_thrust(), up, speed, hub);
      return std::abs(k * (speed * speed + change) - rotor.thrust(speed, axial, lateral));
    };
    const double hover = k * speed * speed;
    // the error of the axial term is of second order, that of the lateral term of fourth
    CHECK(error(0.1 * induced, 0.0) < 0.01 * hover);
    CHECK(error(0.1 * induced, 0.0) / error(0.05 * induced, 0.0) == Approx(4.0).epsilon(0.05));
    CHECK(error(0.0, 0.2 * induced) < 0.01 * hover);
    CHECK(error(0.0, 0.2 * induced) / error(0.0, 0.1 * induced) == Approx(16.0).epsilon(0.05));
    // within 5 % of the thrust in hover up to half the induced velocity
    for (const double fraction : {-0.5, 0.5}) CHECK(error(fraction * induced, 0.0) < 0.05 * hover);
    CHECK(error(0.0, 0.5 * induced) < 0.05 * hover);
  }
}

TEST_CASE("with a radius the induced velocity is that of momentum theory", "[inflow]") {
  const auto rotor = rotor_in_standard_air();
  const auto inflow = rotor.of_blades_per_thrust();
  const double hover = pw::induced_in_hover(inflow.radius, rotor.k());
  CHECK(hover == Approx(rotor.hover_inflow() * rotor.radius));
  CHECK(pw::induced_in_hover(0.0, rotor.k()) == 0.0);
  const double speed = 700.0, induced = hover * speed, still = rotor.k() * speed * speed;
  for (const double climb : {-0.4, 0.0, 0.5, 1.0}) {
    for (const double lateral : {0.0, 0.5, 1.0, 2.0, 4.0}) {
      CAPTURE(climb, lateral);
      const pw::Vec3<double> hub{0.6 * lateral * induced, -0.8 * lateral * induced,
                                 climb * induced};
      const double excess = pw::induced_excess(inflow, hover, up, speed, hub);
      const double change = pw::inflow_change(inflow, up, speed, hub, excess);
      const double tip = speed * rotor.radius;
      const double through = tip * rotor.inflow(hub.z / tip, lateral * induced / tip);
      CHECK(std::abs(hub.z + induced + excess - through) < 0.02 * induced);
      const double thrust = std::min(rotor.thrust(speed, hub.z, lateral * induced), 2.0 * still);
      CHECK(std::abs(rotor.k() * change + still - thrust) < 0.01 * still);
      // the torque changes by that of the power of the thrust
      const double power = thrust * through - still * induced;
      const double torque = pw::induced_torque(hover, up, speed, hub, change, excess);
      CHECK(std::abs(rotor.k() * torque * speed - power) < 0.03 * still * induced);
      // a rotor that spins backwards is the reflected rotor
      const pw::Vec3<double> reflected{hub.x, hub.y, -hub.z};
      CHECK(pw::induced_excess(inflow, hover, up, -speed, reflected) == -excess);
      CHECK(pw::induced_torque(hover, up, -speed, reflected, -change, -excess) == -torque);
    }
  }
  CHECK(pw::induced_excess(inflow, hover, up, 0.0, pw::Vec3<double>{}) == 0.0);
  CHECK(pw::induced_torque(hover, up, 0.0, pw::Vec3<double>{}, 0.0, 0.0) == 0.0);
}

TEST_CASE("rotor drag opposes the flow across the axis and grows with rotor speed", "[inflow]") {
  Dice dice(63);
  pw::InflowParameters<double> inflow{};
  inflow.drag = 2e-5, inflow.axial_drag = 3e-3, inflow.flapping = 4e-6;
  for (int n = 0; n < 1000; ++n) {
    const auto axis = dice.unit_vec3();
    const double speed = dice.uniform(-2e3, 2e3);
    const auto hub = dice.vec3(20.0);
    const auto force = pw::lateral_rotor_force(inflow, axis, speed, hub);
    CHECK(dot(force, axis) == Approx(0.0).margin(1e-12));
    CHECK(dot(force, hub) <= 1e-12);  // no power from the air at rest
    const auto reflected = hub - axis * (2.0 * dot(hub, axis));
    CHECK(distance(pw::lateral_rotor_force(inflow, axis, -speed, reflected), force) <= 1e-12);
    const auto torque = pw::flapping_torque(inflow, axis, speed, hub);
    CHECK(distance(torque, cross(axis, hub) * (-4e-6 * speed)) <= 1e-12);
  }
  const pw::Vec3<double> level{5.0, 0.0, 0.0}, climbing{5.0, 0.0, 2.0}, falling{5.0, 0.0, -20.0};
  CHECK(pw::lateral_rotor_force(inflow, up, 1e3, level).x == Approx(-0.1));
  CHECK(pw::lateral_rotor_force(inflow, up, 1e3, climbing).x == Approx(-0.13));
  CHECK(pw::lateral_rotor_force(inflow, up, 1e3, falling).x == 0.0);
}

TEST_CASE("lateral motion decays by the drag of the rotors", "[inflow]") {
  auto vehicle = drifting_vehicle();
  vehicle.inflow = {};
  vehicle.inflow.drag = 5e-5;
  const double speed = 800.0, dt = 1e-3;
  const pw::RotorSpeeds<4> command{speed, speed, speed, speed};
  Uav uav(vehicle, quiet());
  auto state = uav.trim();
  state.rotor_speeds = command.speeds;
  const pw::Vec3<double> start{6.0, -2.0, 0.0};
  state.velocity = start;
  uav.reset(state);
  const double thrust = 4.0 * vehicle.rotors[0].thrust_coefficient * speed * speed;
  uav.set_external_wrench({0.0, 0.0, -thrust}, {});
  const double rate = 4.0 * vehicle.inflow.drag * speed / vehicle.body.mass;
  for (int n = 1; n <= 300; ++n) {
    uav.step(command, dt);
    REQUIRE(distance(uav.state().velocity, start * std::exp(-rate * n * dt)) <= 1e-10);
  }
  CHECK(norm(uav.imu().specific_force) == Approx(rate * norm(uav.state().velocity)).epsilon(1e-9));
  // controllers assume the drag of hover
  const auto assumed = pw::rotor_drag_in_hover(pw::vehicles::neurobem());
  CHECK(assumed.linear.x == Approx(4.0 * 3.36e-5 * 1107.0 / 0.772).epsilon(1e-3));
  CHECK(assumed.blow_back == Approx(4.0 * 3.3e-6 * 1107.0).epsilon(1e-3));
}

TEST_CASE("the induced torque of a climb yaws a vehicle with rotors of one spin", "[inflow]") {
  auto vehicle = drifting_vehicle();
  vehicle.body.inertia = pw::Mat3<double>::diagonal(0.01, 0.01, 0.01);
  for (auto& rotor : vehicle.rotors) rotor.spin = 1.0, rotor.inertia = 0.0;
  vehicle.inflow.radius = 0.06;
  const pw::MulticopterModel<double, 4, pw::GeneralShape> model =
      pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  pw::MulticopterState<double, 4> state;
  state.rotor_speeds = {800.0, 800.0, 800.0, 800.0};
  const auto yaw = [&](double climb) {
    state.velocity = {0.0, 0.0, climb};
    pw::MulticopterInput<double, 4, pw::Vec3<double>> input;
    input.command = state.rotor_speeds;
    return pw::multicopter_derivative(model, state, input).body_rates.z;
  };
  const auto& rotor = vehicle.rotors[0];
  CHECK(yaw(0.0) == Approx(-4.0 * rotor.torque_coefficient * 800.0 * 800.0 / 0.01));
  CHECK(std::abs(yaw(-1.0)) < std::abs(yaw(0.0)));
}

TEST_CASE("thrust is neither reversed nor more than doubled", "[inflow]") {
  Dice dice(61);
  for (int n = 0; n < 1000; ++n) {
    const pw::InflowParameters<double> inflow{dice.uniform(0.0, 100.0), dice.uniform(0.0, 1e3)};
    const auto axis = dice.unit_vec3();
    const double speed = dice.uniform(-2e3, 2e3);
    const auto hub = dice.vec3(50.0);
    const double change = pw::inflow_change(inflow, axis, speed, hub);
    CHECK(std::abs(change) <= speed * speed);
    // a rotor that spins backwards has the thrust of the reflected rotor
    CHECK(pw::inflow_change(inflow, -axis, -speed, hub) ==
          Approx(-pw::inflow_change(inflow, -axis, speed, hub - axis * (2.0 * dot(hub, axis)))));
    CHECK(pw::inflow_change(inflow, axis, 0.0, hub) == 0.0);
    CHECK(pw::inflow_change(inflow, axis, speed, pw::Vec3<double>{}) == 0.0);
  }
  // overflow of the square is limited too
  const pw::Vec3<float> fast{1e30f, 0.0f, 1e20f};
  CHECK(pw::inflow_change(pw::InflowParameters<float>{1e8f, 1.0f}, {0.0f, 0.0f, 1.0f}, 100.0f,
                          fast) == 1e4f);
  CHECK(pw::inflow_change(pw::InflowParameters<float>{}, {0.0f, 0.0f, 1.0f}, 100.0f, fast) == 0.0f);
}

TEST_CASE("heave decays exponentially, and flow across the rotors lifts", "[inflow]") {
  const auto vehicle = drifting_vehicle();
  const double speed = 800.0, climb = 0.7, dt = 1e-3;
  const pw::RotorSpeeds<4> command{speed, speed, speed, speed};
  const double thrust = 4.0 * vehicle.rotors[0].thrust_coefficient * speed * speed;
  const double loss = 4.0 * vehicle.inflow.axial * speed;
  Uav uav(vehicle, quiet());
  auto state = uav.trim();
  state.rotor_speeds = command.speeds;
  state.velocity = {0.0, 0.0, climb};
  uav.reset(state);
  uav.set_external_wrench({0.0, 0.0, -thrust}, {});  // balances the thrust at rest
  for (int n = 1; n <= 300; ++n) {
    uav.step(command, dt);
    const double exact = climb * std::exp(-loss * n * dt / vehicle.body.mass);
    REQUIRE(uav.state().velocity.z == Approx(exact).epsilon(1e-11));
  }
  state.velocity = {2.0, -1.0, 0.0};
  uav.reset(state);
  const double gain = 4.0 * vehicle.inflow.translational * 5.0;
  CHECK(uav.imu().specific_force.z * vehicle.body.mass == Approx(gain));
}

TEST_CASE("inflow damps roll and pitch, not yaw", "[inflow]") {
  auto vehicle = drifting_vehicle();
  for (auto& rotor : vehicle.rotors) rotor.position.x *= 1.3;
  vehicle.inflow.translational = 0.0;
  const double speed = 800.0, start = 1.5, dt = 1e-3;
  const pw::RotorSpeeds<4> command{speed, speed, speed, speed};
  for (int axis = 0; axis < 3; ++axis) {
    Uav uav(vehicle, quiet());
    auto state = uav.trim();
    state.rotor_speeds = command.speeds;
    state.body_rates[axis] = start;
    uav.reset(state);
    double squares = 0.0;  // of the lever arms
    for (const auto& rotor : vehicle.rotors) {
      const double arm = cross(rotor.position, rotor.axis)[axis];
      squares += arm * arm;
    }
    const double rate = vehicle.inflow.axial * speed * squares / vehicle.body.inertia(axis, axis);
    for (int n = 1; n <= 100; ++n) {
      uav.step(command, dt);
      REQUIRE(uav.state().body_rates[axis] ==
              Approx(start * std::exp(-rate * n * dt)).epsilon(1e-9));
    }
    CHECK((rate > 0.0) == (axis < 2));
  }
}

TEST_CASE("only the velocity relative to the air matters", "[inflow]") {
  Dice dice(62);
  auto vehicle = drifting_vehicle();
  vehicle.inflow = {2e-4, 3e-3, 0.06, 1e-4, 2e-3, 1e-5};
  const auto wind = dice.vec3(3.0);
  Uav calm(vehicle, quiet()), windy(vehicle, quiet());
  auto state = calm.trim();
  state.rotor_speeds = {700.0, 750.0, 720.0, 690.0};
  state.velocity = dice.vec3(2.0), state.body_rates = dice.vec3(1.0);
  calm.reset(state);
  state.velocity += wind;
  windy.set_wind(wind);
  windy.reset(state);
  for (int n = 0; n < 200; ++n) {
    calm.step(pw::RotorSpeeds<4>{700.0, 740.0, 700.0, 740.0}, 1e-3);
    windy.step(pw::RotorSpeeds<4>{700.0, 740.0, 700.0, 740.0}, 1e-3);
  }
  CHECK(distance(windy.state().velocity, calm.state().velocity + wind) <= 1e-10);
  CHECK(distance(windy.state().body_rates, calm.state().body_rates) <= 1e-10);
  CHECK(distance(windy.imu().specific_force, calm.imu().specific_force) <= 1e-10);
}

TEST_CASE("hover is unchanged, and a trimmed climb needs the speed of its quadratic", "[inflow]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.drag = {};
  const auto hover = pw::trim(vehicle, {}).rotor_speeds[0];
  vehicle.inflow = {2e-4, 3e-3};
  CHECK(pw::trim(vehicle, {}).rotor_speeds[0] == Approx(hover).epsilon(1e-12));
  pw::SteadyFlight flight;
  flight.climb = 2.0;
  const double k = vehicle.rotors[0].thrust_coefficient;
  const double half = 0.5 * vehicle.inflow.axial * flight.climb / k;
  const double exact = half + std::sqrt(half * half + vehicle.body.mass * 9.81 / (4.0 * k));
  CHECK(pw::trim(vehicle, flight).rotor_speeds[0] == Approx(exact).epsilon(1e-9));
  // translational lift saves thrust
  flight = {};
  flight.velocity = 1.0;
  CHECK(pw::trim(vehicle, flight).rotor_speeds[0] < hover);
}

TEST_CASE("the linear model has the derivative of heave", "[inflow]") {
  const auto vehicle = drifting_vehicle();
  pw::LinearizeOptions options;
  options.discrete = false;
  const pw::Linearizer linearizer(vehicle, options);
  pw::MulticopterState<double, pw::Dynamic> state;
  state.rotor_speeds = pw::SmallArray<double>::filled(4, 800.0);
  const auto model = linearizer.at(state, state.rotor_speeds);
  const double expected = -4.0 * vehicle.inflow.axial * 800.0 / vehicle.body.mass;
  CHECK(model.A(5, 5) == Approx(expected).epsilon(1e-12));
  CHECK(model.C(2, 5) == Approx(expected).epsilon(1e-12));  // the accelerometer measures it
}

}  // namespace test_inflow
