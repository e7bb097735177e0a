#pragma once
/// @file
/// Geometric tracking control on SE(3).
///
/// Lee, Leok and McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)" (CDC 2010),
/// with drag, blow-back and rotational drag fed forward; see docs/control/outer-loops.md.

#include "propwash/control/tracking.hpp"

namespace propwash {

/// Torque and thrust that keep a vehicle of `mass` [kg] on a trajectory.
template <class T, class P>
PROPWASH_FN Wrench<T> geometric_control(const TrackingLaw<P>& law, const ControlModel<P>& model,
                                        const ForceLimits<T>& limits, const T& mass,
                                        const MotionEstimate<T>& x,
                                        const TrajectoryPoint<T>& wanted) {
  const Jet3<T> drag = drag_on(model, mass, wanted);
  const Vec3<T> force_W =
      limited_force(limits, tracking_acceleration(law, x, wanted) + drag.value - model.gravity_W);
  const auto attitude = attitude_for_force(force_W, drag, wanted);
  const Vec3<T> axis_W = rotate(x.attitude, AlongZ<T>{T(constant<T>(1))});
  return {torque_for(model, x, turning_acceleration(law, x, attitude)),
          mass * (dot(force_W, axis_W) + axial_drag(model, x))};
}

}  // namespace propwash
