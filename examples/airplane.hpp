#pragma once
// A fixed-wing vehicle, for airplane.cpp.
//
// The Aerosonde of R. W. Beard and T. W. McLain, "Small Unmanned Aircraft: Theory and Practice",
// Princeton University Press, 2012: numbers of its table E.2, equations of its chapter 4, in axes
// forward, right, down; those of the library are forward, left, up. The propeller has the static
// thrust and torque of the 20 inch one in the book's supplement, 0.0936 rho n^2 D^4 and
// 0.0052 rho n^2 D^5. Not modelled: its inertia and inflow, ground and wind.
#include <cmath>
#include <propwash/math/angle.hpp>
#include <propwash/model/rigid_body.hpp>
#include <propwash/model/rotor.hpp>
#include <propwash/vehicle/custom_vehicle.hpp>
#include <propwash/vehicle/validate.hpp>

namespace pw = propwash;

inline constexpr double pi = 3.14159265358979323846;
inline constexpr double gravity = 9.81;  // m/s^2
using pw::cos, pw::exp, pw::max, pw::sin;

/// Forward, right, down from forward, left, up, or back.
template <class T>
PROPWASH_FN pw::Vec3<T> flipped(const pw::Vec3<T>& v) {
  return {v.x, -v.y, -v.z};
}

/// A coefficient of lift or of pitching moment. `rate` is q c / (2 V).
template <class P>
struct Longitudinal {
  P zero{}, alpha{}, rate{}, elevator{};
  PROPWASH_MEMBERS(zero, alpha, rate, elevator)
};
/// A coefficient of side force, rolling or yawing moment. `p` and `r` are p b / (2 V), r b / (2 V).
template <class P>
struct Lateral {
  P beta{}, p{}, r{}, aileron{}, rudder{};
  PROPWASH_MEMBERS(beta, p, r, aileron, rudder)
};

struct Airplane {
  struct Parameters {
    double mass = 13.5;  // kg
  };
  template <class T>
  struct State {
    pw::Vec3<T> position{}, velocity{};              // m, m/s, world frame
    pw::Quat<T> attitude = pw::Quat<T>::identity();  // q_WB
    pw::Vec3<T> rates{};                             // rad/s, body frame
    PROPWASH_MEMBERS(position, velocity, attitude, rates)
  };
  template <class T>
  struct Command {
    T elevator{}, aileron{}, rudder{};  // rad, with the signs of the book
    T propeller{};                      // rad/s
    PROPWASH_MEMBERS(elevator, aileron, rudder, propeller)
  };

  template <class P>
  struct Constants {
    pw::RigidBody<P> body{};
    pw::RotorParameters<P> propeller{};
    P density{}, area{}, span{}, chord{};  // kg/m^3, m^2, m, m
    Longitudinal<P> lift{}, pitch{};
    P drag_zero{}, induced_drag{};  // drag_zero + induced_drag (linear lift)^2
    P stall_rate{}, stall_angle{};  // M and alpha_0 of (4.10), 1/rad and rad
    Lateral<P> side{}, roll{}, yaw{};
    PROPWASH_MEMBERS(body, propeller, density, area, span, chord, lift, pitch, drag_zero,
                     induced_drag, stall_rate, stall_angle, side, roll, yaw)

    /// (4.9) to (4.11) lift and drag coefficients. Beyond the stall angle they blend into those of
    /// a flat plate, whose normal force is 2 sin^2 alpha.
    template <class T>
    PROPWASH_FN std::pair<T, T> lift_and_drag(const T& alpha) const {
      const auto one = pw::constant<T>(1), two = pw::constant<T>(2);
      // 1 - (4.10), in which an exponential that overflows gives 0
      const T attached = one / ((exp((alpha - stall_angle) * stall_rate) + one) *
                                (exp((alpha + stall_angle) * (-stall_rate)) + one));
      const T linear = alpha * lift.alpha + lift.zero;
      const T normal = pw::signed_square(sin(alpha)) * two;
      return {linear * attached + normal * cos(alpha) * (one - attached),
              (linear * linear * induced_drag + drag_zero) * attached +
                  normal * sin(alpha) * (one - attached)};
    }

