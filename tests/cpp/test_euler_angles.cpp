// Roll, pitch and yaw: conversion to the attitude, and their rates and accelerations compared with
// time derivatives.
#include <cmath>
#include <propwash/math/euler_angles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_euler_angles {

namespace pw = propwash;
using pw::Quat;
using pw::Vec3;

namespace {

Quat<double> attitude_of(double roll, double pitch, double yaw) {
  return pw::from_axis_angle(Vec3<double>{0, 0, 1}, yaw) *
         pw::from_axis_angle(Vec3<double>{0, 1, 0}, pitch) *
         pw::from_axis_angle(Vec3<double>{1, 0, 0}, roll);
}

/// Smoothly changing angles and their derivatives of the given order.
Vec3<double> angles_at(double t, int order) {
  const double quarter = 0.5 * pi() * order;
  return {0.9 * std::pow(1.3, order) * std::sin(1.3 * t + quarter),
          1.2 * std::pow(0.7, order) * std::cos(0.7 * t + quarter),
          2.5 * std::pow(1.1, order) * std::sin(1.1 * t + 1.0 + quarter)};
}

Quat<double> attitude_at(double t) {
  const auto a = angles_at(t, 0);
  return attitude_of(a.x, a.y, a.z);
}

/// Body rates of attitude_at, by central differences.
Vec3<double> rates_at(double t) {
  const double h = 1e-4;
  const Quat<double> rotation = conjugate(attitude_at(t - h)) * attitude_at(t + h);
  return Vec3<double>{rotation.x, rotation.y, rotation.z} * ((rotation.w > 0.0 ? 1.0 : -1.0) / h);
}

}  // namespace

TEST_CASE("Euler angles invert the attitude composed from them") {
  Dice dice(1);
  for (int i = 0; i < 1000; ++i) {
    const double roll = dice.uniform(-pi(), pi()), pitch = dice.uniform(-1.55, 1.55),
                 yaw = dice.uniform(-pi(), pi());
    const auto a = pw::euler_angles(attitude_of(roll, pitch, yaw));
    REQUIRE(std::abs(a.roll - roll) < 1e-11);
    REQUIRE(std::abs(a.pitch - pitch) < 1e-11);
    REQUIRE(std::abs(a.yaw - yaw) < 1e-11);
    REQUIRE(a.sin_pitch == Approx(std::sin(pitch)).margin(1e-12));
    REQUIRE(a.cos_pitch == Approx(std::cos(pitch)).margin(1e-11));
  }
}

TEST_CASE("Rates and accelerations of Euler angles are time derivatives") {
  const double h = 1e-4;
  for (double t = 0.0; t < 8.0; t += 0.11) {
    const auto a = pw::euler_angles(attitude_at(t));
    const auto rates = angles_at(t, 1), accelerations = angles_at(t, 2);
    const auto rates_B = rates_at(t);
    REQUIRE(distance(pw::body_rates_of(a, rates), rates_B) < 1e-6);
    REQUIRE(distance(pw::euler_rates(a, pw::body_rates_of(a, rates)), rates) < 1e-12);
    const Vec3<double> turning = (rates_at(t + h) - rates_at(t - h)) * (0.5 / h);
    REQUIRE(distance(pw::body_rates_of(a, accelerations) + pw::euler_coupling(a, rates), turning) <
            1e-5);
  }
}

}  // namespace test_euler_angles
