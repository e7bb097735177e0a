// The ranges of parameters: every number has one, a number outside it is rejected by name, and no
// vehicle within them overflows float in one step.
#include <algorithm>
#include <array>
#include <cmath>
#include <propwash/vehicle/car.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "support.hpp"

namespace test_fleet_ranges {

namespace pw = propwash;

namespace {

template <class Vehicle>
std::string error_message(const Vehicle& vehicle) {
  try {
    pw::validate(vehicle);
  } catch (const pw::ParameterError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The last part of a dotted name, as in "rotors[2].position[1]".
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

template <class Vehicle>
void require_refused_beyond(const Vehicle& sound) {
  const std::size_t count = pw::fields(sound).size();
  for (std::size_t i = 0; i < count; ++i) {
    auto vehicle = sound;
    const auto field = pw::fields(vehicle)[i];
    if (!std::isfinite(field.largest)) continue;  // unit vectors and signs
    INFO(field.name);
    for (int k = 0; k < field.size(); ++k) {
      double& number = field(k / field.columns, k % field.columns);
      const double original = number;
      for (const double bad :
           {1.001 * field.largest, 1e300, field.smallest > 0.0 ? 0.999 * field.smallest : 1e300,
            field.smallest > 0.0 ? 1e-310 : 1e308}) {
        number = bad;
        const auto text = error_message(vehicle);
        CAPTURE(text, bad);
        CHECK(mentions(text, last_part(field.name)));
        CHECK(mentions(text, "expected a magnitude"));
      }
      number = original;
    }
    CHECK(error_message(vehicle).empty());
  }
}

/// Vehicles at the ends of the ranges and between them.
class Extremes {
 public:
  explicit Extremes(std::uint64_t seed) : dice_(seed) {}

  /// A vehicle that may be invalid.
  pw::VehicleParameters vehicle() {
    auto v = pw::vehicles::flightgoggles();
    parallel_ = dice_.uniform(0, 1) < 0.5;
    v.body.mass = between(1e-6, 1e6);
    v.body.gravity = {0.0, 0.0, dice_.uniform(0, 1) < 0.2 ? 0.0 : -between(1e-3, 1e3)};
    const double smallest = between(1e-13, 1e6);
    v.body.inertia = inertia(smallest);
    make_rotors(v, smallest);
    v.motor.time_constant_up = between(1e-4, 1e3);
    v.motor.time_constant_down = parallel_ ? v.motor.time_constant_up : between(1e-4, 1e3);
    if (!parallel_ && chance() < 0.5) vary_motors(v);
    v.motor.command_delay = dice_.uniform(0, 1) < 0.5 ? 0.0 : between(1e-6, 1e-3);
    v.drag.translational = std::min(1e6, v.body.mass * between(1e-9, 10.0));
    const double rotational = smallest * between(1e-9, 4.9);
    v.drag.rotational = pw::Mat3<double>::diagonal(rotational, rotational, rotational);
    v.rotor_drag.linear =
        parallel_ ? pw::Vec3<double>{} : pw::Vec3<double>{1.0, 1.0, 1.0} * between(1e-3, 100.0);
    v.rotor_drag.blow_back = parallel_ ? 0.0 : smallest * between(1e-6, 999.0);
    if (!parallel_ && chance() < 0.7) make_flow(v, smallest);
    v.process_noise.force = std::pow(v.body.mass * between(1e-6, 10.0), 2);
    v.process_noise.torque = std::pow(smallest * between(1e-6, 100.0), 2);
    v.battery.nominal_voltage = dice_.uniform(0, 1) < 0.5 ? 0.0 : between(1e-3, 1e6);
    if (chance() < 0.3) v.battery = circuit();
    make_sensors_and_gains(v);
    return v;
  }

  pw::Vec3<double> vector(double length) { return dice_.unit_vec3() * length; }
  pw::Quat<double> attitude() { return dice_.unit_quat(); }
  double chance() { return dice_.uniform(0, 1); }
  /// One of the ends, or a number of any order of magnitude between them.
  double between(double low, double high) {
    const double which = dice_.uniform(0, 1);
    if (which < 0.25) return low;
    if (which > 0.6) return high;
    return std::min(high, low * std::exp(dice_.uniform(0.0, std::log(high / low))));
  }

 private:
  pw::BatteryParameters<double> circuit() {
    const double cells = std::floor(between(1.0, 1e3));
    const auto resistance = [this] { return chance() < 0.3 ? 0.0 : between(1e-6, 1e3); };
    const double series = resistance(), polarisation = resistance();
    return {cells * between(2.0, 5.0),
            cells,
            between(1e-4, 1e4),
            between(4.0, 4.5),
            series,
            polarisation,
            chance() < 0.3 ? 0.0 : between(1e-6, 1e5),
            between(0.01, 1.0),
            chance() < 0.3 ? 0.0 : between(1e-3, 1e6)};
  }
  void make_flow(pw::VehicleParameters& v, double smallest) {
    double loss = 1e6, gain = 1e6;
    for (std::size_t i = 0; i < v.rotors.size(); ++i) {
      const double speed = pw::detail::full_speed(v.motor, static_cast<int>(i));
      loss = std::min(loss, v.rotors[i].thrust_coefficient * speed * 99.0);
      gain = std::min(gain, v.rotors[i].thrust_coefficient * speed * speed * 99.0);
    }
    v.inflow = {loss * between(1e-9, 1.0), gain * between(1e-9, 1.0)};
    v.inflow.radius = chance() < 0.5 ? 0.0 : between(1e-3, 100.0);
    double speeds = 0.0, levers = 0.0, arms = 0.0, flow = 0.0;
    for (std::size_t i = 0; i < v.rotors.size(); ++i) {
      const double speed = pw::detail::full_speed(v.motor, static_cast<int>(i));
      speeds += speed, levers += norm(v.rotors[i].position) * speed;
      arms += norm(v.rotors[i].position);
      flow += v.rotors[i].thrust_coefficient * speed;
    }
    // the moment of all terms is limited
    const double moment = 3e3 * smallest;
    if (flow > moment) v.inflow.radius = 0.0;
    v.inflow.drag = std::min({1e6, 99.0 * v.body.mass / speeds, moment / std::max(levers, 1e-30)}) *
                    between(1e-9, 1.0);
    v.inflow.axial_drag = std::min({1e6, 9.9 * v.body.mass / static_cast<double>(v.rotors.size()),
                                    0.06 * moment / std::max(arms, 1e-30)}) *
                          between(1e-9, 1.0);
    v.inflow.flapping = std::min(1e6, moment / speeds) * between(1e-9, 1.0);
    if (chance() < 0.5) make_residual(v, smallest);
    v.ground_effect = {between(1e-6, 100.0), between(1e-9, 100.0), between(1e-3, 1e6)};
    if (chance() < 0.5) {
      v.contact = {between(1e-3, 100.0), between(0.1, 10.0), between(0.1, 10.0),
                   between(1e-3, 100.0), between(1e-3, 1e6)};
    }
  }
  void make_residual(pw::VehicleParameters& v, double smallest) {
    auto& r = v.residual;
    r.velocity = r.rates = {between(1e-3, 1e3), between(1e-3, 1e3), between(1e-3, 1e3)};
    r.torque = {between(1e-12, 1e9), between(1e-12, 1e9), between(1e-12, 1e9)};
    r.thrust = between(1e-9, 1e9), r.thrust_centre = between(1e-9, 1e9);
    const double force = std::min(1e9, 0.49e4 * v.body.mass / 61.0) * between(1e-9, 1.0);
    const double torque = std::min(1e9, 0.99e5 * smallest / 56.0) * between(1e-9, 1.0);
    const auto fill = [this](auto& numbers, double scale) {
      for (double& x : numbers) x = chance() < 0.5 ? scale : -scale;
    };
    fill(r.force_x, force), fill(r.force_y, force), fill(r.force_z, force);
    fill(r.torque_x, torque), fill(r.torque_y, torque), fill(r.torque_z, torque);
  }
  pw::Mat3<double> inertia(double smallest) {
    const double large = std::min(1e10, smallest * between(1.0, 1e6)) * 0.99;
    const bool rod = dice_.uniform(0, 1) < 0.5;
    const auto principal = rod && large > smallest
                               ? pw::Mat3<double>::diagonal(smallest, large, large)
                               : pw::Mat3<double>::diagonal(smallest, smallest, 1.99 * smallest);
    if (parallel_) return principal;
    auto rotated_inertia = rotated(dice_.unit_quat(), principal);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < i; ++j) rotated_inertia(i, j) = rotated_inertia(j, i);
    }
    return rotated_inertia;
  }

  void make_rotors(pw::VehicleParameters& v, double smallest) {
    const auto count = static_cast<std::size_t>(2 * (2 + static_cast<int>(dice_.uniform(0, 4.99))));
    v.rotors.resize(count);
    const double full_speed = between(1e-3, 1e6);
    v.motor.speed_max = full_speed;
    v.motor.speed_min = dice_.uniform(0, 1) < 0.5 ? 0.0 : -full_speed;
    const double squares = full_speed * full_speed * static_cast<double>(count);
    const double weight = std::max(1e-6, norm(v.body.gravity));
    const double thrust = v.body.mass * between(std::min(1.2 * weight, 9e3), 9.9e3);
    const double torque = smallest * between(1e-15, 1.9e5);
    const double arm = std::min(99.0, 0.7 * torque / thrust);
    const double yaw = 0.2 * between(1e-15, 1.0);
    const double momentum = smallest * between(1e-6, 999.0);
    for (std::size_t i = 0; i < count; ++i) {
      auto& rotor = v.rotors[i];
      const double angle = 2.0 * pi() * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      rotor.position = {arm * std::cos(angle), arm * std::sin(angle), 0.0};
      rotor.axis = {0.0, 0.0, 1.0};
      rotor.spin = i % 2 == 0 ? 1.0 : -1.0;
      rotor.thrust_coefficient = thrust / squares;
      rotor.torque_coefficient = yaw * torque / squares;
      rotor.inertia = momentum / (full_speed * static_cast<double>(count));
    }
  }

  void vary_motors(pw::VehicleParameters& v) {
    const auto count = v.rotors.size();
    auto& motor = v.motor;
    for (auto* numbers : {&motor.time_constant_up, &motor.time_constant_down, &motor.speed_max}) {
      numbers->count = static_cast<std::int64_t>(count);
      for (std::size_t i = 1; i < count; ++i) numbers->values[i] = numbers->values[0];
    }
    for (std::size_t i = 0; i < count; ++i) {
      motor.time_constant_up.values[i] = between(1e-4, 1e3);
      motor.speed_max.values[i] *= 0.97 + 0.03 * chance();
    }
  }

  void make_sensors_and_gains(pw::VehicleParameters& v) {
    auto& imu = v.imu;
    imu.gyroscope_noise_density = between(1e-6, 10.0);
    imu.gyroscope_bias_walk = between(1e-6, 10.0);
    imu.gyroscope_bias_initial = between(1e-6, 100.0);
    imu.gyroscope_scale = {10.0, -10.0, 1.0};
    imu.gyroscope_resolution = between(1e-9, 100.0);
    imu.rate = dice_.uniform(0, 1) < 0.5 ? 0.0 : between(1e-6, 1e9);
    imu.position = vector(between(1e-3, 99.0));
    auto& control = v.rate_controller;
    const pw::Vec3<double> ones{1.0, 1.0, 1.0};
    control.proportional = ones * between(1e-3, 1e5);
    control.integral = ones * between(1e-3, 1e6);
    control.derivative = ones * between(1e-3, 1e3);
    control.integral_bound = ones * between(1e-3, 1e9);
    control.filter = {between(1e-6, 1e12), between(1e-6, 1e7)};
    control.discretisation =
        dice_.uniform(0, 1) < 0.5 ? pw::Discretisation::exact : pw::Discretisation::backward_euler;
  }

  Dice dice_;
  bool parallel_ = false;
};

template <class T>
bool all_finite(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](T x) { return std::isfinite(x); });
}

