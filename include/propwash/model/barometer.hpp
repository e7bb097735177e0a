#pragma once
/// @file
/// Barometer: pressure of the standard atmosphere with white noise and drift.
///
/// International Standard Atmosphere, ISO 2533:1975, troposphere (-2000 m to 11000 m):
///
///     p = p_0 (1 - L h / T_0)^(g / (R L))
///
/// with geometric height in place of geopotential height; see docs/model/barometer.md. The power is
/// computed from square roots and short series, so that it works for every scalar type.

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/gauss_markov.hpp"

namespace propwash {

/// Constants of ISO 2533.
struct StandardAtmosphere {
  static constexpr double pressure = 101325.0;       ///< Pa, p_0 at sea level
  static constexpr double temperature = 288.15;      ///< K, T_0 at sea level
  static constexpr double lapse_rate = 0.0065;       ///< K/m, L
  static constexpr double gravity = 9.80665;         ///< m/s^2, g
  static constexpr double gas_constant = 287.05287;  ///< J/(kg K), R
  static constexpr double lowest = -2000.0;          ///< m, lower end of the range
  static constexpr double highest = 11000.0;         ///< m, upper end: the tropopause
  static constexpr double exponent = gravity / (gas_constant * lapse_rate);  ///< 5.2559
};

namespace detail {

/// x^e for x in [0.2, 1.3] and abs(e) < 0.01, with error about 1e-15: exp(e ln x), where
/// ln x = 8 artanh((r - 1)/(r + 1)) and r is the fourth root of x.
template <class T>
PROPWASH_FN T small_power(const T& x, double e) {
  const T root = sqrt(sqrt(x));
  const T y = (root - constant<T>(1)) / (root + constant<T>(1));
  const T square = y * y;
  T series(constant<T>(1.0 / 19.0));
  for (int n = 17; n >= 1; n -= 2) series = series * square + constant<T>(1.0 / n);
  const T z = series * y * constant<T>(8.0 * e);
  T power(constant<T>(1));
  for (int n = 6; n >= 1; --n) power = power * z * constant<T>(1.0 / n) + constant<T>(1);
  return power;
}

}  // namespace detail

/// p / p_0 at a height [m], which is limited to the range of the law.
template <class T>
PROPWASH_FN T isa_pressure_ratio(const T& altitude) {
  using Isa = StandardAtmosphere;
  const T low(constant<T>(Isa::lowest));
  const T h = clamp(altitude, low, T(constant<T>(Isa::highest)));
  const T x = constant<T>(1) - h * constant<T>(Isa::lapse_rate / Isa::temperature);
  const T square = x * x;
  return square * square * x * sqrt(sqrt(x)) * detail::small_power(x, Isa::exponent - 5.25);
}

/// The inverse: height [m] at which the standard atmosphere has the pressure p = ratio p_0.
template <class T>
PROPWASH_FN T isa_altitude(const T& ratio) {
  using Isa = StandardAtmosphere;
  // slightly wider than the range of the law
  const T p = clamp(ratio, T(constant<T>(0.2)), T(constant<T>(1.3)));
  const T eighth = sqrt(sqrt(sqrt(p)));
  const T x = eighth * sqrt(eighth) * detail::small_power(p, 1.0 / Isa::exponent - 0.1875);
  return (constant<T>(1) - x) * constant<T>(Isa::temperature / Isa::lapse_rate);
}

/// Noise is specified as a density: after averaging, it does not depend on the sampling rate.
template <class P>
struct BarometerParameters {
  P noise_density{};                                                ///< Pa/sqrt(Hz), white
  GaussMarkovParameters<P> drift;                                   ///< Pa
  P sea_level_pressure{constant<P>(StandardAtmosphere::pressure)};  ///< Pa, actual value (QNH)
  P altitude{};        ///< m, of z = 0, above sea level
  Vec3<P> position{};  ///< m, p_BS_B
};

/// MS5611-01BA03 (data sheet, TE Connectivity): resolution 1.2 Pa with a conversion time of 8.22
/// ms; accuracy 150 Pa at 25 degrees, taken as three standard deviations. The time constant of the
/// drift is an assumption.
inline BarometerParameters<double> ms5611_barometer() {
  BarometerParameters<double> p;
  p.noise_density = 0.11;
  p.drift = {50.0, 3600.0};
  return p;
}

/// One measurement.
template <class T>
struct BarometerReading {
  T pressure{};  ///< Pa
  T altitude{};  ///< m, pressure altitude: height of this pressure in the standard atmosphere
};

/// A measurement of a vehicle at `position_W` [m] with attitude q_WB. `drift` [Pa] is the state of
/// the drift; `noise` [Pa] a sample of white noise with standard deviation density * sqrt(rate).
template <class T, class P>
PROPWASH_FN BarometerReading<T> barometer_reading(const BarometerParameters<P>& barometer,
                                                  const Vec3<T>& position_W, const Quat<T>& q_WB,
                                                  const T& drift, const T& noise) {
  const Vec3<T> sensor_W = position_W + rotate(q_WB, barometer.position);
  const T truth =
      isa_pressure_ratio(sensor_W.z + barometer.altitude) * barometer.sea_level_pressure;
  const T pressure = truth + drift + noise;
  return {pressure, isa_altitude(T(pressure * constant<T>(1.0 / StandardAtmosphere::pressure)))};
}

}  // namespace propwash
