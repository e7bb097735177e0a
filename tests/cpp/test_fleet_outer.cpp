// The outer loops of a fleet: equal to the single vehicle's, with any grouping of calls and
// vehicles, across snapshots and resets; and their performance in hover, in wind, with weak rotors
// and from any start.
#include <algorithm>
#include <propwash/fleet/thread_pool.hpp>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "support.hpp"

namespace test_fleet_outer {

namespace pw = propwash;
using pw::FleetField;
using pw::OuterLoop;
using pw::Vec3;

namespace {

constexpr OuterLoop every_loop[] = {OuterLoop::attitude,     OuterLoop::velocity,
                                    OuterLoop::position,     OuterLoop::geometric,
                                    OuterLoop::backstepping, OuterLoop::incremental};

/// A loop and the bandwidth [1/s] of its disturbance observer.
struct Case {
  OuterLoop loop;
  double bandwidth = 0.0;
};
constexpr Case every_case[] = {{OuterLoop::attitude},        {OuterLoop::velocity},
                               {OuterLoop::position},        {OuterLoop::geometric},
                               {OuterLoop::backstepping},    {OuterLoop::incremental},
                               {OuterLoop::geometric, 20.0}, {OuterLoop::backstepping, 20.0}};

/// Sets the bandwidth of the observers.
template <class... Controlled>
void observe(double bandwidth, Controlled&... all) {
  const auto set = [&](auto& one) {
    auto loops = one.outer_loops();
    loops.disturbance_bandwidth = bandwidth;
    one.set_outer_loops(loops);
  };
  (set(all), ...);
}

/// A command of any loop for each vehicle id and time [s].
template <class T>
struct OuterRows {
  std::vector<T> attitude, thrust, position, velocity, acceleration, yaw;

  OuterRows(double t, std::size_t size, const pw::VehicleParameters& vehicle,
            std::uint32_t first_id = 0) {
    const auto put = [](std::vector<T>& to, std::initializer_list<double> numbers) {
      for (const double x : numbers) to.push_back(static_cast<T>(static_cast<float>(x)));
    };
    for (std::size_t i = 0; i < size; ++i) {
      const double id = static_cast<double>(first_id) + static_cast<double>(i);
      const double w = 1.0 + 0.1 * id, s = std::sin(w * t), c = std::cos(w * t);
      const auto q = pw::from_axis_angle(Vec3<double>{0.6, 0.8 * s, 0.8 * c}, 0.4 * s);
      put(attitude, {q.w, q.x, q.y, q.z});
      put(thrust, {vehicle.body.mass * 9.81 * (1.0 + 0.2 * c)});
      put(position, {s, c - 1.0, 0.5 * s});
      put(velocity, {w * c, -w * s, 0.5 * w * c});
      put(acceleration, {-w * w * s, -w * w * c, -0.5 * w * w * s});
      put(yaw, {0.3 * id + 0.5 * t});
    }
  }

  void step(pw::Fleet<pw::Multicopter<>, T>& fleet, OuterLoop loop, int substeps,
            pw::ExecutorRef executor = {}, const pw::FleetMotionEstimate<T>& estimate = {}) const {
    if (loop == OuterLoop::attitude) {
      fleet.step(pw::FleetAttitudeThrust<T>{attitude, thrust, {}}, substeps, executor, estimate);
    } else if (loop == OuterLoop::velocity) {
      fleet.step(pw::FleetVelocityCommand<T>{velocity, yaw, {}}, substeps, executor, estimate);
    } else if (loop == OuterLoop::position) {
      fleet.step(pw::FleetPositionCommand<T>{position, {}}, substeps, executor, estimate);
    } else {
      pw::FleetTrajectoryCommand<T> reference;
      reference.position = position;
      reference.velocity = velocity;
      reference.acceleration = acceleration;
      reference.yaw = yaw;
      reference.controller = loop;
      fleet.step(reference, substeps, executor, estimate);
    }
  }

