#pragma once
/// @file
/// The rigid body with rotor momentum.
///
/// Equations (8), (9), (12), (13) and (14) of Guerra et al., "FlightGoggles" (arXiv 1905.11377);
/// see docs/model/rigid_body.md. World frame W: z up, right-handed. Body frame B: origin at the
/// centre of mass, x forward, y left, z up.

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/structured.hpp"

namespace propwash {

/// Parameters of the body.
template <class P>
struct RigidBodyParameters {
  P mass{};                               ///< kg
  Mat3<P> inertia{};                      ///< kg m^2, J about the centre of mass, body axes
  Vec3<P> gravity{P(0), P(0), P(-9.81)};  ///< m/s^2, in the world frame
  PROPWASH_MEMBERS(mass, inertia, gravity)
};

/// Magnitude of the weight [N].
template <class P>
P weight_of(const RigidBodyParameters<P>& body) {
  return body.mass * norm(body.gravity);
}

/// Constants of the equations of motion. Inertia is Mat3<P>, or Diag3<P> for a diagonal inertia.
template <class P, class Inertia = Mat3<P>>
struct RigidBody {
  using Scalar = P;           ///< type of a parameter
  P mass{};                   ///< kg
  P inverse_mass{};           ///< 1/kg
  Inertia inertia{};          ///< kg m^2
  Inertia inertia_inverse{};  ///< 1/(kg m^2)
  Vec3<P> gravity_W{};        ///< m/s^2
  PROPWASH_MEMBERS(mass, inverse_mass, inertia, inertia_inverse, gravity_W)
};

/// A body of diagonal inertia in normalised units, in which (9), (12) and (13) have fewer products:
/// forces are divided by mass, torques by twice the moment of inertia of their axis, the angular
/// momentum of the rotors by 2 J_z; body rates are half rates, which absorbs the 1/2 of (12). See
/// docs/fleet.md.
template <class P>
struct PrincipalBody {
  using Scalar = P;      ///< type of a parameter
  One inverse_mass{};    ///< 1: forces are divided by mass beforehand
  Vec3<P> gyroscopic{};  ///< (13): factor on the product of the two other half rates, per axis
  P precession_x{};      ///< (13), x: factor on half rate y times rotor momentum
  P precession_y{};      ///< (13), y: factor on half rate x times rotor momentum
  Vec3<P> gravity_W{};   ///< m/s^2
  PROPWASH_MEMBERS(inverse_mass, gyroscopic, precession_x, precession_y, gravity_W)
};

/// (8) dx/dt = v.
template <class T>
PROPWASH_FN Vec3<T> position_rate(const Vec3<T>& velocity_W) {
  return velocity_W;
}

/// (9) dv/dt = g + (f + f_D + w_f) / m [m/s^2, world frame]. Drag is a separate argument, here and
/// in (13), and is added last because its square root makes it the last operand to be available.
/// `held_force_W`, a Vec3<T> or Zero3, is constant during a step. Body is RigidBody or
/// PrincipalBody.
template <class T, class Body, class Held = Zero3>
PROPWASH_FN Vec3<T> linear_acceleration(const Body& body, const Vec3<T>& force_W,
                                        const Vec3<T>& drag_W = {}, const Held& held_force_W = {}) {
  const auto held = body.gravity_W + held_force_W * body.inverse_mass;
  return (force_W * body.inverse_mass + held) + drag_W * body.inverse_mass;
}

/// (12) dq/dt = 1/2 q o [0, W].
template <class T>
PROPWASH_FN Quat<T> attitude_rate(const Quat<T>& q_WB, const Vec3<T>& rates_B) {
  return q_WB * (rates_B * constant<T>(0.5));
}

/// (12) for either kind of body, from rates in its units.
template <class T, class P, class Inertia>
PROPWASH_FN Quat<T> attitude_rate(const RigidBody<P, Inertia>&, const Quat<T>& q_WB,
                                  const Vec3<T>& rates_B) {
  return attitude_rate(q_WB, rates_B);
}
template <class T, class P>
PROPWASH_FN Quat<T> attitude_rate(const PrincipalBody<P>&, const Quat<T>& q_WB,
                                  const Vec3<T>& half_rates_B) {
  return q_WB * half_rates_B;
}

/// (14) H = J W + angular momentum of the rotors [kg m^2/s, body frame].
template <class T, class P, class Inertia, class Momentum>
PROPWASH_FN Vec3<T> angular_momentum(const RigidBody<P, Inertia>& body, const Vec3<T>& rates_B,
                                     const Momentum& rotor_momentum_B) {
  return body.inertia * rates_B + rotor_momentum_B;
}

/// (13) dW/dt = J^-1 (mu + mu_D - W x H) [rad/s^2]; `torque_B` is the total torque without drag.
template <class T, class P, class Inertia, class Momentum>
PROPWASH_FN Vec3<T> angular_acceleration(const RigidBody<P, Inertia>& body, const Vec3<T>& torque_B,
                                         const Vec3<T>& rates_B, const Momentum& rotor_momentum_B,
                                         const Vec3<T>& drag_torque_B = {}) {
  const Vec3<T> momentum_B = angular_momentum(body, rates_B, rotor_momentum_B);
  return body.inertia_inverse * ((torque_B - cross(rates_B, momentum_B)) + drag_torque_B);
}

/// (13) in the units of PrincipalBody.
template <class T, class P, class Momentum>
PROPWASH_FN Vec3<T> angular_acceleration(const PrincipalBody<P>& body, const Vec3<T>& torque_B,
                                         const Vec3<T>& half_rates_B,
                                         const AlongZ<Momentum>& rotor_momentum_B,
                                         const Vec3<T>& drag_torque_B = {}) {
  const auto& u = half_rates_B;
  const auto& h = rotor_momentum_B.z;
  const Vec3<T> gyroscopic_B{u.y * (u.z * body.gyroscopic.x - h * body.precession_x),
                             u.x * (u.z * body.gyroscopic.y + h * body.precession_y),
                             (u.x * u.y) * body.gyroscopic.z};
  return (torque_B + gyroscopic_B) + drag_torque_B;
}

/// The constants of a diagonal body in normalised units, from (13) evaluated at unit half rates.
inline PrincipalBody<double> principal_body(const RigidBody<double, Diag3<double>>& body) {
  const auto half_rate = [&](const Vec3<double>& rates_B, double momentum) {
    return angular_acceleration(body, Vec3<double>{}, rates_B, AlongZ{momentum}) * 0.5;
  };
  const double no_spin = 0.0;
  const double unit = 2.0 * body.inertia.z;
  return {{},
          {half_rate({0.0, 2.0, 2.0}, no_spin).x, half_rate({2.0, 0.0, 2.0}, no_spin).y,
           half_rate({2.0, 2.0, 0.0}, no_spin).z},
          -half_rate({0.0, 2.0, 0.0}, unit).x,
          half_rate({2.0, 0.0, 0.0}, unit).y,
          body.gravity_W};
}

}  // namespace propwash
