// Energy and momentum of a vehicle: what the equations of motion conserve, and the work of motors
// and forces where they do not.
#include <propwash/integrate/rk4.hpp>
#include <propwash/vehicle/energy.hpp>
#include <propwash/vehicle/make_model.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_energy {

namespace pw = propwash;

namespace {

using State = pw::MulticopterState<double, 4>;
using Input = pw::MulticopterInput<double, 4>;

/// A vehicle in empty space, with tilted rotors of visible inertia.
pw::VehicleParameters in_vacuum() {
  auto vehicle = pw::vehicles::flightgoggles();
  Dice dice(1);
  vehicle.body.inertia = rotated(dice.unit_quat(), pw::Mat3<double>::diagonal(0.004, 0.005, 0.007));
  vehicle.drag = {};
  for (auto& rotor : vehicle.rotors) {
    const auto axis = dice.vec3(0.3) + pw::Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
    rotor.thrust_coefficient = rotor.torque_coefficient = 0.0;
    rotor.inertia = 3e-5;
  }
  return vehicle;
}

State tumbling() {
  State state;
  state.position = {1.0, -2.0, 3.0};
  state.velocity = {2.0, 1.0, 4.0};
  state.attitude = pw::from_axis_angle(pw::Vec3<double>{0.6, 0.0, 0.8}, 0.7);
  state.body_rates = {3.0, -5.0, 2.0};
  return state;
}

/// State and the work of the motors, integrated together.
struct WithWork {
  State state{};
  double work = 0.0;  // J
  friend WithWork operator+(const WithWork& a, const WithWork& b) {
    return {a.state + b.state, a.work + b.work};
  }
  friend WithWork operator*(const WithWork& a, double s) { return {a.state * s, a.work * s}; }
};

/// The flight of a vehicle for `time` [s] in steps of dt.
WithWork flown(const pw::VehicleParameters& vehicle, const State& start, const Input& input,
               double time, double dt) {
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  const auto f = [&](const WithWork& x) {
    WithWork rate{multicopter_derivative(model, x.state, input), 0.0};
    for (int i = 0; i < 4; ++i) {
      // the motor accelerates the rotor relative to the body, which accelerates too
      const auto& rotor = vehicle.rotors[static_cast<std::size_t>(i)];
      const double torque = rotor.inertia * (rate.state.rotor_speeds[i] +
                                             rotor.spin * dot(rotor.axis, rate.state.body_rates));
      rate.work += torque * x.state.rotor_speeds[i];
    }
    return rate;
  };
  WithWork x{start, 0.0};
  for (int n = 0; n < static_cast<int>(time / dt + 0.5); ++n) x = pw::Rk4{}(f, x, dt);
  return x;
}

}  // namespace

TEST_CASE("a body with resting rotors conserves its energy", "[energy]") {
  const auto vehicle = in_vacuum();
  const State start = tumbling();
  const auto before = energy(vehicle, start);
  CHECK(before.translational == Approx(0.5 * vehicle.body.mass * 21.0));
  CHECK(before.potential == Approx(vehicle.body.mass * 9.81 * 3.0));
  CHECK(before.rotors == 0.0);
  const auto drift = [&](double dt) {
    return energy(vehicle, flown(vehicle, start, {}, 1.0, dt).state).total() - before.total();
  };
  CHECK(std::abs(drift(1e-3)) <= 1e-9 * before.total());
  // not a constant by construction: the error has the order of the method or one more
  CHECK(std::abs(drift(0.02)) > 8.0 * std::abs(drift(0.01)));
  CHECK(std::abs(drift(0.01)) > 1e-12);
  // the parts are not constant
  const auto after = energy(vehicle, flown(vehicle, start, {}, 1.0, 1e-3).state);
  CHECK(std::abs(after.potential - before.potential) > 1.0);
}

TEST_CASE("motors do not change the angular momentum, and gravity alone the linear one",
          "[energy]") {
  const auto vehicle = in_vacuum();
  State start = tumbling();
  start.rotor_speeds = {500.0, 900.0, 1200.0, 100.0};
  Input input;
  input.command = {1500.0, 300.0, 1000.0, 900.0};
  const auto before = momentum(vehicle, start);
  const State end = flown(vehicle, start, input, 0.5, 1e-4).state;
  const auto after = momentum(vehicle, end);
  const auto impulse = vehicle.body.gravity * (0.5 * vehicle.body.mass);
  CHECK(distance(after.linear_W, before.linear_W + impulse) <= 1e-12);
  CHECK(distance(after.angular_W, before.angular_W) <= 1e-10);
  CHECK(norm(before.angular_W) > 0.01);
  CHECK(distance(end.body_rates, start.body_rates) > 1.0);
  // that of the body alone is not constant
  auto stopped = end;
  stopped.rotor_speeds = {};
  auto resting = start;
  resting.rotor_speeds = {};
  CHECK(distance(momentum(vehicle, stopped).angular_W, momentum(vehicle, resting).angular_W) >
        1e-3);
}

TEST_CASE("the energy changes by the work of the motors", "[energy]") {
  const auto vehicle = in_vacuum();
  State start = tumbling();
  start.rotor_speeds = {500.0, 900.0, 1200.0, 100.0};
  Input input;
  input.command = {1500.0, 300.0, 1000.0, 900.0};
  const auto end = flown(vehicle, start, input, 0.5, 1e-4);
  const double gained = energy(vehicle, end.state).total() - energy(vehicle, start).total();
  CHECK(gained == Approx(end.work).epsilon(1e-9));
  CHECK(std::abs(end.work) > 1.0);
}

TEST_CASE("an external force and torque do work", "[energy]") {
  auto vehicle = in_vacuum();
  State start = tumbling();
  Input input;
  input.force_W = {0.3, -0.2, 0.1};
  const State end = flown(vehicle, start, input, 1.0, 1e-3).state;
  const double gained = energy(vehicle, end).total() - energy(vehicle, start).total();
  CHECK(gained == Approx(dot(input.force_W, end.position - start.position)).epsilon(1e-9));
}

TEST_CASE("float has the energy and momentum of double", "[energy]") {
  const auto vehicle = in_vacuum();
  State state = tumbling();
  state.rotor_speeds = {500.0, 900.0, 1200.0, 100.0};
  const pw::MulticopterState<float, 4> same{pw::cast<float>(state.position),
                                            pw::cast<float>(state.velocity),
                                            pw::cast<float>(state.attitude),
                                            pw::cast<float>(state.body_rates),
                                            {{500.0F, 900.0F, 1200.0F, 100.0F}}};
  const auto expected = energy(vehicle, state);
  const auto found = energy(vehicle, same);
  CHECK(static_cast<double>(found.total()) == Approx(expected.total()).epsilon(1e-6));
  CHECK(static_cast<double>(found.rotors) == Approx(expected.rotors).epsilon(1e-6));
  CHECK(distance(pw::cast<double>(momentum(vehicle, same).angular_W),
                 momentum(vehicle, state).angular_W) <= 1e-6);
}

TEST_CASE("energy and momentum refuse another number of rotors", "[energy]") {
  const auto vehicle = pw::vehicles::hexacopter();
  CHECK_THROWS_AS(energy(vehicle, State{}), std::invalid_argument);
  CHECK_THROWS_AS(momentum(vehicle, State{}), std::invalid_argument);
}

}  // namespace test_energy
