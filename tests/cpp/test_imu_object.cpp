/// @file
/// The stand-alone sensor: with the true quantities of a vehicle's steps it reads the same bits as
/// the vehicle's sensor; and its behaviour without a vehicle.

#include <cmath>
#include <cstring>
#include <limits>
#include <propwash/vehicle/vehicles.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "instances.hpp"
#include "support.hpp"

namespace test_imu_object {

namespace pw = propwash;
using pw::Vec3;

namespace {

/// A sensor with all errors.
pw::ImuParameters<double> full_sensor() {
  pw::ImuParameters<double> imu;
  imu.accelerometer_noise_density = 2e-3;
  imu.gyroscope_noise_density = 1.5e-4;
  imu.accelerometer_bias_walk = 3e-4;
  imu.gyroscope_bias_walk = 2e-5;
  imu.accelerometer_bias_initial = 0.05;
  imu.gyroscope_bias_initial = 0.01;
  imu.position = {0.05, -0.02, 0.03};
  imu.attitude = pw::normalized(pw::Quat<double>{1.0, 0.3, -0.2, 0.5});
  imu.accelerometer_scale = {1.01, 0.98, 1.02};
  imu.gyroscope_scale = {0.99, 1.03, 1.0};
  imu.accelerometer_resolution = 1e-3;
  imu.gyroscope_resolution = 1e-4;
  imu.accelerometer_range = 12.0;
  imu.gyroscope_range = 2.0;
  return imu;
}

template <class T>
bool same_bits(const pw::ImuReading<T>& a, const pw::ImuReading<T>& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Simulates a vehicle and passes its true quantities to an Imu, with steps of `dts` in turn.
template <class T, class Shape>
void check_same_bits(const pw::VehicleParameters& vehicle, const std::vector<double>& dts,
                     bool noise = true) {
  pw::MulticopterOptions options;
  options.seed = 11, options.id = 5, options.noise = noise;
  pw::Multicopter<4, T> uav(vehicle, options);
  pw::Imu<T> imu(vehicle.imu, 11, 5, noise);
  const auto model = pw::make_model<T, 4, Shape>(vehicle);
  const auto read = [&](double dt) {
    const Vec3<T> force_B = specific_force(model, uav.state(), uav.snapshot().input);
    return imu.read(force_B, uav.state().body_rates, uav.derivative().body_rates, dt);
  };
  int different = 0;
  for (int flight = 0; flight < 2; ++flight) {
    different += same_bits(read(0.0), uav.imu()) ? 0 : 1;
    int n = 0;
    for (const double dt : dts) {
      for (int i = 0; i < 200; ++i, ++n) {
        const double t = 0.01 * n;
        uav.step(pw::RateThrust<double>{{std::sin(t), 2.5 * std::cos(0.7 * t), 0.4}, 10.0}, dt);
        different += same_bits(read(dt), uav.imu()) ? 0 : 1;
      }
    }
    CHECK(different == 0);
    CHECK(imu.steps() == uav.steps());
    CHECK(imu.time() == uav.time());
    CHECK(std::memcmp(&imu.bias(), &uav.imu_bias(), sizeof imu.bias()) == 0);
    uav.reset();
    imu.reset();
  }
}

pw::VehicleParameters with(const pw::ImuParameters<double>& imu) {
  auto vehicle = pw::vehicles::flightgoggles();
  vehicle.imu = imu;
  return vehicle;
}

const Vec3<double> at_rest{0.0, 0.0, 9.81};

}  // namespace

TEST_CASE("the stand-alone sensor equals a vehicle's sensor, bit for bit", "[imu]") {
  using Parallel = pw::ParallelShape;
  const double dt = 1.0 / 960;
  auto sensor = full_sensor();
  SECTION("at every step") {
    check_same_bits<double, Parallel>(with(sensor), {dt});
    check_same_bits<double, Parallel>(with(sensor), {1.0 / 500, 1.0 / 1000});
  }
  SECTION("without noise, and with process noise only") {
    check_same_bits<double, Parallel>(with(sensor), {dt}, false);
    check_same_bits<double, Parallel>(with(pw::ImuParameters<double>{}), {dt});
  }
  SECTION("slower than the steps, also with changing steps") {
    sensor.rate = 333.0;
    check_same_bits<double, Parallel>(with(sensor), {dt});
    check_same_bits<double, Parallel>(with(sensor), {dt, 1.0 / 200, 1.0 / 1000, 1.0 / 400});
    sensor.rate = 2000.0;
    check_same_bits<double, Parallel>(with(sensor), {dt, 1.0 / 4000, 1.0 / 1000});
  }
  SECTION("a general vehicle") {
    auto vehicle = pw::vehicles::crazyflie();
    vehicle.imu = sensor;
    check_same_bits<double, pw::GeneralShape>(vehicle, {dt});
  }
  SECTION("in float") {
    sensor.rate = 333.0;
    check_same_bits<float, Parallel>(with(sensor), {dt});
  }
}

TEST_CASE("a slow stand-alone sensor holds its reading between samples", "[imu]") {
  pw::ImuParameters<double> parameters;
  parameters.rate = 100.0;
  pw::Imu<> imu(parameters);
  // the first call samples; then every tenth step of 1 ms
  std::vector<double> times;
  for (int n = 1; n <= 45; ++n) {
    const auto reading = imu.read({0.0, 0.0, static_cast<double>(n)}, {}, {}, 1e-3);
    if (times.empty() || times.back() != reading.time) times.push_back(reading.time);
    CHECK(reading.specific_force.z == std::round(reading.time * 1e3));
    CHECK(reading.time == imu.reading().time);
  }
  REQUIRE(times.size() == 5);
  const double expected[] = {0.001, 0.01, 0.02, 0.03, 0.04};
  for (std::size_t i = 0; i < 5; ++i) CHECK(std::abs(times[i] - expected[i]) < 1e-12);
}

TEST_CASE("reading twice at one time gives the same numbers", "[imu]") {
  pw::Imu<> imu(full_sensor(), 3, 4);
  const auto first = imu.read(at_rest, {}, {}, 0.0);
  CHECK(same_bits(first, imu.read(at_rest, {}, {}, 0.0)));
  CHECK(imu.steps() == 0);
  const auto second = imu.read(at_rest, {}, {}, 1e-3);
  CHECK_FALSE(same_bits(first, second));
  CHECK(same_bits(second, imu.read(at_rest, {}, {}, 0.0)));
}

TEST_CASE("snapshots and copies repeat the noise, and seeds and ids select it", "[imu]") {
  const auto parameters = full_sensor();
  pw::Imu<> imu(parameters, 3, 4);
  for (int n = 0; n < 100; ++n) imu.read(at_rest, {0.1, 0.2, 0.3}, {}, 1e-3);
  const auto snapshot = imu.snapshot();
  pw::Imu<> copy = imu;
  pw::Imu<> other(parameters, 3, 4);
  other.restore(snapshot);
  pw::Imu<> seeded(parameters, 4, 4);
  pw::Imu<> numbered(parameters, 3, 5);
  for (int n = 0; n < 50; ++n) {
    const auto reading = imu.read(at_rest, {}, {}, 1e-3);
    CHECK(same_bits(reading, copy.read(at_rest, {}, {}, 1e-3)));
    CHECK(same_bits(reading, other.read(at_rest, {}, {}, 1e-3)));
    CHECK_FALSE(same_bits(reading, seeded.read(at_rest, {}, {}, 1e-3)));
    CHECK_FALSE(same_bits(reading, numbered.read(at_rest, {}, {}, 1e-3)));
  }
}

TEST_CASE("a lever arm adds the acceleration of the rotation", "[imu]") {
  pw::ImuParameters<double> parameters;
  parameters.position = {0.2, 0.0, 0.0};
  pw::Imu<> imu(parameters);
  // a centrifuge: rate^2 r towards its axis, and along y with angular acceleration
  const auto reading = imu.read({}, {0.0, 0.0, 3.0}, {0.0, 0.0, 5.0}, 1e-3);
  CHECK(distance(reading.specific_force, {-9.0 * 0.2, 5.0 * 0.2, 0.0}) < 1e-15);
  CHECK(reading.angular_rate.z == 3.0);
}

TEST_CASE("invalid sensors and time steps are rejected and change nothing", "[imu]") {
  const auto message = [](const auto& f) {
    try {
      f();
    } catch (const pw::ParameterError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  auto parameters = full_sensor();
  parameters.rate = -5.0;
  parameters.accelerometer_range = 0.0;
  const auto text = message([&] { pw::Imu<>{parameters}; });
  CHECK(text.find("imu.rate = -5: expected") != std::string::npos);
  CHECK(text.find("imu.accelerometer_range = 0: expected") != std::string::npos);

  pw::Imu<> imu(full_sensor());
  imu.read(at_rest, {}, {}, 1e-3);
  const auto before = imu.snapshot();
  for (const double dt : {-1e-3, 1e-320, std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()}) {
    INFO(dt);
    CHECK(message([&] { imu.read(at_rest, {}, {}, dt); }).find("dt = ") != std::string::npos);
    const auto after = imu.snapshot();
    CHECK(std::memcmp(&before, &after, sizeof before) == 0);
  }
}

TEST_CASE("a snapshot can be restored at every step of a slow sensor", "[imu]") {
  for (const auto& [dt, rate] :
       {std::pair{1.0 / 960, 160.0}, {1e-3, 100.0}, {1.0 / 240, 160.0}, {1.0 / 400, 240.0}}) {
    auto parameters = full_sensor();
    parameters.rate = rate;
    pw::Imu<> imu(parameters);
    INFO(dt << " s, " << rate << " Hz");
    for (int n = 0; n < 200; ++n) {
      imu.read(at_rest, {}, {}, dt);
      CHECK_NOTHROW(imu.restore(imu.snapshot()));
    }
  }
}

TEST_CASE("a snapshot of another sensor, or a damaged one, is rejected", "[imu]") {
  pw::Imu<> imu(full_sensor(), 3, 4);
  imu.read(at_rest, {}, {}, 1e-3);
  const auto before = imu.snapshot();
  auto other = full_sensor();
  other.position.x += 0.1;
  CHECK_THROWS_AS(imu.restore(pw::Imu<>(other, 3, 4).snapshot()), std::invalid_argument);
  CHECK_THROWS_AS(imu.restore(pw::Imu<>(full_sensor(), 3, 4, false).snapshot()),
                  std::invalid_argument);
  auto damaged = before;
  damaged.dt = 0.0;
  CHECK_THROWS_AS(imu.restore(damaged), std::invalid_argument);
  CHECK_THROWS_AS(imu.restore(pw::ImuSnapshot<double>{}), std::invalid_argument);
  const auto after = imu.snapshot();
  CHECK(std::memcmp(&before, &after, sizeof before) == 0);
  // seed and id of the noise come from the snapshot
  pw::Imu<> seeded(full_sensor(), 8, 9);
  seeded.restore(before);
  CHECK(seeded.seed() == 3);
  CHECK(same_bits(seeded.read(at_rest, {}, {}, 1e-3), imu.read(at_rest, {}, {}, 1e-3)));
}

TEST_CASE("a stand-alone sensor has the ranges of a vehicle's", "[imu]") {
  const auto refused = [](auto&& change) {
    auto parameters = full_sensor();
    change(parameters);
    CHECK_THROWS_AS(pw::Imu<>(parameters), pw::ParameterError);
  };
  using Parameters = pw::ImuParameters<double>;
  refused([](Parameters& p) { p.accelerometer_noise_density = 1e308; });
  refused([](Parameters& p) { p.position.x = 1e300; });
  refused([](Parameters& p) { p.rate = 1e-300; });
}

}  // namespace test_imu_object
