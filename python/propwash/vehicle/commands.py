"""The commands of a multicopter, and objects that convert to commands."""

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
    """An object that converts to a command, such as a `trajectories.Reference`."""

    def command(self) -> Command:
        """Returns the command."""


def as_command(command: Command | CommandSource) -> Command:
    """Converts a source to its command; returns a command unchanged."""
    return command if not hasattr(command, "command") else command.command()
