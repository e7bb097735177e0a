/// @file
/// Conversions between conventions: against a table that the Python test shares, and the equations
/// of motion hold in both conventions.

#include <fstream>
#include <map>
#include <propwash/vehicle/fields.hpp>
#include <propwash/vehicle/frames.hpp>
#include <propwash/vehicle/multicopter.hpp>
#include <propwash/vehicle/vehicles.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_frames {

namespace pw = propwash;
using pw::Quat;
using pw::Vec3;

namespace {

/// The source component and the sign of each number: tests/data/frames.csv.
class Changes {
 public:
  Changes() {
    std::ifstream stream(std::string(PROPWASH_SOURCE_DIR) + "/tests/data/frames.csv");
    REQUIRE(stream);
    std::string line;
    std::getline(stream, line);
    while (std::getline(stream, line)) {
      std::istringstream cells(line);
      std::string field, cell[3];
      std::getline(cells, field, ',');
      for (auto& text : cell) std::getline(cells, text, ',');
      changes_[{field, std::stoi(cell[0])}] = {std::stoi(cell[1]), std::stod(cell[2])};
    }
    REQUIRE(changes_.size() == 97);
  }
  void check(const std::string& field, int columns, const double* before, const double* after) {
    for (int i = 0; i < columns; ++i) {
      const auto found = changes_.find({field, i});
      const double expected =
          found == changes_.end() ? before[i] : found->second.second * before[found->second.first];
      INFO(field << " " << i);
      CHECK(after[i] == expected);
      used_ += found == changes_.end() ? 0 : 1;
    }
  }
  std::size_t used() const { return used_; }

 private:
  std::map<std::pair<std::string, int>, std::pair<int, double>> changes_;
  std::size_t used_ = 0;
};

/// A vehicle whose numbers all differ.
pw::VehicleParameters numbered() {
  auto vehicle = pw::vehicles::crazyflie();
  vehicle.rotors.resize(1);
  double next = 0.5;
  for (const auto& field : pw::fields(vehicle)) {
    for (int row = 0; row < field.rows; ++row) {
      for (int column = 0; column < field.columns; ++column) field(row, column) = next += 1.0;
    }
  }
  return vehicle;
}

/// A general vehicle with FRD body axes in an NED world. Without blow-back and ground effect, whose
/// equations depend on the axis that points up.
pw::VehicleParameters frd_vehicle() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.body.inertia = {{0.005, 2e-4, -3e-4, 2e-4, 0.006, 1e-4, -3e-4, 1e-4, 0.009}};
  vehicle.body.gravity = {0.1, -0.2, 9.81};
  vehicle.drag.rotational = {{1e-4, 1e-5, 0, 1e-5, 2e-4, 2e-5, 0, 2e-5, 3e-4}};
  vehicle.rotor_drag.linear = {0.1, 0.2, 0.3};
  vehicle.inflow = {2e-4, 3e-3, 0.06, 1e-4, 2e-3, 1e-5};
  vehicle.motor.time_constant_down = 0.03;
  for (auto& rotor : vehicle.rotors) {
    rotor.position = {rotor.position.x, -rotor.position.y, 0.01};
    const Vec3<double> axis{0.1, -0.05, -1.0};
    rotor.axis = axis * (1.0 / norm(axis));
  }
  vehicle.imu.position = {0.02, -0.03, 0.04};
  vehicle.imu.attitude = pw::normalized(Quat<double>{1.0, 0.2, -0.3, 0.4});
  return vehicle;
}

}  // namespace

