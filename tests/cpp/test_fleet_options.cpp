// Options of a fleet: action delay, ground, turbulence, resets; and that a diverged vehicle does
// not affect others.
#include <array>
#include <limits>
#include <numeric>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"
#include "instances.hpp"
#include "support.hpp"

namespace test_fleet_options {

namespace pw = propwash;
using pw::FleetField;

namespace {

/// Checks that all vehicles except one are bit-identical to those of another fleet.
template <class T>
bool same_but(const pw::Fleet<pw::Multicopter<>, T>& a, const pw::Fleet<pw::Multicopter<>, T>& b,
              std::size_t without) {
  for (const auto field :
       {FleetField::position, FleetField::velocity, FleetField::attitude, FleetField::body_rates,
        FleetField::rotor_speeds, FleetField::accelerometer_bias, FleetField::diverged}) {
    const auto width = static_cast<std::size_t>(a.width(field));
    const auto x = rows(a, field);
    const auto y = rows(b, field);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i == without) continue;
      if (std::memcmp(&x[i * width], &y[i * width], width * sizeof(T)) != 0) return false;
    }
  }
  return true;
}

const std::vector<std::uint32_t> delays{0, 1, 5, 3, 2};

/// The command of a vehicle at `step` with calls of `substeps` steps; hover before the first.
FleetCommands<double> delayed_commands(int step, int substeps,
                                       const pw::Fleet<pw::Multicopter<>, double>& fleet,
                                       const std::vector<double>& hover) {
  FleetCommands<double> delayed;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const int issued = step - static_cast<int>(delays[i]);
    if (issued < 0) {
      delayed.rates.insert(delayed.rates.end(), 3, 0.0);
      delayed.thrust.push_back(9.81 * fleet.vehicle().body.mass);
      delayed.speeds.insert(delayed.speeds.end(), hover.begin(), hover.end());
      continue;
    }
    const auto all = fleet_commands<double>(issued / substeps, fleet.vehicle(), fleet.size());
    const auto row = [i](std::vector<double>& to, const std::vector<double>& from,
                         std::size_t width) {
      for (std::size_t k = 0; k < width; ++k) to.push_back(from[i * width + k]);
    };
    row(delayed.rates, all.rates, 3);
    row(delayed.thrust, all.thrust, 1);
    row(delayed.speeds, all.speeds, hover.size());
  }
  return delayed;
}

/// m/s, the velocity of the air at each vehicle, from the drag (6) that the accelerometer measures
/// on a body at rest with stopped rotors.
std::vector<pw::Vec3<double>> air_of(pw::Fleet<pw::Multicopter<>, float>& fleet) {
  const std::vector<float> zero{0.0f, 0.0f, 0.0f};
  const std::vector<float> level{1.0f, 0.0f, 0.0f, 0.0f};
  const std::vector<float> standing(4, 0.0f);
  fleet.set_state({zero, zero, level, zero, standing});
  std::vector<float> force(3 * fleet.size()), rate(3 * fleet.size());
  fleet.read_imu(force, rate);
  const double drag = fleet.vehicle().drag.translational / fleet.vehicle().body.mass;
  std::vector<pw::Vec3<double>> air;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const pw::Vec3<double> f{double{force[3 * i]}, double{force[3 * i + 1]},
                             double{force[3 * i + 2]}};
    air.push_back(f * (1.0 / std::sqrt(drag * norm(f))));
  }
  return air;
}

/// sqrt(n) times the correlation: standard normal for independent samples.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb) * std::sqrt(static_cast<double>(a.size()));
}

/// The error of the samples' variance in standard deviations.
double variance_deviate(const std::vector<double>& samples, double deviation) {
  double sum = 0.0;
  for (const double x : samples) sum += x * x;
  const auto n = static_cast<double>(samples.size());
  return (sum / n / (deviation * deviation) - 1.0) / std::sqrt(2.0 / n);
}

pw::FleetOptions in_turbulence() {
  pw::FleetOptions options;
  options.turbulence = {8.0, 30.0, 9.0};
  options.turbulence_heading = 0.6;
  return options;
}

/// Samples along and across the mean wind, and vertical.
std::array<std::vector<double>, 3> in_wind_axes(const std::vector<pw::Vec3<double>>& air,
                                                double heading) {
  std::array<std::vector<double>, 3> axes;
  for (const auto& w : air) {
    axes[0].push_back(w.x * std::cos(heading) + w.y * std::sin(heading));
    axes[1].push_back(w.y * std::cos(heading) - w.x * std::sin(heading));
    axes[2].push_back(w.z);
  }
  return axes;
}

}  // namespace

