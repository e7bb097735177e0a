// Fleets, linear models and derivatives of other vehicles: the car, and one with an attitude.
#include <array>
#include <limits>
#include <numeric>
#include <propwash/fleet/fleet.hpp>
#include <propwash/fleet/thread_pool.hpp>
#include <propwash/fleet/vehicle_gradient.hpp>
#include <propwash/model/rigid_body.hpp>
#include <propwash/vehicle/car.hpp>
#include <propwash/vehicle/linearize_vehicle.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <random>
#include <string>

#include "catch.hpp"
#include "support.hpp"

namespace test_fleet_custom {

namespace pw = propwash;

namespace {

/// A body with an attitude: thrust along its z axis, quadratic drag, commanded angular
/// acceleration.
struct Thruster {
  struct Parameters {
    double mass = 0.8, drag = 0.05;
  };
  template <class T>
  struct State {
    pw::Vec3<T> position{}, velocity{};
    pw::Quat<T> attitude = pw::Quat<T>::identity();
    pw::Vec3<T> rates{};
    PROPWASH_MEMBERS(position, velocity, attitude, rates)
  };
  template <class T>
  struct Command {
    T thrust{};
    pw::Vec3<T> acceleration{};
    PROPWASH_MEMBERS(thrust, acceleration)
  };
  template <class P>
  struct Constants {
    P inverse_mass{}, drag{};
    PROPWASH_MEMBERS(inverse_mass, drag)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& x, const Command<T>& u) const {
      const pw::Vec3<T> thrust_B{T(pw::constant<T>(0)), T(pw::constant<T>(0)), u.thrust};
      const auto drag_W = x.velocity * (-norm(x.velocity) * drag);
      const auto force_W = rotate(x.attitude, thrust_B) + drag_W;
      return {x.velocity, force_W * inverse_mass, pw::attitude_rate(x.attitude, x.rates),
              u.acceleration};
    }
    template <class T>
    PROPWASH_FN State<T> project(State<T> x) const {
      x.attitude = normalized(x.attitude);
      return x;
    }
  };
  static Constants<double> constants(const Parameters& p, double) {
    if (!(p.mass > 0.0)) throw pw::ParameterError("mass: expected > 0 kg");
    return {1.0 / p.mass, p.drag};
  }
};

/// Members that are arrays, and more commands than a register transposes.
struct Decay {
  struct Parameters {};
  template <class T>
  struct State {
    T x[9]{};
    PROPWASH_MEMBERS(x)
  };
  template <class T>
  struct Command {
    T input[9]{};
    PROPWASH_MEMBERS(input)
  };
  template <class P>
  struct Constants {
    P rate[9]{};
    PROPWASH_MEMBERS(rate)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& state, const Command<T>& command) const {
      State<T> result;
      for (int i = 0; i < 9; ++i) result.x[i] = command.input[i] - state.x[i] * rate[i];
      return result;
    }
  };
  static Constants<double> constants(const Parameters&, double) {
    Constants<double> c;
    for (int i = 0; i < 9; ++i) c.rate[i] = 0.1 * (i + 1);
    return c;
  }
};

/// A chain of three lags and a counter that starts within its limits.
struct Chain {
  struct Parameters {
    double rate = 2.0;
  };
  template <class T>
  struct State {
    pw::SmallArray<T, 3> x{};
    T y{};
    PROPWASH_MEMBERS(x, y)
  };
  template <class T>
  struct Command {
    T f{};  // the name of an argument of members()
    PROPWASH_MEMBERS(f)
  };
  template <class P>
  struct Constants {
    P rate{};
    PROPWASH_MEMBERS(rate)

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& s, const Command<T>& u) const {
      return {{(u.f - s.x[0]) * rate, (s.x[0] - s.x[1]) * rate, (s.x[1] - s.x[2]) * rate}, s.x[2]};
    }
    template <class T>
    PROPWASH_FN State<T> project(State<T> s) const {
      s.y = pw::max(s.y, T(pw::constant<T>(0.5)));
      return s;
    }
  };
  static Constants<double> constants(const Parameters& p, double) { return {p.rate}; }
};

using Cars = pw::Fleet<pw::Car<>, double>;

pw::CarParameters noisy_car() {
  auto car = pw::vehicles::car();
  car.speed_min = -1.0;
  car.process_noise_forward = 0.02;
  car.process_noise_left = 0.01;
  return car;
}
/// Another car for each vehicle.
pw::CarParameters varied_car(std::size_t i) {
  auto car = noisy_car();
  car.yaw_rate_limit *= 1.0 + 0.1 * static_cast<double>(i);
  car.process_noise_left *= static_cast<double>(i);
  return car;
}

