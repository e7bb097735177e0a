// Derivatives of a fleet's flight: forward and reverse mode agree, and with central differences;
// threads, groups of vehicles that are not full, and fleets that no longer exist.
#include <numeric>
#include <optional>
#include <propwash/fleet/gradient.hpp>
#include <propwash/fleet/thread_pool.hpp>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "support.hpp"

namespace test_fleet_gradient {

namespace pw = propwash;
using Level = pw::FleetCommandKind::Level;
using Gradient = pw::FleetGradient<pw::Multicopter<>>;
using Numbers = std::vector<double>;

namespace {

constexpr std::size_t size = 37;  // more than one group
constexpr int calls = 4, substeps = 5;

/// A kind of commands, and the options of a fleet.
struct Case {
  const char* name;
  pw::FleetCommandKind kind;
  double motor_delay = 0.0;  // s
  bool has_action_delay = false;
  bool is_individual = false;
};

const Case cases[] = {
    {"rotor speeds", {Level::speeds}},
    {"rotor speeds, motor delay", {Level::speeds}, 0.0023},
    {"rates, action delay", {Level::rates}, 0.0, true},
    {"rates, individual parameters", {Level::rates}, 0.0004, true, true},
    {"velocity", {Level::outer, pw::OuterLoop::velocity, true}, 0.0023, true},
};

/// A recorded flight. Its fleet has been destroyed.
struct Flight {
  std::optional<Gradient> gradient;
  Numbers end;  // position and velocity after the last command

  /// offset: added to every command, per number of a command of a vehicle.
  explicit Flight(const Case& which, const Numbers& offset = {}) {
    auto vehicle = pw::vehicles::flightgoggles();
    vehicle.motor.command_delay = which.motor_delay;
    pw::FleetOptions options;
    options.noise = false;
    options.dt = 1e-3;
    options.max_action_delay = which.has_action_delay ? 3 : 0;
    auto fleet = make_fleet<double>(vehicle, size, options);
    std::vector<pw::VehicleParameters> vehicles(size, vehicle);
    if (which.is_individual) {
      for (std::size_t i = 0; i < size; ++i) {
        vehicles[i].body.mass *= 1.0 + 0.01 * static_cast<double>(i);
      }
      fleet.set_parameters(pw::EachVehicle{vehicles});
    }
    if (which.has_action_delay) {
      std::vector<std::uint32_t> steps(size);
      for (std::size_t i = 0; i < size; ++i) steps[i] = static_cast<std::uint32_t>(i % 4);
      fleet.set_action_delay(steps);
    }
    const auto of = [&](std::size_t i) -> const pw::VehicleParameters& { return vehicles[i]; };
    gradient.emplace(fleet, which.kind, of, std::vector<std::size_t>{mass_of(vehicle)});
    for (int call = 0; call < calls; ++call) fly(fleet, which, call, offset);
    end = rows(fleet, pw::FleetField::position);
    const auto velocity = rows(fleet, pw::FleetField::velocity);
    end.insert(end.end(), velocity.begin(), velocity.end());
  }

 private:
  static std::size_t mass_of(const pw::VehicleParameters& vehicle) {
    const auto table = pw::fields(vehicle);
    std::size_t k = 0;
    while (table[k].name != "body.mass") ++k;
    return k;
  }
  void fly(pw::Fleet<pw::Multicopter<>, double>& fleet, const Case& which, int call,
           const Numbers& offset) {
    auto commands = fleet_commands<double>(call, fleet.vehicle(), size);
    const auto moved = [&](Numbers& part, std::size_t width, std::size_t first, std::size_t all) {
      for (std::size_t k = 0; k < part.size() && !offset.empty(); ++k) {
        part[k] +=
            offset[(static_cast<std::size_t>(call) * size + k / width) * all + first + k % width];
      }
    };
    if (which.kind.level == Level::speeds) {
      moved(commands.speeds, 4, 0, 4);
      record(fleet, {commands.speeds});
      fleet.step(commands.rotor_speeds(), substeps);
    } else if (which.kind.level == Level::rates) {
      moved(commands.rates, 3, 0, 4), moved(commands.thrust, 1, 3, 4);
      record(fleet, {commands.rates, commands.thrust});
      fleet.step(commands.rate_thrust(), substeps);
    } else {
      moved(commands.rates, 3, 0, 5);
      record(fleet, {commands.rates, {}, {}});
      fleet.step(pw::FleetVelocityCommand<double>{commands.rates, {}, {}}, substeps);
    }
  }
  void record(pw::Fleet<pw::Multicopter<>, double>& fleet,
              std::initializer_list<pw::Span<const double>> parts) {
    gradient->record(fleet, {parts.begin(), parts.size()}, substeps);
  }
};

/// Numbers of the variables of a flight.
struct Variables {
  Numbers commands, start, motor_commands, parameters;

