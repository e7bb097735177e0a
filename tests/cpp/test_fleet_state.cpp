// Snapshots continue bit for bit or are rejected; individual parameters equal fleets constructed
// with them; memory per vehicle.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "catch.hpp"
#include "fleet_engine.hpp"

namespace test_fleet_state {

namespace pw = propwash;
using pw::FleetField;
using pw::VehicleParameters;

namespace {

/// All state of a fleet: action delay, dead time, slow IMU, turbulence, wind, battery, ground.
VehicleParameters with_memory() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.0046;
  vehicle.imu.rate = 130.0;
  vehicle.imu.gyroscope_bias_initial = 0.01;
  vehicle.battery.nominal_voltage = 12.0;
  return vehicle;
}

template <class T>
pw::Fleet<pw::Multicopter<>, T> set_up(const VehicleParameters& vehicle, std::size_t size,
                                       const pw::FleetOptions& options) {
  auto fleet = make_fleet<T>(vehicle, size, options);
  std::vector<std::uint32_t> delays(size);
  std::vector<T> wind, voltage, torque;
  for (std::size_t i = 0; i < size; ++i) {
    delays[i] = static_cast<std::uint32_t>(i % 5);
    wind.insert(wind.end(), {T(i), T(1), T(-0.5)});
    voltage.push_back(T(11) + T(i) / 8);
    torque.insert(torque.end(), {T(0), T(1e-3) * T(i), T(0)});
  }
  if (options.max_action_delay > 0) fleet.set_action_delay(delays);
  fleet.set_wind(wind);
  fleet.set_battery_voltage(voltage);
  fleet.set_external_wrench(std::vector<T>{T(0.5), T(0), T(0.25)}, torque);
  return fleet;
}

template <class T>
void check_continues(bool rates, bool reduced) {
  auto fleet = set_up<T>(with_memory(), 7, all_options());
  const std::vector<T> factors{T(0.75), T(1), T(1), T(0.875)};
  if (reduced) fleet.set_rotor_effectiveness(factors);
  fly(fleet, rates, 0, 13, 7);
  const bool mask[] = {false, true, false, false, false, false, true};
  fleet.reset({}, {mask, 7});  // so that the vehicles' times differ
  fly(fleet, rates, 13, 20, 7);
  const auto saved = fleet.snapshot();
  const auto then = everything_of(fleet);
  fly(fleet, rates, 20, 40, 7);

  auto other = make_fleet<T>(with_memory(), 7, all_options(99));
  if (!reduced) other.set_rotor_effectiveness(factors);  // which the snapshot resets
  fly(other, !rates, 0, 5, 3);
  other.restore(saved);
  CHECK(same_bits(everything_of(other), then));
  CHECK(other.snapshot() == saved);
  fly(other, rates, 20, 40, 7);
  CHECK(same_bits(everything_of(other), everything_of(fleet)));
  CHECK(other.snapshot() == fleet.snapshot());
  fleet.restore(saved);
  CHECK(fleet.snapshot() == saved);
}

std::string refusal(pw::Fleet<pw::Multicopter<>, double>& fleet,
                    const std::vector<std::byte>& snapshot) {
  const auto before = fleet.snapshot();
  std::string text;
  try {
    fleet.restore(snapshot);
  } catch (const std::invalid_argument& error) {
    text = error.what();
  }
  CHECK(fleet.snapshot() == before);
  return text;
}

/// Five variations of the default vehicle, with different mass, rotors and gains.
std::vector<VehicleParameters> different(std::size_t size) {
  std::vector<VehicleParameters> vehicles(size, pw::vehicles::flightgoggles());
  for (std::size_t i = 0; i < size; ++i) {
    auto& v = vehicles[i];
    const double more = 1.0 + 0.05 * static_cast<double>(i);
    v.body.mass *= more;
    v.body.inertia(0, 0) *= more;
    for (auto& rotor : v.rotors) rotor.thrust_coefficient *= more * more;
    v.motor.time_constant_up *= more, v.motor.time_constant_down *= more;
    v.process_noise.force *= more;
    v.imu.gyroscope_noise_density *= more;
    v.imu.gyroscope_bias_initial = 0.01 * more;
    v.rate_controller.proportional.x *= more;
    v.rate_controller.filter.damping *= more;
  }
  return vehicles;
}

std::string error_message(pw::Fleet<pw::Multicopter<>, double>& fleet,
                          const std::vector<VehicleParameters>& vehicles) {
  try {
    fleet.set_parameters(pw::EachVehicle{vehicles});
  } catch (const pw::ParameterError& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const char* what) {
  CAPTURE(text, what);
  CHECK(text.find(what) != std::string::npos);
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a restored fleet continues bit for bit, also in another object", "[fleet]") {
  for (const bool rates : {false, true}) {
    for (const bool reduced : {false, true}) {
      check_continues<float>(rates, reduced);
      check_continues<double>(rates, reduced);
    }
  }
}

TEST_CASE("a snapshot continues in a fleet with another number of lanes", "[fleet]") {
  auto narrow = set_up<double>(with_memory(), 5, all_options());
  fly(narrow, true, 0, 10, 7);
  pw::Fleet<pw::Multicopter<>, double> wide(with_memory(), 5, all_options(), &wide_kernels);
  wide.restore(narrow.snapshot());
  fly(narrow, true, 10, 20, 7);
  fly(wide, true, 10, 20, 7);
  CHECK(wide.snapshot() == narrow.snapshot());
}

TEST_CASE("a snapshot of a different fleet is rejected and changes nothing", "[fleet]") {
  const auto vehicle = with_memory();
  const auto options = all_options();
  auto fleet = set_up<double>(vehicle, 3, options);
  fly(fleet, true, 0, 5, 7);
  const auto of = [&](auto&& change) {
    auto v = vehicle;
    auto o = options;
    std::size_t n = 3;
    change(v, o, n);
    auto other = make_fleet<double>(v, n, o);
    fly(other, true, 0, 2, 3);
    return other.snapshot();
  };
  CHECK(mentions(refusal(fleet, of([](auto& v, auto&, auto&) { v.body.mass *= 1.01; })),
                 "parameters"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto&, auto& n) { n = 4; })), "vehicles = 3, got 4"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto& o, auto&) { o.max_action_delay = 3; })),
                 "action"));
  CHECK(mentions(refusal(fleet, of([](auto& v, auto&, auto&) { v.motor.command_delay = 0.0; })),
                 "parameters"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto& o, auto&) { o.dt = 1.0 / 961.0; })), "dt"));
  CHECK(mentions(
      refusal(fleet, of([](auto&, auto& o, auto&) { o.integrator = pw::Integrator::euler; })),
      "integrator"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto& o, auto&) { o.noise = false; })), "noise"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto& o, auto&) { o.floor = 0.0; })), "floor"));
  CHECK(mentions(refusal(fleet, of([](auto&, auto& o, auto&) { o.turbulence.altitude = 9.0; })),
                 "turbulence"));
  CHECK(mentions(refusal(fleet, make_fleet<float>(vehicle, 3, options).snapshot()), "bytes"));

  auto bytes = fleet.snapshot();
  CHECK(mentions(refusal(fleet, {}), "0 bytes"));
  CHECK(mentions(refusal(fleet, {bytes.begin(), bytes.begin() + 20}), "20 bytes"));
  CHECK(mentions(refusal(fleet, {bytes.begin(), bytes.end() - 1}), "bytes"));
  auto longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(mentions(refusal(fleet, longer), "bytes"));
  bytes[7] = std::byte{'4'};
  CHECK(mentions(refusal(fleet, bytes), "format = 4: expected 5"));
  bytes[0] = std::byte{'x'};
  CHECK(mentions(refusal(fleet, bytes), "other bytes"));
}