/// Steps a fleet once from extreme states. Returns whether the result is finite.
template <class T>
bool stays_finite(Extremes& extremes, const pw::VehicleParameters& vehicle,
                  const pw::FleetOptions& options, bool by_rates) {
  constexpr std::size_t size = 6;
  auto fleet = make_fleet<T>(vehicle, size, options);
  const auto rotors = vehicle.rotors.size();
  std::vector<T> position, velocity, attitude, body_rates, speeds, command, rates, thrust;
  const auto add = [](std::vector<T>& to, const pw::Vec3<double>& v) {
    for (int k = 0; k < 3; ++k) to.push_back(static_cast<T>(v[k]));
  };
  for (std::size_t i = 0; i < size; ++i) {
    add(position, extremes.vector(1e6));
    add(velocity, extremes.vector(extremes.between(0.1, 300.0)));
    add(body_rates, extremes.vector(extremes.between(0.1, 100.0)));
    add(rates, extremes.vector(100.0));
    thrust.push_back(static_cast<T>(vehicle.body.mass * extremes.between(1.0, 1e5)));
    const auto q = extremes.attitude();
    for (const double x : {q.w, q.x, q.y, q.z}) attitude.push_back(static_cast<T>(x));
    for (std::size_t k = 0; k < rotors; ++k) {
      const auto& motor = vehicle.motor;
      for (auto* to : {&speeds, &command}) {
        const auto& limit = extremes.chance() < 0.5 ? motor.speed_min : motor.speed_max;
        to->push_back(static_cast<T>(limit[static_cast<int>(k)]));
      }
    }
  }
  fleet.set_state(pw::FleetState<T>{position, velocity, attitude, body_rates, speeds});
  if (by_rates) {
    fleet.step(pw::FleetRateThrust<T>{rates, thrust});
  } else {
    fleet.step(pw::FleetRotorSpeeds<T>{command});
  }
  const auto diverged = rows(fleet, pw::FleetField::diverged);
  return std::count(diverged.begin(), diverged.end(), T(0)) == static_cast<std::ptrdiff_t>(size) &&
         all_finite(rows(fleet, pw::FleetField::rotor_command));
}

}  // namespace

