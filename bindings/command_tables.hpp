#pragma once
/// @file
/// The kinds of commands: their names in Python, parts and documentation.

#include "commands.hpp"

namespace propwash::bindings {

/// Python name, parts and documentation of a kind of command.
struct CommandTable {
  const char* name;
  CommandPart parts[Command::max_parts];
  const char* meaning;

  constexpr std::size_t count() const {
    std::size_t n = 0;
    while (n < Command::max_parts && parts[n].name != nullptr) ++n;
    return n;
  }
};

inline constexpr bool optional = true;

/// Indexed by CommandKind; meaning_of() adds the text common to all kinds.
inline constexpr CommandTable command_tables[] = {
    {"RateThrust",
     {{"rates", "rad/s", 3}, {"thrust", "N", 1}},
     "Body rates and thrust, for the rate controller.\n\n"
     "rates: (3,) rad/s, body frame; for a rollout (T, 3); for a fleet (n, 3) or (T, n, 3). "
     "thrust: number, N, along body z; or (T,), (n,) or (T, n). For a fleet, an argument without "
     "the axis n applies to all vehicles. float32 arrays stay float32."},
    {"RotorSpeeds",
     {{"speeds", "rad/s", CommandPart::one_per_rotor}},
     "Rotor speeds, in the vehicle's order of rotors.\n\n"
     "speeds: (N,) rad/s; for a rollout (T, N); for a fleet (n, N) or (T, n, N); positive speed "
     "gives thrust along the rotor's axis. float32 arrays stay float32."},
    {"SpeedYawRate",
     {{"speed", "m/s", 1}, {"yaw_rate", "rad/s", 1}},
     "Speed and yaw rate of a car.\n\n"
     "speed: number, m/s. yaw_rate: number, rad/s, counter-clockwise. Each also (T,) for a "
     "rollout. float32 arrays stay float32."},
    {"AttitudeThrust",
     {{"attitude", "1", 4}, {"thrust", "N", 1}, {"yaw_rate", "rad/s", 1, optional}},
     "Attitude and thrust, for the attitude loop.\n\n"
     "attitude: (4,) unit quaternion, scalar first, body to world; thrust: number, N, along body "
     "z. With yaw_rate, rad/s, the attitude specifies only the direction of the thrust axis; the "
     "vehicle rotates about that axis at this rate."},
    {"VelocityCommand",
     {{"velocity", "m/s", 3}, {"yaw", "rad", 1, optional}, {"yaw_rate", "rad/s", 1, optional}},
     "A velocity, for the velocity loop.\n\n"
     "velocity: (3,) m/s, world frame. yaw: rad, heading of body x; or yaw_rate: rad/s. With "
     "neither, the yaw rate is 0."},
    {"PositionCommand",
     {{"position", "m", 3}, {"yaw", "rad", 1, optional}},
     "A position, for the position loop.\n\n"
     "position: (3,) m, world frame. yaw: rad, heading of body x; None: the yaw rate is 0."},
    {"TrajectoryCommand",
     {{"position", "m", 3},
      {"velocity", "m/s", 3, optional},
      {"acceleration", "m/s^2", 3, optional},
      {"jerk", "m/s^3", 3, optional},
      {"snap", "m/s^4", 3, optional},
      {"yaw", "rad", 1, optional},
      {"yaw_rate", "rad/s", 1, optional},
      {"yaw_acceleration", "rad/s^2", 1, optional}},
     "A point of a trajectory, and the controller that tracks it.\n\n"
     "position, velocity, acceleration, jerk, snap: (3,) m, m/s, … m/s^4, world frame. yaw, "
     "yaw_rate, yaw_acceleration: rad, rad/s, rad/s^2, of the heading of body x. None means "
     "zero. controller: 'geometric', 'backstepping' or 'indi'."}};

constexpr const CommandTable& table_of(CommandKind kind) {
  return command_tables[static_cast<std::size_t>(kind)];
}

inline bool is_for_outer_loop(CommandKind kind) { return kind >= CommandKind::attitude_thrust; }

/// In the order of OuterLoop, starting at OuterLoop::geometric.
inline constexpr const char* controllers[] = {"geometric", "backstepping", "indi"};

}  // namespace propwash::bindings