TEST_CASE("a snapshot with values that would index outside the fleet's memory is rejected",
          "[fleet]") {
  const auto vehicle = pw::vehicles::flightgoggles();
  pw::FleetOptions options;
  options.max_action_delay = 4;
  auto fleet = make_fleet<double>(vehicle, 3, options);
  const auto good = fleet.snapshot();
  const std::size_t record = (good.size() - sizeof(pw::detail::FleetSnapshotHeader)) / 3;
  const std::size_t second = sizeof(pw::detail::FleetSnapshotHeader) + record;
  const auto with = [&](std::size_t offset, auto value) {
    auto bytes = good;
    std::memcpy(bytes.data() + second + offset, &value, sizeof value);
    return bytes;
  };
  CHECK(mentions(refusal(fleet, with(4, std::uint64_t{1})), "vehicle 1"));
  CHECK(mentions(refusal(fleet, with(12, std::uint32_t{5})), "at most 4 steps"));
  CHECK_NOTHROW(fleet.restore(with(12, std::uint32_t{4})));
}

TEST_CASE("a state that is not finite, or an attitude of zero, changes no vehicle", "[fleet]") {
  auto fleet = set_up<float>(with_memory(), 5, all_options());
  fly(fleet, true, 0, 3, 7);
  const auto before = fleet.snapshot();
  const bool mask[] = {true, false, true, true, true};
  const auto refused = [&](const pw::FleetState<float>& bad) {
    CHECK_THROWS_AS(fleet.set_state(bad), std::invalid_argument);
    CHECK_THROWS_AS(fleet.reset(bad), std::invalid_argument);
    CHECK_THROWS_AS(fleet.reset(bad, 3), std::invalid_argument);
    CHECK(fleet.snapshot() == before);
    CHECK_NOTHROW(fleet.set_state(
        bad, {mask, 5}));  // the bad value is that of vehicle 1, which is not selected
    fleet.restore(before);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float number : {nan, inf, -inf}) {
    std::vector<float> three(15, 1.0f), four(20, 1.0f), speeds(20, 500.0f);
    three[4] = four[4] = speeds[7] = number;
    pw::FleetState<float> state;
    state.position = three;
    refused(state);
    state = {};
    state.velocity = three;
    refused(state);
    state = {};
    state.body_rates = three;
    refused(state);
    state = {};
    state.attitude = four;
    refused(state);
    state = {};
    state.rotor_speeds = speeds;
    refused(state);
  }
  std::vector<float> none(20, 0.5f);
  std::fill(none.begin() + 4, none.begin() + 8, 0.0f);
  pw::FleetState<float> state;
  state.attitude = none;
  refused(state);
}

