#pragma once
/// @file
/// Computes the constants of a step from the parameters of a vehicle.

#include <type_traits>

#include "propwash/control/make_allocation.hpp"
#include "propwash/integrate/integrate.hpp"
#include "propwash/model/process_noise.hpp"
#include "propwash/vehicle/make_model.hpp"
#include "propwash/vehicle/parameters.hpp"
#include "propwash/vehicle/tick.hpp"

namespace propwash {

/// The stages of a motor lag of `rate` [1/s] for a step of dt [s].
inline DecayStages<double> motor_stages(Integrator integrator, double rate, double dt) {
  return integrator == Integrator::euler ? decay_stages<Euler>(rate, dt)
                                         : decay_stages<Rk4>(rate, dt);
}

/// The constants that do not depend on the time step; set_time_step sets the others. The rate
/// controller assumes the rotors, motors and inertia of `control`. The vehicle must have the
/// structure of Shape; for PrincipalShape, P is double.
template <class P, int N, class Shape>
TickConstants<P, N, Shape> make_tick_constants(const VehicleParameters& vehicle,
                                               const VehicleParameters& control) {
  TickConstants<P, N, Shape> c;
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    const auto principal = make_principal_model<N>(vehicle);
    c.model = principal.model;
    c.per_force = principal.per_force;
    c.per_torque = principal.per_torque;
  } else {
    c.model = make_model<P, N, Shape>(vehicle);
    c.per_force = P(1);
    c.per_torque = {P(1), P(1), P(1)};
  }
  auto motor = control.motor;  // the controller commands speeds within both ranges
  motor.speed_min = clamp(motor.speed_min, vehicle.motor.speed_min, vehicle.motor.speed_max);
  motor.speed_max = clamp(motor.speed_max, vehicle.motor.speed_min, vehicle.motor.speed_max);
  using Limits = typename Shape::template EachRotor<P, N>;
  c.allocation = make_allocation<P, N, Limits>(control.rotors, motor);
  detail::make_matrix(control.body.inertia, c.law.inertia);
  c.imu = make_imu_device<P>(vehicle.imu);
  if constexpr (Shape::has_battery_circuit) {
    c.battery.shafts.resize(static_cast<int>(vehicle.rotors.size()));
    int index = 0;
    for (const auto& rotor : vehicle.rotors) {
      c.battery.shafts[index++] = {P(rotor.torque_coefficient), P(rotor.inertia)};
    }
  }
  return c;
}

/// Sets the constants that depend on dt [s] > 0. If `noise` is false, the deviations are zero.
template <class P, int N, class Shape>
void set_time_step(TickConstants<P, N, Shape>& c, const VehicleParameters& vehicle,
                   Integrator integrator, double dt, bool noise) {
  if constexpr (std::is_same_v<Shape, PrincipalShape>) {
    c.lag = motor_stages(integrator, c.model.motor[0].rate, dt);
  }
  c.law = make_rate_control_law<P>(vehicle.rate_controller, c.law.inertia, dt);
  const double on = noise ? 1.0 : 0.0;
  const auto& intensity = vehicle.process_noise;
  c.force_deviation = P(on * held_noise_deviation(intensity.force, dt)) * c.per_force;
  c.torque_deviation = c.per_torque * P(on * held_noise_deviation(intensity.torque, dt));
  c.imu_deviations = make_imu_deviations<P>(vehicle.imu, dt, noise);
  if constexpr (Shape::has_battery_circuit) set_circuit(c.battery, vehicle.battery, dt);
}

#if defined(PROPWASH_STATIC)  // instantiated in src/vehicle.cpp
extern template Allocation<double, Dynamic> make_allocation<double, Dynamic>(
    const std::vector<RotorParameters<double>>&, const MotorParameters<double>&);
extern template MulticopterModel<double, Dynamic, GeneralShape>
make_model<double, Dynamic, GeneralShape>(const VehicleParameters&);
extern template TickConstants<double, Dynamic, GeneralShape> make_tick_constants(
    const VehicleParameters&, const VehicleParameters&);
extern template TickConstants<double, Dynamic, PrincipalShape> make_tick_constants(
    const VehicleParameters&, const VehicleParameters&);
#endif

}  // namespace propwash
