// The linear models, compared with central differences of the step and closed forms at hover.
#include <propwash/vehicle/linearize.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_linearize {

namespace pw = propwash;
using State = pw::Linearizer::State;
using Speeds = pw::Linearizer::Speeds;

namespace {

/// A state perturbed in the coordinates of LinearModel.
State moved(State x, int column, double h) {
  if (column < 3) x.position[column] += h;
  if (column >= 3 && column < 6) x.velocity[column - 3] += h;
  if (column >= 6 && column < 9) {
    pw::Vec3<double> axis{};
    axis[column - 6] = 1.0;
    x.attitude = x.attitude * pw::from_axis_angle(axis, h);
  }
  if (column >= 9 && column < 12) x.body_rates[column - 9] += h;
  if (column >= 12) x.rotor_speeds[column - 12] += h;
  return x;
}

/// b minus a, in the same coordinates.
Eigen::VectorXd difference(const State& a, const State& b) {
  const auto rotation = pw::conjugate(a.attitude) * b.attitude;
  const double sign = rotation.w < 0.0 ? -2.0 : 2.0;
  Eigen::VectorXd d(12 + a.rotor_speeds.size());
  for (int i = 0; i < 3; ++i) {
    d(i) = b.position[i] - a.position[i];
    d(3 + i) = b.velocity[i] - a.velocity[i];
    d(9 + i) = b.body_rates[i] - a.body_rates[i];
  }
  d(6) = sign * rotation.x, d(7) = sign * rotation.y, d(8) = sign * rotation.z;
  for (int k = 0; k < a.rotor_speeds.size(); ++k) d(12 + k) = b.rotor_speeds[k] - a.rotor_speeds[k];
  return d;
}

struct Point {
  State state;
  Speeds command;
};

/// Rotor speeds well within the limits, all below their commands.
Point tumbling(int rotors, std::uint64_t seed, double max_speed = 2200.0) {
  Dice dice(seed);
  Point p;
  p.state.position = dice.vec3(), p.state.velocity = dice.vec3(8.0);
  p.state.attitude = dice.unit_quat(), p.state.body_rates = dice.vec3(5.0);
  p.state.rotor_speeds.resize(rotors), p.command.resize(rotors);
  for (int k = 0; k < rotors; ++k) {
    p.state.rotor_speeds[k] = dice.uniform(0.3 * max_speed, 0.45 * max_speed);
    p.command[k] = dice.uniform(0.5 * max_speed, 0.7 * max_speed);
  }
  return p;
}

template <class Method>
State stepped(const pw::VehicleParameters& vehicle, const State& x, const Speeds& command,
              double dt) {
  const auto model = pw::make_model<double, pw::Dynamic, pw::GeneralShape>(vehicle);
  pw::MulticopterInput<double, pw::Dynamic, pw::Zero3, pw::Zero3> input;
  input.command = command;
  return pw::multicopter_step(Method{}, model, x, input, dt);
}

template <class Method>
void require_central_differences(const pw::VehicleParameters& vehicle, pw::Integrator integrator) {
  const double dt = 0.004;
  const pw::Linearizer linearizer(vehicle, {true, integrator, dt});
  const auto p = tumbling(linearizer.rotors(), 5, vehicle.motor.speed_max[0]);
  const auto model = linearizer.at(p.state, p.command);
  const auto states = model.A.rows();
  const auto columns = states + model.B.cols();
  for (int j = 0; j < columns; ++j) {
    const double h = j < 12 ? 1e-5 : 1e-2;
    const auto at = [&](double step) {
      Speeds command = p.command;
      const State x = j < states ? moved(p.state, j, step) : p.state;
      if (j >= states) command[static_cast<int>(j - states)] += step;
      return stepped<Method>(vehicle, x, command, dt);
    };
    const State before = at(-h);
    const State centre = at(0.0);
    const Eigen::VectorXd slope =
        (difference(centre, at(h)) - difference(centre, before)) / (2.0 * h);
    const Eigen::VectorXd exact = j < states ? model.A.col(j) : model.B.col(j - states);
    INFO("column " << j);
    CHECK((slope - exact).cwiseAbs().maxCoeff() <= 1e-7 * (exact.cwiseAbs().maxCoeff() + 1e-3));
  }
}

}  // namespace

TEST_CASE("the Jacobian of a step agrees with central differences", "[linearize]") {
  require_central_differences<pw::Rk4>(pw::vehicles::flightgoggles(), pw::Integrator::rk4);
  require_central_differences<pw::Euler>(pw::vehicles::flightgoggles(), pw::Integrator::euler);
  require_central_differences<pw::Rk4>(pw::vehicles::hexacopter(), pw::Integrator::rk4);
  auto small = pw::vehicles::crazyflie();  // all terms except the delay, which has a separate test
  small.motor.command_delay = 0.0;
  require_central_differences<pw::Rk4>(small, pw::Integrator::rk4);
  require_central_differences<pw::SymplecticEuler>(small, pw::Integrator::symplectic_euler);
}

