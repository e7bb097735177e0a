// The model compared with independently computed trajectories (tests/data/README.md).
#include <propwash/propwash.hpp>

#include "catch.hpp"
#include "instances.hpp"
#include "table.hpp"

namespace test_trajectories {

namespace pw = propwash;

namespace {

constexpr double dt = 1.0 / 960.0;
constexpr int steps_per_row = 16;

/// The largest difference of quantities with one unit, relative to the largest value.
class Agreement {
 public:
  void add(const std::string& group, double computed, double recorded) {
    auto& g = groups_[group];
    g.difference = std::max(g.difference, std::abs(computed - recorded));
    g.scale = std::max(g.scale, std::abs(recorded));
  }
  void require(double tolerance) const {
    for (const auto& [name, group] : groups_) {
      INFO(name << ": difference " << group.difference << " of " << group.scale);
      REQUIRE(group.scale > 0.0);
      REQUIRE(group.difference <= tolerance * group.scale);
    }
  }

 private:
  struct Group {
    double difference = 0.0;
    double scale = 0.0;
  };
  std::map<std::string, Group> groups_;
};

template <class State>
void read_state(const Table& table, std::size_t row, State& state) {
  for (int i = 0; i < 3; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    state.position[i] = table.three(row, "p")[axis];
    state.velocity[i] = table.three(row, "v")[axis];
    state.body_rates[i] = table.three(row, "w")[axis];
  }
  state.attitude = {table.at(row, "qw"), table.at(row, "qx"), table.at(row, "qy"),
                    table.at(row, "qz")};
  for (int i = 0; i < 4; ++i) {
    state.rotor_speeds[i] = table.at(row, "rotor" + std::to_string(i));
  }
}

template <class State>
void compare_state(const Table& table, std::size_t row, const State& state, Agreement& agreement) {
  State recorded = state;
  read_state(table, row, recorded);
  for (int i = 0; i < 3; ++i) {
    agreement.add("position", state.position[i], recorded.position[i]);
    agreement.add("velocity", state.velocity[i], recorded.velocity[i]);
    agreement.add("body rates", state.body_rates[i], recorded.body_rates[i]);
  }
  agreement.add("attitude", state.attitude.w, recorded.attitude.w);
  agreement.add("attitude", state.attitude.x, recorded.attitude.x);
  agreement.add("attitude", state.attitude.y, recorded.attitude.y);
  agreement.add("attitude", state.attitude.z, recorded.attitude.z);
  for (int i = 0; i < 4; ++i) {
    agreement.add("rotor speeds", state.rotor_speeds[i], recorded.rotor_speeds[i]);
  }
}

pw::SmallArray<double, 4> open_loop_command(double t) {
  const double h = std::sqrt(9.81 / 4.0 / 1.91e-6);
  return {{h * (1.0 + 0.05 * std::sin(9.0 * t)), h * (1.0 - 0.05 * std::sin(9.0 * t)),
           h * (1.0 + 0.04 * std::cos(7.0 * t)), t > 1.0 ? 1.1 * h : h}};
}

pw::RateThrust<double> closed_loop_command(double t) {
  const double s = std::sin(4.0 * t);
  const double sign = s > 0.0 ? 1.0 : (s < 0.0 ? -1.0 : 0.0);
  return {{1.5 * sign, 0.8 * std::sin(3.0 * t), t > 0.7 ? -0.6 : 0.3},
          9.81 * (1.0 + 0.2 * std::sin(2.0 * t))};
}

template <class Vehicle>
void fly_open_loop(const Table& table, Vehicle& uav, double tolerance) {
  auto state = uav.state();
  read_state(table, 0, state);
  uav.reset(state);
  Agreement agreement;
  for (std::size_t row = 0;; ++row) {
    compare_state(table, row, uav.state(), agreement);
    const auto imu = uav.imu();
    for (int i = 0; i < 3; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      agreement.add("specific force", imu.specific_force[i], table.three(row, "a")[axis]);
      agreement.add("angular rate", imu.angular_rate[i], table.three(row, "g")[axis]);
    }
    if (row + 1 == table.rows()) break;
    for (int i = 0; i < steps_per_row; ++i) {
      const double t = static_cast<double>(row * steps_per_row + static_cast<std::size_t>(i)) * dt;
      uav.step(pw::RotorSpeeds{open_loop_command(t)}, dt);
    }
  }
  agreement.require(tolerance);
}

pw::MulticopterOptions quiet(pw::Integrator integrator) {
  pw::MulticopterOptions options;
  options.integrator = integrator;
  options.noise = false;
  return options;
}

/// The same vehicle, simulated with full matrices, tilted axes and all terms.
pw::VehicleParameters without_structure(pw::VehicleParameters vehicle) {
  vehicle.motor.time_constant_down *= 1.0 + 1e-15;
  return vehicle;
}

}  // namespace

TEST_CASE("open loop follows the published code", "[trajectory]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  REQUIRE(pw::is_parallel(vehicle));
  REQUIRE_FALSE(pw::is_parallel(without_structure(vehicle)));
  struct Case {
    const char* file;
    pw::Integrator integrator;
    double tolerance;
  };
  for (const Case& c : {Case{"quad_default_euler.csv", pw::Integrator::euler, 1e-11},
                        Case{"quad_default_rk4.csv", pw::Integrator::rk4, 5e-6}}) {
    const Table table(c.file);
    INFO(c.file);
    pw::Multicopter<4> fixed(vehicle, quiet(c.integrator));
    fly_open_loop(table, fixed, c.tolerance);
    pw::Multicopter<> dynamic(vehicle, quiet(c.integrator));
    fly_open_loop(table, dynamic, c.tolerance);
    pw::Multicopter<4> general(without_structure(vehicle), quiet(c.integrator));
    fly_open_loop(table, general, c.tolerance);
  }
}

TEST_CASE("float follows the published code to its precision", "[trajectory]") {
  const Table table("quad_default_rk4.csv");
  pw::Multicopter<4, float> uav(pw::vehicles::flightgoggles(), quiet(pw::Integrator::rk4));
  pw::MulticopterState<double, 4> recorded;
  read_state(table, 0, recorded);
  const auto f = [](double x) { return static_cast<float>(x); };
  pw::MulticopterState<float, 4> start;
  start.position = pw::cast<float>(recorded.position);
  start.velocity = pw::cast<float>(recorded.velocity);
  start.attitude = pw::cast<float>(recorded.attitude);
  start.body_rates = pw::cast<float>(recorded.body_rates);
  start.rotor_speeds = map(recorded.rotor_speeds, f);
  uav.reset(start);
  for (int i = 0; i < 1920; ++i) uav.step(pw::RotorSpeeds{open_loop_command(i * dt)}, dt);
  const auto end = table.three(table.rows() - 1, "p");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(std::abs(double(uav.state().position[i]) - end[static_cast<std::size_t>(i)]) < 1e-3);
  }
}

