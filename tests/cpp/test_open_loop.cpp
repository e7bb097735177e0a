// Open-loop windows of a flight, compared with the steps of one vehicle and with central
// differences.
#include <algorithm>
#include <limits>
#include <propwash/fleet/open_loop.hpp>
#include <propwash/vehicle/fields.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_open_loop {

namespace pw = propwash;

namespace {

/// A vehicle with all terms.
pw::VehicleParameters vehicle_with(int rotors) {
  auto vehicle = pw::vehicles::flightgoggles();
  const auto first = vehicle.rotors.front();
  vehicle.rotors.resize(static_cast<std::size_t>(rotors), first);
  for (int k = 4; k < rotors; ++k) {
    auto& rotor = vehicle.rotors[static_cast<std::size_t>(k)];
    rotor.position = {0.02 * k, 0.03, 0.0};
    rotor.spin = k % 2 == 0 ? 1.0 : -1.0;
  }
  for (auto& rotor : vehicle.rotors) {
    const pw::Vec3<double> axis{0.02, -0.01, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
  }
  vehicle.motor.time_constant_down = 1.7 * vehicle.motor.time_constant_up[0];
  vehicle.rotor_drag = {{0.4, 0.3, 0.1}, 0.01};
  vehicle.inflow = {1e-5, 1e-4, 0.05, 1e-5, 1e-4, 1e-6};
  vehicle.ground_effect = {0.8, 1.2, -5.0};
  vehicle.contact = {2.0, 0.7, 0.4, 0.1, 0.5};
  vehicle.residual = some_residual();
  vehicle.imu.position = {0.02, -0.01, 0.03};
  return vehicle;
}

/// Random measurements and commands; windows that do not fill the lanes.
struct Log {
  static constexpr std::size_t rows = 40;
  std::size_t rotors;
  std::vector<double> position, velocity, attitude, body_rates, commands, slopes;
  std::vector<std::size_t> starts{3, 5, 8, 13, 20, 21, 25};
  static constexpr std::size_t samples = 10;

  Log(int rotors_, std::size_t unknowns) : rotors(static_cast<std::size_t>(rotors_)) {
    Dice dice(5);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto q = dice.unit_quat();
      attitude.insert(attitude.end(), {q.w, q.x, q.y, q.z});
      for (auto* to : {&position, &velocity, &body_rates}) {
        const auto v = dice.vec3(2.0);
        to->insert(to->end(), {v.x, v.y, v.z});
      }
    }
    for (std::size_t i = 0; i < (rows - 1) * rotors; ++i) {
      commands.push_back(dice.uniform(500.0, 900.0));
    }
    for (std::size_t i = 0; i < unknowns * commands.size(); ++i) {
      slopes.push_back(dice.uniform(-50.0, 50.0));
    }
  }

  pw::OpenLoopFlight flight(std::size_t attitude_every) const {
    pw::OpenLoopFlight flight;
    flight.rows = rows, flight.period = 4e-3, flight.substeps = 2;
    flight.position = position.data(), flight.velocity = velocity.data();
    flight.attitude = attitude.data(), flight.body_rates = body_rates.data();
    flight.commands = commands.data();
    flight.slopes = slopes.empty() ? nullptr : slopes.data();
    flight.starts = starts.data(), flight.windows = starts.size(), flight.samples = samples;
    flight.attitude_every = attitude_every;
    return flight;
  }
};

/// Position, velocity, body rates, specific force, one after the other.
std::vector<double> simulated(const pw::OpenLoop& vehicle, const pw::OpenLoopFlight& flight,
                              pw::ExecutorRef executor = {}) {
  const std::size_t size = (1 + vehicle.unknowns()) * flight.windows * flight.samples * 3;
  std::vector<double> numbers(4 * size);
  pw::OpenLoopRecord record;
  record.position = numbers.data(), record.velocity = record.position + size;
  record.body_rates = record.velocity + size, record.specific_force = record.body_rates + size;
  vehicle.fly(flight, record, executor);
  return numbers;
}

/// The fields that depend on the unknowns.
constexpr const char* names[] = {"rotors.thrust_coefficient",
                                 "rotors.axis",
                                 "rotors.inertia",
                                 "rotors.torque_coefficient",
                                 "body.inertia",
                                 "motor.time_constant_up",
                                 "motor.time_constant_down",
                                 "rotor_drag.linear",
                                 "rotor_drag.blow_back",
                                 "inflow.axial",
                                 "inflow.translational",
                                 "inflow.drag",
                                 "inflow.axial_drag",
                                 "inflow.flapping",
                                 "ground_effect.radius",
                                 "ground_effect.coefficient",
                                 "ground_effect.height",
                                 "contact.frequency",
                                 "contact.damping",
                                 "contact.friction",
                                 "residual.velocity",
                                 "residual.thrust_centre",
                                 "residual.force_x",
                                 "residual.torque_z",
                                 "body.mass"};
constexpr std::size_t unknowns = std::size(names);

std::vector<pw::VehicleParameters> slopes_of(const pw::VehicleParameters& vehicle,
                                             const std::vector<std::string_view>& of = {
                                                 std::begin(names), std::end(names)}) {
  Dice dice(9);
  std::vector<pw::VehicleParameters> slopes;
  for (const auto name : of) {
    auto slope = vehicle;
    for (const auto& field : pw::fields(slope)) {
      const bool moves = field.name == name;
      for (int row = 0; row < field.rows; ++row) {
        for (int column = 0; column < field.columns; ++column) {
          // off-diagonal elements may be zero, and change too
          const double scale = std::abs(field(row, column)) + 1e-4 * std::abs(field(0, 0));
          field(row, column) = moves ? scale * dice.uniform(-1.0, 1.0) : 0.0;
        }
      }
    }
    for (std::size_t k = 0; k < slope.rotors.size(); ++k) {
      const auto& axis = vehicle.rotors[k].axis;  // keeps it a unit vector
      auto& rotation = slope.rotors[k].axis;
      rotation = rotation - axis * dot(axis, rotation);
    }
    auto& inertia = slope.body.inertia;
    inertia =
        pw::Mat3<double>{{inertia(0, 0), inertia(0, 1), inertia(0, 2), inertia(0, 1), inertia(1, 1),
                          inertia(1, 2), inertia(0, 2), inertia(1, 2), inertia(2, 2)}};
    slopes.push_back(slope);
  }
  return slopes;
}

pw::VehicleParameters moved(pw::VehicleParameters vehicle, const pw::VehicleParameters& slope,
                            double h) {
  const auto from = pw::fields(slope);
  const auto to = pw::fields(vehicle);
  for (std::size_t i = 0; i < to.size(); ++i) {
    for (int row = 0; row < to[i].rows; ++row) {
      for (int column = 0; column < to[i].columns; ++column) {
        to[i](row, column) += h * from[i](row, column);
      }
    }
  }
  return vehicle;
}

}  // namespace