TEST_CASE("a delay of k steps equals a command k steps later", "[fleet]") {
  for (const bool rates : {false, true}) {
    for (const int substeps : {1, 4}) {
      pw::FleetOptions options;
      options.max_action_delay = 6;
      auto delayed = make_fleet<double>(pw::vehicles::flightgoggles(), delays.size(), options);
      delayed.set_action_delay(delays);
      auto prompt = make_fleet<double>(pw::vehicles::flightgoggles(), delays.size());
      auto hover = rows(prompt, FleetField::rotor_speeds);
      hover.resize(4);
      CAPTURE(rates, substeps);
      for (int call = 0; call < 12; ++call) {
        fly(delayed, rates, call, call + 1, substeps);
        for (int k = 0; k < substeps; ++k) {
          fly(prompt, rates, delayed_commands(call * substeps + k, substeps, prompt, hover), 1);
        }
        REQUIRE(same_bits(everything_of(delayed), everything_of(prompt)));
      }
    }
  }
}

TEST_CASE("after a reset or at another command level, a delayed action is hover again", "[fleet]") {
  pw::FleetOptions options;
  options.max_action_delay = 3;
  options.noise = false;
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), 3, options);
  fleet.set_action_delay(std::vector<std::uint32_t>{3});
  const auto hover = rows(fleet, FleetField::rotor_speeds);
  const auto is_hover = [&](std::size_t vehicle) {
    const auto command = rows(fleet, FleetField::rotor_command);
    for (std::size_t r = 4 * vehicle; r < 4 * vehicle + 4; ++r) {
      if (std::abs(command[r] - hover[r]) > 1e-9) return false;
    }
    return true;
  };
  fly(fleet, false, 0, 5, 1);
  CHECK_FALSE(is_hover(1));
  const bool mask[] = {false, true, false};
  fleet.reset({}, {mask, 3});
  fly(fleet, false, 5, 8, 1);
  CHECK(is_hover(1));
  CHECK_FALSE(is_hover(0));
  fly(fleet, false, 8, 9, 1);
  CHECK_FALSE(is_hover(1));
  // rate commands are not speeds, so pending actions are dropped
  fleet.reset();
  fly(fleet, true, 0, 3, 1);
  CHECK(is_hover(0));
}

TEST_CASE("a vehicle that falls on the ground stops, is flagged, and takes off again", "[fleet]") {
  pw::FleetOptions options;
  options.floor = -0.25;
  for (const int substeps : {1, 16}) {
    auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 6, options);
    const std::vector<float> heights{0, 0, 0.5f, 0, 0, 100, 0, 0, 1,
                                     0, 0, 0,    0, 0, 200, 0, 0, 1.5f};
    fleet.reset({heights, {}, {}, {}, {}});
    const auto z = [&](std::size_t i) { return rows(fleet, FleetField::position)[3 * i + 2]; };
    const auto touched = [&](std::size_t i) { return rows(fleet, FleetField::contact)[i]; };
    const std::vector<float> off(24, 0.0f), full(24, 2200.0f);
    for (int n = 0; n < 960 / substeps; ++n) {
      fleet.step(pw::FleetRotorSpeeds<float>{off}, substeps);
      for (const std::size_t i : {0, 2, 3, 5}) CHECK(z(i) >= -0.25f);
    }
    for (const std::size_t i : {0, 2, 3, 5}) {
      CHECK(z(i) == -0.25f);
      CHECK(touched(i) == 1.0f);
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(rows(fleet, FleetField::velocity)[3 * i + k] == 0.0f);
        CHECK(rows(fleet, FleetField::body_rates)[3 * i + k] == 0.0f);
      }
    }
    for (const std::size_t i : {1, 4}) {
      CHECK(z(i) > 50.0f);
      CHECK(touched(i) == 0.0f);
      CHECK(rows(fleet, FleetField::velocity)[3 * i + 2] < -5.0f);
    }
    fleet.step(pw::FleetRotorSpeeds<float>{full}, 320);
    fleet.step(pw::FleetRotorSpeeds<float>{full}, 1);
    for (const std::size_t i : {0, 2, 3, 5}) {
      CHECK(z(i) > -0.2f);
      CHECK(touched(i) == 0.0f);  // not in the last call
    }
  }
}

