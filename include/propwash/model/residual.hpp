#pragma once
/// @file
/// Force and torque that the other models leave, as polynomials of the flight state: an extension
/// of the FlightGoggles model, zero for the published vehicles. See docs/model/residual.md.

#include <cstddef>

#include "propwash/math/vec3.hpp"

namespace propwash {

/// Monomials that keep their sign when the vehicle is reflected at its x-z plane.
inline constexpr int residual_even = 22;
/// Monomials that change their sign.
inline constexpr int residual_odd = 17;

/// Domain and coefficients of the residual.
template <class P>
struct ResidualParameters {
  Vec3<P> velocity{};           ///< m/s, semi-axes of the domain
  Vec3<P> velocity_centre{};    ///< m/s, its centre
  Vec3<P> rates{};              ///< rad/s, semi-axes; the centre is 0
  P thrust{};                   ///< N, semi-axis
  P thrust_centre{};            ///< N
  Vec3<P> torque{};             ///< N m, semi-axes; the centre is 0
  P force_x[residual_even]{};   ///< N, of the monomials of (Q3)
  P force_y[residual_odd]{};    ///< N, of the monomials of (Q4)
  P force_z[residual_even]{};   ///< N
  P torque_x[residual_odd]{};   ///< N m
  P torque_y[residual_even]{};  ///< N m
  P torque_z[residual_odd]{};   ///< N m
  PROPWASH_MEMBERS(velocity, velocity_centre, rates, thrust, thrust_centre, torque, force_x,
                   force_y, force_z, torque_x, torque_y, torque_z)
};

/// Calls f with each array of coefficients.
template <class P, class F>
PROPWASH_FN void for_each_coefficients(const ResidualParameters<P>& residual, F&& f) {
  f(residual.force_x), f(residual.force_y), f(residual.force_z);
  f(residual.torque_x), f(residual.torque_y), f(residual.torque_z);
}

/// Force and torque in the body frame.
template <class T>
struct ResidualWrench {
  Vec3<T> force_B{};   ///< N
  Vec3<T> torque_B{};  ///< N m
};

namespace detail {

/// The monomials (Q3) and (Q4).
template <class T>
struct ResidualMonomials {
  T even[residual_even];
  T odd[residual_odd];
};

/// The monomials of five even features (forward and upward velocity, pitch rate, thrust, pitch
/// torque) and five odd ones (velocity to the left, roll and yaw rate, roll and yaw torque).
template <class T>
PROPWASH_FN ResidualMonomials<T> residual_monomials(const T (&even)[5], const T (&odd)[5]) {
  ResidualMonomials<T> m;
  m.even[0] = T(constant<T>(1));
  for (int i = 0; i < 5; ++i) m.even[1 + i] = even[i], m.odd[i] = odd[i];
  int a = 6, b = 5;
  for (int i = 0; i < 4; ++i) {
    for (int j = i; j < 4; ++j) m.even[a++] = even[i] * even[j];
    for (int j = 0; j < 3; ++j) m.odd[b++] = even[i] * odd[j];
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = i; j < 3; ++j) m.even[a++] = odd[i] * odd[j];
  }
  return m;
}

template <class T, class P, std::size_t Size>
PROPWASH_FN T weighted_sum(const P (&coefficients)[Size], const T (&monomials)[Size]) {
  T sum = monomials[0] * coefficients[0];
  for (std::size_t i = 1; i < Size; ++i) sum = sum + monomials[i] * coefficients[i];
  return sum;
}

}  // namespace detail

/// The residual with the inverses of its semi-axes, as residual_wrench needs it; 0 for a semi-axis
/// of 0.
template <class P>
PROPWASH_FN ResidualParameters<P> with_inverse_axes(ResidualParameters<P> residual) {
  const P zero(constant<P>(0)), one(constant<P>(1));
  const auto invert = [&](P& x) PROPWASH_LAMBDA {
    x = select(zero < x, one / select(zero < x, x, one), zero);
  };
  for_each_number(residual.velocity, invert), for_each_number(residual.rates, invert);
  invert(residual.thrust), for_each_number(residual.torque, invert);
  return residual;
}

/// (Q1) to (Q5) The residual for velocity relative to the air [m/s] and rates [rad/s], body frame,
/// and the force along body z [N] and the torque [N m] of the rotors in still air at constant
/// speed. `residual` is that of with_inverse_axes.
template <class T, class P>
PROPWASH_FN ResidualWrench<T> residual_wrench(const ResidualParameters<P>& residual,
                                              const Vec3<T>& velocity_B, const Vec3<T>& rates_B,
                                              const T& thrust, const Vec3<T>& torque_B) {
  // beyond this the residual is zero already, and squares stay finite
  const T limit(constant<T>(1.5)), zero(constant<T>(0)), one(constant<T>(1));
  const auto feature = [&](const T& x, const P& inverse) PROPWASH_LAMBDA {
    return clamp(T(x * inverse), -limit, limit);
  };
  const Vec3<T> v_B = velocity_B - residual.velocity_centre;
  const T even[5] = {feature(v_B.x, residual.velocity.x), feature(v_B.z, residual.velocity.z),
                     feature(rates_B.y, residual.rates.y),
                     feature(thrust - residual.thrust_centre, residual.thrust),
                     feature(torque_B.y, residual.torque.y)};
  const T odd[5] = {feature(v_B.y, residual.velocity.y), feature(rates_B.x, residual.rates.x),
                    feature(rates_B.z, residual.rates.z), feature(torque_B.x, residual.torque.x),
                    feature(torque_B.z, residual.torque.z)};
  T square = zero;
  for (int i = 0; i < 5; ++i) square = square + even[i] * even[i] + odd[i] * odd[i];
  const T inside = clamp(T(constant<T>(2) - square), zero, one);
  const T fade = inside * inside * (constant<T>(3) - inside * constant<T>(2));
  const auto m = detail::residual_monomials(even, odd);
  return {Vec3<T>{detail::weighted_sum(residual.force_x, m.even),
                  detail::weighted_sum(residual.force_y, m.odd),
                  detail::weighted_sum(residual.force_z, m.even)} *
              fade,
          Vec3<T>{detail::weighted_sum(residual.torque_x, m.odd),
                  detail::weighted_sum(residual.torque_y, m.even),
                  detail::weighted_sum(residual.torque_z, m.odd)} *
              fade};
}

}  // namespace propwash
