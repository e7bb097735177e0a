#pragma once
/// @file
/// Commands for the outer loops of one vehicle.

#include "propwash/control/outer_loops.hpp"

namespace propwash {

/// Attitude and thrust. With `free_heading`, only the thrust axis of the attitude is tracked, and
/// the vehicle rotates about it at `yaw_rate`.
template <class T = double>
struct AttitudeThrust {
  Quat<T> attitude = Quat<T>::identity();  ///< q_WB, a unit quaternion
  T thrust{};                              ///< N
  bool free_heading = false;  ///< whether `yaw_rate` replaces the heading of `attitude`
  T yaw_rate{};               ///< rad/s, about body z
};
template <class T>
AttitudeThrust(Quat<T>, T) -> AttitudeThrust<T>;

/// Velocity, and the heading of body x or, with `free_heading`, a yaw rate.
template <class T = double>
struct VelocityCommand {
  Vec3<T> velocity{};         ///< m/s, world frame
  T yaw{};                    ///< rad
  bool free_heading = false;  ///< whether `yaw_rate` replaces `yaw`
  T yaw_rate{};               ///< rad/s, about body z
};
template <class T>
VelocityCommand(Vec3<T>) -> VelocityCommand<T>;

/// Position and the heading of body x.
template <class T = double>
struct PositionCommand {
  Vec3<T> position{};  ///< m, world frame
  T yaw{};             ///< rad
};
template <class T>
PositionCommand(Vec3<T>) -> PositionCommand<T>;

/// A point of a trajectory and the controller that tracks it.
template <class T = double>
struct TrajectoryCommand {
  TrajectoryPoint<T> point{};                   ///< the desired motion at this time
  OuterLoop controller = OuterLoop::geometric;  ///< geometric, backstepping or incremental
};

/// The command as the input of the outer loops.
template <class T>
PROPWASH_FN OuterLoopCommand<T> outer_command(const AttitudeThrust<T>& c) {
  OuterLoopCommand<T> command{OuterLoop::attitude, c.free_heading, c.attitude, c.thrust, {}};
  command.point.yaw_rate = c.yaw_rate;
  return command;
}
template <class T>
PROPWASH_FN OuterLoopCommand<T> outer_command(const VelocityCommand<T>& c) {
  OuterLoopCommand<T> command{OuterLoop::velocity, c.free_heading, {}, T{}, {}};
  command.point.velocity = c.velocity;
  command.point.yaw = c.yaw;
  command.point.yaw_rate = c.yaw_rate;
  return command;
}
template <class T>
PROPWASH_FN OuterLoopCommand<T> outer_command(const PositionCommand<T>& c) {
  OuterLoopCommand<T> command{OuterLoop::position, false, {}, T{}, {}};
  command.point.position = c.position;
  command.point.yaw = c.yaw;
  return command;
}
template <class T>
PROPWASH_FN OuterLoopCommand<T> outer_command(const TrajectoryCommand<T>& c) {
  return {c.controller, false, {}, T{}, c.point};
}

}  // namespace propwash
