#pragma once
/// @file
/// GNSS receiver: position and velocity with white noise, and a slowly varying position bias.
///
/// The error model of Beard and McLain, "Small Unmanned Aircraft: Theory and Practice" (2012),
/// section 7.5, after Rankin, "GPS and differential GPS: an error model for sensor simulation",
/// PLANS 1994; see docs/model/gnss.md. geodetic.hpp converts to latitude
/// and longitude.

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/gauss_markov.hpp"

namespace propwash {

/// Noise is specified as densities: after averaging, it does not depend on the sampling rate.
template <class P>
struct GnssParameters {
  P position_noise_horizontal{};             ///< m/sqrt(Hz), white, on world x and on world y
  P position_noise_vertical{};               ///< m/sqrt(Hz), white, on world z
  P velocity_noise_horizontal{};             ///< m/s/sqrt(Hz), white, on world x and on world y
  P velocity_noise_vertical{};               ///< m/s/sqrt(Hz), white, on world z
  GaussMarkovParameters<P> bias_horizontal;  ///< m, on world x and on world y
  GaussMarkovParameters<P> bias_vertical;    ///< m, on world z
  Vec3<P> position{};                        ///< m, p_BA_B: from the centre of mass to the antenna
};

/// A typical receiver of a small aircraft without differential corrections, at 1 Hz. Sources:
/// docs/model/gnss.md.
inline GnssParameters<double> typical_gnss() {
  return {0.4, 0.7, 0.05, 0.05, {4.7, 1100.0}, {9.2, 1100.0}, {}};
}

/// One fix, in the world frame.
template <class T>
struct GnssReading {
  Vec3<T> position{};  ///< m
  Vec3<T> velocity{};  ///< m/s
};

/// True position and velocity of the antenna, from the motion of the body.
template <class T, class P>
PROPWASH_FN GnssReading<T> antenna_motion(const GnssParameters<P>& gnss, const Vec3<T>& position_W,
                                          const Vec3<T>& velocity_W, const Quat<T>& q_WB,
                                          const Vec3<T>& rates_B) {
  return {position_W + rotate(q_WB, gnss.position),
          velocity_W + rotate(q_WB, cross(rates_B, gnss.position))};
}

/// Adds the bias [m] and white noise of standard deviation density * sqrt(rate) to the true motion
/// of the antenna. `position_normals` and `velocity_normals` are standard normals.
template <class T, class P>
PROPWASH_FN GnssReading<T> gnss_reading(const GnssParameters<P>& gnss, const GnssReading<T>& truth,
                                        const Vec3<T>& bias, const Vec3<T>& position_normals,
                                        const Vec3<T>& velocity_normals, const P& sqrt_rate) {
  const auto deviation = [&](const P& horizontal, const P& vertical) PROPWASH_LAMBDA {
    return Vec3<P>{horizontal * sqrt_rate, horizontal * sqrt_rate, vertical * sqrt_rate};
  };
  const Vec3<P> position_deviation =
      deviation(gnss.position_noise_horizontal, gnss.position_noise_vertical);
  const Vec3<P> velocity_deviation =
      deviation(gnss.velocity_noise_horizontal, gnss.velocity_noise_vertical);
  return {truth.position + bias + cwise_product(position_normals, position_deviation),
          truth.velocity + cwise_product(velocity_normals, velocity_deviation)};
}

}  // namespace propwash
