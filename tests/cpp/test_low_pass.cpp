// The second-order low-pass (19): exact for held inputs at any rate, Butterworth's cut-off and
// phase, and the published backward Euler.
#include <Eigen/Core>
#include <complex>
#include <propwash/control/low_pass.hpp>
#include <propwash/integrate/rk4.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_low_pass {

namespace pw = propwash;

namespace {

/// exp(A t) by Taylor's series of A t / 2^n, squared n times.
Eigen::Matrix3d exponential(const Eigen::Matrix3d& at) {
  int halvings = 0;
  for (double size = at.cwiseAbs().maxCoeff(); size > 1e-2; size *= 0.5) ++halvings;
  const Eigen::Matrix3d small = at * std::pow(0.5, halvings);
  Eigen::Matrix3d term = Eigen::Matrix3d::Identity();
  Eigen::Matrix3d sum = term;
  for (int k = 1; k < 12; ++k) {
    term = term * small / k;
    sum += term;
  }
  for (int n = 0; n < halvings; ++n) sum = sum * sum;
  return sum;
}

/// The step of (19) with the input as a third, constant state.
Eigen::Matrix3d reference(const pw::LowPassParameters<double>& filter, double dt) {
  Eigen::Matrix3d a;
  a << 0.0, 1.0, 0.0, -filter.stiffness, -filter.damping, filter.stiffness, 0.0, 0.0, 0.0;
  // in time units of 1 / sqrt(p) all entries have the same magnitude
  const double w = std::sqrt(filter.stiffness);
  const Eigen::Vector3d scale(1.0, w, 1.0);
  const Eigen::Matrix3d scaled = scale.cwiseInverse().asDiagonal() * a * scale.asDiagonal();
  return scale.asDiagonal() * exponential(scaled * dt) * scale.cwiseInverse().asDiagonal();
}

void require_exact(const pw::LowPassParameters<double>& filter, double dt) {
  INFO("p " << filter.stiffness << " q " << filter.damping << " dt " << dt);
  const auto k = pw::discretise(filter, dt, pw::Discretisation::exact);
  const auto m = reference(filter, dt);
  const double w = std::sqrt(filter.stiffness);
  CHECK(std::abs(k.value_from_value - m(0, 0)) <= 1e-10);
  CHECK(std::abs(k.value_from_derivative - m(0, 1)) * w <= 1e-10);
  CHECK(std::abs(k.value_from_input - m(0, 2)) <= 1e-10);
  CHECK(std::abs(k.derivative_from_value - m(1, 0)) / w <= 1e-10);
  CHECK(std::abs(k.derivative_from_derivative - m(1, 1)) <= 1e-10);
  CHECK(std::abs(k.derivative_from_input - m(1, 2)) / w <= 1e-10);
}

/// Output over input of the sampled filter for exp(i omega t).
std::complex<double> response(const pw::LowPassParameters<double>& filter, double frequency,
                              double dt, pw::Discretisation method) {
  const auto k = pw::discretise(filter, dt, method);
  const std::complex<double> z = std::exp(std::complex<double>(0.0, 2.0 * pi() * frequency * dt));
  // z x = F x + g u; the output is what the update returns, x after the step
  const auto a = z - k.value_from_value;
  const auto d = z - k.derivative_from_derivative;
  const double b = k.value_from_derivative;
  const double c = k.derivative_from_value;
  const auto determinant = a * d - b * c;
  return z * (d * k.value_from_input + b * k.derivative_from_input) / determinant;
}

double half_power(double cutoff, double dt) {
  double low = 0.1 * cutoff;
  double high = 3.0 * cutoff;
  for (int n = 0; n < 60; ++n) {
    const double middle = 0.5 * (low + high);
    const auto h = response(pw::butterworth(cutoff), middle, dt, pw::Discretisation::exact);
    (std::abs(h) > std::sqrt(0.5) ? low : high) = middle;
  }
  return low;
}

}  // namespace

TEST_CASE("Butterworth is -3 dB at its cut-off within 1 %", "[low pass]") {
  for (const double cutoff : {5.0, 30.0, 60.0}) {
    CHECK(half_power(cutoff, 1.0 / 960) == Approx(cutoff).epsilon(0.01));
    CHECK(half_power(cutoff, 1.0 / 20000) == Approx(cutoff).epsilon(1e-4));
  }
}

TEST_CASE("Butterworth lags by 90 degrees at its cut-off", "[low pass]") {
  // the output at the end of a held input leads by half a step: 180 fc dt degrees
  for (const double cutoff : {5.0, 30.0}) {
    for (const double dt : {1.0 / 960, 1.0 / 4000, 1.0 / 20000}) {
      const auto h = response(pw::butterworth(cutoff), cutoff, dt, pw::Discretisation::exact);
      const double degrees = std::arg(h) * 180.0 / pi();
      CHECK(degrees == Approx(-90.0 + 180.0 * cutoff * dt).margin(0.5));
    }
  }
}

TEST_CASE("gain and phase agree with a filtered sine", "[low pass]") {
  const double dt = 1.0 / 960;
  const double cutoff = 30.0;
  for (const auto method : {pw::Discretisation::exact, pw::Discretisation::backward_euler}) {
    pw::LowPass filter(pw::butterworth(cutoff), dt, method);
    std::complex<double> sum = 0.0;
    for (int n = 0; n < 960 * 2; ++n) {
      const double phase = 2.0 * pi() * cutoff * n * dt;
      const double y = filter.update(std::sin(phase));
      if (n >= 960) sum += 2.0 / 960 * y * std::complex<double>(std::sin(phase), std::cos(phase));
    }
    const auto h = response(pw::butterworth(cutoff), cutoff, dt, method);
    CHECK(sum.real() == Approx(h.real()).margin(1e-9));
    CHECK(sum.imag() == Approx(h.imag()).margin(1e-9));
  }
}

