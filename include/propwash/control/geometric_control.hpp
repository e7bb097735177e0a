#pragma once
/// @file
/// Geometric tracking control on SE(3).
///
/// Lee, Leok and McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)" (CDC 2010),
/// with the drag of the trajectory fed forward; see docs/control/outer-loops.md.

#include "propwash/control/tracking.hpp"

namespace propwash {

/// Torque and thrust that keep a vehicle of `mass` [kg] on a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> geometric_control(const TrackingLaw<P>& law, const ForceLimits<T>& limits,
                                        const T& mass, const MotionEstimate<T>& x,
                                        const TrajectoryPoint<T>& wanted) {
  const Jet3<T> drag = drag_on(wanted, law.drag_quadratic, law.drag_linear);
  const Vec3<T> force_W =
      limited_force(limits, tracking_acceleration(law, x, wanted) + drag.value - law.gravity_W);
  const Jet3<T> force{force_W, wanted.jerk + drag.first, wanted.snap + drag.second};
  const auto attitude = flat_attitude(force, wanted.yaw, wanted.yaw_rate, wanted.yaw_acceleration);
  const Vec3<T> turning = turning_acceleration(law, x, attitude);
  return {law.inertia * turning + cross(x.rates, law.inertia * x.rates),
          mass * dot(force_W, rotate(x.attitude, AlongZ<T>{T(constant<T>(1))}))};
}

}  // namespace propwash