TEST_CASE("attitudes of any length are normalised", "[fleet]") {
  auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 3);
  const std::vector<float> long_ones{2, 0, 0, 0, 0, 0, 3e-3f, 0, 0, 1e18f, 1e18f, 0};
  pw::FleetState<float> state;
  state.attitude = long_ones;
  fleet.set_state(state);
  const auto q = rows(fleet, FleetField::attitude);
  const float half = 0.70710678f;
  const std::vector<float> unit{1, 0, 0, 0, 0, 0, 1, 0, 0, half, half, 0};
  for (std::size_t i = 0; i < 12; ++i) CHECK(q[i] == Approx(unit[i]).margin(1e-7));
  state.attitude = q;  // unit quaternions are unchanged
  fleet.set_state(state);
  CHECK(same_bits(rows(fleet, FleetField::attitude), q));
}

TEST_CASE("a fleet warns of steps that are too long for the motors of any vehicle", "[fleet]") {
  pw::FleetOptions options;
  options.dt = 0.01;
  auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 3, options);
  CHECK(fleet.warning().empty());
  std::vector<VehicleParameters> vehicles(3, pw::vehicles::flightgoggles());
  vehicles[1].motor.time_constant_up = 0.003;
  fleet.set_parameters(pw::EachVehicle{vehicles});
  CHECK(fleet.warning().find("0.003") != std::string::npos);
  vehicles[1].motor.time_constant_up = 0.02;
  fleet.set_parameters(pw::EachVehicle{vehicles});
  CHECK(fleet.warning().empty());
  options.dt = 960.0;
  CHECK(!make_fleet<float>(pw::vehicles::flightgoggles(), 3, options).warning().empty());
}

