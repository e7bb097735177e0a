#pragma once
/// @file
/// A trajectory with all its derivatives, in closed form.

#include <cmath>
#include <propwash/control/flatness.hpp>

/// Position, heading and their derivatives at time t [s]: up to 7 m/s^2 and 2 rad/s of yaw.
inline propwash::TrajectoryPoint<double> smooth_point(double t) {
  propwash::TrajectoryPoint<double> p;
  const propwash::Vec3<double> a{2.0, 1.5, 0.7}, w{1.9, 1.3, 2.3};
  for (int i = 0; i < 3; ++i) {
    const double s = std::sin(w[i] * t + i), c = std::cos(w[i] * t + i);
    p.position[i] = a[i] * s;
    p.velocity[i] = a[i] * w[i] * c;
    p.acceleration[i] = -a[i] * w[i] * w[i] * s;
    p.jerk[i] = -a[i] * w[i] * w[i] * w[i] * c;
    p.snap[i] = a[i] * w[i] * w[i] * w[i] * w[i] * s;
  }
  p.yaw = 0.8 * std::sin(1.1 * t) + 0.5 * t;
  p.yaw_rate = 0.88 * std::cos(1.1 * t) + 0.5;
  p.yaw_acceleration = -0.968 * std::sin(1.1 * t);
  return p;
}