TEST_CASE("every number of a vehicle has a range, a unit if it has one, and a meaning",
          "[ranges]") {
  const auto check = [](const auto& parameters) {
    for (const auto& field : pw::fields(parameters)) {
      INFO(field.name);
      const bool is_unit = field.name == "rotors.axis" || field.name == "rotors.spin" ||
                           field.name == "imu.attitude";  // unit vectors and signs
      CHECK(std::isfinite(field.largest) != is_unit);
      CHECK(field.smallest >= 0.0);
      CHECK(field.smallest < field.largest);
      CHECK(*field.meaning != '\0');
    }
  };
  check(pw::vehicles::flightgoggles());
  check(pw::vehicles::car());
  check(pw::OuterLoopParameters{});
}

TEST_CASE("a number outside its range is rejected by name", "[ranges]") {
  require_refused_beyond(pw::vehicles::flightgoggles());
  require_refused_beyond(pw::vehicles::car());
}

TEST_CASE("a ratio outside its range is rejected with the names of its parameters", "[ranges]") {
  const auto refused = [](void (*make)(pw::VehicleParameters&), const char* ratio,
                          const char* parameter) {
    auto vehicle = pw::vehicles::flightgoggles();
    make(vehicle);
    const auto text = error_message(vehicle);
    CAPTURE(text);
    CHECK(mentions(text, ratio));
    CHECK(mentions(text, parameter));
  };
  using Vehicle = pw::VehicleParameters;
  refused(
      [](Vehicle& v) {
        v.rotors[0].position = {99.0, 0.0, 0.0}, v.rotors[0].thrust_coefficient = 1.0;
      },
      "rotor torque at full speed over moment of inertia", "rotors.position");
  refused([](Vehicle& v) { v.body.mass = 1e-4; }, "thrust at full speed over mass = ", "body.mass");
  refused([](Vehicle& v) { v.rotors[2].inertia = 1.0; }, "rotor momentum", "rotors.inertia");
  refused([](Vehicle& v) { v.drag.translational = 20.0; }, "over mass = 20", "drag.translational");
  refused([](Vehicle& v) { v.drag.rotational(1, 1) = 1.0; }, "moment of inertia = 204",
          "drag.rotational");
  refused([](Vehicle& v) { v.rotor_drag.blow_back = 1e3; }, "blow_back over",
          "rotor_drag.blow_back");
  refused([](Vehicle& v) { v.inflow.axial = 1.0; }, "inflow.axial over", "inflow.axial");
  refused([](Vehicle& v) { v.inflow.translational = 1e3; }, "inflow.translational over",
          "inflow.translational");
  refused([](Vehicle& v) { v.inflow.drag = 1.0; }, "inflow.drag at full speed", "inflow.drag");
  refused([](Vehicle& v) { v.inflow.axial_drag = 10.0; }, "inflow.axial_drag of all rotors",
          "inflow.axial_drag");
  refused([](Vehicle& v) { v.inflow.flapping = 1.0; }, "moment of [inflow]", "inflow.flapping");
  refused([](Vehicle& v) { v.process_noise.force = 1e3; }, "root of", "process_noise.force");
  refused([](Vehicle& v) { v.process_noise.torque = 10.0; }, "root of", "process_noise.torque");
  refused(
      [](Vehicle& v) {
        for (auto& rotor : v.rotors) rotor.torque_coefficient = 2e-12 * rotor.thrust_coefficient;
        v.body.inertia = pw::Mat3<double>::diagonal(1.0, 1.0, 1.0);
      },
      "smallest rotor torque about a body axis", "rotors.torque_coefficient");
  refused([](Vehicle& v) { v.body.inertia = pw::Mat3<double>::diagonal(1e-15, 1e-15, 1e-15); },
          "smallest principal moment of inertia = 1e-15", "body.inertia");
  refused([](Vehicle& v) { v.body.inertia = pw::Mat3<double>::diagonal(1e-3, 1e4, 1e4); },
          "largest over smallest principal moment", "body.inertia");
}

