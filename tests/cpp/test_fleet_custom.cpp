// Fleets of other vehicles: the car, and one with an attitude.
#include <array>
#include <limits>
#include <propwash/fleet/thread_pool.hpp>
#include <propwash/vehicle/linearize_vehicle.hpp>
#include <string>

#include "catch.hpp"
#include "custom_vehicles.hpp"
#include "support.hpp"

namespace test_fleet_custom {

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

}  // namespace test_fleet_custom
