"""The commands and parameters of the outer loops."""

from propwash._core import AttitudeThrust, PositionCommand, TrajectoryCommand, VelocityCommand
from propwash.vehicle.outer_loops import OuterLoops

__all__ = [
    "AttitudeThrust",
    "OuterLoops",
    "PositionCommand",
    "TrajectoryCommand",
    "VelocityCommand",
]