TEST_CASE("turbulence is stationary, of the specified intensity, and independent between vehicles",
          "[fleet]") {
  // 22 deviates of the standard normal, each below 5.5: probability of failure 1e-6
  auto options = in_turbulence();
  options.noise = false;
  auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 4096, options);
  const double horizontal = pw::dryden_horizontal_deviation(8.0, 30.0);
  const double deviations[3] = {horizontal, horizontal, pw::dryden_vertical_deviation(8.0)};
  std::array<std::vector<double>, 3> before;
  for (const int steps : {0, 1920}) {
    const std::vector<float> off(4 * fleet.size(), 0.0f);
    for (int n = 0; n < steps; n += 10) fleet.step(pw::FleetRotorSpeeds<float>{off}, 10);
    const auto air = in_wind_axes(air_of(fleet), options.turbulence_heading);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CAPTURE(steps, axis);
      CHECK(std::abs(variance_deviate(air[axis], deviations[axis])) < 5.5);
      CHECK(std::abs(correlation(air[axis], air[(axis + 1) % 3])) < 5.5);
      auto next = air[axis];
      std::rotate(next.begin(), next.begin() + 1, next.end());
      CHECK(std::abs(correlation(air[axis], next)) < 5.5);
    }
    if (steps == 0) {
      before = air;
      continue;
    }
    // two seconds later: the longitudinal correlation is exp(-V t / L)
    const double left = std::exp(-9.0 * 2.0 / pw::dryden_horizontal_length(30.0));
    const double n = static_cast<double>(fleet.size());
    CHECK(std::abs(correlation(before[0], air[0]) - left * std::sqrt(n)) < 5.5);
    CHECK(left < 0.9);
  }
}

TEST_CASE("a vehicle in turbulence equals a single one in the same wind", "[fleet]") {
  auto options = in_turbulence();
  options.seed = 77;
  options.first_id = 40;
  constexpr std::size_t size = 3;
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), size, options);
  const std::vector<double> mean{1.0, 2.0, -0.5, 3.0, 0.0, 0.0, 0.0, -4.0, 1.0};
  fleet.set_wind(mean);
  const auto filter = pw::make_dryden_filter(options.turbulence, options.dt);
  for (int call = 0; call < 30; ++call) fly(fleet, true, call, call + 1, 10);
  const auto position = rows(fleet, FleetField::position);
  const auto velocity = rows(fleet, FleetField::velocity);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto five = [&](std::uint64_t step, pw::Stream stream, double (&z)[5]) {
      const auto six = pw::six_normals(options.seed, options.first_id + i, step, stream);
      for (int k = 0; k < 5; ++k) z[k] = double{six[k]};
    };
    double z[5];
    five(0, pw::Stream::initial_turbulence, z);
    auto gust = pw::stationary_turbulence(filter, z);
    pw::MulticopterOptions single;
    single.seed = options.seed;
    single.id = options.first_id + i;
    pw::Multicopter<> uav(fleet.vehicle(), single);
    for (int n = 0; n < 300; ++n) {
      const auto c = fleet_commands<double>(n / 10, fleet.vehicle(), size, options.first_id);
      five(static_cast<std::uint64_t>(n), pw::Stream::turbulence, z);
      gust = pw::turbulence_step(filter, gust, z);
      const auto heading = options.turbulence_heading;
      const auto in_world = pw::turbulence_in_world(pw::turbulence_velocity(filter, gust),
                                                    std::cos(heading), std::sin(heading));
      uav.set_wind(in_world + pw::Vec3<double>{mean[3 * i], mean[3 * i + 1], mean[3 * i + 2]});
      step_single(uav, {{c.rates[3 * i], c.rates[3 * i + 1], c.rates[3 * i + 2]}, c.thrust[i]},
                  options.dt);
    }
    for (int k = 0; k < 3; ++k) {
      const auto at = 3 * i + static_cast<std::size_t>(k);
      CHECK(position[at] == Approx(uav.state().position[k]).epsilon(0).margin(1e-12));
      CHECK(velocity[at] == Approx(uav.state().velocity[k]).epsilon(0).margin(1e-12));
    }
  }
}

