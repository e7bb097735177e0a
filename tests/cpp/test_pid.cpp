// PID: closed forms, bounded integral, derivative on the measurement.
#include <propwash/control/pid.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_pid {

namespace pw = propwash;

namespace {

constexpr pw::PidParameters<double> gains{9.0, 3.0, 0.3, 0.5};

}  // namespace

TEST_CASE("a constant error is integrated to its product with time", "[pid]") {
  const double dt = 1.0 / 960;
  double integral = 0.0;
  for (int n = 1; n <= 960; ++n) {
    integral = pw::pid_integral(gains, integral, 0.25, dt);
    CHECK(integral == Approx(0.25 * n * dt).epsilon(1e-12));
    CHECK(pw::pid_output(gains, 0.25, integral, 0.0) ==
          Approx(9.0 * 0.25 + 3.0 * 0.25 * n * dt).epsilon(1e-12));
  }
}

TEST_CASE("the integral stays within its bound and leaves it at once", "[pid]") {
  double integral = 0.0;
  for (int n = 0; n < 1000; ++n) {
    integral = pw::pid_integral(gains, integral, 10.0, 0.01);
    REQUIRE(integral <= gains.integral_bound);
  }
  CHECK(integral == gains.integral_bound);
  CHECK(pw::pid_integral(gains, integral, -1.0, 0.01) == Approx(gains.integral_bound - 0.01));
  for (int n = 0; n < 1000; ++n) {
    integral = pw::pid_integral(gains, integral, -10.0, 0.01);
    REQUIRE(integral >= -gains.integral_bound);
  }
  CHECK(integral == -gains.integral_bound);
  // also if it was set out of bounds
  CHECK(pw::pid_integral(gains, 7.0, 0.0, 0.01) == gains.integral_bound);
  auto none = gains;
  none.integral_bound = 0.0;
  CHECK(pw::pid_integral(none, 0.0, 5.0, 0.01) == 0.0);
}

TEST_CASE("the output is linear in error, integral and derivative of the measurement", "[pid]") {
  Dice dice(111);
  for (int n = 0; n < 50; ++n) {
    const auto a = dice.vec3(5.0);
    const auto b = dice.vec3(5.0);
    const double s = dice.uniform(-2.0, 2.0);
    const auto output = [](const pw::Vec3<double>& v) {
      return pw::pid_output(gains, v.x, v.y, v.z);
    };
    CHECK(output(a + b * s) == Approx(output(a) + s * output(b)).margin(1e-11));
  }
  // a rising measurement reduces the output; the command's derivative has no effect
  CHECK(pw::pid_output(gains, 0.0, 0.0, 1.0) == -gains.derivative);
}

TEST_CASE("on an integrator the loop follows the closed form of a second-order system", "[pid]") {
  // x' = P (c - x) + I int(c - x): e'' + P e' + I e = 0 with e(0) = c, e'(0) = -P c
  const double p = 3.0;
  const double i = 2.0;  // roots -1 and -2
  const pw::PidParameters<double> pid{p, i, 0.0, 1e9};
  const double dt = 1e-5;
  double x = 0.0;
  double integral = 0.0;
  for (int n = 0; n < 200000; ++n) {
    const double error = 1.0 - x;
    integral = pw::pid_integral(pid, integral, error, dt);
    x += dt * pw::pid_output(pid, error, integral, 0.0);
  }
  // e = A exp(-t) + B exp(-2t): A + B = 1, -A - 2B = -3
  CHECK(1.0 - x == Approx(-std::exp(-2.0) + 2.0 * std::exp(-4.0)).margin(1e-4));
}

}  // namespace test_pid