    template <class T>
    PROPWASH_FN State<T> derivative(const State<T>& x, const Command<T>& u) const {
      const pw::Vec3<T> v = flipped(rotate_inverse(x.attitude, x.velocity));
      const T airspeed = max(norm(v), T(pw::constant<T>(1e-3)));
      const T alpha = pw::atan2(v.z, v.x), beta = pw::asin(v.y / airspeed);
      const T half_time = T(pw::constant<T>(0.5)) / airspeed;
      const T p = x.rates.x * half_time * span, q = -x.rates.y * half_time * chord,
              r = -x.rates.z * half_time * span;
      const auto lateral = [&](const Lateral<P>& of) PROPWASH_LAMBDA {
        return beta * of.beta + p * of.p + r * of.r + u.aileron * of.aileron + u.rudder * of.rudder;
      };
      const auto [attached_lift, drag] = lift_and_drag(alpha);
      const T lift_now = attached_lift + q * lift.rate + u.elevator * lift.elevator;
      const T pitch_now =
          alpha * pitch.alpha + pitch.zero + q * pitch.rate + u.elevator * pitch.elevator;
      const T cosine = cos(alpha), sine = sin(alpha);
      const pw::Vec3<T> force{lift_now * sine - drag * cosine, lateral(side),
                              -lift_now * cosine - drag * sine};
      const pw::Vec3<T> torque{lateral(roll) * span, pitch_now * chord, lateral(yaw) * span};
      const T pressure_area = airspeed * airspeed * (density * area * pw::constant<T>(0.5));
      const auto rotor = plus_rotor(pw::RotorWrench<pw::Zero3, pw::Zero3>{}, propeller, u.propeller,
                                    T(pw::constant<T>(0)));
      const auto force_W = rotate(x.attitude, flipped(force) * pressure_area + rotor.force_B);
      return {pw::position_rate(x.velocity), pw::linear_acceleration(body, force_W),
              pw::attitude_rate(x.attitude, x.rates),
              pw::angular_acceleration(body, flipped(torque) * pressure_area + rotor.torque_B,
                                       x.rates, rotor.momentum_B)};
    }
    template <class T>
    PROPWASH_FN State<T> project(State<T> x) const {
      x.attitude = normalized(x.attitude);
      return x;
    }
  };

  static Constants<double> constants(const Parameters& parameters, double) {
    const double mass = parameters.mass;
    if (!(mass > 0.0)) PROPWASH_THROW(pw::ParameterError("mass: expected > 0 kg"));
    Constants<double> c;
    c.density = 1.2682, c.area = 0.55, c.span = 2.8956, c.chord = 0.18994;
    // +J_xz: the book's matrix has -J_xz, in axes with the opposite z
    const pw::Mat3<double> inertia{{0.8244, 0.0, 0.1204, 0.0, 1.135, 0.0, 0.1204, 0.0, 1.759}};
    c.body = {mass, 1.0 / mass, inertia, inverse(inertia), {0.0, 0.0, -gravity}};
    const double diameter = 0.508, thrust = c.density * std::pow(diameter, 4) / (4.0 * pi * pi);
    c.propeller = {{}, {1.0, 0.0, 0.0}, 1.0, 0.09357 * thrust, 0.00523 * thrust * diameter, 0.0};
    c.lift = {0.28, 3.45, 0.0, -0.36};
    c.pitch = {-0.02338, -0.38, -3.6, -0.5};
    c.drag_zero = 0.0437, c.induced_drag = c.area / (pi * 0.9 * c.span * c.span);
    c.stall_rate = 50.0, c.stall_angle = 0.4712;
    c.side = {-0.98, 0.0, 0.0, 0.0, -0.17};
    c.roll = {-0.12, -0.26, 0.14, 0.08, 0.105};
    c.yaw = {0.25, 0.022, -0.35, 0.06, -0.032};
    return c;
  }
};