TEST_CASE("a diverged vehicle is flagged, does not affect others, and can be reset", "[fleet]") {
  constexpr std::size_t lost = 2;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // states whose squares overflow, or a command that is not a number
  const std::vector<float> huge{0.0f, 3e38f, 0.0f}, spinning{3e38f, 3e38f, 3e38f};
  const std::vector<pw::FleetState<float>> states{
      {{}, huge, {}, {}, {}}, {{}, {}, {}, spinning, {}}, {huge, huge, {}, {}, {}}, {}};
  bool mask[7] = {};
  mask[lost] = true;
  for (const bool rates : {false, true}) {
    for (std::size_t part = 0; part < states.size(); ++part) {
      auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 7);
      auto whole = make_fleet<float>(pw::vehicles::flightgoggles(), 7);
      fly(fleet, rates, 0, 3, 10);
      fly(whole, rates, 0, 3, 10);
      fleet.set_state(states[part], {mask, 7});
      auto bad = fleet_commands<float>(3, fleet.vehicle(), 7);
      if (part + 1 == states.size()) bad.rates[3 * lost] = bad.speeds[4 * lost] = nan;
      fly(fleet, rates, bad, 10);
      fly(whole, rates, 3, 4, 10);
      fly(fleet, rates, 4, 8, 10);
      fly(whole, rates, 4, 8, 10);
      CAPTURE(rates, part);
      CHECK(rows(fleet, FleetField::diverged)[lost] == 1.0f);
      CHECK(rows(whole, FleetField::diverged)[lost] == 0.0f);
      CHECK(same_but(fleet, whole, lost));
      fleet.reset({}, {mask, 7});
      CHECK(rows(fleet, FleetField::diverged)[lost] == 0.0f);
      fly(fleet, rates, 8, 12, 10);
      fly(whole, rates, 8, 12, 10);
      CHECK(rows(fleet, FleetField::diverged)[lost] == 0.0f);
      for (const float x : everything_of(fleet)) CHECK(std::isfinite(x));
      CHECK(same_but(fleet, whole, lost));
    }
  }
}

TEST_CASE("a reset restarts only the clock and state of its vehicles", "[fleet]") {
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), 3);
  auto whole = make_fleet<double>(pw::vehicles::flightgoggles(), 3);
  fly(fleet, true, 0, 4, 10);
  fly(whole, true, 0, 4, 10);
  const bool mask[] = {false, true, false};
  const std::vector<double> position{1, 2, 3}, velocity{0, 0, 0, 4, 5, 6, 0, 0, 0};
  fleet.reset({position, velocity, {}, {}, {}}, {mask, 3});
  std::vector<double> seconds(3);
  fleet.time(seconds);
  CHECK(seconds[0] == Approx(40.0 / 960.0));
  CHECK(seconds[1] == 0.0);
  CHECK(fleet.steps() == 40);
  const auto p = rows(fleet, FleetField::position);
  const auto v = rows(fleet, FleetField::velocity);
  CHECK((p[3] == 1.0 && p[4] == 2.0 && p[5] == 3.0));
  CHECK((v[3] == 4.0 && v[4] == 5.0 && v[5] == 6.0));
  CHECK(rows(fleet, FleetField::attitude)[4] == 1.0);
  CHECK(rows(fleet, FleetField::rotor_speeds)[4] ==
        Approx(std::sqrt(9.81 / 4.0 / 1.91e-6)).epsilon(1e-12));
  fly(fleet, true, 4, 8, 10);
  fly(whole, true, 4, 8, 10);
  CHECK(same_but(fleet, whole, 1));
}

TEST_CASE("read_kinematics equals separate reads", "[fleet]") {
  auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 21);
  fly(fleet, true, 0, 5, 10);
  std::vector<float> position(63), velocity(63), attitude(84), body_rates(63);
  fleet.read_kinematics(position, velocity, attitude, body_rates);
  CHECK(position == rows(fleet, FleetField::position));
  CHECK(velocity == rows(fleet, FleetField::velocity));
  CHECK(attitude == rows(fleet, FleetField::attitude));
  CHECK(body_rates == rows(fleet, FleetField::body_rates));
  CHECK_THROWS_AS(fleet.read_kinematics(position, velocity, position, body_rates),
                  std::invalid_argument);
}