TEST_CASE("the closed loop follows the published node, tick by tick", "[trajectory]") {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.rate_controller.discretisation = pw::Discretisation::backward_euler;
  vehicle.rate_controller.gyroscopic_term = false;
  struct Case {
    const char* file;
    pw::Integrator integrator;
    double tolerance;
  };
  for (const Case& c : {Case{"quad_closed_loop_euler.csv", pw::Integrator::euler, 1e-9},
                        Case{"quad_closed_loop_rk4.csv", pw::Integrator::rk4, 1e-5}}) {
    INFO(c.file);
    const Table table(c.file);
    pw::Multicopter<4> uav(vehicle, quiet(c.integrator));
    auto state = uav.state();
    read_state(table, 0, state);
    uav.reset(state);

    // the published node's first reading is 0 for any state, so the test makes the first tick
    // itself
    pw::RateController<4> first(vehicle, dt);
    const auto first_speeds = first.update({}, closed_loop_command(0.0)).speeds;

    Agreement agreement;
    for (std::size_t tick = 0; tick < (table.rows() - 1) * steps_per_row + 1; ++tick) {
      const auto before = uav.state();
      if (tick == 0) {
        uav.step(pw::RotorSpeeds{first_speeds}, dt);
        uav.set_controller(first.snapshot());
      } else {
        uav.step(closed_loop_command(static_cast<double>(tick) * dt), dt);
      }
      if (tick % steps_per_row != 0) continue;
      const std::size_t row = tick / steps_per_row;
      compare_state(table, row, before, agreement);
      const auto& controller = uav.controller();
      for (int i = 0; i < 3; ++i) {
        const auto axis = static_cast<std::size_t>(i);
        agreement.add("filter", controller.filter.value[i], table.three(row, "lpf_")[axis]);
        agreement.add("filter derivative", controller.filter.derivative[i],
                      table.three(row, "lpf_d")[axis]);
        agreement.add("integrals", controller.integral[i], table.three(row, "int_")[axis]);
      }
      for (int i = 0; i < 4; ++i) {
        agreement.add("rotor command", uav.rotor_command()[i],
                      table.at(row, "rotor_cmd" + std::to_string(i)));
      }
    }
    agreement.require(c.tolerance);
  }
}

}  // namespace test_trajectories