TEST_CASE("windows equal the steps of one vehicle whose motors followed the whole log") {
  const auto vehicle = vehicle_with(4);
  const Log log(4, 0);
  const std::size_t every = GENERATE(std::size_t{0}, std::size_t{3});
  const auto flight = log.flight(every);
  const auto numbers = simulated(pw::OpenLoop(vehicle, {}), flight);

  const auto model = pw::make_model<double, 4, pw::GeneralShape>(vehicle);
  pw::MulticopterInput<double, 4, pw::Zero3, pw::Zero3> input;
  const auto step = [&](pw::MulticopterState<double, 4> x, std::size_t row) {
    for (int k = 0; k < 4; ++k) {
      input.command[k] = log.commands[row * 4 + static_cast<std::size_t>(k)];
    }
    for (int i = 0; i < 2; ++i) x = pw::multicopter_step(pw::Rk4{}, model, x, input, 2e-3);
    return x;
  };
  const auto put_in = [&](pw::MulticopterState<double, 4>& x, std::size_t row) {
    const double* const q = &log.attitude[row * 4];
    const double* const w = &log.body_rates[row * 3];
    x.attitude = {q[0], q[1], q[2], q[3]}, x.body_rates = {w[0], w[1], w[2]};
  };
  const std::size_t layer = flight.windows * flight.samples * 3;
  for (std::size_t w = 0; w < flight.windows; ++w) {
    const std::size_t start = log.starts[w];
    pw::MulticopterState<double, 4> x;
    for (int k = 0; k < 4; ++k) {
      x.rotor_speeds[k] = std::clamp(log.commands[static_cast<std::size_t>(k)],
                                     vehicle.motor.speed_min[0], vehicle.motor.speed_max[0]);
    }
    for (std::size_t row = 0; row < start; ++row) x = step(x, row);
    const double* const p = &log.position[start * 3];
    const double* const v = &log.velocity[start * 3];
    x.position = {p[0], p[1], p[2]}, x.velocity = {v[0], v[1], v[2]};
    put_in(x, start);
    for (std::size_t k = 0; k < flight.samples; ++k) {
      if (every > 0 && k % every == 0) put_in(x, start + k);
      x = step(x, start + k);
      const double* const at = &numbers[(w * flight.samples + k) * 3];
      for (int axis = 0; axis < 3; ++axis) {
        CHECK(at[axis] == Approx(x.position[axis]).epsilon(1e-12).margin(1e-13));
        CHECK(at[layer + std::size_t(axis)] ==
              Approx(x.velocity[axis]).epsilon(1e-12).margin(1e-13));
        CHECK(at[2 * layer + std::size_t(axis)] ==
              Approx(x.body_rates[axis]).epsilon(1e-11).margin(1e-12));
      }
    }
  }
}