TEST_CASE("the exact filter is the solution for a held input, at any rate and damping",
          "[low pass]") {
  const double p = 35530.5758439217;
  for (const double dt : {1e-6, 1e-4, 1.0 / 960, 0.01, 0.1, 1.0, 10.0}) {
    require_exact(pw::butterworth(30.0), dt);
    require_exact(pw::butterworth(0.5), dt);
    for (const double damping : {0.0, 0.1, 0.999999, 1.0, 1.000001, 1.5, 20.0}) {
      if (damping == 0.0 && dt > 0.1)
        continue;  // thousands of undamped periods, in which the phase error accumulates
      require_exact({p, 2.0 * damping * std::sqrt(p)}, dt);
    }
  }
}

TEST_CASE("two half steps equal one step", "[low pass]") {
  for (const double damping : {0.3, 1.0, 5.0}) {
    const pw::LowPassParameters<double> parameters{400.0, 2.0 * damping * 20.0};
    const auto half = pw::discretise(parameters, 0.005, pw::Discretisation::exact);
    const auto whole = pw::discretise(parameters, 0.01, pw::Discretisation::exact);
    const pw::LowPassState<double> start{1.3, -7.0};
    const auto a = pw::low_pass(half, pw::low_pass(half, start, 0.4), 0.4);
    const auto b = pw::low_pass(whole, start, 0.4);
    CHECK(a.value == Approx(b.value).epsilon(1e-13));
    CHECK(a.derivative == Approx(b.derivative).epsilon(1e-12));
  }
}

TEST_CASE("the exact filter agrees with RK4 in very small steps", "[low pass]") {
  const auto parameters = pw::butterworth(30.0);
  Eigen::Vector2d x(0.0, 0.0);
  pw::LowPass filter(parameters, 1.0 / 960);
  Dice dice(101);
  for (int n = 0; n < 50; ++n) {
    const double input = dice.uniform(-1.0, 1.0);
    const auto f = [&](const Eigen::Vector2d& s) -> Eigen::Vector2d {
      return {s[1], -parameters.damping * s[1] + parameters.stiffness * (input - s[0])};
    };
    for (int k = 0; k < 100; ++k) x = pw::Rk4{}(f, x, 1.0 / 96000);
    CHECK(filter.update(input) == Approx(x[0]).margin(1e-9));
    CHECK(filter.state().derivative == Approx(x[1]).margin(1e-7));
  }
}

TEST_CASE("backward Euler is the published node's formula", "[low pass]") {
  const double p = 35530.5758439217;
  const double q = 266.572976289502;
  const double dt = 1.0 / 960;
  const double d = 1.0 + q * dt + p * dt * dt;
  pw::LowPass filter({p, q}, dt, pw::Discretisation::backward_euler);
  double value = 0.0;
  double derivative = 0.0;
  Dice dice(102);
  for (int n = 0; n < 100; ++n) {
    const double input = dice.uniform(-1.0, 1.0);
    const double next = (dt * (derivative + p * dt * input) + (1.0 + q * dt) * value) / d;
    derivative = (derivative + p * dt * (input - value)) / d;
    value = next;
    filter.update(input);
    CHECK(filter.state().value == Approx(value).margin(1e-14));
    CHECK(filter.state().derivative == Approx(derivative).margin(1e-11));
  }
}

TEST_CASE("backward Euler shifts the cut-off, the exact filter does not", "[low pass]") {
  const auto gain = [](pw::Discretisation method) {
    return std::abs(response(pw::butterworth(30.0), 30.0, 1.0 / 960, method));
  };
  CHECK(std::abs(gain(pw::Discretisation::exact) / std::sqrt(0.5) - 1.0) < 0.005);
  CHECK(std::abs(gain(pw::Discretisation::backward_euler) / std::sqrt(0.5) - 1.0) > 0.02);
}

TEST_CASE("constants pass unchanged, from rest and after a reset; components do not mix",
          "[low pass]") {
  for (const auto method : {pw::Discretisation::exact, pw::Discretisation::backward_euler}) {
    pw::LowPass filter(pw::butterworth(30.0), 1.0 / 960, method);
    filter.reset(2.5);
    for (int n = 0; n < 100; ++n) CHECK(filter.update(2.5) == Approx(2.5).epsilon(1e-12));
    filter.reset();
    for (int n = 0; n < 960; ++n) filter.update(1.0);
    CHECK(filter.state().value == Approx(1.0).epsilon(1e-12));

    const auto k = filter.coefficients();
    pw::LowPassState<pw::Vec3<double>> three;
    pw::LowPassState<double> one;
    for (int n = 0; n < 20; ++n) {
      three = pw::low_pass(k, three, pw::Vec3<double>{0.0, 1.0, 0.0});
      one = pw::low_pass(k, one, 1.0);
    }
    CHECK(three.value.x == 0.0);
    CHECK(three.value.y == Approx(one.value).epsilon(1e-14));
    CHECK(three.derivative.z == 0.0);
  }
}

}  // namespace test_low_pass
