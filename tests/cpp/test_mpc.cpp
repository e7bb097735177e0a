// Model predictive control: optimality within the limits, disturbances, refusals.
#include <propwash/vehicle/mpc.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_mpc {

namespace pw = propwash;
using State = pw::Mpc::State;

namespace {

State hover(const pw::VehicleParameters& vehicle) { return pw::Linearizer(vehicle).trim(); }

std::vector<State> points_at(const State& state, const pw::Mpc& mpc) {
  return std::vector<State>(static_cast<std::size_t>(mpc.parameters().horizon) + 1, state);
}

/// Flies `seconds` with a command every 10 ms and a force [N, world frame] that the model lacks.
State fly(const pw::VehicleParameters& vehicle, pw::Mpc& mpc, State x,
          const std::vector<State>& points, double seconds, const pw::Vec3<double>& force) {
  const auto model = pw::make_model<double, pw::Dynamic, pw::GeneralShape>(vehicle);
  for (int k = 0; k < static_cast<int>(seconds * 50.0); ++k) {
    const pw::MulticopterInput<double, pw::Dynamic, pw::Zero3, pw::Vec3<double>> input{
        mpc.command(x, points, k == 0 ? 0.0 : 0.02), {}, force, {}};
    for (int i = 0; i < 20; ++i) x = pw::multicopter_step(pw::Rk4{}, model, x, input, 1e-3);
  }
  return x;
}

}  // namespace

TEST_CASE("the minimum within a box has the inverse of what no limit holds", "[mpc]") {
  Eigen::Matrix3d H;
  H << 4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0;
  const Eigen::Vector3d wide = Eigen::Vector3d::Constant(10.0);
  // at the minimum, where the slope is zero
  const auto free = pw::detail::box_minimum<Eigen::Vector3d, Eigen::Matrix3d>(
      H, Eigen::Vector3d::Zero(), -wide, wide);
  CHECK(free.x.norm() == 0.0);
  CHECK((free.inverse * H - Eigen::Matrix3d::Identity()).norm() < 1e-14);
  // the first number is held at its limit
  const Eigen::Vector3d g(-100.0, 1.0, -2.0), high(2.0, 10.0, 10.0);
  const auto held = pw::detail::box_minimum<Eigen::Vector3d, Eigen::Matrix3d>(H, g, -wide, high);
  CHECK(held.x[0] == 2.0);
  const Eigen::Vector3d slope = H * held.x + g;
  CHECK(slope[0] < 0.0);
  CHECK(slope.tail<2>().norm() < 1e-9);
  CHECK(held.inverse.row(0).norm() == 0.0);
  CHECK((held.inverse.bottomRightCorner<2, 2>() * H.bottomRightCorner<2, 2>() -
         Eigen::Matrix2d::Identity())
            .norm() < 1e-14);
}

TEST_CASE("a vehicle at the reference is commanded as the reference", "[mpc]") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter()}) {
    pw::Mpc mpc(vehicle);
    const State x = hover(vehicle);
    const auto speeds = mpc.command(x, points_at(x, mpc), 0.0);
    REQUIRE(speeds.size() == static_cast<int>(vehicle.rotors.size()));
    for (int i = 0; i < speeds.size(); ++i) {
      CHECK(speeds[i] == Approx(x.rotor_speeds[i]).epsilon(1e-6));
    }
  }
}

TEST_CASE("a step of position is flown with saturated motors, without lasting error", "[mpc]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::Mpc mpc(vehicle);
  const State target = hover(vehicle);
  State start = target;
  start.position = {3.0, -2.0, 1.0};
  const auto first = mpc.command(start, points_at(target, mpc), 0.0);
  double largest = 0.0;
  for (const double speed : first) {
    CHECK(speed >= vehicle.motor.speed_min[0]);
    CHECK(speed <= vehicle.motor.speed_max[0]);
    largest = std::max(largest, speed);
  }
  CHECK(largest > 1.1 * target.rotor_speeds[0]);
  mpc.reset();
  const State end = fly(vehicle, mpc, start, points_at(target, mpc), 3.0, {});
  CHECK(norm(end.position) < 0.01);
  CHECK(norm(end.velocity) < 0.02);
}

