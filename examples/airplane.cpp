// The airplane of airplane.hpp: trimmed, linearised, flown as a fleet and differentiated.
#include "airplane.hpp"

#include <Eigen/Eigenvalues>
#include <complex>
#include <cstdio>
#include <propwash/fleet/fleet.hpp>
#include <propwash/fleet/vehicle_gradient.hpp>
#include <propwash/vehicle/linearize_vehicle.hpp>

namespace {

struct Trim {
  Airplane::State<double> state;
  Airplane::Command<double> command;
  double alpha;  // rad, angle of attack
};
/// Straight and level flight along world x, without sideslip, by Newton's method.
Trim trimmed(const Airplane::Constants<double>& c, double airspeed) {
  // from angle of attack, bank, elevator, aileron, rudder, propeller / 100
  const auto at = [&](const auto& x) {
    using T = std::decay_t<decltype(x[0])>;
    const T zero(0.0), one(1.0);
    const auto q_WB = pw::from_axis_angle({one, zero, zero}, x[1]) *
                      pw::from_axis_angle({zero, -one, zero}, x[0]);
    return std::pair{Airplane::State<T>{{}, {T(airspeed), zero, zero}, q_WB, {}},
                     Airplane::Command<T>{x[2], x[3], x[4], x[5] * 100.0}};
  };
  const auto residual = [&](const auto& x) {
    const auto [state, command] = at(x);
    const auto [v, a, q, w] = c.derivative(state, command);
    return std::array{a.x, a.y, a.z, w.x, w.y, w.z};
  };
  std::array<double, 6> x{0.05, 0.0, 0.0, 0.0, 0.0, 4.0};
  for (int i = 0; i < 20; ++i) {
    const auto r = residual(x);
    Eigen::Map<Eigen::Vector<double, 6>>(x.data()) -=
        pw::jacobian(residual, x).inverse() * Eigen::Map<const Eigen::Vector<double, 6>>(r.data());
  }
  const auto [state, command] = at(x);
  return {state, command, x[0]};
}

/// The longitudinal matrix for (u, w, q, theta) in stability axes, from the coefficients: R. C.
/// Nelson, "Flight Stability and Automatic Control", 2nd ed., 1998, tables 3.5 and 4.2.
Eigen::Matrix4d textbook(const Airplane::Constants<double>& c, const Trim& trim, double airspeed) {
  const double linear = c.lift.zero + c.lift.alpha * trim.alpha;
  const double lift = linear + c.lift.elevator * trim.command.elevator;
  const double drag = c.drag_zero + c.induced_drag * linear * linear;
  const double drag_alpha = 2.0 * c.induced_drag * linear * c.lift.alpha;
  const double force = 0.5 * c.density * airspeed * c.area / c.body.mass;
  const double torque = 0.5 * c.density * airspeed * c.area * c.chord / c.body.inertia(1, 1);
  const double M_q = c.pitch.rate * torque * c.chord / 2.0;
  Eigen::Matrix4d A;  // M_u is zero, as the moment is
  A << -2.0 * drag * force, (lift - drag_alpha) * force, 0.0, -gravity,    //
      -2.0 * lift * force, -(c.lift.alpha + drag) * force, airspeed, 0.0,  //
      0.0, c.pitch.alpha * torque, M_q, 0.0,                               //
      0.0, 0.0, 1.0, 0.0;
  return A;
}

/// The two oscillations of a matrix, the faster one first.
std::array<std::complex<double>, 2> modes(const Eigen::Matrix4d& A) {
  std::array<std::complex<double>, 2> found{};
  const Eigen::EigenSolver<Eigen::Matrix4d> solver(A);
  for (const auto& value : solver.eigenvalues()) {
    if (value.imag() > 0.0) found[found[0] == 0.0 ? 0 : 1] = value;
  }
  if (std::abs(found[0]) < std::abs(found[1])) std::swap(found[0], found[1]);
  return found;
}

bool is_failed = false;
void check(const char* what, double found, double expected, double tolerance) {
  const bool is_good = std::abs(found - expected) <= tolerance * std::abs(expected);
  std::printf("%-40s %11.6f, expected %11.6f%s\n", what, found, expected, is_good ? "" : " WRONG");
  is_failed = is_failed || !is_good;
}

}  // namespace

