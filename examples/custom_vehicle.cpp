// A custom vehicle: a small aircraft as a point mass, simulated with the library's integrators.
//
// Any type with `derivative(state, command)` is a vehicle; its state needs `+` and `* number`.
// `project`, if defined, is applied once after each step.
#include <cmath>
#include <cstdio>
#include <propwash/integrate/integrate.hpp>

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double gravity = 9.81;  // m/s^2

struct AircraftState {
  double x = 0, y = 0, z = 0;  // m, world frame, z up
  double speed = 0;            // m/s, through still air
  double climb = 0;            // rad, flight-path angle
  double heading = 0;          // rad, counter-clockwise from world x
};

AircraftState operator+(const AircraftState& a, const AircraftState& b) {
  return {a.x + b.x,         a.y + b.y,         a.z + b.z,
          a.speed + b.speed, a.climb + b.climb, a.heading + b.heading};
}
AircraftState operator*(const AircraftState& a, double s) {
  return {a.x * s, a.y * s, a.z * s, a.speed * s, a.climb * s, a.heading * s};
}

struct Command {
  double thrust = 0;            // N
  double lift_coefficient = 0;  // -
  double bank = 0;              // rad, to the left
};

struct Aircraft {
  double mass = 2.0;             // kg
  double area = 0.5;             // m^2
  double air_density = 1.225;    // kg/m^3
  double zero_lift_drag = 0.03;  // -
  double induced_drag = 0.05;    // -

  double force(double speed, double coefficient) const {
    return 0.5 * air_density * speed * speed * area * coefficient;
  }
  double drag_coefficient(double lift) const { return zero_lift_drag + induced_drag * lift * lift; }

  AircraftState derivative(const AircraftState& s, const Command& command) const {
    const double lift = force(s.speed, command.lift_coefficient);
    const double drag = force(s.speed, drag_coefficient(command.lift_coefficient));
    AircraftState rate;
    rate.x = s.speed * std::cos(s.climb) * std::cos(s.heading);
    rate.y = s.speed * std::cos(s.climb) * std::sin(s.heading);
    rate.z = s.speed * std::sin(s.climb);
    rate.speed = (command.thrust - drag) / mass - gravity * std::sin(s.climb);
    rate.climb = (lift * std::cos(command.bank) / mass - gravity * std::cos(s.climb)) / s.speed;
    rate.heading = lift * std::sin(command.bank) / (mass * s.speed * std::cos(s.climb));
    return rate;
  }

  /// Heading in (-pi, pi].
  AircraftState project(AircraftState s) const {
    s.heading = std::remainder(s.heading, 2.0 * pi);
    return s;
  }
};

}  // namespace

int main() {
  const Aircraft aircraft;
  AircraftState state;
  state.z = 50.0;
  state.speed = 12.0;

  // level turn at 30 degrees of bank: lift balances the weight and curves the path
  Command turn;
  turn.bank = pi / 6.0;
  turn.lift_coefficient =
      aircraft.mass * gravity / std::cos(turn.bank) / aircraft.force(state.speed, 1.0);
  turn.thrust = aircraft.force(state.speed, aircraft.drag_coefficient(turn.lift_coefficient));

  const double dt = 0.01;
  double left = 0.0;
  double right = 0.0;
  for (int i = 0; i < 6000; ++i) {
    state = propwash::step(aircraft, state, turn, dt);
    left = std::fmax(left, state.y);
    right = std::fmin(right, state.y);
    if (i % 1000 == 999) {
      std::printf("t %5.1f s  position (%7.2f, %7.2f, %6.2f) m  heading %6.1f deg\n", (i + 1) * dt,
                  state.x, state.y, state.z, state.heading * 180.0 / pi);
    }
  }
  const double expected = state.speed * state.speed / (gravity * std::tan(turn.bank));
  std::printf("radius of the turn %.3f m, v^2 / (g tan bank) = %.3f m\n", 0.5 * (left - right),
              expected);
  return std::fabs(0.5 * (left - right) - expected) < 0.01 * expected ? 0 : 1;
}
