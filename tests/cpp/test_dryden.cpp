// Dryden turbulence: the law of the discrete filter against the closed forms of the specification,
// at any step size, and a simulation against its spectrum. Statistics at four sigma; seeds are
// fixed.
#include <Eigen/LU>
#include <algorithm>
#include <complex>
#include <propwash/model/dryden.hpp>
#include <propwash/random/normal.hpp>
#include <vector>

#include "catch.hpp"
#include "custom_scalars.hpp"
#include "support.hpp"

namespace test_dryden {

namespace pw = propwash;
using counting::Counted;
using lanes::Pair;

namespace {

using Filter = pw::DrydenFilter<double>;
using State = pw::TurbulenceState<double>;
constexpr int numbers = 5;

/// 20 knots at 6 m, 10 m above ground, hovering.
pw::DrydenParameters<double> breeze() { return {10.3, 10.0, 10.3}; }

/// The step in which `passed` horizontal length scales pass.
double step_of(const pw::DrydenParameters<double>& air, double passed) {
  return passed * pw::dryden_horizontal_length(air.altitude) / air.airspeed;
}

State state_of(const double (&x)[numbers]) { return {x[0], {x[1], x[2]}, {x[3], x[4]}}; }

using Matrix = Eigen::Matrix<double, numbers, numbers>;
double largest(const Matrix& m) { return m.cwiseAbs().maxCoeff(); }

/// The matrices of a step x' = A x + B z, evaluated from the step.
struct LinearStep {
  Matrix transition, noise;
};
LinearStep linear(const Filter& filter) {
  LinearStep step;
  for (int j = 0; j < numbers; ++j) {
    const double none[numbers]{};
    double unit[numbers]{};
    unit[j] = 1.0;
    const State moved = pw::turbulence_step(filter, state_of(unit), none);
    const State driven = pw::turbulence_step(filter, State{}, unit);
    step.transition.col(j) << moved.longitudinal, moved.lateral[0], moved.lateral[1],
        moved.vertical[0], moved.vertical[1];
    step.noise.col(j) << driven.longitudinal, driven.lateral[0], driven.lateral[1],
        driven.vertical[0], driven.vertical[1];
  }
  return step;
}
Matrix added_covariance(const LinearStep& step) { return step.noise * step.noise.transpose(); }

/// The change of the covariance 1 in one step. The step is a contraction, so an unchanged
/// covariance is the stationary one.
double covariance_change(const Filter& filter) {
  const LinearStep step = linear(filter);
  const Matrix after = step.transition * step.transition.transpose() + added_covariance(step);
  return largest(after - Matrix::Identity());
}

pw::Vec3<double> deviations(const pw::DrydenParameters<double>& air) {
  const double horizontal = pw::dryden_horizontal_deviation(air.wind_speed_6m, air.altitude);
  return {horizontal, horizontal, pw::dryden_vertical_deviation(air.wind_speed_6m)};
}
pw::Vec3<double> lengths(const pw::DrydenParameters<double>& air) {
  const double horizontal = pw::dryden_horizontal_length(air.altitude);
  return {horizontal, horizontal, pw::dryden_vertical_length(air.altitude)};
}

/// |H(i omega)|^2 of the specification, (m/s)^2 per rad/s: one-sided, the integral is sigma^2.
double spectrum(int axis, double omega, const pw::DrydenParameters<double>& air) {
  using Complex = std::complex<double>;
  const double time = lengths(air)[axis] / air.airspeed;
  const double sigma = deviations(air)[axis];
  const Complex s{0.0, omega * time};
  const Complex along = sigma * std::sqrt(2.0 * time / pi()) / (1.0 + s);
  const Complex across =
      sigma * std::sqrt(time / pi()) * (1.0 + std::sqrt(3.0) * s) / ((1.0 + s) * (1.0 + s));
  return std::norm(axis == 0 ? along : across);
}

/// The spectrum of the sampled filter, from the resolvent of its step.
double sampled_spectrum(int axis, double omega, const Filter& filter, double dt) {
  using Complex = std::complex<double>;
  using ComplexMatrix = Eigen::Matrix<Complex, numbers, numbers>;
  const LinearStep step = linear(filter);
  Eigen::Matrix<Complex, 1, numbers> output;
  for (int i = 0; i < numbers; ++i) {
    double unit[numbers]{};
    unit[i] = 1.0;
    output[i] = pw::turbulence_velocity(filter, state_of(unit))[axis];
  }
  const ComplexMatrix advance = ComplexMatrix::Identity() * std::polar(1.0, omega * dt);
  const ComplexMatrix resolvent = (advance - step.transition.cast<Complex>()).inverse();
  return (output * resolvent * step.noise.cast<Complex>()).squaredNorm() * dt / pi();
}

/// Steps from a millionth of a length scale to many length scales.
std::vector<double> passages() { return {1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 40.0}; }

void draw(std::uint64_t seed, std::uint32_t id, std::uint64_t step, double (&z)[numbers]) {
  const auto six = pw::six_normals(seed, id, step, pw::Stream::user);
  for (int i = 0; i < numbers; ++i) z[i] = static_cast<double>(six[i]);
}

}  // namespace

TEST_CASE("length scales and intensities are those of the specification", "[dryden]") {
  constexpr double foot = 0.3048;
  Dice dice(401);
  for (int n = 0; n < 50; ++n) {
    const double h = dice.uniform(10.0, 1000.0);  // ft
    const double w = dice.uniform(0.0, 30.0);
    const double factor = 0.177 + 0.000823 * h;
    CHECK(pw::dryden_vertical_length(h * foot) == Approx(h * foot).epsilon(1e-14));
    CHECK(pw::dryden_horizontal_length(h * foot) ==
          Approx(h / std::pow(factor, 1.2) * foot).epsilon(1e-13));
    CHECK(pw::dryden_vertical_deviation(w) == Approx(0.1 * w).epsilon(1e-14));
    CHECK(pw::dryden_horizontal_deviation(w, h * foot) ==
          Approx(0.1 * w / std::pow(factor, 0.4)).epsilon(1e-13));
  }
  // at the upper limit of 1000 ft gusts are isotropic; lower, the vertical intensity is smaller
  CHECK(pw::dryden_horizontal_length(304.8) == Approx(304.8).epsilon(1e-14));
  CHECK(pw::dryden_horizontal_deviation(7.0, 304.8) == Approx(0.7).epsilon(1e-14));
  CHECK(pw::dryden_horizontal_deviation(7.0, 10.0) > 0.7);
  CHECK(pw::dryden_horizontal_length(10.0) > 10.0);
  // beyond the range, values are those of its end
  for (const double beyond : {-5.0, 0.0, 3.0}) {
    CHECK(pw::dryden_horizontal_length(beyond) == pw::dryden_horizontal_length(10.0 * foot));
    CHECK(pw::dryden_vertical_length(beyond) == Approx(10.0 * foot));
  }
  CHECK(pw::dryden_horizontal_length(2000.0) == pw::dryden_horizontal_length(1000.0 * foot));
  CHECK(pw::dryden_vertical_length(2000.0) == Approx(1000.0 * foot));
}

TEST_CASE("the stationary variance is sigma^2 at any step", "[dryden]") {
  const auto air = breeze();
  const auto sigma = deviations(air);
  for (const double passed : passages()) {
    INFO("V dt / L = " << passed);
    const Filter filter = pw::make_dryden_filter(air, step_of(air, passed));
    // a step must preserve the covariance to 1e-9 of the noise it adds, which is the error of the
    // stationary one
    CHECK(covariance_change(filter) <= 1e-9 * std::min(1.0, 2.0 * passed));
    CHECK(filter.longitudinal.gain == Approx(sigma.x).epsilon(1e-14));
    const auto& v = filter.lateral;
    const auto& w = filter.vertical;
    CHECK(std::hypot(v.gain_first, v.gain_second) == Approx(sigma.y).epsilon(1e-14));
    CHECK(std::hypot(w.gain_first, w.gain_second) == Approx(sigma.z).epsilon(1e-14));
  }
}

TEST_CASE("two half steps have the law of one step", "[dryden]") {
  const auto air = breeze();
  for (const double passed : passages()) {
    INFO("V dt / L = " << passed);
    const double dt = step_of(air, passed);
    const Filter filter = pw::make_dryden_filter(air, dt);
    const Filter filter_of_half = pw::make_dryden_filter(air, 0.5 * dt);
    const LinearStep whole = linear(filter);
    const LinearStep half = linear(filter_of_half);
    const Matrix twice = half.transition * half.transition;
    CHECK(largest(whole.transition - twice) < 1e-14);
    const Matrix added = half.transition * added_covariance(half) * half.transition.transpose() +
                         added_covariance(half);
    CHECK(largest(added_covariance(whole) - added) < 1e-13 * std::min(1.0, passed));

    // the second noise is much smaller than the first for small steps; the determinant resolves it,
    // as the sum of the squared minors of [A B, B]
    const auto& g = filter_of_half.lateral;
    const double keep = 1.0 - g.decay;
    const double columns[4][2] = {
        {keep * g.noise_first, keep * g.noise_shared - g.coupling * g.noise_first},
        {0.0, keep * g.noise_second},
        {g.noise_first, g.noise_shared},
        {0.0, g.noise_second}};
    double determinant = 0.0;
    for (const auto& p : columns) {
      for (const auto& q : columns) {
        const double minor = p[0] * q[1] - p[1] * q[0];
        determinant += 0.5 * minor * minor;
      }
    }
    const double root = filter.lateral.noise_first * filter.lateral.noise_second;
    CHECK(root * root == Approx(determinant).epsilon(1e-8));
  }
}

TEST_CASE("correlations are exp(-r/L) along and exp(-r/L) (1 - r/2L) across", "[dryden]") {
  const auto air = breeze();
  const auto sigma = deviations(air);
  const auto length = lengths(air);
  const double none[numbers]{};
  for (const double dt : {1e-3, 0.05, 1.0}) {
    const Filter filter = pw::make_dryden_filter(air, dt);
    // for a state of covariance 1, <x(t) u(0)> is the gain of u propagated without noise
    State x{filter.longitudinal.gain,
            {filter.lateral.gain_first, filter.lateral.gain_second},
            {filter.vertical.gain_first, filter.vertical.gain_second}};
    for (int n = 0; n < 200; ++n) {
      const auto correlation = pw::turbulence_velocity(filter, x);
      for (int axis = 0; axis < 3; ++axis) {
        const double r = n * dt * air.airspeed / length[axis];
        const double expected = std::exp(-r) * (axis == 0 ? 1.0 : 1.0 - 0.5 * r);
        CHECK(std::abs(correlation[axis] / (sigma[axis] * sigma[axis]) - expected) < 1e-13);
      }
      x = pw::turbulence_step(filter, x, none);
    }
  }
}

TEST_CASE("the sampled spectrum is |H|^2 plus aliases", "[dryden]") {
  for (const auto& air : {breeze(), pw::DrydenParameters<double>{20.0, 120.0, 4.0}}) {
    const double dt = step_of(air, 1e-3);
    const Filter filter = pw::make_dryden_filter(air, dt);
    for (int axis = 0; axis < 3; ++axis) {
      const double time = lengths(air)[axis] / air.airspeed;
      for (const double x : {0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0}) {  // L omega / V
        INFO("axis " << axis << ", L omega / V = " << x);
        const double ratio =
            sampled_spectrum(axis, x / time, filter, dt) / spectrum(axis, x / time, air);
        // the tails decrease as omega^-2; their sum is below this at a few per cent of the rate
        const double rate = 2.0 * pi() * time / dt;
        CHECK(ratio > 1.0 - 1e-9);
        CHECK(ratio < 1.0 + 10.0 * (1.0 + x * x) / (rate * rate));
      }
    }
  }
}

TEST_CASE("a simulation has the spectrum of the specification", "[dryden]") {
  // the mean of periodograms of independent runs with a Hann window; for nine ordinates, four sigma
  // is one false alarm in a thousand seeds
  constexpr int runs = 400, length = 2048;
  const auto air = breeze();
  const double dt = step_of(air, 0.05);
  const Filter filter = pw::make_dryden_filter(air, dt);
  const std::vector<double> at = {0.3, 1.0, 3.0};  // L omega / V, L the horizontal scale
  const double time = lengths(air).x / air.airspeed;
  std::vector<std::complex<double>> wave[3];
  double power = 0.0;
  for (int n = 0; n < length; ++n) {
    const double window = 1.0 - std::cos(2.0 * pi() * n / length);
    power += window * window;
    for (std::size_t f = 0; f < 3; ++f) {
      wave[f].push_back(std::polar(window, -at[f] / time * dt * n));
    }
  }
  double mean[3][3]{};
  for (std::uint32_t run = 0; run < runs; ++run) {
    double z[numbers];
    draw(402, run, 0, z);
    State x = pw::stationary_turbulence(filter, z);
    std::complex<double> sum[3][3]{};
    for (std::size_t n = 0; n < length; ++n) {
      const auto u = pw::turbulence_velocity(filter, x);
      for (int axis = 0; axis < 3; ++axis) {
        for (std::size_t f = 0; f < 3; ++f) sum[axis][f] += wave[f][n] * u[axis];
      }
      draw(402, run, n + 1, z);
      x = pw::turbulence_step(filter, x, z);
    }
    for (int axis = 0; axis < 3; ++axis) {
      for (int f = 0; f < 3; ++f) mean[axis][f] += std::norm(sum[axis][f]) / runs;
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    for (std::size_t f = 0; f < 3; ++f) {
      INFO("axis " << axis << ", L omega / V = " << at[f]);
      const double density = mean[axis][f] * dt / (pi() * power);
      const double ratio = density / spectrum(axis, at[f] / time, air);
      CHECK(std::abs(ratio - 1.0) < 4.0 / std::sqrt(double(runs)));
    }
  }
}

TEST_CASE("stationary turbulence stays stationary", "[dryden]") {
  constexpr std::uint32_t count = 4000;
  const auto air = breeze();
  const Filter filter = pw::make_dryden_filter(air, step_of(air, 0.3));
  const auto sigma = deviations(air);
  pw::Vec3<double> first, last, mixed;
  for (std::uint32_t id = 0; id < count; ++id) {
    double z[numbers];
    draw(403, id, 0, z);
    State x = pw::stationary_turbulence(filter, z);
    const auto square = [&] {
      const auto u = pw::turbulence_velocity(filter, x);
      return cwise_product(u, u);
    };
    first += square();
    for (std::uint64_t n = 1; n <= 20; ++n) {
      draw(403, id, n, z);
      x = pw::turbulence_step(filter, x, z);
    }
    last += square();
    const auto u = pw::turbulence_velocity(filter, x);
    mixed += pw::Vec3<double>{u.x * u.y, u.y * u.z, u.z * u.x};
  }
  const double band = 4.0 / std::sqrt(double(count));
  for (int axis = 0; axis < 3; ++axis) {
    const double variance = sigma[axis] * sigma[axis];
    CHECK(std::abs(first[axis] / (count * variance) - 1.0) < band * std::sqrt(2.0));
    CHECK(std::abs(last[axis] / (count * variance) - 1.0) < band * std::sqrt(2.0));
    const double product = sigma[axis] * sigma[(axis + 1) % 3];
    CHECK(std::abs(mixed[axis] / (count * product)) < band);
  }
}

TEST_CASE("without wind there is no turbulence; without airspeed it is frozen", "[dryden]") {
  Dice dice(404);
  State x = state_of({1.0, -2.0, 0.5, 3.0, -1.0});
  const Filter calm = pw::make_dryden_filter({0.0, 10.0, 5.0}, 1e-3);
  const Filter frozen = pw::make_dryden_filter({10.0, 10.0, 0.0}, 1e-3);
  for (int n = 0; n < 100; ++n) {
    double z[numbers];
    for (double& number : z) number = dice.uniform(-3.0, 3.0);
    const State still = pw::turbulence_step(frozen, x, z);
    CHECK(still.longitudinal == x.longitudinal);
    for (int i = 0; i < 2; ++i) {
      CHECK(still.lateral[i] == x.lateral[i]);
      CHECK(still.vertical[i] == x.vertical[i]);
    }
    x = pw::turbulence_step(calm, x, z);
    CHECK(norm(pw::turbulence_velocity(calm, x)) == 0.0);
  }
}

TEST_CASE("float keeps the variance for tiny steps", "[dryden]") {
  const auto air = breeze();
  for (const double passed : passages()) {
    INFO("V dt / L = " << passed);
    Filter filter = pw::make_dryden_filter(air, step_of(air, passed));
    auto single = pw::cast_numbers<pw::DrydenFilter<float>>(filter);
    std::vector<double> rounded;
    pw::for_each_number(single, [&](float x) { rounded.push_back(static_cast<double>(x)); });
    std::size_t next = 0;
    pw::for_each_number(filter, [&](double& x) {
      CHECK(rounded[next] == Approx(x).epsilon(1e-7).margin(1e-37));
      x = rounded[next++];
    });
    // the coefficients of the float, in exact arithmetic
    CHECK(covariance_change(filter) <= 1e-6 * std::min(1.0, 2.0 * passed));
  }
}

TEST_CASE("a run in float follows that in double", "[dryden]") {
  const auto air = breeze();
  const Filter filter = pw::make_dryden_filter(air, step_of(air, 1e-6));
  const auto single = pw::cast_numbers<pw::DrydenFilter<float>>(filter);
  State x{};
  pw::TurbulenceState<float> y{};
  double largest = 0.0;
  constexpr int steps = 200000;
  for (std::uint64_t n = 0; n < steps; ++n) {
    double z[numbers];
    draw(405, 0, n, z);
    float zs[numbers];
    for (int i = 0; i < numbers; ++i) zs[i] = static_cast<float>(z[i]);
    x = pw::turbulence_step(filter, x, z);
    y = pw::turbulence_step(single, y, zs);
    const auto u = pw::turbulence_velocity(filter, x);
    largest = std::max(largest, distance(u, pw::cast<double>(pw::turbulence_velocity(single, y))));
  }
  // rounding errors of numbers of order 1 accumulate as a random walk of 2^-25 per step
  CHECK(largest < 10.0 * std::sqrt(double(steps)) * 0x1p-25 * norm(deviations(air)));
}

TEST_CASE("lanes have independent filters and turbulence", "[dryden]") {
  const Filter one = pw::make_dryden_filter(breeze(), 1e-3);
  const Filter two = pw::make_dryden_filter({20.0, 100.0, 7.0}, 1e-2);
  auto both = pw::cast_numbers<pw::DrydenFilter<Pair>>(one);
  std::vector<double> second_lane;
  Filter copy = two;
  pw::for_each_number(copy, [&](double x) { second_lane.push_back(x); });
  std::size_t next = 0;
  pw::for_each_number(both, [&](Pair& x) { x = Pair(first(x), second_lane[next++]); });
  CHECK(next * sizeof(float) == sizeof(pw::DrydenFilter<float>));

  State a{}, b{};
  pw::TurbulenceState<Pair> x{};
  pw::TurbulenceState<Counted> counted{};
  for (std::uint64_t n = 0; n < 20; ++n) {
    double za[numbers], zb[numbers];
    draw(406, 0, n, za), draw(406, 1, n, zb);
    Pair z[numbers];
    Counted zc[numbers];
    for (int i = 0; i < numbers; ++i) z[i] = Pair(za[i], zb[i]), zc[i] = Counted(za[i]);
    a = pw::turbulence_step(one, a, za), b = pw::turbulence_step(two, b, zb);
    x = pw::turbulence_step(both, x, z);
    counted = pw::turbulence_step(one, counted, zc);
    const auto ua = pw::turbulence_velocity(one, a);
    const auto ub = pw::turbulence_velocity(two, b);
    const auto u = pw::turbulence_velocity(both, x);
    const auto uc = pw::turbulence_velocity(one, counted);
    for (int axis = 0; axis < 3; ++axis) {
      CHECK(first(u[axis]) == Approx(ua[axis]).epsilon(1e-12));
      CHECK(second(u[axis]) == Approx(ub[axis]).epsilon(1e-12));
      CHECK(reading(uc[axis]) == Approx(ua[axis]).epsilon(1e-12));
    }
  }
}

TEST_CASE("wind axes are rotated about the vertical", "[dryden]") {
  Dice dice(407);
  for (int n = 0; n < 20; ++n) {
    const double heading = dice.uniform(-pi(), pi());
    const auto u = dice.vec3(5.0);
    const auto u_W = pw::turbulence_in_world(u, std::cos(heading), std::sin(heading));
    const auto rotation = pw::from_axis_angle(pw::Vec3<double>{0.0, 0.0, 1.0}, heading);
    CHECK(distance(u_W, rotate(rotation, u)) < 1e-14);
  }
}

}  // namespace test_dryden
