#pragma once
/// @file
/// A magnetometer: the Earth's field in sensor axes, distorted by iron aboard, with bias and noise.
///
/// The usual model of the compensation of compasses, m = S R_SW m_W + h + b + v, with soft iron S
/// and hard iron h: Gebre-Egziabher et al., "Calibration of strapdown magnetometers in magnetic
/// field domain", J. Aerospace Engineering 19 (2006); see docs/model/magnetometer.md.

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/gauss_markov.hpp"

namespace propwash {

/// T, the field at 42.36 N, 71.09 W (Cambridge, Massachusetts) at sea level on 2025-01-01 by the
/// World Magnetic Model 2025 (NOAA), in a world with x east and y north: 51.3 microtesla, 66.4
/// degrees downwards, 14.0 degrees west of north.
inline constexpr Vec3<double> cambridge_field{-4.994e-6, 19.964e-6, -47.014e-6};

/// Noise is given as a density, so that its effect does not depend on the rate of measuring.
template <class P>
struct MagnetometerParameters {
  Vec3<P> field{};                           ///< T, m_W, world frame
  Mat3<P> soft_iron = Mat3<P>::identity();   ///< S, sensor axes
  Vec3<P> hard_iron{};                       ///< T, h, sensor axes
  P noise_density{};                         ///< T/sqrt(Hz), white
  GaussMarkovParameters<P> bias;             ///< T, b, on each of the sensor's axes
  Quat<P> attitude{P(1), P(0), P(0), P(0)};  ///< q_BS: turns sensor components into the body frame
};

/// HMC5883L (data sheet, Honeywell): field resolution 2 mG = 0.2 microtesla, taken for a standard
/// deviation at 75 measurements a second; no iron.
inline MagnetometerParameters<double> hmc5883l_magnetometer() {
  MagnetometerParameters<double> p;
  p.field = cambridge_field;
  p.noise_density = 2.3e-8;
  return p;
}

/// T, a measurement in sensor axes; `noise` is a sample of white noise, of standard deviation
/// density * sqrt(rate).
template <class T, class P>
PROPWASH_FN Vec3<T> magnetometer_reading(const MagnetometerParameters<P>& magnetometer,
                                         const Quat<T>& q_WB, const Vec3<T>& bias,
                                         const Vec3<T>& noise) {
  const auto field_S =
      rotate_inverse(q_WB * magnetometer.attitude,
                     map(magnetometer.field, [](const P& x) PROPWASH_LAMBDA { return T(x); }));
  return magnetometer.soft_iron * field_S + magnetometer.hard_iron + bias + noise;
}

}  // namespace propwash