TEST_CASE("derivatives of windows are central differences of their values") {
  const int rotors = GENERATE(4, 6);
  const std::size_t every = GENERATE(std::size_t{0}, std::size_t{3});
  const auto vehicle = vehicle_with(rotors);
  const auto slopes = slopes_of(vehicle);
  const Log log(rotors, unknowns);
  const auto flight = log.flight(every);
  const auto numbers = simulated(pw::OpenLoop(vehicle, slopes), flight);
  const std::size_t layer = flight.windows * flight.samples * 3;

  for (std::size_t i = 0; i < unknowns; ++i) {
    INFO(names[i] << ", " << rotors << " rotors, attitude every " << every);
    constexpr double h = 1e-4;
    const auto side = [&](double step) {
      Log other = log;
      for (std::size_t k = 0; k < log.commands.size(); ++k) {
        other.commands[k] += step * log.slopes[i * log.commands.size() + k];
      }
      other.slopes.clear();
      return simulated(pw::OpenLoop(moved(vehicle, slopes[i], step), {}), other.flight(every));
    };
    const auto above = side(h);
    const auto below = side(-h);
    for (std::size_t quantity = 0; quantity < 4; ++quantity) {
      const double* const got = &numbers[(quantity * (1 + unknowns) + 1 + i) * layer];
      double largest = 0.0;
      double worst = 0.0;
      for (std::size_t k = 0; k < layer; ++k) {
        const std::size_t place = quantity * layer + k;
        const double expected = (above[place] - below[place]) / (2.0 * h);
        largest = std::max(largest, std::abs(expected));
        worst = std::max(worst, std::abs(got[k] - expected));
      }
      INFO("quantity " << quantity);
      CHECK(largest > 0.0);
      CHECK(1e6 * worst / largest < 1.0);
    }
  }
}