TEST_CASE("invalid options and sizes are rejected by name", "[fleet]") {
  const auto error_message = [](auto&& change, std::size_t size = 2) -> std::string {
    pw::FleetOptions options;
    change(options);
    try {
      make_fleet<double>(pw::vehicles::flightgoggles(), size, options);
    } catch (const pw::ParameterError& error) {
      return error.what();
    }
    return {};
  };
  const double nan = std::nan("");
  const auto mentions = [](const std::string& text, const char* what) {
    CAPTURE(text, what);
    return text.find(what) != std::string::npos;
  };
  CHECK(error_message([](auto&) {}).empty());
  CHECK(mentions(error_message([](auto&) {}, 0), "size = 0"));
  CHECK(mentions(error_message([](auto& o) { o.dt = -1.0; }), "dt = -1"));
  CHECK(mentions(error_message([&](auto& o) { o.dt = nan; }), "dt = nan"));
  CHECK(mentions(error_message([](auto& o) { o.max_action_delay = -1; }), "max_action_delay = -1"));
  CHECK(mentions(error_message([&](auto& o) { o.floor = nan; }), "floor = nan"));
  CHECK(mentions(error_message([](auto& o) { o.turbulence.wind_speed_6m = 5.0; }), "airspeed = 0"));
  CHECK(mentions(error_message([&](auto& o) { o.turbulence_heading = nan; }),
                 "turbulence_heading = nan"));
  CHECK(mentions(error_message([](auto& o) { o.integrator = pw::Integrator::symplectic_euler; }),
                 "integrator"));
}

TEST_CASE("an invalid call is rejected and changes nothing", "[fleet]") {
  pw::FleetOptions options;
  options.max_action_delay = 2;
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), 3, options);
  fly(fleet, true, 0, 2, 5);
  const auto before = fleet.snapshot();
  const auto commands = fleet_commands<double>(0, fleet.vehicle(), 3);
  const std::vector<double> short_row(5), seven(7);
  const bool mask[] = {true, false};
  using Refused = std::invalid_argument;
  CHECK_THROWS_AS(fleet.step(commands.rate_thrust(), 0), Refused);
  CHECK_THROWS_AS(fleet.step(commands.rotor_speeds(), -3), Refused);
  CHECK_THROWS_AS(fleet.step(pw::FleetRateThrust<double>{commands.rates, seven}), Refused);
  CHECK_THROWS_AS(fleet.step(pw::FleetRateThrust<double>{seven, commands.thrust}), Refused);
  CHECK_THROWS_AS(fleet.step(pw::FleetRotorSpeeds<double>{seven}), Refused);
  CHECK_THROWS_AS(fleet.reset({short_row, {}, {}, {}, {}}), Refused);
  CHECK_THROWS_AS(fleet.reset({short_row, {}, {}, {}, {}}, 9), Refused);
  CHECK_THROWS_AS(fleet.set_state({{}, {}, seven, {}, {}}), Refused);
  CHECK_THROWS_AS(fleet.reset({}, {mask, 2}), Refused);
  CHECK_THROWS_AS(fleet.set_wind(seven), Refused);
  CHECK_THROWS_AS(fleet.set_battery_voltage(seven), Refused);
  CHECK_THROWS_AS(fleet.set_action_delay(std::vector<std::uint32_t>{0, 1, 3}), Refused);
  CHECK_THROWS_AS(fleet.set_action_delay(std::vector<std::uint32_t>{0, 1}), Refused);
  CHECK(fleet.snapshot() == before);
}

TEST_CASE("a fleet enables the features of all its vehicles", "[fleet]") {
  using Switches = pw::TickSwitches;
  constexpr std::size_t not_of_a_vehicle = 3;  // wind, ground, external_wrench
  CHECK(sizeof(Switches) == std::size(pw::vehicle_switches) + not_of_a_vehicle);
  Switches none;
  none.gyroscopic_term = false;
  for (const auto each : pw::vehicle_switches) {
    Switches one = none;
    one.*each = true;
    CHECK_FALSE(pw::have_same_features(none, one));
    CHECK(pw::have_same_features(pw::combined(none, one), one));
    CHECK(pw::have_same_features(pw::combined(one, none), one));
  }
  for (const auto own : {&Switches::wind, &Switches::ground, &Switches::external_wrench}) {
    Switches one = none;
    one.*own = true;
    CHECK(pw::have_same_features(none, one));
    CHECK_FALSE(pw::combined(none, one).*own);
  }
}

}  // namespace test_fleet_options
