// The magnetometer: a constant field in rotating axes, and the effects of hard and soft iron.
#include <propwash/model/magnetometer.hpp>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_magnetometer {

namespace pw = propwash;
using lanes::Pair;

namespace {

using Vec = pw::Vec3<double>;

}  // namespace

TEST_CASE("without iron the field is rotated to sensor axes and keeps its length",
          "[magnetometer]") {
  Dice dice(901);
  auto device = pw::hmc5883l_magnetometer();
  for (int n = 0; n < 20; ++n) {
    device.attitude = dice.unit_quat();
    const auto q_WB = dice.unit_quat();
    const Vec field_S = pw::magnetometer_reading(device, q_WB, Vec{}, Vec{});
    CHECK(distance(rotate(q_WB * device.attitude, field_S), device.field) < 1e-19);
  }
}

TEST_CASE("the default field is that of its location", "[magnetometer]") {
  // declination and inclination of the 2025 model at that location, degrees
  const Vec f = pw::cambridge_field;
  CHECK(norm(f) == Approx(51.32e-6).epsilon(1e-3));
  CHECK(std::atan2(f.x, f.y) * 180.0 / pi() == Approx(-14.04).margin(0.01));
  CHECK(std::asin(-f.z / norm(f)) * 180.0 / pi() == Approx(66.36).margin(0.01));
}

TEST_CASE("readings lie on the ellipsoid of the iron effects", "[magnetometer]") {
  Dice dice(902);
  auto device = pw::hmc5883l_magnetometer();
  device.hard_iron = dice.vec3(2e-5);
  device.soft_iron = pw::Mat3<double>{{1.1, 0.05, -0.02, 0.05, 0.9, 0.03, -0.02, 0.03, 1.0}};
  for (int n = 0; n < 50; ++n) {
    const Vec bias = dice.vec3(1e-6), noise = dice.vec3(1e-7);
    const Vec m = pw::magnetometer_reading(device, dice.unit_quat(), bias, noise);
    // calibration inverts all effects
    const Vec calibrated = inverse(device.soft_iron) * (m - device.hard_iron - bias - noise);
    CHECK(norm(calibrated) == Approx(norm(device.field)).epsilon(1e-12));
  }
}

TEST_CASE("lanes have independent attitudes", "[magnetometer]") {
  Dice dice(903);
  const auto device = pw::hmc5883l_magnetometer();
  const auto a = dice.unit_quat(), b = dice.unit_quat();
  const pw::Quat<Pair> both{Pair(a.w, b.w), Pair(a.x, b.x), Pair(a.y, b.y), Pair(a.z, b.z)};
  const auto m = pw::magnetometer_reading(device, both, pw::Vec3<Pair>{}, pw::Vec3<Pair>{});
  const Vec of_a = pw::magnetometer_reading(device, a, Vec{}, Vec{});
  const Vec of_b = pw::magnetometer_reading(device, b, Vec{}, Vec{});
  for (int i = 0; i < 3; ++i) {
    CHECK(first(m[i]) == Approx(of_a[i]).epsilon(1e-12));
    CHECK(second(m[i]) == Approx(of_b[i]).epsilon(1e-12));
  }
}

}  // namespace test_magnetometer