template <class T>
std::vector<T> random_rows(std::size_t count, unsigned seed, double scale = 1.0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-scale, scale);
  std::vector<T> rows(count);
  for (T& x : rows) x = static_cast<T>(number(random));
  return rows;
}

template <class Vehicle, class T>
std::vector<T> rows_of(const pw::Fleet<Vehicle, T>& fleet) {
  std::vector<T> rows(fleet.size() * static_cast<std::size_t>(fleet.state_width));
  fleet.read(rows);
  return rows;
}

/// Thrusters that move and rotate.
template <class T>
pw::Fleet<Thruster, T> thrusters(std::size_t size,
                                 pw::Integrator integrator = pw::Integrator::rk4) {
  pw::VehicleFleetOptions options;
  options.dt = 0.01;
  options.integrator = integrator;
  pw::Fleet<Thruster, T> fleet{Thruster::Parameters{}, size, options};
  fleet.set_parameters(
      [](std::size_t i) { return Thruster::Parameters{0.5 + 0.1 * static_cast<double>(i), 0.05}; });
  auto rows = random_rows<T>(13 * size, 4);
  for (std::size_t i = 0; i < size; ++i) rows[13 * i + 6] = T(2);
  fleet.reset(rows);
  return fleet;
}

}  // namespace

TEST_CASE("cars of a fleet are bit for bit those of Car, with noise", "[fleet][custom]") {
  for (const auto integrator : {pw::Integrator::rk4, pw::Integrator::euler}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
      for (const bool varied : {false, true}) {
        pw::VehicleFleetOptions options;
        options.integrator = integrator;
        options.dt = 0.01;
        options.seed = 5;
        options.first_id = 3;
        Cars fleet{noisy_car(), size, options};
        if (varied) fleet.set_parameters(varied_car);
        CHECK(fleet.has_individual_parameters() == varied);
        const auto start = random_rows<double>(3 * size, 1);
        fleet.reset(start);
        std::vector<pw::Car<>> cars;
        for (std::size_t i = 0; i < size; ++i) {
          pw::CarOptions of_car{integrator, 5, 3 + static_cast<std::uint32_t>(i), true};
          cars.emplace_back(varied ? varied_car(i) : noisy_car(), of_car);
          cars[i].reset({start[3 * i], start[3 * i + 1], start[3 * i + 2]});
        }
        for (unsigned n = 0; n < 20; ++n) {
          const auto commands = random_rows<double>(2 * size, n + 2, 3.0);
          fleet.step(commands, 3);
          for (std::size_t i = 0; i < size; ++i) {
            for (int k = 0; k < 3; ++k) {
              cars[i].step(pw::SpeedYawRate{commands[2 * i], commands[2 * i + 1]}, 0.01);
            }
          }
        }
        const auto rows = rows_of(fleet);
        for (std::size_t i = 0; i < size; ++i) {
          const auto& car = cars[i].state();
          CHECK(std::array{rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]} ==
                std::array{car.x, car.y, car.heading});
        }
        CHECK(fleet.steps() == 60);
      }
    }
  }
}

TEST_CASE("a fleet of a custom vehicle equals step() bit for bit", "[fleet][custom]") {
  for (const auto integrator : {pw::Integrator::rk4, pw::Integrator::euler}) {
    auto fleet = thrusters<double>(11, integrator);
    std::vector<Thruster::State<double>> states;
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      states.push_back(fleet.state(i));
      CHECK(squared_norm(states[i].attitude) == Approx(1.0));  // project() of a start
    }
    for (unsigned n = 0; n < 10; ++n) {
      const auto commands = random_rows<double>(4 * fleet.size(), n);
      fleet.step(commands, 2);
      for (std::size_t i = 0; i < fleet.size(); ++i) {
        const double* u = commands.data() + 4 * i;
        const Thruster::Command<double> command{u[0], {u[1], u[2], u[3]}};
        for (int k = 0; k < 2; ++k) {
          states[i] = integrator == pw::Integrator::euler
                          ? pw::step(fleet.constants(i), states[i], command, 0.01, pw::Euler{})
                          : pw::step(fleet.constants(i), states[i], command, 0.01);
        }
      }
    }
    std::vector<double> expected;
    for (const auto& state : states) {
      pw::for_each_number(state, [&](double number) { expected.push_back(number); });
    }
    CHECK(rows_of(fleet) == expected);
  }
}