TEST_CASE("driven speeds are limited, delayed and scaled by the voltage") {
  constexpr std::size_t held = 12, rotors = 4;
  constexpr double period = 4e-3, nominal = 16.0;
  auto vehicle = vehicle_with(rotors);
  vehicle.battery.nominal_voltage = nominal;
  vehicle.motor.speed_min = 100.0;
  vehicle.motor.command_delay = period * GENERATE(0.0, 0.4, 2.3, 50.0);
  Dice dice(7);
  std::vector<double> duty(held * rotors), voltage(held), voltage_slopes(3 * held);
  for (auto& x : duty) x = dice.uniform(0.0, 1.2);
  for (auto& x : voltage) x = dice.uniform(12.0, 18.0);
  for (auto& x : voltage_slopes) x = dice.uniform(-1.0, 1.0);
  vehicle.motor.speed_offset = 0.12;
  const auto slopes =
      slopes_of(vehicle, {"motor.speed_max", "motor.speed_offset", "motor.command_delay"});
  const auto driven = [&](const pw::OpenLoop& open_loop, double* derivatives) {
    const pw::OpenLoopDuty log{held + 1, period, duty.data(), voltage.data(),
                               voltage_slopes.data()};
    std::vector<double> commands(held * rotors);
    open_loop.drive(log, commands.data(), derivatives);
    return commands;
  };
  std::vector<double> derivatives(slopes.size() * held * rotors);
  const auto commands = driven(pw::OpenLoop(vehicle, slopes), derivatives.data());

  const auto delay = pw::step_delay(vehicle.motor.command_delay, period, 64);
  for (std::size_t k = 0; k < rotors; ++k) {
    const double low = vehicle.motor.speed_min[0], high = vehicle.motor.speed_max[0];
    pw::DelayLine<double, 64> line;
    const auto command = [&](double u) { return std::clamp(high * (0.12 + 0.88 * u), low, high); };
    line.fill(command(duty[k]));
    for (std::size_t row = 0; row < held; ++row) {
      const double limited = command(duty[row * rotors + k]);
      const double delayed = line.push(limited, delay.steps, delay.fraction);
      const double expected = std::clamp(delayed * voltage[row] / nominal, low, high);
      CHECK(commands[row * rotors + k] == Approx(expected).epsilon(1e-12));
    }
  }
  for (std::size_t i = 0; i < slopes.size() && delay.fraction > 0.0; ++i) {
    constexpr double h = 1e-5;
    const auto side = [&](double step) {
      const auto logged = voltage;
      for (std::size_t row = 0; row < held; ++row) {
        voltage[row] += step * voltage_slopes[i * held + row];
      }
      auto speeds = driven(pw::OpenLoop(moved(vehicle, slopes[i], step), {}), nullptr);
      voltage = logged;
      return speeds;
    };
    const auto above = side(h), below = side(-h);
    for (std::size_t k = 0; k < above.size(); ++k) {
      CHECK(derivatives[i * above.size() + k] ==
            Approx((above[k] - below[k]) / (2.0 * h)).epsilon(1e-6).margin(1e-5));
    }
  }
}

TEST_CASE("values are independent of the unknowns, and results of the executor") {
  const auto vehicle = vehicle_with(4);
  const Log log(4, unknowns);
  const auto flight = log.flight(3);
  const pw::OpenLoop moving(vehicle, slopes_of(vehicle));
  const auto alone = simulated(moving, flight);
  const auto backwards = [](std::size_t count, const auto& work) {
    for (std::size_t i = count; i > 0; --i) work(i - 1);
  };
  CHECK(simulated(moving, flight, backwards) == alone);

  const auto plain = simulated(pw::OpenLoop(vehicle, {}), flight);
  const std::size_t layer = plain.size() / 4;
  for (std::size_t quantity = 0; quantity < 4; ++quantity) {
    for (std::size_t k = 0; k < layer; ++k) {
      REQUIRE(alone[quantity * layer * (1 + unknowns) + k] == plain[quantity * layer + k]);
    }
  }
}

TEST_CASE("results do not depend on lanes and groups of unknowns") {
  struct Here {};
  const auto one_by_one = [](std::size_t) {
    return pw::detail::OpenLoopFlyer<Here, double, 4, 1>::kernel();
  };
  const auto vehicle = vehicle_with(4);
  const auto slopes = slopes_of(vehicle);
  const Log log(4, unknowns);
  const auto together = simulated(pw::OpenLoop(vehicle, slopes), log.flight(3));
  const auto alone = simulated(pw::OpenLoop(vehicle, slopes, one_by_one), log.flight(3));
  REQUIRE(alone.size() == together.size());
  for (std::size_t k = 0; k < alone.size(); ++k) {
    REQUIRE(alone[k] == Approx(together[k]).epsilon(1e-10).margin(1e-13));
  }
}

TEST_CASE("windows outside the log, invalid time steps and slopes of other vehicles are rejected") {
  const auto vehicle = vehicle_with(4);
  Log log(4, 0);
  log.starts.back() = Log::rows - Log::samples;
  CHECK_THROWS_WITH(simulated(pw::OpenLoop(vehicle, {}), log.flight(0)),
                    "window 6: expected it to end by row 39, got 10 samples after row 30");
  auto endless = log.flight(0);
  endless.samples = std::numeric_limits<std::size_t>::max();
  CHECK_THROWS_AS(pw::OpenLoop(vehicle, {}).fly(endless, {}), std::invalid_argument);
  auto still = log.flight(0);
  still.substeps = 0;
  CHECK_THROWS_AS(simulated(pw::OpenLoop(vehicle, {}), still), std::invalid_argument);
  CHECK_THROWS_AS(pw::OpenLoop(vehicle, {vehicle_with(6)}), std::invalid_argument);
}

}  // namespace test_open_loop
