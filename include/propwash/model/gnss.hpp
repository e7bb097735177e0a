#pragma once
/// @file
/// A satellite receiver: position and velocity with white noise, and a slowly varying bias of the
/// position.
///
/// The error model of Beard and McLain, "Small Unmanned Aircraft: Theory and Practice" (2012),
/// section 7.5, after Rankin, "GPS and differential GPS: an error model for sensor simulation",
/// PLANS 1994; see docs/model/gnss.md. Latitude and longitude: geodetic.hpp.

#include "propwash/math/quat.hpp"
#include "propwash/math/vec3.hpp"
#include "propwash/model/gauss_markov.hpp"

namespace propwash {

/// Noise is given as densities, so that its effect does not depend on the rate of measuring.
template <class P>
struct GnssParameters {
  P position_noise_horizontal{};             ///< m/sqrt(Hz), white, along world x and y each
  P position_noise_vertical{};               ///< m/sqrt(Hz), white, along world z
  P velocity_noise_horizontal{};             ///< m/s/sqrt(Hz), white, along world x and y each
  P velocity_noise_vertical{};               ///< m/s/sqrt(Hz), white, along world z
  GaussMarkovParameters<P> bias_horizontal;  ///< m, along world x and y each
  GaussMarkovParameters<P> bias_vertical;    ///< m, along world z
  Vec3<P> position{};                        ///< m, p_BA_B: antenna
};

/// A typical receiver of a small aircraft without corrections, at one fix a second; where the
/// numbers come from: docs/model/gnss.md.
inline GnssParameters<double> typical_gnss() {
  return {0.4, 0.7, 0.05, 0.05, {4.7, 1100.0}, {9.2, 1100.0}, {}};
}

/// One fix, in the world frame.
template <class T>
struct GnssReading {
  Vec3<T> position{};  ///< m
  Vec3<T> velocity{};  ///< m/s
};

/// The antenna without error: it rides on the body.
template <class T, class P>
PROPWASH_FN GnssReading<T> antenna_motion(const GnssParameters<P>& gnss, const Vec3<T>& position_W,
                                          const Vec3<T>& velocity_W, const Quat<T>& q_WB,
                                          const Vec3<T>& rates_B) {
  return {position_W + rotate(q_WB, gnss.position),
          velocity_W + rotate(q_WB, cross(rates_B, gnss.position))};
}

/// Bias and a sample of the white noise, whose standard deviation is density * sqrt(rate): three
/// standard normals each.
template <class T, class P>
PROPWASH_FN GnssReading<T> gnss_reading(const GnssParameters<P>& gnss, const GnssReading<T>& truth,
                                        const Vec3<T>& bias, const Vec3<T>& position_normals,
                                        const Vec3<T>& velocity_normals, const P& root_of_rate) {
  const P across = gnss.position_noise_horizontal * root_of_rate;
  const P up = gnss.position_noise_vertical * root_of_rate;
  const P speed_across = gnss.velocity_noise_horizontal * root_of_rate;
  const P speed_up = gnss.velocity_noise_vertical * root_of_rate;
  const Vec3<P> noise{across, across, up};
  const Vec3<P> speed_noise{speed_across, speed_across, speed_up};
  return {truth.position + bias + cwise_product(position_normals, noise),
          truth.velocity + cwise_product(velocity_normals, speed_noise)};
}

}  // namespace propwash
