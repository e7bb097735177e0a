#pragma once
/// @file
/// The constants of a vehicle as the fleet's kernels read them.

#include "propwash/model/dryden.hpp"
#include "propwash/vehicle/tick.hpp"

namespace propwash {

/// The constants of a step and of the turbulence. P is double when they are computed, a pack with a
/// vehicle in each lane when they are used.
template <class P, int N, class Shape>
struct FleetConstants : TickConstants<P, N, Shape> {
  DrydenFilter<P> turbulence{};
  P turbulence_cos{};  ///< of the heading of the mean wind
  P turbulence_sin{};
};

namespace detail {

template <class F, class P>
PROPWASH_FN void visit(P& x, F&& f) {
  f(x);
}
template <class F, class P>
PROPWASH_FN void visit(Vec3<P>& v, F&& f) {
  f(v.x), f(v.y), f(v.z);
}
template <class F, class P>
PROPWASH_FN void visit(Diag3<P>& m, F&& f) {
  f(m.x), f(m.y), f(m.z);
}
template <class F, class P>
PROPWASH_FN void visit(AlongZ<P>& v, F&& f) {
  f(v.z);
}
template <class F, class P>
PROPWASH_FN void visit(Mat3<P>& m, F&& f) {
  for (auto& x : m.elements) f(x);
}
template <class F, class P>
PROPWASH_FN void visit(Quat<P>& q, F&& f) {
  f(q.w), f(q.x), f(q.y), f(q.z);
}
template <class F, class P, class Force>
PROPWASH_FN void visit(RotorCoefficients<P, Force>& r, F&& f) {
  visit(r.force_B, f), visit(r.torque_B, f), visit(r.reaction_B, f);
}
template <class F, class P, class Inertia>
PROPWASH_FN void visit(RigidBody<P, Inertia>& b, F&& f) {
  f(b.mass), f(b.inverse_mass), visit(b.inertia, f), visit(b.inertia_inverse, f);
  visit(b.gravity_W, f);
}
template <class F, class P>
PROPWASH_FN void visit(PrincipalBody<P>& b, F&& f) {
  visit(b.gyroscopic, f), f(b.precession_x), f(b.precession_y), visit(b.gravity_W, f);
}
template <class F, class P>
PROPWASH_FN void visit(MotorLag<P>& lag, F&& f) {
  f(lag.rate);
}
template <class F, class P>
PROPWASH_FN void visit(AsymmetricMotorLag<P>& lag, F&& f) {
  f(lag.rate_up), f(lag.rate_down);
}
template <class F, class P, int N>
PROPWASH_FN void visit(SmallArray<P, N>& a, F&& f) {
  for (auto& x : a) visit(x, f);
}
template <class F, class X, int N>
PROPWASH_FN void visit(AllRotors<X, N>& all, F&& f) {
  visit(all.value, f);
}
template <class F>
PROPWASH_FN void visit(NoBatteryCircuit&, F&&) {}
template <class F, class P, int N>
PROPWASH_FN void visit(BatteryCircuit<P, N>& b, F&& f) {
  f(b.cells), f(b.surplus), f(b.resistance_4), f(b.inverse_4), f(b.polarisation_resistance);
  f(b.polarisation_step), f(b.charge_step), f(b.inverse_efficiency), f(b.load);
  f(b.inverse_nominal), visit(b.shafts, f);
}
template <class F, class P>
PROPWASH_FN void visit(RotorShaft<P>& shaft, F&& f) {
  f(shaft.torque_coefficient), f(shaft.inertia);
}
template <class F, class P>
PROPWASH_FN void visit(ImuParameters<P>& p, F&& f) {
  visit(p.position, f), visit(p.attitude, f);
  visit(p.accelerometer_scale, f), visit(p.gyroscope_scale, f);
  f(p.accelerometer_resolution), f(p.gyroscope_resolution);
  f(p.accelerometer_range), f(p.gyroscope_range);
}

}  // namespace detail

/// Sets the size of every array with one element per rotor; needed for a dynamic size.
template <class P, int N, class Shape>
PROPWASH_FN void resize_rotors(MulticopterModel<P, N, Shape>& model, int rotors) {
  model.rotors.resize(rotors), model.motor.resize(rotors);
  model.speed_min.resize(rotors), model.speed_max.resize(rotors);
  if constexpr (Shape::has_rotor_air) model.flow.resize(rotors);
}
template <class P, int N, class Shape>
PROPWASH_FN void resize_rotors(FleetConstants<P, N, Shape>& c, int rotors) {
  resize_rotors(c.model, rotors);
  c.allocation.speed_min.resize(rotors), c.allocation.speed_max.resize(rotors);
  for (auto& column : c.allocation.squares_from_wrench) column.resize(rotors);
  if constexpr (Shape::has_battery_circuit) c.battery.shafts.resize(rotors);
  // an allocation takes its number of rotors from this matrix
  for (auto& row : c.allocation.wrench_from_squares) row.resize(rotors);
}

/// Calls f with the coefficients of inflow and ground effect. If all are zero, there is none.
template <class P, int N, class Shape, class F>
PROPWASH_FN void for_each_flow_coefficient(MulticopterModel<P, N, Shape>& model, F&& f) {
  for (auto& rotor : model.flow) f(rotor.inflow.axial), f(rotor.inflow.translational);
  f(model.ground_area);
}

/// Calls f with every number of a model, in an order that depends only on N and Shape.
template <class P, int N, class Shape, class F>
PROPWASH_FN void for_each_number(MulticopterModel<P, N, Shape>& model, F&& f) {
  using detail::visit;
  visit(model.body, f);
  visit(model.rotors, f);
  visit(model.motor, f);
  visit(model.speed_min, f), visit(model.speed_max, f);
  f(model.drag.translational);
  visit(model.drag.rotational, f);
  if constexpr (Shape::has_rotor_air) {
    visit(model.rotor_drag.linear, f);
    f(model.rotor_drag.blow_back);
    for (auto& rotor : model.flow) visit(rotor.position_B, f), visit(rotor.axis_B, f);
    for_each_flow_coefficient(model, f);
    f(model.ground_height);
    f(model.foot.stiffness), f(model.foot.damping), f(model.foot.friction);
    f(model.leg), f(model.contact_height);
  }
}

/// The same with every number that a kernel reads, for copying doubles to a lane of packs.
template <class P, int N, class Shape, class F>
PROPWASH_FN void for_each_number(FleetConstants<P, N, Shape>& c, F&& f) {
  using detail::visit;
  for_each_number(c.model, f);
  for (auto& x : c.lag.factor) f(x);
  for (auto& x : c.lag.slope) f(x);
  f(c.lag.end);
  for (auto& column : c.allocation.squares_from_wrench) visit(column, f);
  visit(c.allocation.speed_min, f), visit(c.allocation.speed_max, f);
  for (auto& pid : c.law.pid) {
    f(pid.proportional), f(pid.integral), f(pid.derivative), f(pid.integral_bound);
  }
  auto& k = c.law.filter;
  f(k.value_from_value), f(k.value_from_derivative), f(k.value_from_input);
  f(k.derivative_from_value), f(k.derivative_from_derivative), f(k.derivative_from_input);
  f(c.law.dt);
  visit(c.law.inertia, f);
  visit(c.imu.parameters, f);
  f(c.per_force), visit(c.per_torque, f);
  f(c.force_deviation), visit(c.torque_deviation, f);
  auto& imu = c.imu_deviations;
  f(imu.accelerometer), f(imu.gyroscope), f(imu.accelerometer_walk), f(imu.gyroscope_walk);
  visit(c.battery, f);
  for_each_number(c.turbulence, f);
  f(c.turbulence_cos), f(c.turbulence_sin);
}

}  // namespace propwash
