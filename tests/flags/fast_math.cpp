/// @file
/// A consumer with -ffast-math: non-finite values are refused or flagged as in other builds.

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <propwash/propwash.hpp>
#include <string>
#include <vector>
namespace pw = propwash;

namespace {

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("failed: %s\n", what.c_str());
  ++failures;
}

/// That f() throws, with a message that names the field.
template <class F>
void refused(const std::string& name, double value, const F& f) {
  try {
    f();
    expect(false, name + " = " + std::to_string(value) + " is accepted");
  } catch (const std::invalid_argument& error) {
    const std::string field = name.substr(name.rfind('.') + 1);
    expect(std::string(error.what()).find(field) != std::string::npos,
           name + ": the message does not name it: " + error.what());
  }
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_finite[] = {std::numeric_limits<double>::quiet_NaN(),
                                 -std::numeric_limits<double>::quiet_NaN(), inf, -inf};

/// Each number of each field, replaced in turn.
template <class Parameters>
void check_fields(const Parameters& valid) {
  for (const double bad : not_finite) {
    Parameters changed = valid;
    for (const auto& field : pw::fields(changed)) {
      const std::string name(field.name);
      if (bad == inf && name.find("_range") != std::string::npos) continue;  // means: no limit
      for (int row = 0; row < field.rows; ++row) {
        for (int column = 0; column < field.columns; ++column) {
          double& number = field(row, column);
          const double before = number;
          number = bad;
          refused(name, bad, [&] { pw::validate(changed); });
          number = before;
        }
      }
    }
    pw::validate(changed);
  }
}

void check_single() {
  pw::Multicopter<4> uav{pw::vehicles::flightgoggles()};
  const pw::RateThrust<double> hover{{}, 9.81};
  uav.step(hover, 1.0 / 960);
  for (const double bad : not_finite) {
    refused("dt", bad, [&] { uav.step(hover, bad); });
    refused("dt", bad, [&] { pw::validate_time_step(uav.parameters(), pw::Integrator::rk4, bad); });
    refused("dt", bad, [&] { pw::RateController<4>(uav.parameters(), bad); });
  }
  expect(uav.steps() == 1, "a refused step advances");
}

void check_fleet_options() {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto with = [&](const std::string& name, double bad, auto change) {
    pw::FleetOptions options;
    options.turbulence.wind_speed_6m = 5.0;
    options.turbulence.airspeed = 5.0;
    change(options);
    refused(name, bad, [&] { pw::Fleet<pw::Multicopter<4>, double>(vehicle, 1, options); });
  };
  for (const double bad : not_finite) {
    with("dt", bad, [&](auto& options) { options.dt = bad; });
    with("wind_speed_6m", bad, [&](auto& o) { o.turbulence.wind_speed_6m = bad; });
    with("airspeed", bad, [&](auto& o) { o.turbulence.airspeed = bad; });
    with("altitude", bad, [&](auto& o) { o.turbulence.altitude = bad; });
    with("turbulence_heading", bad, [&](auto& o) { o.turbulence_heading = bad; });
  }
  for (const double bad : {not_finite[0], not_finite[1], inf}) {  // -inf is no floor
    with("floor", bad, [&](auto& o) { o.floor = bad; });
  }
}

/// States with one number that is not finite, for one vehicle and for fleets of both types.
template <class T>
void check_states() {
  pw::Multicopter<4, T> uav{pw::vehicles::flightgoggles()};
  pw::Fleet<pw::Multicopter<4>, T> fleet{pw::vehicles::flightgoggles(), 3};
  for (const double value : not_finite) {
    const auto bad = static_cast<T>(value);
    const auto refuse = [&](const char* name, auto change) {
      auto state = uav.state();
      change(state);
      refused(name, value, [&] { uav.set_state(state); });
      refused(name, value, [&] { uav.reset(state); });
    };
    refuse("position", [&](auto& x) { x.position.y = bad; });
    refuse("velocity", [&](auto& x) { x.velocity.x = bad; });
    refuse("attitude", [&](auto& x) { x.attitude.z = bad; });
    refuse("body_rates", [&](auto& x) { x.body_rates.z = bad; });
    refuse("rotor_speeds", [&](auto& x) { x.rotor_speeds[3] = bad; });
    std::vector<T> three(9, T(0)), four(12, T(1));
    three[7] = four[10] = bad;
    const auto refuse_row = [&](const char* name, const pw::FleetState<T>& state) {
      refused(name, value, [&] { fleet.set_state(state); });
      refused(name, value, [&] { fleet.reset(state); });
    };
    refuse_row("position", {three, {}, {}, {}, {}});
    refuse_row("velocity", {{}, three, {}, {}, {}});
    refuse_row("attitude", {{}, {}, four, {}, {}});
    refuse_row("body_rates", {{}, {}, {}, three, {}});
    refuse_row("rotor_speeds", {{}, {}, {}, {}, four});
  }
}

/// A step flags each vehicle whose numbers overflow, and no other.
template <class T>
void check_diverged() {
  const std::size_t n = 20;
  const auto huge = std::numeric_limits<T>::max() / T(2);
  pw::FleetOptions options;
  options.noise = false;
  pw::Fleet<pw::Multicopter<4>, T> fleet{pw::vehicles::flightgoggles(), n, options};
  std::vector<T> position(3 * n), velocity(3 * n), rates(3 * n);
  for (std::size_t i = 0; i < 3; ++i) {
    velocity[3 * (2 * i) + i] = huge;                                   // the drag overflows
    for (std::size_t k = 0; k < 3; ++k) rates[3 * (7 + i) + k] = huge;  // the precession overflows
  }
  position[3 * 17] = position[3 * 17 + 1] = position[3 * 17 + 2] = huge;  // large, and finite
  position[3 * 18] = huge, velocity[3 * 18] = huge;
  const auto lost = [](std::size_t i) {
    return i == 0 || i == 2 || i == 4 || (i >= 7 && i < 10) || i == 18;
  };
  fleet.set_state({position, velocity, {}, rates, {}});
  std::vector<T> flags(n);
  fleet.read(pw::FleetField::diverged, flags);
  for (std::size_t i = 0; i < n; ++i) {
    expect(flags[i] == T(0), "flag of vehicle " + std::to_string(i) + " when written");
  }
  const std::vector<T> command(4 * n, 700);
  fleet.step(pw::FleetRotorSpeeds<T>{command}, 2000);
  fleet.read(pw::FleetField::diverged, flags);
  for (std::size_t i = 0; i < n; ++i) {
    expect((flags[i] > T(0)) == lost(i), "flag of vehicle " + std::to_string(i) + " after steps");
  }
}

void check_world() {
  for (const double bad : not_finite) {
    pw::Scene scene;
    const auto changed = [&](const std::string& name, auto change) {
      pw::SceneItem item;
      item.name = "ball";
      item.shape = pw::Sphere{1.0};
      change(item);
      refused(name, bad, [&] { scene.add(item); });
    };
    changed("position", [&](auto& item) { item.pose.position_W = {0.0, bad, 0.0}; });
    changed("attitude", [&](auto& item) { item.pose.attitude_WS = {1.0, 0.0, bad, 0.0}; });
    changed("colour", [&](auto& item) { item.colour = {0.0, 0.0, bad}; });
    changed("radius", [&](auto& item) { item.shape = pw::Sphere{bad}; });
    refused("position", bad, [&] { scene.add_marker({"m", {bad, 0.0, 0.0}}); });
  }
}

}  // namespace

int main() {
#if !defined(__FAST_MATH__)
#error "expected -ffast-math"
#endif
  check_fields(pw::vehicles::flightgoggles());
  check_fields(pw::vehicles::crazyflie());
  check_fields(pw::vehicles::car());
  check_fields(pw::outer_loops_for(pw::vehicles::crazyflie(), 1.0 / 960));
  check_single();
  check_fleet_options();
  check_states<float>();
  check_states<double>();
  check_diverged<float>();
  check_diverged<double>();
  check_world();
  std::printf("failures: %d\n", failures);
  return failures == 0 ? 0 : 1;
}