TEST_CASE("the plan is a minimum: repeated iterations do not change the command", "[mpc]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::MpcParameters parameters;
  parameters.disturbance_bandwidth = 0.0;
  pw::Mpc mpc(vehicle, parameters);
  const State target = hover(vehicle);
  State start = target;
  start.position = {1.0, 0.5, -0.3};
  const auto points = points_at(target, mpc);
  pw::Mpc::Speeds last{}, speeds{};
  for (int i = 0; i < 60; ++i) {
    last = speeds;
    speeds = mpc.command(start, points, 0.0);
  }
  for (int i = 0; i < 4; ++i) CHECK(speeds[i] == Approx(last[i]).epsilon(1e-4));
  // the mirrored problem has the mirrored solution: rotors 0, 1 on the left become 3, 2
  State mirrored = start;
  mirrored.position.y = -mirrored.position.y;
  pw::Mpc other(vehicle, parameters);
  pw::Mpc::Speeds of_mirrored{};
  for (int i = 0; i < 60; ++i) of_mirrored = other.command(mirrored, points, 0.0);
  for (int i = 0; i < 4; ++i) {
    int twin = 0;
    for (int j = 0; j < 4; ++j) {
      const auto& a = vehicle.rotors[static_cast<std::size_t>(i)].position;
      const auto& b = vehicle.rotors[static_cast<std::size_t>(j)].position;
      if (a.x == b.x && a.y == -b.y) twin = j;
    }
    CHECK(of_mirrored[twin] == Approx(speeds[i]).epsilon(1e-3));
  }
}

TEST_CASE("a constant force that the model lacks is observed and compensated", "[mpc]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const State target = hover(vehicle);
  const pw::Vec3<double> force{1.5, 0.0, -2.0};
  pw::Mpc mpc(vehicle);
  const State end = fly(vehicle, mpc, target, points_at(target, mpc), 3.0, force);
  CHECK(norm(end.position) < 0.02);
  CHECK(norm(mpc.disturbance_force() - force) < 0.02 * norm(force));
  CHECK(norm(mpc.disturbance_torque()) < 1e-3);

  pw::MpcParameters without;
  without.disturbance_bandwidth = 0.0;
  pw::Mpc blind(vehicle, without);
  CHECK(norm(fly(vehicle, blind, target, points_at(target, blind), 1.0, force).position) > 0.05);
}

TEST_CASE("invalid parameters, states and points are refused, and change nothing", "[mpc]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::MpcParameters parameters;
  parameters.horizon = 0;
  CHECK_THROWS_AS(pw::Mpc(vehicle, parameters), pw::ParameterError);
  parameters = {};
  parameters.period = 0.5;  // longer than the motors allow
  CHECK_THROWS_AS(pw::Mpc(vehicle, parameters), pw::ParameterError);
  parameters = {};
  auto stiff = vehicle;
  stiff.contact.frequency = 100.0;
  CHECK_THROWS_AS(pw::Mpc(stiff, parameters), pw::ParameterError);
  parameters.tilt_tolerance = -1.0;
  CHECK_THROWS_AS(pw::Mpc(vehicle, parameters), pw::ParameterError);

  pw::Mpc mpc(vehicle), untouched(vehicle);
  State x = hover(vehicle);
  auto points = points_at(x, mpc);
  x.position.x = 0.4;
  mpc.command(x, points, 0.0), untouched.command(x, points, 0.0);
  State bad = x;
  bad.velocity.y = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(mpc.command(bad, points, 0.01), std::invalid_argument);
  CHECK_THROWS_AS(mpc.command(x, {points.data(), 3}, 0.01), std::invalid_argument);
  bad = x;
  bad.attitude = {0.0, 0.0, 0.0, 0.0};
  CHECK_THROWS_AS(mpc.command(bad, points, 0.01), std::invalid_argument);
  CHECK_THROWS_AS(mpc.command(x, points, -0.01), std::invalid_argument);
  points[2].attitude.w = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(mpc.command(x, points, 0.01), std::invalid_argument);
  points[2] = points[1];
  const auto a = mpc.command(x, points, 0.01), b = untouched.command(x, points, 0.01);
  for (int i = 0; i < 4; ++i) CHECK(a[i] == b[i]);
}

}  // namespace test_mpc
