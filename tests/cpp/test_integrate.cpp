// The integrators' orders of convergence, and step() for a custom vehicle.
#include <Eigen/Core>
#include <algorithm>
#include <propwash/integrate/integrate.hpp>
#include <propwash/vehicle/make_model.hpp>
#include <propwash/vehicle/vehicles.hpp>

#include "catch.hpp"
#include "support.hpp"

namespace test_integrate {

namespace pw = propwash;

namespace {

/// An oscillator of frequency 1 rad/s; a custom state with the operations of a vector.
struct Swing {
  double position = 0.0;
  double velocity = 0.0;
};
Swing operator+(const Swing& a, const Swing& b) {
  return {a.position + b.position, a.velocity + b.velocity};
}
Swing operator*(const Swing& a, double s) { return {a.position * s, a.velocity * s}; }
Swing kick(const Swing& x, const Swing& k, double dt) {
  return {x.position, x.velocity + k.velocity * dt};
}
Swing drift(const Swing& x, const Swing& k, double dt) {
  return {x.position + k.position * dt, x.velocity};
}

struct Oscillator {
  mutable int calls = 0;
  Swing derivative(const Swing& x, double force) const {
    ++calls;
    return {x.velocity, force - x.position};
  }
};

/// The same with an end stop.
struct LimitedOscillator : Oscillator {
  mutable int projections = 0;
  Swing project(const Swing& x) const {
    ++projections;
    return {std::clamp(x.position, -0.5, 0.5), x.velocity};
  }
};

double energy(const Swing& x) { return 0.5 * (x.position * x.position + x.velocity * x.velocity); }

template <class Method>
Swing swing(int steps, double duration) {
  const Oscillator oscillator;
  Swing x{1.0, 0.0};
  for (int n = 0; n < steps; ++n) {
    x = pw::step(oscillator, x, 0.0, duration / steps, Method{});
  }
  return x;
}

template <class Method>
double oscillator_error(int steps) {
  const Swing x = swing<Method>(steps, 3.0);
  return std::hypot(x.position - std::cos(3.0), x.velocity + std::sin(3.0));
}

/// The multicopter's full equations without noise, far from its limits.
using State = pw::MulticopterState<double, 4>;

template <class Method>
State fly(int steps) {
  const auto model = pw::make_model<double, 4, pw::GeneralShape>(pw::vehicles::flightgoggles());
  pw::MulticopterInput<double, 4> input;
  input.command = {{1160.0, 1120.0, 1140.0, 1135.0}};
  input.wind_W = {1.0, -0.5, 0.2};
  State x;
  x.velocity = {1.0, 2.0, 0.0};
  x.body_rates = {2.0, -1.0, 1.5};
  x.rotor_speeds = {{1100.0, 1150.0, 1050.0, 1200.0}};
  const auto f = [&](const State& s) { return pw::multicopter_derivative(model, s, input); };
  for (int n = 0; n < steps; ++n) x = pw::projected(model, Method{}(f, x, 0.5 / steps));
  return x;
}

double apart(const State& a, const State& b) {
  const auto q = a.attitude + b.attitude * -1.0;
  const auto rotors = a.rotor_speeds + b.rotor_speeds * -1.0;
  double sum = squared_norm(a.position - b.position) + squared_norm(a.velocity - b.velocity) +
               squared_norm(q) + squared_norm(a.body_rates - b.body_rates);
  for (double w : rotors) sum += w * w * 1e-6;  // scales rad/s to the magnitude of the others
  return std::sqrt(sum);
}

template <class Method>
double flight_order(int steps) {
  static const State reference = fly<pw::Rk4>(8000);
  return std::log2(apart(fly<Method>(steps), reference) / apart(fly<Method>(2 * steps), reference));
}

}  // namespace

TEST_CASE("orders of convergence on the oscillator", "[integrate]") {
  CHECK(std::log2(oscillator_error<pw::Euler>(2000) / oscillator_error<pw::Euler>(4000)) ==
        Approx(1.0).margin(0.05));
  CHECK(std::log2(oscillator_error<pw::Rk4>(50) / oscillator_error<pw::Rk4>(100)) ==
        Approx(4.0).margin(0.2));
  CHECK(std::log2(oscillator_error<pw::SymplecticEuler>(500) /
                  oscillator_error<pw::SymplecticEuler>(1000)) == Approx(1.0).margin(0.05));
}

TEST_CASE("orders of convergence on the full model", "[integrate]") {
  CHECK(flight_order<pw::Euler>(4000) == Approx(1.0).margin(0.05));
  CHECK(flight_order<pw::Rk4>(200) == Approx(4.0).margin(0.2));
  CHECK(flight_order<pw::SymplecticEuler>(4000) == Approx(1.0).margin(0.05));
}

TEST_CASE("symplectic Euler bounds the energy error, Euler does not, RK4 loses little energy",
          "[integrate]") {
  const double dt = 0.05;
  const int periods = 1000;
  const int steps = static_cast<int>(periods * 2.0 * pi() / dt);
  const Oscillator oscillator;
  Swing x{1.0, 0.0};
  double worst = 0.0;
  for (int n = 0; n < steps; ++n) {
    x = pw::step<pw::SymplecticEuler>(oscillator, x, 0.0, dt);
    worst = std::max(worst, std::abs(energy(x) - 0.5));
  }
  CHECK(worst <= 0.5 * dt * 0.5 * 1.1);  // (dt/2) x v, the difference from its conserved energy
  CHECK(worst >= 0.5 * dt * 0.5 * 0.9);
  // Euler multiplies the energy by 1 + dt^2 each step
  CHECK(energy(swing<pw::Euler>(100, 100 * dt)) ==
        Approx(0.5 * std::pow(1.0 + dt * dt, 100)).epsilon(1e-10));
  // RK4 by 1 - dt^6 / 72 + dt^8 / 576
  CHECK(energy(swing<pw::Rk4>(10000, 10000 * dt)) ==
        Approx(0.5 * std::pow(1.0 - std::pow(dt, 6) / 72 + std::pow(dt, 8) / 576, 10000))
            .epsilon(1e-10));
}

TEST_CASE("polynomials up to a method's order are integrated exactly", "[integrate]") {
  // state (t, t^2, ..., t^5) with derivative k t^(k-1), from t = 1 by one step of 1/2
  using Powers = Eigen::Matrix<double, 5, 1>;
  const auto f = [](const Powers& x) -> Powers {
    Powers d;
    d << 1.0, 2 * x[0], 3 * x[0] * x[0], 4 * std::pow(x[0], 3), 5 * std::pow(x[0], 4);
    return d;
  };
  const Powers start = Powers::Ones();
  const auto exact = [](int power) { return std::pow(1.5, power); };
  const Powers rk4 = pw::Rk4{}(f, start, 0.5);
  for (int k = 1; k <= 4; ++k) CHECK(rk4[k - 1] == Approx(exact(k)).epsilon(1e-14));
  CHECK(std::abs(rk4[4] - exact(5)) > 1e-3);
  const Powers euler = pw::Euler{}(f, start, 0.5);
  CHECK(euler[0] == Approx(1.5).epsilon(1e-14));
  CHECK(std::abs(euler[1] - exact(2)) > 1e-3);
}

TEST_CASE("a scalar is a valid state", "[integrate]") {
  double x = 1.0;
  for (int n = 0; n < 100; ++n) x = pw::Rk4{}([](double y) { return -y; }, x, 0.01);
  CHECK(x == Approx(std::exp(-1.0)).epsilon(1e-10));
}

TEST_CASE("step() projects once after the step if the vehicle defines project", "[integrate]") {
  const Oscillator free;
  const LimitedOscillator limited;
  Swing a{0.49, 3.0};
  const Swing b = pw::step(limited, a, 0.0, 0.1);
  const Swing c = pw::step(free, a, 0.0, 0.1);
  CHECK(free.calls == 4);
  CHECK(limited.calls == 4);
  CHECK(limited.projections == 1);
  CHECK(c.position > 0.5);
  CHECK(b.position == 0.5);
  CHECK(b.velocity == c.velocity);
  // the method can be selected by type or by value
  const Swing d = pw::step<pw::Euler>(free, a, 0.2, 0.1);
  const Swing e = pw::step(free, a, 0.2, 0.1, pw::Euler{});
  CHECK(d.position == e.position);
  CHECK(d.velocity == Approx(3.0 + 0.1 * (0.2 - 0.49)).epsilon(1e-15));
}

}  // namespace test_integrate