  /// The same for the single vehicle i.
  pw::OuterLoopCommand<double> of(std::size_t i, OuterLoop loop) const {
    const auto triple = [&](const std::vector<T>& from) {
      return Vec3<double>{static_cast<double>(from[3 * i]), static_cast<double>(from[3 * i + 1]),
                          static_cast<double>(from[3 * i + 2])};
    };
    pw::OuterLoopCommand<double> command;
    command.loop = loop;
    command.free_heading = loop == OuterLoop::position;
    command.attitude = normalized(pw::Quat<double>{
        static_cast<double>(attitude[4 * i]), static_cast<double>(attitude[4 * i + 1]),
        static_cast<double>(attitude[4 * i + 2]), static_cast<double>(attitude[4 * i + 3])});
    command.thrust = static_cast<double>(thrust[i]);
    if (loop != OuterLoop::velocity) command.point.position = triple(position);
    if (loop != OuterLoop::position) command.point.velocity = triple(velocity);
    if (!pw::commands_rates(loop)) command.point.acceleration = triple(acceleration);
    if (!command.free_heading) command.point.yaw = static_cast<double>(yaw[i]);
    return command;
  }
};

template <class T>
void fly(pw::Fleet<pw::Multicopter<>, T>& fleet, OuterLoop loop, int first, int last,
         int substeps) {
  for (int call = first; call < last; ++call) {
    const OuterRows<T> rows(0.02 * call, fleet.size(), fleet.vehicle(), fleet.options().first_id);
    rows.step(fleet, loop, substeps);
  }
}

pw::FleetOptions seeded(std::uint64_t seed, bool noise = true) {
  pw::FleetOptions options;
  options.seed = seed;
  options.noise = noise;
  return options;
}

/// Zeros, one row of `width` for each vehicle.
template <class T>
std::vector<T> zeros(const pw::Fleet<pw::Multicopter<>, T>& fleet, std::size_t width) {
  return std::vector<T>(fleet.size() * width);
}

double worst(const std::vector<double>& numbers) {
  double largest = 0.0;
  for (const double x : numbers) largest = std::max(largest, std::abs(x));
  return largest;
}

/// Holds the origin with any loop: level attitude, zero velocity, …
void hold(pw::Fleet<pw::Multicopter<>, double>& fleet, OuterLoop loop, int steps) {
  const auto three = zeros(fleet, 3), one = zeros(fleet, 1);
  std::vector<double> level(4 * fleet.size());
  for (std::size_t i = 0; i < fleet.size(); ++i) level[4 * i] = 1.0;
  const std::vector<double> weight(fleet.size(), fleet.vehicle().body.mass * 9.81);
  if (loop == OuterLoop::attitude) {
    return fleet.step(pw::FleetAttitudeThrust<double>{level, weight, {}}, steps);
  }
  if (loop == OuterLoop::velocity)
    return fleet.step(pw::FleetVelocityCommand<double>{three, one, {}}, steps);
  if (loop == OuterLoop::position)
    return fleet.step(pw::FleetPositionCommand<double>{three, one}, steps);
  pw::FleetTrajectoryCommand<double> reference;
  reference.position = three;
  reference.controller = loop;
  fleet.step(reference, steps);
}

}  // namespace

TEST_CASE("A vehicle's outer loops in a fleet equal a single vehicle's, with full noise") {
  const auto vehicles = {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter(),
                         pw::vehicles::crazyflie()};
  for (const auto& vehicle : vehicles) {
    for (const auto [loop, bandwidth] : every_case) {
      const std::size_t n = 3;
      auto fleet = make_fleet<double>(vehicle, n, seeded(5));
      auto floats = make_fleet<float>(vehicle, n, seeded(5));
      std::vector<pw::Multicopter<>> singles;
      for (std::uint32_t i = 0; i < n; ++i) {
        singles.emplace_back(vehicle, pw::MulticopterOptions{pw::Integrator::rk4, 5, i, true});
      }
      observe(bandwidth, fleet, floats);
      for (auto& single : singles) observe(bandwidth, single);
      for (int call = 0; call < 24; ++call) {
        const OuterRows<double> rows(0.02 * call, n, vehicle);
        rows.step(fleet, loop, 10);
        for (std::size_t i = 0; i < n; ++i) {
          for (int k = 0; k < 10; ++k) singles[i].step(rows.of(i, loop), 1.0 / 960);
        }
      }
      fly(floats, loop, 0, 24, 10);
      const auto position = rows(fleet, FleetField::position);
      const auto rates = rows(fleet, FleetField::body_rates);
      const auto of_floats = rows(floats, FleetField::position);
      for (std::size_t i = 0; i < n; ++i) {
        INFO(vehicle.name << ", loop " << static_cast<int>(loop) << ", observer " << bandwidth);
        const auto& x = singles[i].state();
        for (int k = 0; k < 3; ++k) {
          const auto at = 3 * i + static_cast<std::size_t>(k);
          REQUIRE(std::abs(position[at] - x.position[k]) < 1e-10);
          REQUIRE(std::abs(rates[at] - x.body_rates[k]) < 1e-8);
          REQUIRE(std::abs(position[at] - static_cast<double>(of_floats[at])) < 2e-3);
        }
      }
    }
  }
}

TEST_CASE(
    "Results are bit-identical for any grouping of calls and vehicles, and across snapshots") {
  const auto vehicle = pw::vehicles::flightgoggles();
  for (const auto [loop, bandwidth] : every_case) {
    INFO("loop " << static_cast<int>(loop) << ", observer " << bandwidth);
    const std::size_t n = 7;
    auto whole = make_fleet<float>(vehicle, n, seeded(6));
    auto parted = make_fleet<float>(vehicle, n, seeded(6));
    auto copy = make_fleet<float>(vehicle, n, seeded(1));
    auto options = seeded(6);
    options.first_id = 4;
    auto tail = make_fleet<float>(vehicle, 3, options);
    observe(bandwidth, whole, parted, copy, tail);
    const OuterRows<float> rows(0.3, n, vehicle), tail_rows(0.3, 3, vehicle, 4);
    pw::ThreadPool pool(2);
    rows.step(whole, loop, 21);
    tail_rows.step(tail, loop, 21);
    for (const int substeps : {1, 2, 6, 3, 5, 1, 3}) rows.step(parted, loop, substeps, pool);
    REQUIRE(same_bits(everything_of(whole), everything_of(parted)));
    copy.restore(whole.snapshot());
    REQUIRE(same_bits(everything_of(whole), everything_of(copy)));
    fly(whole, loop, 0, 5, 7);
    fly(copy, loop, 0, 5, 7);
    fly(tail, loop, 0, 5, 7);
    REQUIRE(same_bits(everything_of(whole), everything_of(copy)));
    REQUIRE(same_bits(whole.snapshot(), copy.snapshot()));
    const auto all = ::rows(whole, FleetField::position), some = ::rows(tail, FleetField::position);
    REQUIRE(std::equal(some.begin(), some.end(), all.begin() + 12));
    // after a step without outer loops the snapshot is smaller
    const auto bytes = whole.snapshot().size();
    ::fly(whole, true, 0, 1, 3);
    REQUIRE(whole.snapshot().size() < bytes);
  }
}

TEST_CASE("A reset of a vehicle resets its loops and does not affect its neighbours") {
  const auto vehicle = pw::vehicles::flightgoggles();
  for (const auto [loop, bandwidth] : every_case) {
    INFO("loop " << static_cast<int>(loop) << ", observer " << bandwidth);
    auto fleet = make_fleet<double>(vehicle, 5, seeded(7));
    auto other = make_fleet<double>(vehicle, 5, seeded(7));
    observe(bandwidth, fleet, other);
    fly(fleet, loop, 0, 9, 9);
    fly(other, loop, 0, 9, 9);
    const bool mask[] = {false, false, true, false, false};
    fleet.reset({}, {mask, 5});
    fly(fleet, loop, 9, 20, 9);
    fly(other, loop, 9, 20, 9);
    const auto a = rows(fleet, FleetField::velocity), b = rows(other, FleetField::velocity);
    for (std::size_t i = 0; i < 15; ++i) REQUIRE((a[i] == b[i]) == (i / 3 != 2));
    // a reset with a seed resets everything
    fleet.reset({}, 7);
    auto fresh = make_fleet<double>(vehicle, 5, seeded(7));
    observe(bandwidth, fresh);
    fly(fleet, loop, 0, 5, 9);
    fly(fresh, loop, 0, 5, 9);
    REQUIRE(same_bits(everything_of(fleet), everything_of(fresh)));
  }
}

TEST_CASE("Hover is a fixed point of every loop") {
  for (const auto& vehicle : {pw::vehicles::flightgoggles(), pw::vehicles::hexacopter()}) {
    for (const auto loop : every_loop) {
      INFO(vehicle.name << ", loop " << static_cast<int>(loop));
      auto fleet = make_fleet<double>(vehicle, 1, seeded(0, false));
      hold(fleet, loop, 2000);
      REQUIRE(worst(rows(fleet, FleetField::position)) < 1e-9);
      REQUIRE(worst(rows(fleet, FleetField::body_rates)) < 1e-9);
    }
  }
}

TEST_CASE("In steady wind velocity and position have no steady error") {
  for (const auto loop : {OuterLoop::velocity, OuterLoop::position, OuterLoop::incremental}) {
    INFO("loop " << static_cast<int>(loop));
    auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), 1, seeded(0, false));
    fleet.set_wind(std::vector<double>{4.0, -3.0, 1.0});
    hold(fleet, loop, 960 * 20);
    REQUIRE(worst(rows(fleet, FleetField::velocity)) < 1e-3);
    if (loop != OuterLoop::velocity) REQUIRE(worst(rows(fleet, FleetField::position)) < 0.01);
  }
}