  explicit Variables(const Gradient& g)
      : commands(g.commands() * size * count(g.command_width())),
        start(size * count(g.state_width())),
        motor_commands(size * count(g.rotors())),
        parameters(size * count(g.parameter_width())) {}

  static std::size_t count(int width) { return static_cast<std::size_t>(width); }
  void draw(Dice& dice) {
    for (auto* part : {&commands, &start, &motor_commands, &parameters}) {
      for (double& x : *part) x = dice.uniform(-1.0, 1.0);
    }
  }
  template <class Number>
  pw::FleetVariables<Number> view() {
    return {commands.data(), start.data(), motor_commands.data(), parameters.data()};
  }
  double dot(const Variables& other) const {
    return product(commands, other.commands) + product(start, other.start) +
           product(motor_commands, other.motor_commands) + product(parameters, other.parameters);
  }
  static double product(const Numbers& a, const Numbers& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }
};

/// The states of a flight that the tests weight: position and velocity.
struct States {
  Numbers position = Numbers(calls * size * 3), velocity = position;

  template <class Number>
  pw::FleetRecord<Number> view() {
    return {position.data(), velocity.data(), nullptr, nullptr, nullptr};
  }
};

/// Weights of position and velocity after the last command.
States weights() {
  States w;
  Dice dice(3);
  for (auto* part : {&w.position, &w.velocity}) {
    for (std::size_t k = part->size() - size * 3; k < part->size(); ++k) {
      (*part)[k] = dice.uniform(-1.0, 1.0);
    }
  }
  return w;
}

Variables pulled(const Gradient& gradient, pw::ExecutorRef executor = {}) {
  Variables result(gradient);
  auto w = weights();
  gradient.pull(w.view<const double>(), result.view<double>(), 0, executor);
  return result;
}

}  // namespace

TEST_CASE("forward and reverse mode of a fleet agree") {
  for (const auto& which : cases) {
    INFO(which.name);
    const Flight flight(which);
    Variables direction(*flight.gradient);
    Dice dice(4);
    direction.draw(dice);
    States tangents;
    flight.gradient->push(direction.view<const double>(), tangents.view<double>());
    const auto w = weights();
    const double forward = Variables::product(w.position, tangents.position) +
                           Variables::product(w.velocity, tangents.velocity);
    CHECK(forward == Approx(pulled(*flight.gradient).dot(direction)).epsilon(1e-10));
  }
}

TEST_CASE("the derivative with respect to commands is that of central differences") {
  for (const auto& which : cases) {
    INFO(which.name);
    const Flight flight(which);
    const auto slope = pulled(*flight.gradient).commands;
    const auto w = weights();
    const auto value = [&](const Flight& at) {
      double sum = 0.0;
      const std::size_t last = (calls - 1) * size * 3;
      for (std::size_t k = 0; k < size * 3; ++k) {
        sum += w.position[last + k] * at.end[k] + w.velocity[last + k] * at.end[size * 3 + k];
      }
      return sum;
    };
    Dice dice(5);
    Numbers step(slope.size());
    const bool is_velocity = which.kind.level == Level::outer;
    for (std::size_t k = 0; k < step.size(); ++k) {
      step[k] = is_velocity && k % 5 > 2 ? 0.0 : dice.uniform(-1e-4, 1e-4);
    }
    Numbers back(step);
    for (double& x : back) x = -x;
    const double difference = (value(Flight(which, step)) - value(Flight(which, back))) / 2.0;
    CHECK(Variables::product(slope, step) == Approx(difference).epsilon(1e-5));
  }
}

TEST_CASE("derivatives do not depend on the number of threads") {
  const Flight flight(cases[3]);
  pw::ThreadPool pool(3);
  const auto alone = pulled(*flight.gradient), together = pulled(*flight.gradient, pool);
  CHECK(same_bits(alone.commands, together.commands));
  CHECK(same_bits(alone.parameters, together.parameters));
}

TEST_CASE("fleets and parameters without derivatives are refused") {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto of = [&](std::size_t) -> const pw::VehicleParameters& { return vehicle; };
  auto noisy = make_fleet<double>(vehicle, 1);
  CHECK_THROWS_AS(Gradient(noisy, {Level::speeds}, of, {}), std::invalid_argument);
  pw::FleetOptions options;
  options.noise = false;
  auto fleet = make_fleet<double>(vehicle, 1, options);
  const auto table = pw::fields(vehicle);
  std::size_t gravity = 0;
  while (table[gravity].name != "body.gravity") ++gravity;
  CHECK_NOTHROW(Gradient(fleet, {Level::rates}, of, {gravity}));
  CHECK_THROWS_AS(Gradient(fleet, {Level::outer, pw::OuterLoop::velocity}, of, {gravity}),
                  pw::ParameterError);
}

}  // namespace test_fleet_gradient