int main() {
  const Airplane::Parameters parameters;
  const auto c = Airplane::constants(parameters, 0.0);
  const double airspeed = 30.0;
  const Trim trim = trimmed(c, airspeed);
  std::printf("trim at %.0f m/s: angle of attack %.2f deg, elevator %.2f deg, %.0f rad/s\n",
              airspeed, trim.alpha * 180.0 / pi, trim.command.elevator * 180.0 / pi,
              trim.command.propeller);
  check("lift coefficient of a flat plate, 45 deg", c.lift_and_drag(pi / 4).first, std::sqrt(0.5),
        1e-4);

  // longitudinal modes: of velocity x and z, pitch and its rate, in the linear model
  const auto model = pw::linearize<Airplane>(parameters, trim.state, trim.command);
  const std::array index{3, 5, 7, 10};
  const auto found = modes(model.A(index, index));
  const Eigen::Matrix4d A = textbook(c, trim, airspeed);
  const auto expected = modes(A);
  const double short_period = std::sqrt(A(1, 1) * A(2, 2) - airspeed * A(2, 1));  // constant speed
  const double phugoid = std::sqrt(gravity * A(1, 0) * A(2, 1)) / short_period;   // slow modes
  const double approximation[] = {short_period, phugoid};
  for (std::size_t i = 0; i < 2; ++i) {
    std::printf(i == 0 ? "short period\n" : "phugoid\n");
    check("  frequency [rad/s]", std::abs(found[i]), std::abs(expected[i]), 0.001);
    check("  frequency [rad/s], approximation", std::abs(found[i]), approximation[i], 0.02);
    check("  damping [1/s]", -found[i].real(), -expected[i].real(), 0.001);
  }

  // a fleet in SIMD lanes: the same start, heavier from one vehicle to the next
  pw::VehicleFleetOptions options;
  options.dt = 0.005;
  pw::Fleet<Airplane, float> fleet{parameters, 1000, options};
  fleet.set_parameters([&](std::size_t i) {
    return Airplane::Parameters{parameters.mass * (1.0 + 1e-4 * static_cast<double>(i))};
  });
  fleet.reset(pw::cast_numbers<Airplane::State<float>>(trim.state));
  fleet.step(pw::cast_numbers<Airplane::Command<float>>(trim.command), 400);
  const float lightest = fleet.state(0).position.z, heaviest = fleet.state(999).position.z;
  std::printf("altitude after 2 s: %.3f m, with 10 %% more mass %.3f m\n", double(lightest),
              double(heaviest));
  is_failed = is_failed || !(std::abs(lightest) < 0.01f && heaviest < -0.5f);

  // the derivative of the altitude after 2 s with respect to the elevator
  pw::Fleet<Airplane, double> one{parameters, 1, options};
  const auto flown = [&](double elevator) {
    auto command = trim.command;
    command.elevator += elevator;
    one.reset(trim.state);
    one.step(command, 400);
    return one.state(0).position.z;
  };
  const double slope = (flown(1e-5) - flown(-1e-5)) / 2e-5;
  one.reset(trim.state);
  pw::FleetGradient<Airplane> gradient(one);
  gradient.record(one, trim.command, 400);
  const double of_altitude[13] = {0.0, 0.0, 1.0};
  double of_command[4] = {};
  gradient.pull(of_altitude, {of_command, nullptr, nullptr});
  check("d altitude / d elevator [m/rad]", of_command[0], slope, 1e-5);
  return is_failed ? 1 : 0;
}