TEST_CASE("Wind and a weak rotor disturb incremental inversion less than geometric control") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto weak = vehicle;
  weak.rotors[0].thrust_coefficient *= 0.9;
  weak.rotors[0].torque_coefficient *= 0.9;
  const std::vector<pw::VehicleParameters> vehicles(1, weak);
  double error[2], yaw_quaternion[2];
  for (const int k : {0, 1}) {
    auto fleet = make_fleet<double>(vehicle, 1, seeded(0, false));
    fleet.set_parameters(pw::EachVehicle{vehicles});
    fleet.set_wind(std::vector<double>{5.0, 0.0, 0.0});
    hold(fleet, k == 0 ? OuterLoop::geometric : OuterLoop::incremental, 960 * 6);
    error[k] = worst(rows(fleet, FleetField::position));
    yaw_quaternion[k] = std::abs(rows(fleet, FleetField::attitude)[3]);
  }
  REQUIRE(error[0] > 0.1);
  REQUIRE(error[1] < 0.05 * error[0]);
  REQUIRE(yaw_quaternion[1] < 0.2 * yaw_quaternion[0]);
}

TEST_CASE("Attitude converges from 1000 random attitudes and rates, with noise") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto fleet = make_fleet<float>(vehicle, 1000, seeded(8));
  Dice dice(9);
  std::vector<float> attitude, rates, level, thrust;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto q = i == 0 ? pw::Quat<double>{0.0, 0.6, 0.8, 0.0} : dice.unit_quat();
    const auto w = dice.vec3(4.0);
    for (const double x : {q.w, q.x, q.y, q.z}) attitude.push_back(static_cast<float>(x));
    for (const double x : {w.x, w.y, w.z}) rates.push_back(static_cast<float>(x));
    for (const float x : {1.0f, 0.0f, 0.0f, 0.0f}) level.push_back(x);
    thrust.push_back(9.81f);
  }
  pw::FleetState<float> start;
  start.attitude = attitude;
  start.body_rates = rates;
  fleet.reset(start);
  const auto tilts = [&] {
    const auto q = rows(fleet, FleetField::attitude);
    std::vector<double> sines, heading_errors;
    for (std::size_t i = 0; i < q.size(); i += 4) {
      sines.push_back(static_cast<double>(std::hypot(q[i + 1], q[i + 2])));
      heading_errors.push_back(static_cast<double>(std::abs(q[i + 3])));
    }
    return std::make_pair(worst(sines), worst(heading_errors));
  };
  const pw::FleetAttitudeThrust<float> command{level, thrust, {}};
  fleet.step(command, 960 * 2);
  REQUIRE(tilts().first < 0.1);  // the tilt converges first, in 2 s
  fleet.step(command, 960 * 3);
  REQUIRE(tilts().first < 0.05);
  REQUIRE(tilts().second < 0.05);
}