TEST_CASE("every number of a vehicle, state and reading is converted by the table", "[frames]") {
  Changes changes;
  const auto before = numbered();
  const auto after = pw::ned_frd_to_enu_flu(before);
  const auto old_fields = pw::fields(before);
  const auto new_fields = pw::fields(after);
  for (std::size_t k = 0; k < old_fields.size(); ++k) {
    changes.check(std::string(old_fields[k].name), old_fields[k].columns, old_fields[k].first,
                  new_fields[k].first);
  }
  CHECK(after.name == before.name);
  const auto again = pw::enu_flu_to_ned_frd(after);
  const auto again_fields = pw::fields(again);
  for (std::size_t k = 0; k < old_fields.size(); ++k) {
    for (int i = 0; i < old_fields[k].columns; ++i) {
      CHECK(again_fields[k](0, i) == old_fields[k](0, i));
    }
  }

  pw::MulticopterState<double, 4> state;
  state.position = {1, 2, 3};
  state.velocity = {4, 5, 6};
  state.attitude = pw::normalized(Quat<double>{0.3, -0.4, 0.5, 0.6});
  state.body_rates = {7, 8, 9};
  state.rotor_speeds = {100, 200, 300, 400};
  const auto moved = pw::ned_frd_to_enu_flu(state);
  changes.check("state.position", 3, &state.position.x, &moved.position.x);
  changes.check("state.velocity", 3, &state.velocity.x, &moved.velocity.x);
  changes.check("state.body_rates", 3, &state.body_rates.x, &moved.body_rates.x);
  changes.check("state.rotor_speeds", 4, state.rotor_speeds.values, moved.rotor_speeds.values);
  const auto back = pw::enu_flu_to_ned_frd(moved);
  CHECK(distance(back.position, state.position) == 0.0);
  CHECK(distance(back.body_rates, state.body_rates) == 0.0);

  const pw::ImuReading<double> reading{{1, 2, 3}, {4, 5, 6}, 7.0};
  const auto flu = pw::frd_to_flu(reading);
  changes.check("reading.specific_force", 3, &reading.specific_force.x, &flu.specific_force.x);
  changes.check("reading.angular_rate", 3, &reading.angular_rate.x, &flu.angular_rate.x);
  CHECK(pw::flu_to_frd(flu).angular_rate.z == 6.0);
  CHECK(flu.time == 7.0);
  CHECK(changes.used() == 97);
}

TEST_CASE("attitudes rotate the same vectors in both conventions", "[frames]") {
  Dice dice(4);
  for (int n = 0; n < 50; ++n) {
    const auto q = dice.unit_quat();
    const auto converted = pw::quaternion_ned_frd_to_enu_flu(q);
    CHECK(std::abs(pw::squared_norm(converted) - 1.0) < 1e-14);
    const auto v_B = dice.vec3();
    CHECK(distance(pw::rotate(converted, pw::frd_to_flu(v_B)), pw::ned_to_enu(pw::rotate(q, v_B))) <
          1e-14);
    double xyzw[4];
    pw::wxyz_to_xyzw(q, xyzw);
    CHECK(xyzw[3] == q.w);
    CHECK(pw::xyzw_to_wxyz(xyzw).y == q.y);
  }
  // level and heading north is the identity in NED and a yaw of 90 degrees in ENU
  const auto north = pw::quaternion_ned_frd_to_enu_flu(Quat<double>::identity());
  CHECK(std::abs(pw::rotate(north, Vec3<double>{1, 0, 0}).y - 1.0) < 1e-15);
}

