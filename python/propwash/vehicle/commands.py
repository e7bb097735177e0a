"""The commands of a multicopter, and what gives one: a reference of a trajectory."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from propwash import _core

Command: TypeAlias = (
    _core.RateThrust
    | _core.RotorSpeeds
    | _core.AttitudeThrust
    | _core.VelocityCommand
    | _core.PositionCommand
    | _core.TrajectoryCommand
)


class CommandSource(Protocol):
    """What `command()` turns into a command, such as a `trajectories.Reference`."""

    def command(self) -> Command:
        """The command of its rows."""


def as_command(command: Command | CommandSource) -> Command:
    """The command itself, or that of its source."""
    return command if not hasattr(command, "command") else command.command()