TEST_CASE("Loops on an estimate: the true one changes no bit, an offset moves the vehicle") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const pw::FleetOptions options = seeded(4);
  for (const auto loop : every_loop) {
    INFO("loop " << static_cast<int>(loop));
    auto plain = make_fleet<float>(vehicle, 5, options);
    auto estimated = make_fleet<float>(vehicle, 5, options);
    pw::Multicopter<> one(vehicle), other(vehicle);
    for (int step = 0; step < 30; ++step) {
      const OuterRows<float> commands(0.02 * step, 5, vehicle);
      commands.step(plain, loop, 1);
      const auto position = rows(estimated, FleetField::position);
      const auto velocity = rows(estimated, FleetField::velocity);
      const auto attitude = rows(estimated, FleetField::attitude);
      commands.step(estimated, loop, 1, {}, {position, velocity, attitude});
      one.step(commands.of(0, loop), 1.0 / 960);
      const auto& x = other.state();
      const pw::MotionEstimate<double> motion{x.position, x.velocity, x.attitude, {9.0, 9.0, 9.0}};
      other.step(commands.of(0, loop), 1.0 / 960, &motion);
    }
    REQUIRE(same_bits(everything_of(plain), everything_of(estimated)));
    for (int k = 0; k < 3; ++k) {
      REQUIRE(one.state().position[k] == other.state().position[k]);
      REQUIRE(one.state().body_rates[k] == other.state().body_rates[k]);
    }
  }
  auto shifted = make_fleet<double>(vehicle, 3, seeded(4, false));
  const std::vector<double> target(9, 0.5);
  for (int step = 0; step < 960 * 10; step += 4) {
    auto position = rows(shifted, FleetField::position);
    for (double& x : position) x += 0.2;
    shifted.step(pw::FleetPositionCommand<double>{target, {}}, 4, {}, {position, {}, {}});
  }
  for (const double x : rows(shifted, FleetField::position)) CHECK(std::abs(x - 0.3) < 5e-3);
  const auto before = shifted.snapshot();
  const std::vector<double> wrong(8);
  REQUIRE_THROWS_AS(
      shifted.step(pw::FleetPositionCommand<double>{target, {}}, 1, {}, {{}, wrong, {}}),
      std::invalid_argument);
  REQUIRE(shifted.snapshot() == before);
}