TEMPLATE_TEST_CASE("vehicles of any fleet are independent of each other, and of threads",
                   "[fleet][custom]", float, double) {
  using T = TestType;
  const std::size_t size = 530;
  auto inline_fleet = thrusters<T>(size), pooled = thrusters<T>(size);
  pw::ThreadPool pool(3);
  const auto commands = random_rows<T>(4 * size, 8);
  inline_fleet.step(commands, 5);
  pooled.step(commands, 5, pool);
  CHECK(rows_of(inline_fleet) == rows_of(pooled));

  pw::VehicleFleetOptions options;
  options.first_id = 300;
  pw::Fleet<pw::Car<>, T> all{noisy_car(), size}, one{noisy_car(), 1, options};
  const auto of_cars = random_rows<T>(2 * size, 9);
  all.step(of_cars, 7);
  one.step({of_cars.data() + 600, 2}, 7);
  const auto rows = rows_of(all);
  CHECK(rows_of(one) == std::vector<T>(rows.begin() + 900, rows.begin() + 903));
}

TEST_CASE("members of a custom vehicle may be arrays", "[fleet][custom]") {
  pw::VehicleFleetOptions options;
  options.dt = 0.01;
  pw::Fleet<Decay, double> fleet{Decay::Parameters{}, 21, options};
  fleet.reset(std::vector<double>(9, 1.0));
  auto commands = random_rows<double>(9 * 21, 3);
  fleet.step(commands, 100);
  for (std::size_t i = 0; i < 21; ++i) {
    for (std::size_t k = 0; k < 9; ++k) {
      const double rate = 0.1 * (double(k) + 1.0), end = commands[9 * i + k] / rate;
      CHECK(fleet.state(i).x[k] == Approx(end + (1.0 - end) * std::exp(-rate)).margin(1e-9));
    }
  }
  const auto model = pw::linearize<Decay>({}, {}, {});
  for (int k = 0; k < 9; ++k) CHECK(model.A(k, k) == Approx(-0.1 * (k + 1)));
  CHECK(model.B.isIdentity());
}

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

TEST_CASE("a new fleet starts as after a reset with its seed", "[fleet][custom]") {
  pw::Fleet<Chain, double> chains{Chain::Parameters{}, 3};
  REQUIRE(chains.state(2).y == 0.5);
  const auto start = chains.snapshot();
  chains.step({1.0}, 5);
  chains.reset({}, std::uint64_t{0});
  REQUIRE(chains.snapshot() == start);
  int calls = 0;
  chains.set_parameters([&](std::size_t) { return ++calls, Chain::Parameters{}; });
  REQUIRE(calls == 3);
}

TEST_CASE("a refused snapshot of any fleet says what differs", "[fleet][custom]") {
  pw::Fleet<Chain, double> chains{Chain::Parameters{}, 3};
  const auto refused = [&](const auto& other, const std::string& text) {
    const auto before = chains.snapshot();
    REQUIRE_THROWS_WITH(chains.restore(other.snapshot()), Catch::Matchers::Contains(text));
    REQUIRE(chains.snapshot() == before);
  };
  pw::VehicleFleetOptions slow;
  slow.dt = 0.5;
  refused(pw::Fleet<Chain, double>{{}, 4}, "expected vehicles = 3, got 4");
  refused(pw::Fleet<Chain, float>{{}, 3}, "expected bytes of a number = 8, got 4");
  refused(pw::Fleet<Chain, double>{{}, 3, slow}, "got 0.5");
  refused(pw::Fleet<Chain, double>{{3.0}, 3}, "constructed with the same parameters");
  REQUIRE_THROWS_WITH(chains.restore({}), Catch::Matchers::Contains("got other bytes"));
}

TEST_CASE("one command for all vehicles of any fleet", "[fleet][custom]") {
  auto each = thrusters<double>(9), all = thrusters<double>(9), by_row = thrusters<double>(9);
  const std::vector<double> row{3.0, 0.1, -0.2, 0.3};
  std::vector<double> commands;
  for (int i = 0; i < 9; ++i) commands.insert(commands.end(), row.begin(), row.end());
  each.step(commands, 4);
  all.step({3.0, {0.1, -0.2, 0.3}}, 4);
  by_row.step(row, 4);
  CHECK(rows_of(all) == rows_of(each));
  CHECK(rows_of(by_row) == rows_of(each));
}

