#pragma once
/// @file
/// Arguments and results of the error-state filter, and their checks.

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "propwash/estimate/observations.hpp"
#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/math/span.hpp"
#include "propwash/world/camera.hpp"

namespace propwash {

/// Position and velocity of the centre of mass of a body, and its attitude.
template <class T>
struct EstimatedMotion {
  Vec3<T> position_W{};                ///< m
  Vec3<T> velocity_W{};                ///< m/s
  Quat<T> q_WB = Quat<T>::identity();  ///< unit
};

/// Standard deviations of the start; those of the biases are parameters of the IMU.
template <class P>
struct StartDeviations {
  Vec3<P> position{P(0.01), P(0.01), P(0.01)};  ///< m, world axes
  Vec3<P> velocity{P(0.01), P(0.01), P(0.01)};  ///< m/s, world axes
  Vec3<P> attitude{P(0.01), P(0.01), P(0.01)};  ///< rad, body axes
};

/// Options of a filter.
struct FilterOptions {
  Vec3<double> gravity_W{0.0, 0.0, -9.81};  ///< m/s^2
  double time = 0.0;                        ///< s, of the start
  std::size_t history = 256;  ///< IMU readings kept, so that late measurements can be used
  double rejection = 1e-6;    ///< probability that a valid measurement is rejected
};

/// An identified beacon in an image.
template <class T>
struct BeaconSighting {
  std::size_t gate = 0;  ///< index of the gate
  int corner = 0;        ///< 0 upper left, 1 upper right, 2 lower right, 3 lower left
  T u{};                 ///< pixels
  T v{};                 ///< pixels
};

namespace detail {

[[noreturn]] inline void refuse(const std::string& message) {
  PROPWASH_THROW(std::invalid_argument(message));
}

/// The number that a chi-square variable of one degree of freedom exceeds with `probability`.
inline double chi_square_bound(double probability) {
  double low = 0.0, high = 38.0;  // of a standard normal
  for (int i = 0; i < 80; ++i) {
    const double middle = 0.5 * (low + high);
    (std::erfc(middle * std::sqrt(0.5)) > probability ? low : high) = middle;
  }
  return low * low;
}

inline bool is_deviation(const Vec3<double>& v) {
  return is_finite(v) && v.x >= 0.0 && v.y >= 0.0 && v.z >= 0.0;
}
inline void check_filter(const EstimatedMotion<double>& start,
                         const StartDeviations<double>& deviations,
                         const std::vector<GatePrior<double>>& gates,
                         const FilterOptions& options) {
  if (!is_finite(start.position_W) || !is_finite(start.velocity_W) || !is_finite(start.q_WB) ||
      !(abs(squared_norm(start.q_WB) - 1.0) < 1e-3)) {
    refuse("start: expected finite numbers and a unit quaternion");
  }
  if (!is_deviation(deviations.position) || !is_deviation(deviations.velocity) ||
      !is_deviation(deviations.attitude)) {
    refuse("deviations: expected finite numbers >= 0");
  }
  for (const auto& gate : gates) {
    bool is_valid = is_finite(gate.position_W) && is_deviation(gate.deviation);
    for (const auto& corner_W : gate.corners_W) is_valid = is_valid && is_finite(corner_W);
    if (!is_valid) refuse("gates: expected finite numbers and deviations >= 0");
  }
  if (!is_finite(options.gravity_W) || !is_finite(options.time)) {
    refuse("gravity and time: expected finite numbers");
  }
  if (options.history < 1) refuse("history: expected at least 1 reading");
  if (!is_within(options.rejection, 1e-300, 0.5)) {
    refuse("rejection: expected a probability from 1e-300 to 0.5");
  }
}

/// s; times that differ by less are equal.
inline constexpr double time_tolerance = 1e-6;

inline void check_reading(const Vec3<double>& gyroscope_S, const Vec3<double>& accelerometer_S,
                          double dt) {
  constexpr double largest = 1e6;
  for (int i = 0; i < 3; ++i) {
    if (!is_within(gyroscope_S[i], -largest, largest) ||
        !is_within(accelerometer_S[i], -largest, largest)) {
      refuse("reading: expected finite numbers of at most 1e6; leave out readings that are not");
    }
  }
  if (!is_within(dt, time_tolerance, 10.0)) {
    refuse("dt = " + std::to_string(dt) + ": expected a number from 1e-6 to 10 s");
  }
}

template <class T>
void check_beacons(Span<const BeaconSighting<T>> sightings, const Camera<T>& camera, T deviation,
                   std::size_t gates) {
  if (!is_finite(camera.focal) || !(camera.focal > T(0)) || !is_finite(camera.width) ||
      !is_finite(camera.height) || !is_finite(camera.position) || !is_finite(camera.attitude)) {
    refuse("camera: expected finite numbers and a focal length > 0 [pixels]");
  }
  if (!is_finite(deviation) || !(deviation * deviation > T(0))) {
    refuse("deviation: expected a finite number > 0 [pixels]");
  }
  for (const auto& seen : sightings) {
    if (seen.gate >= gates || seen.corner < 0 || seen.corner > 3) {
      refuse("sighting: expected a gate from 0 to " + std::to_string(gates) +
             " (excluded) and a corner from 0 to 3, got gate " + std::to_string(seen.gate) +
             ", corner " + std::to_string(seen.corner));
    }
    if (!is_finite(seen.u) || !is_finite(seen.v)) {
      refuse("sighting: expected finite pixels; leave out beacons that are not visible");
    }
  }
}

}  // namespace detail

}  // namespace propwash
