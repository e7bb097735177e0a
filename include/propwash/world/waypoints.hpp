#pragma once
/// @file
/// The motion of a body through poses at given times.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "propwash/math/config.hpp"
#include "propwash/math/finite.hpp"
#include "propwash/world/shapes.hpp"

namespace propwash {

/// The rotation at `fraction` of the shortest rotation from a to b, unit quaternions, at a constant
/// rate.
inline Quat<double> slerp(const Quat<double>& a, const Quat<double>& b, double fraction) {
  const double cosine = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
  const double sign = cosine < 0.0 ? -1.0 : 1.0;
  const Quat<double> difference = a + b * -sign;
  // accurate for small angles too, unlike acos(cosine)
  const double angle = 2.0 * std::asin(std::min(0.5 * std::sqrt(squared_norm(difference)), 1.0));
  if (!(angle > 1e-9)) return normalized(a + difference * -fraction);
  const double from = std::sin((1.0 - fraction) * angle), to = std::sin(fraction * angle);
  return normalized(a * from + b * (sign * to));
}

/// A pose as a function of time: positions interpolated linearly, attitudes along the shortest
/// rotation. Before the first time and after the last one, the body is at rest at that pose.
class Waypoints {
 public:
  /// times: s, increasing. poses: one for each time. repeat: whether to start again at the first
  /// pose after the last time; before the first time the body then moves likewise.
  /// @throws std::invalid_argument for other times and poses.
  Waypoints(std::vector<double> times, std::vector<Pose> poses, bool repeat = false)
      : times_(std::move(times)), poses_(std::move(poses)), repeat_(repeat) {
    if (times_.empty() || times_.size() != poses_.size()) {
      refuse("times: expected one for each pose and at least one, got ", times_.size(), " for ",
             poses_.size());
    }
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!is_finite(times_[i]) || (i > 0 && !(times_[i - 1] < times_[i]))) {
        refuse("times[", i, "]: expected finite, increasing numbers [s], got ", times_[i]);
      }
      if (!is_finite(poses_[i].position_W)) {
        refuse("positions[", i, "]: expected finite numbers [m]", "");
      }
      auto& attitude = poses_[i].attitude_WS;
      const double square = squared_norm(attitude);
      if (!is_within(square, 1.0 - 1e-3, 1.0 + 1e-3)) {
        refuse("attitudes[", i, "]: expected a unit quaternion, got one of norm ",
               std::sqrt(square));
      }
      attitude = unit_attitude(attitude);
    }
    if (repeat_ && times_.size() < 2) refuse("repeat: expected at least 2 times, got ", 1);
  }

  /// The pose at a time [s]; all NaN at a time that is not finite.
  Pose operator()(double time) const {
    if (!is_finite(time)) return {{time - time, 0.0, 0.0}};
    const double first = times_.front(), last = times_.back();
    if (repeat_ && !(first <= time && time <= last)) {
      const double period = last - first;
      time -= period * std::floor((time - first) / period);
      time = std::min(std::max(time, first), last);  // rounding
    }
    if (time <= first) return poses_.front();
    if (time >= last) return poses_.back();
    const auto after = std::upper_bound(times_.begin(), times_.end(), time);
    const auto i = static_cast<std::size_t>(after - times_.begin());
    const double fraction = (time - times_[i - 1]) / (times_[i] - times_[i - 1]);
    const Pose &a = poses_[i - 1], &b = poses_[i];
    return {a.position_W + (b.position_W - a.position_W) * fraction,
            slerp(a.attitude_WS, b.attitude_WS, fraction)};
  }

 private:
  template <class... Parts>
  [[noreturn]] static void refuse(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    PROPWASH_THROW(std::invalid_argument(text.str()));
  }

  std::vector<double> times_;
  std::vector<Pose> poses_;
  bool repeat_;
};

}  // namespace propwash