TEST_CASE("resets and snapshots of any fleet", "[fleet][custom]") {
  Cars fleet{noisy_car(), 5};
  const auto commands = random_rows<double>(10, 3, 2.0);
  fleet.step(commands, 4);
  const auto before = rows_of(fleet);
  const bool mask[] = {false, true, false, false, true};
  fleet.reset({7.0, 8.0, 0.5}, {mask, 5});
  for (std::size_t i = 0; i < 5; ++i) {
    const auto car = fleet.state(i);
    CHECK((car.x == (mask[i] ? 7.0 : before[3 * i])));
    CHECK((car.heading == (mask[i] ? 0.5 : before[3 * i + 2])));
  }
  std::vector<double> seconds(5);
  fleet.time(seconds);
  CHECK(seconds[0] == Approx(4.0 / 960.0));
  CHECK(seconds[1] == 0.0);
  fleet.step(commands);
  fleet.time(seconds);
  CHECK(seconds[1] == Approx(1.0 / 960.0));

  const auto snapshot = fleet.snapshot();
  pw::VehicleFleetOptions other;
  other.seed = 77;
  other.first_id = 9;
  Cars copy{noisy_car(), 5, other};
  copy.restore(snapshot);
  for (Cars* each : {&fleet, &copy}) each->step(commands, 9);
  CHECK(rows_of(copy) == rows_of(fleet));
  copy.time(seconds);
  CHECK(seconds[1] == Approx(10.0 / 960.0));

  fleet.reset(before, 3);
  Cars fresh{noisy_car(), 5, [] {
               pw::VehicleFleetOptions options;
               options.seed = 3;
               return options;
             }()};
  fresh.reset(before);
  for (Cars* each : {&fleet, &fresh}) each->step(commands, 3);
  CHECK(rows_of(fleet) == rows_of(fresh));
  fleet.set_state(before);
  CHECK(rows_of(fleet) == before);
  CHECK(fleet.steps() == 3);
  CHECK(fleet.bytes_per_vehicle() > 3 * sizeof(double));
}

TEST_CASE("any fleet refuses wrong arguments and is unchanged", "[fleet][custom]") {
  Cars fleet{noisy_car(), 3};
  const auto start = random_rows<double>(9, 1);
  fleet.reset(start);
  auto bad = start;
  bad[4] = std::nan("");
  CHECK_THROWS_WITH(fleet.reset(bad),
                    Catch::Matchers::Contains("number 1 of the state of vehicle 1 = nan"));
  CHECK_THROWS_WITH(fleet.step(start),

                    Catch::Matchers::Contains("size of commands = 9: expected 6, or 2 for all"));
  CHECK_THROWS_AS(fleet.step(random_rows<double>(6, 1), 0), std::invalid_argument);
  CHECK_THROWS_AS(fleet.set_state({start.data(), 5}), std::invalid_argument);
  CHECK_THROWS_AS(fleet.set_state(pw::Span<const double>{}), std::invalid_argument);
  auto bodies = thrusters<double>(2);
  auto without_attitude = rows_of(bodies);
  for (std::size_t k = 13 + 6; k < 13 + 10; ++k) without_attitude[k] = 0.0;
  CHECK_THROWS_WITH(bodies.reset(without_attitude),
                    Catch::Matchers::Contains("number 6 of the state of vehicle 1 = "));
  const bool mask[] = {true};
  CHECK_THROWS_AS(fleet.reset(start, pw::Span<const bool>(mask, 1)), std::invalid_argument);
  auto bytes = fleet.snapshot();
  bytes.pop_back();
  CHECK_THROWS_WITH(fleet.restore(bytes), Catch::Matchers::Contains("snapshot: expected"));
  CHECK_THROWS_AS(fleet.restore(Cars(varied_car(2), 3).snapshot()), std::invalid_argument);
  CHECK_THROWS_AS(fleet.restore(Cars(noisy_car(), 4).snapshot()), std::invalid_argument);
  CHECK_THROWS_AS(fleet.set_parameters([](std::size_t i) {
    auto car = noisy_car();
    car.yaw_rate_limit = i == 2 ? -1.0 : 1.0;
    return car;
  }),
                  pw::ParameterError);
  CHECK_FALSE(fleet.has_individual_parameters());
  CHECK(rows_of(fleet) == start);

  pw::VehicleFleetOptions options;
  CHECK_THROWS_AS(Cars(noisy_car(), 0, options), pw::ParameterError);
  options.integrator = pw::Integrator::symplectic_euler;
  CHECK_THROWS_AS(Cars(noisy_car(), 1, options), pw::ParameterError);
  options = {};
  options.dt = 0.0;
  CHECK_THROWS_WITH(Cars(noisy_car(), 1, options), Catch::Matchers::Contains("dt = 0: expected"));
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