TEST_CASE("the equations of motion hold in both conventions", "[frames]") {
  using Input = pw::MulticopterInput<double, 4>;
  auto frd = frd_vehicle();
  frd.residual = some_residual();
  frd.residual.thrust_centre = -12.0;
  const auto flu = pw::ned_frd_to_enu_flu(frd);
  const auto frd_model = pw::make_model<double, 4, pw::GeneralShape>(frd);
  const auto flu_model = pw::make_model<double, 4, pw::GeneralShape>(flu);
  Dice dice(7);
  for (int n = 0; n < 20; ++n) {
    pw::MulticopterState<double, 4> state;
    state.position = dice.vec3(5.0);
    state.velocity = dice.vec3(5.0);
    state.attitude = dice.unit_quat();
    state.body_rates = dice.vec3(3.0);
    Input input;
    input.wind_W = dice.vec3(4.0);
    for (int i = 0; i < 4; ++i) {
      state.rotor_speeds[i] = dice.uniform(300.0, 2000.0);
      input.command[i] = dice.uniform(300.0, 2000.0);
    }
    Input rotated = input;
    rotated.wind_W = pw::ned_to_enu(input.wind_W);
    const auto moved = pw::ned_frd_to_enu_flu(state);
    const auto expected = pw::ned_frd_to_enu_flu(multicopter_derivative(frd_model, state, input));
    const auto found = multicopter_derivative(flu_model, moved, rotated);
    CHECK(distance(found.velocity, expected.velocity) < 1e-11);
    CHECK(distance(found.body_rates, expected.body_rates) < 1e-9);
    CHECK(std::abs(found.attitude.w - expected.attitude.w) < 1e-13);
    CHECK(std::abs(found.attitude.z - expected.attitude.z) < 1e-13);

    // and the sensor's reading
    const auto read = [](const auto& vehicle, const auto& model, const auto& x, const auto& in) {
      const auto imu = pw::make_imu_device<double>(vehicle.imu);
      const auto acceleration_B = multicopter_derivative(model, x, in).body_rates;
      return pw::ImuReading<double>{
          specific_force_at_sensor(imu, specific_force(model, x, in), x.body_rates, acceleration_B),
          angular_rate_at_sensor(imu, x.body_rates), 0.0};
    };
    const auto frd_reading = pw::frd_to_flu(read(frd, frd_model, state, input));
    const auto flu_reading = read(flu, flu_model, moved, rotated);
    CHECK(distance(flu_reading.specific_force, frd_reading.specific_force) < 1e-9);
    CHECK(distance(flu_reading.angular_rate, frd_reading.angular_rate) < 1e-13);
  }
}

TEST_CASE(
    "a vehicle in another convention is rejected with instructions, and valid after conversion",
    "[frames][validate]") {
  auto frd = frd_vehicle();
  frd.body.gravity = {0.0, 0.0, 9.81};
  for (auto& rotor : frd.rotors) rotor.axis = {0.0, 0.0, -1.0};
  const auto message = [](const pw::VehicleParameters& vehicle) {
    try {
      pw::validate(vehicle);
    } catch (const pw::ParameterError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto text = message(frd);
  for (const char* part :
       {"thrust along body z at motor.speed_max = -36.97", "body z points up", "ned_frd_to_enu_flu",
        "propwash.frames", "body.gravity[2] = 9.81", "world z points up"}) {
    INFO(part << " in " << text);
    CHECK(text.find(part) != std::string::npos);
  }
  auto ned = pw::vehicles::flightgoggles();
  ned.body.gravity = {0.0, 0.0, 9.81};
  CHECK(message(ned).find("convert gravity with ned_to_enu") != std::string::npos);
  CHECK(message(ned).find("body z") == std::string::npos);

  frd.imu.attitude = Quat<double>::identity();
  pw::Multicopter<4> uav{pw::ned_frd_to_enu_flu(frd), quiet()};
  pw::MulticopterState<double, 4> start = pw::enu_flu_to_ned_frd(uav.trim());
  start.position = {3.0, 4.0, -10.0};
  uav.reset(pw::ned_frd_to_enu_flu(start));
  CHECK(uav.state().position.z == 10.0);
  for (int i = 0; i < 960; ++i) uav.step(pw::RotorSpeeds<4>{start.rotor_speeds}, 1.0 / 960);
  const auto end = pw::enu_flu_to_ned_frd(uav.state());
  CHECK(distance(end.position, start.position) < 1e-9);
  CHECK(distance(pw::flu_to_frd(uav.imu()).specific_force, {0.0, 0.0, -9.81}) < 1e-9);
}

}  // namespace test_frames
