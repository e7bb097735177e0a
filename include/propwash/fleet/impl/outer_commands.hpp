#pragma once
/// @file
/// Commands of a fleet: those to its outer loops, which compute body rates and thrust or rotor
/// speeds, and FleetCommand for all of them.

#include <cstddef>
#include <stdexcept>

#include "propwash/control/outer_loops.hpp"
#include "propwash/fleet/fleet_types.hpp"
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

/// A part of a command, an array of (size, width).
struct FleetCommandPart {
  const char* name = nullptr;
  int width = 0;             ///< 0: one number per rotor
  bool is_optional = false;  ///< may be empty

  /// Numbers per vehicle.
  constexpr int width_for(int rotors) const { return width == 0 ? rotors : width; }
};

/// The parts of a kind of command, in order; parts without a name do not exist.
struct FleetCommandParts {
  FleetCommandPart part[8];

  constexpr const FleetCommandPart* begin() const { return part; }
  constexpr const FleetCommandPart* end() const {
    const FleetCommandPart* last = part;
    while (last != part + 8 && last->name != nullptr) ++last;
    return last;
  }
};
constexpr FleetCommandParts parts_of(const FleetCommandKind& kind) {
  using Level = FleetCommandKind::Level;
  if (kind.level == Level::speeds) return {{{"rotor speeds", 0}}};
  if (kind.level == Level::rates) return {{{"rates", 3}, {"thrust", 1}}};
  constexpr bool optional = true;
  if (kind.loop == OuterLoop::attitude) {
    return {{{"attitude", 4}, {"thrust", 1}, {"yaw_rate", 1, optional}}};
  }
  if (kind.loop == OuterLoop::velocity) {
    return {{{"velocity", 3}, {"yaw", 1, optional}, {"yaw_rate", 1, optional}}};
  }
  if (kind.loop == OuterLoop::position) return {{{"position", 3}, {"yaw", 1, optional}}};
  return {{{"position", 3},
           {"velocity", 3, optional},
           {"acceleration", 3, optional},
           {"jerk", 3, optional},
           {"snap", 3, optional},
           {"yaw", 1, optional},
           {"yaw_rate", 1, optional},
           {"yaw_acceleration", 1, optional}}};
}

/// A command of any kind: its parts in the order of parts_of(kind), views of the caller's memory.
/// The classes of commands convert to it.
template <class T>
struct FleetCommand {
  using Kind = FleetCommandKind;
  using Part = Span<const T>;

  Kind kind{};
  Part parts[8]{};

  FleetCommand() = default;
  FleetCommand(const FleetRotorSpeeds<T>& c) : parts{c.speeds} {}
  FleetCommand(const FleetRateThrust<T>& c) : kind{Kind::Level::rates}, parts{c.rates, c.thrust} {}
  FleetCommand(const FleetAttitudeThrust<T>& c)
      : kind{Kind::Level::outer, OuterLoop::attitude, !c.yaw_rate.empty()},
        parts{c.attitude, c.thrust, c.yaw_rate} {}
  FleetCommand(const FleetVelocityCommand<T>& c)
      : kind{Kind::Level::outer, OuterLoop::velocity, c.yaw.empty()},
        parts{c.velocity, c.yaw, c.yaw_rate} {}
  FleetCommand(const FleetPositionCommand<T>& c)
      : kind{Kind::Level::outer, OuterLoop::position, c.yaw.empty()}, parts{c.position, c.yaw} {}
  /// @throws std::invalid_argument for a controller that does not follow trajectories.
  FleetCommand(const FleetTrajectoryCommand<T>& c)
      : kind{Kind::Level::outer, c.controller},
        parts{c.position, c.velocity, c.acceleration, c.jerk,
              c.snap,     c.yaw,      c.yaw_rate,     c.yaw_acceleration} {
    if (!commands_rates(c.controller)) return;
    PROPWASH_THROW(std::invalid_argument(
        "controller: expected geometric, backstepping or incremental, which follow a trajectory"));
  }
};

namespace detail {

/// A command to an outer loop by its use; empty parts are zero.
template <class T>
struct OuterRows {
  OuterLoop loop = OuterLoop::attitude;
  bool free_heading = false;
  Span<const T> attitude{};    // (size, 4)
  Span<const T> point[5]{};    // position and its derivatives, (size, 3)
  Span<const T> heading[3]{};  // yaw and its derivatives, (size)
  Span<const T> thrust{};      // (size)

  explicit OuterRows(const FleetCommand<T>& c)
      : loop(c.kind.loop), free_heading(c.kind.free_heading) {
    const auto& part = c.parts;
    if (loop == OuterLoop::attitude) {
      attitude = part[0], thrust = part[1], heading[1] = part[2];
    } else if (loop == OuterLoop::velocity) {
      point[1] = part[0], heading[0] = part[1], heading[1] = part[2];
    } else if (loop == OuterLoop::position) {
      point[0] = part[0], heading[0] = part[1];
    } else {
      for (int i = 0; i < 5; ++i) point[i] = part[i];
      for (int i = 0; i < 3; ++i) heading[i] = part[5 + i];
    }
  }
};

}  // namespace detail

}  // namespace propwash