TEST_CASE("vehicles with individual parameters equal fleets constructed with them", "[fleet]") {
  constexpr std::size_t size = 5;
  const auto vehicles = different(size);
  pw::FleetOptions options;
  options.seed = 4;
  auto fleet = make_fleet<double>(vehicles[0], size, options);
  CHECK_FALSE(fleet.has_individual_parameters());
  fleet.set_parameters(pw::EachVehicle{vehicles});
  CHECK(fleet.has_individual_parameters());
  fleet.reset({}, options.seed);
  const auto hover = rows(fleet, FleetField::rotor_speeds);
  const auto biases = rows(fleet, FleetField::gyroscope_bias);
  fly(fleet, true, 0, 20, 10);
  const auto position = rows(fleet, FleetField::position);
  const auto rates = rows(fleet, FleetField::body_rates);
  for (std::size_t i = 0; i < size; ++i) {
    // a fleet of copies of vehicle i: compare the one with the same id
    auto alike = make_fleet<double>(vehicles[i], size, options);
    CHECK(rows(alike, FleetField::rotor_speeds)[4 * i] == hover[4 * i]);
    CHECK(rows(alike, FleetField::gyroscope_bias)[3 * i] == biases[3 * i]);
    for (int call = 0; call < 20; ++call) {
      fly(alike, true, fleet_commands<double>(call, vehicles[0], size), 10);
    }
    for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
      CHECK(rows(alike, FleetField::position)[k] == position[k]);
      CHECK(rows(alike, FleetField::body_rates)[k] == rates[k]);
    }
  }
}

TEST_CASE("setting the parameters of some vehicles equals setting those of all", "[fleet]") {
  constexpr std::size_t size = 7;
  auto partial = make_fleet<float>(pw::vehicles::flightgoggles(), size);
  auto all = make_fleet<float>(pw::vehicles::flightgoggles(), size);
  std::vector<VehicleParameters> vehicles(size, pw::vehicles::flightgoggles());
  const auto heavier = different(size);
  // first after construction, then again, including the last vehicle and the padding
  for (const auto& chosen : {std::vector<std::size_t>{1, 4}, {0, 4, 6}, {5}}) {
    for (const std::size_t i : chosen) {
      vehicles[i] = heavier[i];
      vehicles[i].motor.speed_max *= 1.0 + 0.01 * static_cast<double>(chosen.size());
    }
    partial.set_parameters(pw::EachVehicle{vehicles}, {chosen.data(), chosen.size()});
    all.set_parameters(pw::EachVehicle{vehicles});
    partial.reset();
    all.reset();
    fly(partial, true, 0, 5, 10);
    fly(all, true, 0, 5, 10);
    CHECK(same_bits(everything_of(partial), everything_of(all)));
  }
  // an invalid one changes nothing
  auto bad = vehicles;
  bad[2].body.mass *= 1.1;
  bad[3].body.mass = -1.0;
  const std::vector<std::size_t> chosen{2, 3};
  CHECK_THROWS_AS(partial.set_parameters(pw::EachVehicle{bad}, {chosen.data(), chosen.size()}),
                  pw::ParameterError);
  fly(partial, true, 0, 5, 10);
  fly(all, true, 0, 5, 10);
  CHECK(same_bits(everything_of(partial), everything_of(all)));
}

TEST_CASE("invalid parameters are rejected with the vehicle's index", "[fleet]") {
  constexpr std::size_t size = 5;
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), size);
  auto whole = make_fleet<double>(pw::vehicles::flightgoggles(), size);
  const auto good = different(size);
  fleet.set_parameters(pw::EachVehicle{good});
  whole.set_parameters(pw::EachVehicle{good});
  const auto refused = [&](auto&& change, const char* what) {
    auto bad = good;
    bad[1].body.mass *= 1.01;  // valid, but must not be applied either
    change(bad[3]);
    const auto text = error_message(fleet, bad);
    return mentions(text, "vehicle 3") && mentions(text, what);
  };
  CHECK(refused([](auto& v) { v.body.mass = -1.0; }, "body.mass = -1"));
  CHECK(refused([](auto& v) { v.body.mass = std::nan(""); }, "body.mass = nan"));
  CHECK(refused([](auto& v) { v.motor.time_constant_up = 0.0; }, "motor.time_constant_up"));
  CHECK(refused([](auto& v) { v.motor.command_delay = 0.01; }, "motor.command_delay"));
  CHECK(refused([](auto& v) { v.imu.rate = 100.0; }, "imu.rate = 100"));
  CHECK(refused([](auto& v) { v.battery.nominal_voltage = 3.0; }, "battery.nominal_voltage"));
  CHECK(refused([](auto& v) { v.rotors.pop_back(); }, "number of rotors = 3"));
  CHECK(refused([](auto& v) { v.rate_controller.gyroscopic_term = false; }, "gyroscopic_term"));
  fly(fleet, true, 0, 10, 5);
  fly(whole, true, 0, 10, 5);
  CHECK(same_bits(everything_of(fleet), everything_of(whole)));
}