TEST_CASE("Gains can be set, and invalid commands are rejected") {
  const auto vehicle = pw::vehicles::flightgoggles();
  auto fleet = make_fleet<double>(vehicle, 2);
  auto loops = fleet.outer_loops();
  REQUIRE(loops.interval == 4);
  loops.interval = 1;
  loops.tilt = 3.0;
  fleet.set_outer_loops(loops);
  REQUIRE(fleet.outer_loops().tilt == 3.0);
  loops.tilt = -1.0;
  REQUIRE_THROWS_AS(fleet.set_outer_loops(loops), pw::ParameterError);
  REQUIRE(fleet.outer_loops().tilt == 3.0);
  const auto before = fleet.snapshot();
  const std::vector<double> three(6), four(8), one(2), wrong(5);
  REQUIRE_THROWS_AS(fleet.step(pw::FleetVelocityCommand<double>{wrong, {}, {}}),
                    std::invalid_argument);
  REQUIRE_THROWS_AS(fleet.step(pw::FleetVelocityCommand<double>{three, wrong, {}}),
                    std::invalid_argument);
  REQUIRE_THROWS_AS(fleet.step(pw::FleetPositionCommand<double>{three, {}}, 0),
                    std::invalid_argument);
  REQUIRE_THROWS_AS(fleet.step(pw::FleetAttitudeThrust<double>{three, one, {}}),
                    std::invalid_argument);
  pw::FleetTrajectoryCommand<double> reference;
  reference.position = three;
  reference.controller = OuterLoop::velocity;
  REQUIRE_THROWS_AS(fleet.step(reference), std::invalid_argument);
  REQUIRE(fleet.snapshot() == before);

  auto flat = vehicle;  // rotors in a line: no torque about body x
  for (auto& rotor : flat.rotors) rotor.position.y = 0.0;
  auto line = make_fleet<double>(flat, 2);
  REQUIRE_THROWS_AS(line.step(pw::FleetPositionCommand<double>{three, {}}), pw::ParameterError);
  pw::Multicopter<> single(flat);
  REQUIRE_THROWS_AS(single.step(pw::PositionCommand<double>{}, 1.0 / 960), pw::ParameterError);
  auto weightless = vehicle;
  weightless.body.gravity = {0.0, 0.0, 0.0};
  auto drifting = make_fleet<double>(weightless, 2);
  REQUIRE_THROWS_AS(drifting.step(pw::FleetPositionCommand<double>{three, {}}), pw::ParameterError);
  auto open = vehicle;
  open.rate_controller.proportional.x = 0.0;
  auto loose = make_fleet<double>(open, 2);
  REQUIRE_THROWS_AS(loose.step(pw::FleetPositionCommand<double>{three, {}}), pw::ParameterError);
}

}  // namespace test_fleet_outer