TEST_CASE("no vehicle within the ranges overflows float in one step", "[ranges]") {
  Extremes extremes(18);
  int accepted = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const auto vehicle = extremes.vehicle();
    if (!error_message(vehicle).empty()) continue;
    pw::FleetOptions options;
    options.integrator = extremes.chance() < 0.5 ? pw::Integrator::rk4 : pw::Integrator::euler;
    options.dt = extremes.between(1e-5, 0.01);
    if (vehicle.motor.command_delay > pw::max_delay_steps * options.dt) continue;
    if (!pw::validate_time_step(vehicle, options.integrator, options.dt).empty()) continue;
    ++accepted;
    options.seed = static_cast<std::uint64_t>(trial);
    const bool by_rates =
        extremes.chance() < 0.5 &&
        pw::make_allocation<double, pw::Dynamic>(vehicle.rotors, vehicle.motor).rank == 4;
    INFO(trial << ": dt = " << options.dt << ", by rates: " << by_rates);
    CHECK(stays_finite<float>(extremes, vehicle, options, by_rates));
    CHECK(stays_finite<double>(extremes, vehicle, options, by_rates));
  }
  CAPTURE(accepted);
  CHECK(accepted > 500);  // otherwise the test covers too little of the ranges
}

}  // namespace test_fleet_ranges
