// One vehicle in its variants: number of rotors fixed or dynamic, float or double, restored or not,
// seed and id.
#include <cstring>
#include <limits>
#include <propwash/vehicle/vehicles.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "instances.hpp"
#include "quiet.hpp"
#include "support.hpp"

namespace test_multicopter_variants {

namespace pw = propwash;

namespace {

pw::RateThrust<double> command(int n, double weight) {
  const double t = n * 1e-3;
  return {{std::sin(5.0 * t), 0.7 * std::cos(3.0 * t), 0.4},
          weight * (1.0 + 0.1 * std::sin(4.0 * t))};
}

template <class Uav>
void fly(Uav& uav, int from, int steps) {
  const double weight = uav.parameters().body.mass * 9.81;
  for (int n = from; n < from + steps; ++n) uav.step(command(n, weight), 1e-3);
}

template <class T>
bool same_bits(const pw::Vec3<T>& a, const pw::Vec3<T>& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class Uav>
void require_same_bits(const Uav& a, const Uav& b) {
  CHECK(same_bits(a.state().position, b.state().position));
  CHECK(same_bits(a.state().velocity, b.state().velocity));
  CHECK(same_bits(a.state().body_rates, b.state().body_rates));
  CHECK(std::memcmp(&a.state().attitude, &b.state().attitude, sizeof a.state().attitude) == 0);
  for (int i = 0; i < a.rotors(); ++i) {
    CHECK(a.state().rotor_speeds[i] == b.state().rotor_speeds[i]);
  }
  CHECK(same_bits(a.imu().specific_force, b.imu().specific_force));
  CHECK(same_bits(a.imu().angular_rate, b.imu().angular_rate));
  CHECK(a.imu().time == b.imu().time);
  CHECK(same_bits(a.imu_bias().gyroscope, b.imu_bias().gyroscope));
  CHECK(same_bits(a.controller().integral, b.controller().integral));
  CHECK(a.time() == b.time());
  CHECK(a.steps() == b.steps());
}

/// All features with state: dead time, slow IMU, biases, controller, wind, battery.
pw::VehicleParameters with_memory() {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.motor.command_delay = 0.0123;
  vehicle.imu.rate = 300.0;
  vehicle.imu.gyroscope_bias_initial = 0.01;
  vehicle.battery.nominal_voltage = 12.0;
  return vehicle;
}

template <class A, class B>
void require_near(const A& a, const B& b, double tolerance) {
  const auto near = [tolerance](const auto& x, const auto& y) {
    return distance(pw::cast<double>(x), pw::cast<double>(y)) <= tolerance;
  };
  CHECK(near(a.state().position, b.state().position));
  CHECK(near(a.state().velocity, b.state().velocity));
  CHECK(near(a.state().body_rates, b.state().body_rates));
  CHECK(near(a.imu().specific_force, b.imu().specific_force));
  CHECK(near(a.imu().angular_rate, b.imu().angular_rate));
}

}  // namespace

TEST_CASE("a restored vehicle continues bit for bit, also in another object", "[variants]") {
  pw::MulticopterOptions options;
  options.seed = 7;
  for (const auto& vehicle : {with_memory(), pw::vehicles::flightgoggles()}) {
    pw::Multicopter<4> uav(vehicle, options);
    uav.set_wind({1.0, 0.0, -0.5});
    uav.set_battery_voltage(11.0);
    fly(uav, 0, 137);
    const auto saved = uav.snapshot();
    fly(uav, 137, 200);

    pw::Multicopter<4> other(vehicle, options);
    fly(other, 50, 20);
    other.restore(saved);
    fly(other, 137, 200);
    require_same_bits(other, uav);

    // after restoring, the reading is that of the snapshot
    pw::Multicopter<4> again(vehicle, options);
    again.restore(saved);
    uav.restore(saved);
    require_same_bits(again, uav);
  }
}

TEST_CASE("reset with the same seed starts the same flight again", "[variants]") {
  pw::MulticopterOptions options;
  options.seed = 3;
  pw::Multicopter<4> uav(with_memory(), options);
  pw::Multicopter<4> fresh(with_memory(), options);
  fly(uav, 0, 300);
  uav.reset(uav.trim(), 3);
  CHECK(uav.time() == 0.0);
  fly(uav, 0, 100);
  fly(fresh, 0, 100);
  // the slow IMU's interval and the first dt restart too
  require_same_bits(uav, fresh);
}

TEST_CASE("noise is a function of seed, id and step", "[variants]") {
  const auto simulated = [](std::uint64_t seed, std::uint32_t id) {
    pw::MulticopterOptions options;
    options.seed = seed, options.id = id;
    pw::Multicopter<4> uav(pw::vehicles::flightgoggles(), options);
    fly(uav, 0, 100);
    return uav;
  };
  const auto a = simulated(1, 1);
  require_same_bits(simulated(1, 1), a);
  CHECK(distance(simulated(2, 1).state().velocity, a.state().velocity) > 1e-6);
  CHECK(distance(simulated(1, 2).state().velocity, a.state().velocity) > 1e-6);
  CHECK(distance(simulated(2, 1).state().velocity, simulated(1, 2).state().velocity) > 1e-6);
}

TEST_CASE("neighbours in seed and id are uncorrelated", "[variants]") {
  // correlation of the vertical speed of 400 vehicles with that of the next id and of the next seed
  constexpr int count = 400;
  const auto speeds = [](std::uint64_t seed) {
    std::vector<double> v;
    for (std::uint32_t id = 0; id <= count; ++id) {
      pw::MulticopterOptions options;
      options.seed = seed, options.id = id;
      pw::Multicopter<4> uav(pw::vehicles::flightgoggles(), options);
      const auto hover = pw::RotorSpeeds{uav.trim().rotor_speeds};
      for (int n = 0; n < 50; ++n) uav.step(hover, 1e-3);
      v.push_back(uav.state().velocity.z);
    }
    return v;
  };
  const auto correlation = [](const double* a, const double* b) {
    double ab = 0.0, aa = 0.0, bb = 0.0;
    for (int i = 0; i < count; ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
    return ab / std::sqrt(aa * bb);
  };
  const auto a = speeds(1);
  const auto b = speeds(2);
  const double three_sigma = 3.0 / std::sqrt(count);
  CHECK(std::abs(correlation(a.data(), a.data() + 1)) < three_sigma);
  CHECK(std::abs(correlation(a.data(), b.data())) < three_sigma);
}

TEST_CASE("a number of rotors known at run time changes nothing", "[variants]") {
  auto tilted = pw::vehicles::hexacopter();
  Dice dice(61);
  for (auto& rotor : tilted.rotors) {
    const auto axis = dice.vec3(0.2) + pw::Vec3<double>{0.0, 0.0, 1.0};
    rotor.axis = axis * (1.0 / norm(axis));
  }
  for (const auto& vehicle : {pw::vehicles::hexacopter(), tilted}) {
    pw::MulticopterOptions options;
    options.seed = 5;
    pw::Multicopter<6> fixed(vehicle, options);
    pw::Multicopter<> dynamic(vehicle, options);
    CHECK(dynamic.rotors() == 6);
    fly(fixed, 0, 500);
    fly(dynamic, 0, 500);
    require_near(fixed, dynamic, 1e-9);
    CHECK(norm(fixed.state().velocity) > 0.1);
  }
}

TEST_CASE("float agrees with double to its precision, including noise", "[variants]") {
  pw::MulticopterOptions options;
  options.seed = 9;
  pw::Multicopter<4> uav(pw::vehicles::flightgoggles(), options);
  pw::Multicopter<4, float> single(pw::vehicles::flightgoggles(), options);
  fly(uav, 0, 1000);
  fly(single, 0, 1000);
  CHECK(norm(uav.state().velocity) > 0.5);
  require_near(uav, single, 2e-3);
  CHECK(single.time() == uav.time());
}

TEST_CASE("an invalid vehicle is rejected before construction", "[variants]") {
  const auto error_message = [](auto&& build) -> std::string {
    try {
      build();
    } catch (const pw::ParameterError& error) {
      return error.what();
    }
    return {};
  };
  const auto six = error_message([] { pw::Multicopter<4>{pw::vehicles::hexacopter()}; });
  CHECK(six.find("number of rotors = 6: expected 4") != std::string::npos);
  auto heavy = pw::vehicles::flightgoggles();
  heavy.body.mass = 0.0;
  const auto massless = error_message([&] { pw::Multicopter<4>{heavy}; });
  CHECK(massless.find("body.mass = 0: expected a finite value > 0 kg") != std::string::npos);
}

TEST_CASE("a NaN command appears in the state, one that is too large is limited", "[variants]") {
  pw::Multicopter<4> uav(pw::vehicles::flightgoggles(), quiet());
  const double infinite = std::numeric_limits<double>::infinity();
  uav.step(pw::RotorSpeeds{infinite, 0.0, 0.0, -infinite}, 1e-3);
  CHECK(std::isfinite(norm(uav.state().velocity)));
  uav.step(pw::RotorSpeeds{std::nan(""), 0.0, 0.0, 0.0}, 1e-3);
  CHECK(std::isnan(uav.state().rotor_speeds[0]));
  CHECK_FALSE(std::isnan(uav.state().rotor_speeds[1]));
  CHECK(std::isnan(uav.state().velocity.z));
  uav.reset();
  CHECK(std::isfinite(norm(uav.imu().specific_force)));
}

}  // namespace test_multicopter_variants
