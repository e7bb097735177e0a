"""The commands of a rollout, one after the other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from propwash import _core
from propwash import _fleet_input as given
from propwash._reference import Reference

_PARTS: dict[type, dict[str, int]] = {
    _core.RateThrust: {"rates": 1, "thrust": 0},
    _core.RotorSpeeds: {"speeds": 1},
    _core.AttitudeThrust: {"attitude": 1, "thrust": 0, "yaw_rate": 0},
    _core.VelocityCommand: {"velocity": 1, "yaw": 0, "yaw_rate": 0},
    _core.PositionCommand: {"position": 1, "yaw": 0},
    _core.TrajectoryCommand: {
        **dict.fromkeys(("position", "velocity", "acceleration", "jerk", "snap"), 1),
        **dict.fromkeys(("yaw", "yaw_rate", "yaw_acceleration"), 0),
    },
}
"""The parts of each command, and how many axes one vehicle's has."""

Command: TypeAlias = (
    _core.RateThrust
    | _core.RotorSpeeds
    | _core.AttitudeThrust
    | _core.VelocityCommand
    | _core.PositionCommand
    | _core.TrajectoryCommand
)


def without_reference(command: Command | Reference) -> Command:
    """A command: of a Reference its rows, for the geometric controller."""
    return command.command() if isinstance(command, Reference) else command


class RolloutCommands:
    """The commands of a rollout of a bound fleet, looked at as a whole before any is flown.

    What the fleet would refuse is refused in its own words, and nothing has changed then.
    """

    def __init__(
        self, core: Any, size: int, commands: Any, steps: Any, substeps: Any, names: list[str]
    ) -> None:
        self._commands, self._size = commands, size
        parts = next((p for kind, p in _PARTS.items() if isinstance(commands, kind)), {})
        self._parts = {n: a for n, a in parts.items() if getattr(commands, n) is not None}
        self._options = {}
        if isinstance(commands, _core.TrajectoryCommand):
            self._options = {"controller": commands.controller}
        try:
            if not self._parts or self._is_too_large(core):
                raise ValueError("command: not for this fleet")
            self.count = self._counted(steps)
            first = self[0] if self.count > 0 else commands
            # arrays (0, n, …) of what is recorded
            self.empty: dict[str, Any] = core.rollout(first, 0, substeps, names)
        except (TypeError, ValueError):
            core.rollout(commands, steps, substeps, names)
            raise

    def _array(self, name: str) -> tuple[Any, bool]:
        """A part, and whether it has a row for each command."""
        array = getattr(self._commands, name)
        return array, array.ndim == self._parts[name] + 2

    def _counted(self, steps: Any) -> int:
        lengths = [len(array) for array, has_rows in map(self._array, self._parts) if has_rows]
        if not lengths:
            return given.whole_number("steps", steps, 0, 2**62)
        if steps is not None:
            given.whole_number("steps", steps, lengths[0], lengths[0])
        return lengths[0]

    def _is_too_large(self, core: Any) -> bool:
        if not isinstance(core, _core.FleetFloat32):
            return False
        most = float(np.finfo(np.float32).max)
        parts = (getattr(self._commands, name) for name in self._parts)
        return any(float(np.abs(part).max(initial=0.0)) > most for part in parts)

    def __getitem__(self, t: int) -> Any:
        """The command of entry t."""
        parts = {name: self._row(name, t) for name in self._parts}
        return type(self._commands)(**parts, **self._options)

    def _row(self, name: str, t: int) -> Any:
        array, has_rows = self._array(name)
        if not has_rows:
            return array
        row = array[t]
        return row[0] if len(row) == 1 and self._size != 1 else row
