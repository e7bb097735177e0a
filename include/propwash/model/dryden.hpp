#pragma once
/// @file
/// Dryden turbulence at low altitude: three gust components of coloured noise, independent for each
/// vehicle.
///
/// MIL-F-8785C, "Flying qualities of piloted airplanes" (1980), 3.7, Dryden form, below 1000 ft;
/// see docs/model/dryden.md. Wind axes: x along the mean wind, horizontal; y to its left; z up.

#include <cmath>

#include "propwash/math/vec3.hpp"

namespace propwash {

/// The conditions of the air.
template <class P>
struct DrydenParameters {
  P wind_speed_6m{};  ///< m/s, W_20: mean wind 20 ft (6 m) above ground; 0: no turbulence
  P altitude{};       ///< m, h above ground, limited to 3.048 to 304.8 (10 to 1000 ft)
  P airspeed{};       ///< m/s, V > 0: speed relative to the frozen gusts; in hover, the mean wind
};

/// h [m] limited to the range of the specification.
inline double dryden_altitude(double altitude) { return clamp(altitude, 3.048, 304.8); }

/// 0.177 + 0.000823 h, h in feet; 1 at 1000 ft, where the turbulence is isotropic.
inline double dryden_isotropy(double altitude) {
  constexpr double foot = 0.3048;
  return 0.177 + 0.000823 * (dryden_altitude(altitude) / foot);
}

/// m/s, sigma_w = 0.1 W_20: standard deviation of the vertical component.
inline double dryden_vertical_deviation(double wind_speed_6m) { return 0.1 * wind_speed_6m; }

/// m/s, sigma_u = sigma_v = sigma_w / (0.177 + 0.000823 h)^0.4: standard deviation of each
/// horizontal component.
inline double dryden_horizontal_deviation(double wind_speed_6m, double altitude) {
  return dryden_vertical_deviation(wind_speed_6m) / std::pow(dryden_isotropy(altitude), 0.4);
}

/// m, L_w = h: length scale of the vertical component.
inline double dryden_vertical_length(double altitude) { return dryden_altitude(altitude); }

/// m, L_u = L_v = h / (0.177 + 0.000823 h)^1.2: length scale of the horizontal components.
inline double dryden_horizontal_length(double altitude) {
  return dryden_altitude(altitude) / std::pow(dryden_isotropy(altitude), 1.2);
}

/// One step of H_u = sigma sqrt(2 L / (pi V)) / (1 + L/V s). The state has variance 1.
template <class P>
struct LongitudinalGust {
  P decay{};  ///< 1 - exp(-V dt / L); exp(-V dt / L) itself would be rounded to 1 in float
  P noise{};  ///< factor on the normal of the step
  P gain{};   ///< m/s, sigma
  PROPWASH_MEMBERS(decay, noise, gain)
};

/// One step of H_v, H_w = sigma sqrt(L / (pi V)) (1 + sqrt(3) L/V s) / (1 + L/V s)^2. The two
/// components of its state have variance 1 and are uncorrelated at equal times.
template <class P>
struct TransverseGust {
  P decay{};         ///< 1 - exp(-V dt / L)
  P coupling{};      ///< 2 V dt / L exp(-V dt / L): from the first component to the second
  P noise_first{};   ///< from the first normal to the first component
  P noise_shared{};  ///< from the first normal to the second component
  P noise_second{};  ///< from the second normal to the second component
  P gain_first{};    ///< m/s, sigma cos 15 deg
  P gain_second{};   ///< m/s, sigma sin 15 deg
  PROPWASH_MEMBERS(decay, coupling, noise_first, noise_shared, noise_second, gain_first,
                   gain_second)
};

/// The filters of the three components for one step size. Contains only numbers of type P.
template <class P>
struct DrydenFilter {
  LongitudinalGust<P> longitudinal{};  ///< along the wind
  TransverseGust<P> lateral{};         ///< horizontal, across the wind
  TransverseGust<P> vertical{};        ///< along world z
  PROPWASH_MEMBERS(longitudinal, lateral, vertical)
};

/// State of the filters, dimensionless: unit variance in stationary turbulence, correlated in time.
template <class T>
struct TurbulenceState {
  T longitudinal{};  ///< normalised gust along the wind
  T lateral[2]{};    ///< filter state of the horizontal gust across the wind
  T vertical[2]{};   ///< filter state of the vertical gust
  PROPWASH_MEMBERS(longitudinal, lateral, vertical)
};

namespace detail {

/// sinh(x) - x for x in [0, 1], by its series: a difference would lose digits.
inline double sinh_minus_x(double x) {
  double tail = 1.0;
  for (int n = 19; n >= 5; n -= 2) tail = 1.0 + x * x / (n * (n - 1)) * tail;
  return x * x * x / 6.0 * tail;
}

/// (1 - exp(-2x))^2 - 4 x^2 exp(-2x), the determinant of the covariance that is added in a step;
/// about (4/3) x^4 for small x.
inline double transverse_determinant(double x) {
  if (x < 1.0) return 4.0 * std::exp(-2.0 * x) * sinh_minus_x(x) * (std::sinh(x) + x);
  const double variance = -std::expm1(-2.0 * x);
  const double product = 2.0 * x * std::exp(-x);
  return (variance - product) * (variance + product);
}

}  // namespace detail

/// The exact first-order filter for a step of x = V dt / L; `deviation` is sigma [m/s].
inline LongitudinalGust<double> longitudinal_gust(double x, double deviation) {
  return {-std::expm1(-x), std::sqrt(-std::expm1(-2.0 * x)), deviation};
}

/// The exact second-order filter. In dimensionless time x = V t / L, with white noise n of
/// intensity 2,
///
///     a' = -a + n,    b' = -2 a - b + n,    velocity = sigma (a cos 15 deg + b sin 15 deg)
///
/// has the transfer function H_v, and the stationary covariance of (a, b) is the identity. With the
/// transition matrix F, a step therefore adds noise of covariance 1 - F F^T; the coefficients are
/// its Cholesky factor.
inline TransverseGust<double> transverse_gust(double x, double deviation) {
  const double coupling = 2.0 * x * std::exp(-x);
  const double variance = -std::expm1(-2.0 * x);
  const double first = std::sqrt(variance);
  const double shared = first > 0.0 ? coupling * std::exp(-x) / first : 0.0;
  const double second = first > 0.0 ? std::sqrt(detail::transverse_determinant(x)) / first : 0.0;
  const double root = std::sqrt(3.0);
  return {-std::expm1(-x),
          coupling,
          first,
          shared,
          second,
          deviation * (root + 1.0) / std::sqrt(8.0),
          deviation * (root - 1.0) / std::sqrt(8.0)};
}

/// The filters for steps of dt [s] > 0.
inline DrydenFilter<double> make_dryden_filter(const DrydenParameters<double>& air, double dt) {
  const double distance = air.airspeed * dt;
  const double along = distance / dryden_horizontal_length(air.altitude);
  const double up = distance / dryden_vertical_length(air.altitude);
  const double horizontal = dryden_horizontal_deviation(air.wind_speed_6m, air.altitude);
  return {longitudinal_gust(along, horizontal), transverse_gust(along, horizontal),
          transverse_gust(up, dryden_vertical_deviation(air.wind_speed_6m))};
}

/// Initial state: a sample of stationary turbulence. Its covariance is the identity for every
/// filter.
template <class T, class P>
PROPWASH_FN TurbulenceState<T> stationary_turbulence(const DrydenFilter<P>&,
                                                     const T (&normals)[5]) {
  return {normals[0], {normals[1], normals[2]}, {normals[3], normals[4]}};
}

/// One step of the filters, with five standard normals.
template <class T, class P>
PROPWASH_FN TurbulenceState<T> turbulence_step(const DrydenFilter<P>& filter,
                                               const TurbulenceState<T>& state,
                                               const T (&normals)[5]) {
  // state + change, not (1 - decay) * state: 1 - decay would be rounded to 1 in float
  const auto first = [](const auto& g, const T& a, const T& z) PROPWASH_LAMBDA {
    return a + (z * g.noise_first - a * g.decay);
  };
  const auto second = [](const auto& g, const T(&x)[2], const T& z0, const T& z1) PROPWASH_LAMBDA {
    const T noise = z0 * g.noise_shared + z1 * g.noise_second;
    return x[1] + (noise - (x[1] * g.decay + x[0] * g.coupling));
  };
  const auto& u = filter.longitudinal;
  const auto& v = filter.lateral;
  const auto& w = filter.vertical;
  const auto& z = normals;
  return {state.longitudinal + (z[0] * u.noise - state.longitudinal * u.decay),
          {first(v, state.lateral[0], z[1]), second(v, state.lateral, z[1], z[2])},
          {first(w, state.vertical[0], z[3]), second(w, state.vertical, z[3], z[4])}};
}

/// Gust velocity [m/s, wind axes], to be added to the mean wind.
template <class T, class P>
PROPWASH_FN Vec3<T> turbulence_velocity(const DrydenFilter<P>& filter,
                                        const TurbulenceState<T>& state) {
  const auto transverse = [](const auto& g, const T(&x)[2]) PROPWASH_LAMBDA {
    return x[0] * g.gain_first + x[1] * g.gain_second;
  };
  return {state.longitudinal * filter.longitudinal.gain, transverse(filter.lateral, state.lateral),
          transverse(filter.vertical, state.vertical)};
}

/// Transforms a velocity from wind axes to the world frame. The heading is the direction in which
/// the mean wind blows, counter-clockwise from world x.
template <class T, class P>
PROPWASH_FN Vec3<T> turbulence_in_world(const Vec3<T>& velocity, const P& cos_heading,
                                        const P& sin_heading) {
  return {velocity.x * cos_heading - velocity.y * sin_heading,
          velocity.x * sin_heading + velocity.y * cos_heading, velocity.z};
}

}  // namespace propwash