TEST_CASE("at hover the continuous model has its closed form", "[linearize]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const pw::Linearizer linearizer(vehicle);
  const auto x = linearizer.trim();
  const auto model = linearizer.at(x, x.rotor_speeds);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(16, 16);
  for (int i = 0; i < 3; ++i) expected(i, 3 + i) = expected(6 + i, 9 + i) = 1.0;
  expected(3, 7) = 9.81;
  expected(4, 6) = -9.81;
  const double rate = 1.0 / vehicle.motor.time_constant_up[0];
  const auto& inertia = vehicle.body.inertia;
  for (int k = 0; k < 4; ++k) {
    const auto& rotor = vehicle.rotors[static_cast<std::size_t>(k)];
    const double thrust = 2.0 * rotor.thrust_coefficient * x.rotor_speeds[k];
    const double drag = 2.0 * rotor.torque_coefficient * x.rotor_speeds[k];
    const int column = 12 + k;
    expected(5, column) = thrust / vehicle.body.mass;
    expected(9, column) = rotor.position.y * thrust / inertia(0, 0);
    expected(10, column) = -rotor.position.x * thrust / inertia(1, 1);
    expected(11, column) = -rotor.spin * (drag - rotor.inertia * rate) / inertia(2, 2);
    expected(column, column) = -rate;
    CHECK(model.B(column, k) == Approx(rate));
    CHECK(model.B(11, k) == Approx(-rotor.spin * rotor.inertia * rate / inertia(2, 2)));
  }
  CHECK((model.A - expected).cwiseAbs().maxCoeff() < 1e-9);
  CHECK(model.drift.cwiseAbs().maxCoeff() < 1e-12);
  // the IMU reads thrust over mass
  CHECK((model.C.row(2) - expected.row(5)).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("a command delay adds a chain of past commands", "[linearize]") {
  auto vehicle = pw::vehicles::flightgoggles();
  const pw::Linearizer undelayed(vehicle, {true, pw::Integrator::rk4, 0.001});
  vehicle.motor.command_delay = 0.0024;
  const pw::Linearizer delayed(vehicle, {true, pw::Integrator::rk4, 0.001});
  const auto p = tumbling(4, 7);
  const auto a = undelayed.at(p.state, p.command);
  const auto b = delayed.at(p.state, p.command);
  REQUIRE(b.A.rows() == 16 + 3 * 4);
  CHECK(b.B.topRows(16).norm() == 0.0);
  CHECK((b.A.block(0, 20, 16, 4) - a.B * 0.6).norm() < 1e-12 * a.B.norm());
  CHECK((b.A.block(0, 24, 16, 4) - a.B * 0.4).norm() < 1e-12 * a.B.norm());
  CHECK(b.A.block(16, 0, 12, 28).sum() == Approx(8.0));
  CHECK(b.B.sum() == Approx(4.0));
}

TEST_CASE("a saturated command has no effect", "[linearize]") {
  const pw::Linearizer linearizer(pw::vehicles::flightgoggles(), {true, {}, 0.001});
  auto p = tumbling(4, 9);
  p.command[2] = 1e5;
  const auto model = linearizer.at(p.state, p.command);
  CHECK(model.B.col(2).norm() == 0.0);
  CHECK(model.B.col(1).norm() > 0.0);
}

TEST_CASE("jacobian() accepts any function", "[linearize]") {
  const auto j = pw::jacobian(
      [](const auto& x) { return std::array{x[0] * x[1], sin(x[0]), x[1] * x[1] * x[1]}; },
      std::array{0.5, 2.0});
  Eigen::Matrix<double, 3, 2> expected;
  expected << 2.0, 0.5, std::cos(0.5), 0.0, 0.0, 12.0;
  CHECK((j - expected).norm() < 1e-15);
}

TEST_CASE("invalid linearisations are rejected", "[linearize]") {
  const pw::Linearizer continuous(pw::vehicles::flightgoggles());
  const auto x = continuous.trim();
  CHECK_THROWS_AS(continuous.at(x, pw::RateThrust<double>{}), std::invalid_argument);
  CHECK_THROWS_AS(continuous.at(x, Speeds{1.0, 2.0}), std::invalid_argument);
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu.rate = 100.0;
  const pw::Linearizer slow(vehicle, {true, {}, 0.001});
  CHECK_THROWS_AS(slow.at(x, pw::RateThrust<double>{}), std::invalid_argument);
  CHECK_THROWS_AS(pw::Linearizer(vehicle, {true, {}, -1.0}), pw::ParameterError);
}

}  // namespace test_linearize
