#pragma once
/// @file
/// Magnetometer: the Earth's field in the sensor frame, distorted by iron on the vehicle, with bias
/// and noise.
///
/// The standard calibration model, m = S R_SW m_W + h + b + v, with soft iron S, hard iron h, bias
/// b and noise v: Gebre-Egziabher et al., "Calibration of strapdown magnetometers in magnetic field
/// domain", J. Aerospace Engineering 19 (2006); see docs/model/magnetometer.md.

#include "propwash/math/mat3.hpp"
#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/gauss_markov.hpp"

namespace propwash {

/// Magnetic field [T] at 42.36 N, 71.09 W (Cambridge, Massachusetts) at sea level on 2025-01-01 by
/// the World Magnetic Model 2025 (NOAA), in a world with x east and y north: 51.3 microtesla, 66.4
/// degrees downwards, 14.0 degrees west of north.
inline constexpr Vec3<double> cambridge_field{-4.994e-6, 19.964e-6, -47.014e-6};

/// Noise is specified as a density: after averaging, it does not depend on the sampling rate.
template <class P>
struct MagnetometerParameters {
  Vec3<P> field{};                           ///< T, m_W, world frame
  Mat3<P> soft_iron = Mat3<P>::identity();   ///< S, sensor axes
  Vec3<P> hard_iron{};                       ///< T, h, sensor axes
  P noise_density{};                         ///< T/sqrt(Hz), white
  GaussMarkovParameters<P> bias;             ///< T, b, on each sensor axis
  Quat<P> attitude{P(1), P(0), P(0), P(0)};  ///< q_BS: from the sensor frame to the body frame
};

/// HMC5883L (data sheet, Honeywell): field resolution 2 mG = 0.2 microtesla, taken as the standard
/// deviation at 75 Hz; no iron distortion.
inline MagnetometerParameters<double> hmc5883l_magnetometer() {
  MagnetometerParameters<double> p;
  p.field = cambridge_field;
  p.noise_density = 2.3e-8;
  return p;
}

/// A measurement [T, sensor frame]; `noise` [T] is a sample of white noise of standard deviation
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
