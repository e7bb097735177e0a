#pragma once
/// @file
/// Commands of a fleet to its outer loops, which compute body rates and thrust, or rotor speeds.

#include <cstddef>

#include "propwash/control/outer_loops.hpp"
#include "propwash/math/span.hpp"

namespace propwash {

/// Attitude and thrust. With `yaw_rate`, `attitude` sets only the direction of the thrust axis, and
/// the vehicle yaws about it at that rate.
template <class T>
struct FleetAttitudeThrust {
  Span<const T> attitude;  ///< q_WB, unit, w x y z, (size, 4)
  Span<const T> thrust;    ///< N, (size)
  Span<const T> yaw_rate;  ///< rad/s, about body z, (size), or empty
};

/// Velocity. Without `yaw` the heading is free and changes at `yaw_rate` (0 if empty).
template <class T>
struct FleetVelocityCommand {
  Span<const T> velocity;  ///< m/s, world frame, (size, 3)
  Span<const T> yaw;       ///< rad, heading of body x, (size), or empty
  Span<const T> yaw_rate;  ///< rad/s, (size), or empty
};

/// Position, approached at up to outer_loops().speed_limit. Without `yaw` the heading is free.
template <class T>
struct FleetPositionCommand {
  Span<const T> position;  ///< m, world frame, (size, 3)
  Span<const T> yaw;       ///< rad, heading of body x, (size), or empty
};

/// A point of a trajectory for each vehicle, and the controller that tracks it. Empty parts are
/// zero.
template <class T>
struct FleetTrajectoryCommand {
  Span<const T> position;                       ///< m, world frame, (size, 3)
  Span<const T> velocity;                       ///< m/s, (size, 3)
  Span<const T> acceleration;                   ///< m/s^2, (size, 3)
  Span<const T> jerk;                           ///< m/s^3, (size, 3)
  Span<const T> snap;                           ///< m/s^4, (size, 3)
  Span<const T> yaw;                            ///< rad, heading of body x, (size)
  Span<const T> yaw_rate;                       ///< rad/s, (size)
  Span<const T> yaw_acceleration;               ///< rad/s^2, (size)
  OuterLoop controller = OuterLoop::geometric;  ///< geometric, backstepping or incremental
};

/// The motion on which the outer loops compute; each empty part is the true one.
template <class T>
struct FleetMotionEstimate {
  Span<const T> position;  ///< m, world frame, (size, 3)
  Span<const T> velocity;  ///< m/s, world frame, (size, 3)
  Span<const T> attitude;  ///< q_WB, unit, w x y z, (size, 4)
};

/// The kind of the commands of a flight.
struct FleetCommandKind {
  enum class Level { speeds, rates, outer };
  Level level = Level::speeds;
  OuterLoop loop = OuterLoop::attitude;  ///< for Level::outer
  bool free_heading = false;             ///< likewise; see OuterLoopCommand
};

namespace detail {

/// Any of these commands, views of the caller's memory; empty parts are zero.
template <class T>
struct OuterRows {
  OuterLoop loop = OuterLoop::attitude;
  bool free_heading = false;
  Span<const T> attitude{};    // (size, 4)
  Span<const T> point[5]{};    // position and its derivatives, (size, 3)
  Span<const T> heading[3]{};  // yaw and its derivatives, (size)
  Span<const T> thrust{};      // (size)
};

template <class T>
OuterRows<T> outer_rows(const FleetAttitudeThrust<T>& c) {
  OuterRows<T> rows;
  rows.free_heading = !c.yaw_rate.empty();
  rows.attitude = c.attitude;
  rows.thrust = c.thrust;
  rows.heading[1] = c.yaw_rate;
  return rows;
}
template <class T>
OuterRows<T> outer_rows(const FleetVelocityCommand<T>& c) {
  OuterRows<T> rows;
  rows.loop = OuterLoop::velocity;
  rows.free_heading = c.yaw.empty();
  rows.point[1] = c.velocity;
  rows.heading[0] = c.yaw;
  rows.heading[1] = c.yaw_rate;
  return rows;
}
template <class T>
OuterRows<T> outer_rows(const FleetPositionCommand<T>& c) {
  OuterRows<T> rows;
  rows.loop = OuterLoop::position;
  rows.free_heading = c.yaw.empty();
  rows.point[0] = c.position;
  rows.heading[0] = c.yaw;
  return rows;
}
template <class T>
OuterRows<T> outer_rows(const FleetTrajectoryCommand<T>& c) {
  return {c.controller,
          false,
          {},
          {c.position, c.velocity, c.acceleration, c.jerk, c.snap},
          {c.yaw, c.yaw_rate, c.yaw_acceleration},
          {}};
}

}  // namespace detail

}  // namespace propwash