TEST_CASE("after tilting one rotor of one vehicle, the fleet keeps its state and continues",
          "[fleet]") {
  for (const int rotors : {4, 6}) {
    constexpr std::size_t size = 5;
    auto vehicle = rotors == 4 ? with_memory() : ring_of(6);
    auto fleet = set_up<double>(vehicle, size, all_options());
    auto same = set_up<double>(vehicle, size, all_options());
    fly(fleet, true, 0, 9, 7);
    fly(same, true, 0, 9, 7);
    std::vector<VehicleParameters> vehicles(size, vehicle);
    vehicles[2].rotors[1].axis = {std::sin(0.05), 0.0, std::cos(0.05)};
    const auto before = fleet.snapshot();
    fleet.set_parameters(pw::EachVehicle{vehicles});
    CHECK(fleet.snapshot() == before);
    fly(fleet, true, 9, 15, 7);
    fly(same, true, 9, 15, 7);
    const auto a = rows(fleet, FleetField::velocity);
    const auto b = rows(same, FleetField::velocity);
    for (std::size_t k = 0; k < a.size(); ++k) {
      CAPTURE(rotors, k);
      if (k / 3 == 2) continue;
      CHECK(a[k] == Approx(b[k]).epsilon(0).margin(1e-11));
    }
    CHECK(std::abs(a[6] - b[6]) > 1e-3);
    // and back again
    vehicles[2] = vehicle;
    const auto tilted = fleet.snapshot();
    fleet.set_parameters(pw::EachVehicle{vehicles});
    CHECK(fleet.snapshot() == tilted);
    fly(fleet, true, 15, 20, 7);
  }
}

TEST_CASE("a vehicle whose rotors cannot control rates makes the fleet reject rate commands",
          "[fleet]") {
  auto fleet = make_fleet<double>(pw::vehicles::flightgoggles(), 3);
  std::vector<VehicleParameters> vehicles(3, pw::vehicles::flightgoggles());
  for (auto& rotor : vehicles[1].rotors) rotor.position.y = 0.0;
  fleet.set_parameters(pw::EachVehicle{vehicles});
  const auto commands = fleet_commands<double>(0, fleet.vehicle(), 3);
  CHECK_THROWS_AS(fleet.step(commands.rate_thrust()), pw::ParameterError);
  fleet.step(commands.rotor_speeds());
  CHECK(fleet.steps() == 1);
}

TEST_CASE("the memory per vehicle is as documented", "[fleet]") {
  // float, with controller and sensors; with individual parameters, 1000 MB for a million vehicles
  auto fleet = make_fleet<float>(pw::vehicles::flightgoggles(), 100000);
  CHECK(fleet.bytes_per_vehicle() <= 450.0);
  CHECK(fleet.bytes_per_vehicle() > 100.0);
  auto few = make_fleet<float>(pw::vehicles::flightgoggles(), 4096);
  const std::vector<VehicleParameters> vehicles(4096, pw::vehicles::flightgoggles());
  few.set_parameters(pw::EachVehicle{vehicles});
  CHECK(few.bytes_per_vehicle() < 1000.0);
  CHECK(few.bytes_per_vehicle() > fleet.bytes_per_vehicle());
}

}  // namespace test_fleet_state
