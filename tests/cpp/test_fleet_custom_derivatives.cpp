// Linear models and derivatives of the flights of other vehicles.
#include <limits>
#include <numeric>
#include <propwash/fleet/thread_pool.hpp>
#include <propwash/fleet/vehicle_gradient.hpp>
#include <propwash/vehicle/linearize_vehicle.hpp>

#include "catch.hpp"
#include "custom_vehicles.hpp"
#include "support.hpp"

namespace test_fleet_custom {

TEST_CASE("a linear model counts the elements of an array", "[linearize][custom]") {
  const auto model = pw::linearize<Chain>({}, {{1.0, 2.0, 3.0}, 4.0}, {0.5});
  Eigen::Matrix4d A;
  A << -2.0, 0.0, 0.0, 0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 2.0, -2.0, 0.0, 0.0, 0.0, 1.0, 0.0;
  REQUIRE(model.A.isApprox(A, 1e-14));
  REQUIRE(model.B.isApprox(Eigen::Vector4d(2.0, 0.0, 0.0, 0.0), 1e-14));
  pw::LinearizeOptions options;
  options.discrete = true;
  for (const double dt : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    options.dt = dt;
    REQUIRE_THROWS_AS(pw::linearize<Chain>({}, {}, {}, options), pw::ParameterError);
  }
}

TEST_CASE("linear models of any vehicle are the derivatives of its step", "[linearize][custom]") {
  auto fleet = thrusters<double>(1);
  const Thruster::Command<double> command{3.0, {0.2, -0.4, 0.3}};
  const Thruster::Parameters parameters{0.5, 0.05};
  const auto x = fleet.state(0);
  const double dt = 0.01, h = 1e-6;
  const auto model =
      pw::linearize<Thruster>(parameters, x, command, {true, pw::Integrator::rk4, dt, {}});
  REQUIRE(model.A.rows() == 12);
  REQUIRE(model.B.cols() == 4);
  CHECK(model.C.isIdentity());

  // x moved along degree of freedom i, and the difference of two states
  const auto moved = [](Thruster::State<double> from, int i, double by) {
    pw::Vec3<double> step{};
    step[i % 3] = by;
    if (i < 3) from.position = from.position + step;
    if (i >= 3 && i < 6) from.velocity = from.velocity + step;
    if (i >= 6 && i < 9) {
      from.attitude = normalized(from.attitude + from.attitude * (step * 0.5));
    }
    if (i >= 9) from.rates = from.rates + step;
    return from;
  };
  const auto difference = [](const Thruster::State<double>& a, const Thruster::State<double>& b) {
    const auto rotation = conjugate(b.attitude) * a.attitude;
    Eigen::VectorXd d(12);
    d << pw::to_eigen(a.position - b.position), pw::to_eigen(a.velocity - b.velocity),
        2.0 * rotation.x, 2.0 * rotation.y, 2.0 * rotation.z, pw::to_eigen(a.rates - b.rates);
    return d;
  };
  const auto next = [&](const Thruster::State<double>& from,
                        const Thruster::Command<double>& with) {
    return pw::step(fleet.constants(0), from, with, dt);
  };
  const auto end = next(x, command);
  for (int i = 0; i < 12; ++i) {
    const Eigen::VectorXd slope = (difference(next(moved(x, i, h), command), end) -
                                   difference(next(moved(x, i, -h), command), end)) /
                                  (2.0 * h);
    CHECK((model.A.col(i) - slope).norm() < 1e-8);
  }
  for (int i = 0; i < 4; ++i) {
    auto plus = command, minus = command;
    double* const of_plus[] = {&plus.thrust, &plus.acceleration.x, &plus.acceleration.y,
                               &plus.acceleration.z};
    double* const of_minus[] = {&minus.thrust, &minus.acceleration.x, &minus.acceleration.y,
                                &minus.acceleration.z};
    *of_plus[i] += h;
    *of_minus[i] -= h;
    const Eigen::VectorXd slope =
        (difference(next(x, plus), end) - difference(next(x, minus), end)) / (2.0 * h);
    CHECK((model.B.col(i) - slope).norm() < 1e-8);
  }
  CHECK((model.drift.head(9) - difference(end, x).head(9)).norm() < 1e-5);

  // a short step approaches the continuous model
  const auto continuous = pw::linearize<Thruster>(parameters, x, command);
  const auto fine =
      pw::linearize<Thruster>(parameters, x, command, {true, pw::Integrator::rk4, 1e-6, {}});
  CHECK((continuous.A - (fine.A - Eigen::MatrixXd::Identity(12, 12)) / 1e-6).norm() < 1e-4);
  CHECK((continuous.B - fine.B / 1e-6).norm() < 1e-4);
  CHECK((continuous.drift - fine.drift / 1e-6).norm() < 1e-4);

  // a vehicle with a tick has a discrete model only
  const auto car = pw::linearize<pw::Car<>>(noisy_car(), {0, 0, 0.3}, {1.0, 0.0},
                                            {true, pw::Integrator::rk4, dt, {}});
  CHECK(car.A(0, 2) == Approx(-dt * std::sin(0.3)));
  CHECK(car.B(0, 0) == Approx(dt * std::cos(0.3)));
  CHECK_THROWS_AS(pw::linearize<pw::Car<>>(noisy_car(), {}, {}), std::invalid_argument);
}

TEST_CASE("derivatives of a flight of any fleet", "[gradient][custom]") {
  const std::size_t size = 37, calls = 4, states = 13, commands = 4, constants = 2;
  auto fleet = thrusters<double>(size);
  const auto start = rows_of(fleet);
  pw::FleetGradient<Thruster> gradient(fleet);
  std::vector<double> flown;
  for (unsigned k = 0; k < calls; ++k) {
    const auto u = random_rows<double>(commands * size, k + 1);
    gradient.record(fleet, u, 3);
    fleet.step(u, 3);
    flown.insert(flown.end(), u.begin(), u.end());
  }
  // other sizes, integrators, time steps and parameters are refused
  const auto slower = [&] {
    auto options = fleet.options();
    options.dt *= 2.0;
    pw::Fleet<Thruster, double> made{Thruster::Parameters{}, size, options};
    made.set_parameters([](std::size_t i) {
      return Thruster::Parameters{0.5 + 0.1 * static_cast<double>(i), 0.05};
    });
    return made;
  };
  const std::vector<double> one(commands, 1.0);
  for (const auto& other :
       {thrusters<double>(size - 1), thrusters<double>(size, pw::Integrator::euler), slower(),
        pw::Fleet<Thruster, double>{Thruster::Parameters{}, size, fleet.options()}}) {
    CHECK_THROWS_AS(gradient.record(other, one), std::invalid_argument);
  }
  CHECK(gradient.size() == calls);

  // reverse and forward mode agree: <w, J v> = <J^T w, v>
  const auto w = random_rows<double>(calls * size * states, 20);
  const auto of_commands = random_rows<double>(flown.size(), 21);
  const auto of_start = random_rows<double>(start.size(), 22);
  const auto of_constants = random_rows<double>(constants * size, 23);
  std::vector<double> pushed(w.size()), to_commands(flown.size()), to_start(start.size()),
      to_constants(of_constants.size());
  pw::ThreadPool pool(2);
  gradient.push({of_commands.data(), of_start.data(), of_constants.data()}, pushed.data(), pool);
  gradient.pull(w.data(), {to_commands.data(), to_start.data(), to_constants.data()}, pool);
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  CHECK(dot(w, pushed) == Approx(dot(to_commands, of_commands) + dot(to_start, of_start) +
                                 dot(to_constants, of_constants))
                              .epsilon(1e-12));

  // and with central differences of flights. A start is used as it is: project() is not part of it
  const auto flight = [&](double by) {
    std::vector<Thruster::State<double>> vehicles;
    std::vector<double> result;
    for (std::size_t i = 0; i < size; ++i) {
      Thruster::State<double> x;
      std::size_t n = states * i;
      pw::for_each_number(x, [&](double& to) { to = start[n] + by * of_start[n], ++n; });
      vehicles.push_back(x);
    }
    for (std::size_t k = 0; k < calls; ++k) {
      for (std::size_t i = 0; i < size; ++i) {
        auto c = fleet.constants(i);
        c.inverse_mass += by * of_constants[2 * i];
        c.drag += by * of_constants[2 * i + 1];
        Thruster::Command<double> u;
        std::size_t n = commands * (k * size + i);
        pw::for_each_number(u, [&](double& to) { to = flown[n] + by * of_commands[n], ++n; });
        for (int s = 0; s < 3; ++s) vehicles[i] = pw::step(c, vehicles[i], u, 0.01);
        pw::for_each_number(vehicles[i], [&](double number) { result.push_back(number); });
      }
    }
    return result;
  };
  const double h = 1e-5;
  const auto plus = flight(h), minus = flight(-h);
  double largest = 0.0;
  for (std::size_t i = 0; i < pushed.size(); ++i) {
    largest = std::max(largest, std::abs(pushed[i] - (plus[i] - minus[i]) / (2.0 * h)));
  }
  CHECK(largest < 1e-8);

  const pw::Fleet<pw::Car<>, double> cars{noisy_car(), 3};
  CHECK_THROWS_AS((pw::FleetGradient<pw::Car<>>(cars)), std::invalid_argument);
}

}  // namespace test_fleet_custom
