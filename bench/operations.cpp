/// @file
/// Counts the arithmetic operations of a quadcopter's step with a counting scalar in the templates
/// of the fleet. Integer operations (random bits) and conversions are not counted.

#include <cstdio>

#include "custom_scalars.hpp"
#include "propwash/control/make_allocation.hpp"
#include "propwash/control/rate_control.hpp"
#include "propwash/integrate/euler.hpp"
#include "propwash/integrate/rk4.hpp"
#include "propwash/vehicle/make_tick_constants.hpp"
#include "propwash/vehicle/tick.hpp"
#include "propwash/vehicle/vehicles.hpp"

namespace {

namespace pw = propwash;
using counting::Counted;

using Vec = pw::Vec3<Counted>;

void print(const char* name) {
  const auto& t = counting::tally;
  std::printf("%-32s %5ld sums %5ld products %3ld quotients %3ld roots %3ld min/max/select\n", name,
              t.sums, t.products, t.quotients, t.roots, t.others);
}

/// A step with PrincipalShape, without wind, as in the fleet.
template <class Method, class Noise>
void step(const char* name, pw::Integrator integrator) {
  constexpr double dt = 1.0 / 960.0;
  const auto model = pw::make_principal_model<4>(pw::vehicles::flightgoggles()).model;
  const auto lag = pw::motor_stages(integrator, model.motor[0].rate, dt);
  pw::MulticopterState<Counted, 4> x;
  x.rotor_speeds = pw::SmallArray<Counted, 4>::filled(4, Counted(1000.0));
  pw::MulticopterInput<Counted, 4, pw::Zero3, Noise> input;
  input.command = x.rotor_speeds;
  counting::tally = {};
  pw::multicopter_step(Method{}, model, lag, x, input, dt);
  print(name);
}

void controller() {
  const auto vehicle = pw::vehicles::flightgoggles();
  const auto inertia = pw::Diag3<double>{0.0049, 0.0049, 0.0069};  // kg m^2
  const auto law = pw::make_rate_control_law<double>(vehicle.rate_controller, inertia, 1.0 / 960.0);
  const auto allocation = pw::make_allocation<double, 4>(vehicle.rotors, vehicle.motor);
  pw::RateControllerState<Counted> state;
  counting::tally = {};
  const Vec torque = pw::rate_control(law, state, Vec{}, Vec{});
  pw::allocate(allocation, pw::Wrench<Counted>{torque, Counted(9.81)});
  print("rate controller, allocation");
}

}  // namespace

int main() {
  step<pw::Rk4, pw::Zero3>("rk4", pw::Integrator::rk4);
  step<pw::Rk4, Vec>("rk4, with force and torque noise", pw::Integrator::rk4);
  step<pw::Euler, pw::Zero3>("euler", pw::Integrator::euler);
  controller();
  return 0;
}
