"""State of the vehicles of many scenes, and what the vehicles of a scene are to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import _learn
from propwash.fleet import Fleet
from propwash.gym._state import State
from propwash.gym.multi._downwash import Downwash

Numbers = NDArray[np.float32]
Flags = NDArray[np.bool_]


class SceneState(State):
    """State of the vehicles after a step. The V vehicles of a scene have consecutive rows.

    Vehicles that are not `active` have no neighbours and are not neighbours of others.
    """

    _memory = (*State._memory, "_before")

    def __init__(
        self, fleet: Fleet, actions: int, period: float, vehicles: int, radius: float
    ) -> None:
        super().__init__(fleet, actions, period)
        self.vehicles = vehicles
        """Number V of vehicles in a scene."""
        self._radius = radius
        self._before = self.position
        """m, positions one step earlier; of the start in the first step."""
        self._meetings: tuple[Numbers, Numbers, Flags] | None = None
        """Positions, and what they give: distances to the nearest, and collisions."""

    def read(self) -> None:
        """Reads position, velocity, attitude and body rates from the fleet."""
        before = self.position
        super().read()
        self._before = np.where(self.steps[:, None] == 0, self.position, before)

    def _judged(self) -> tuple[Numbers, Numbers, Flags]:
        if self._meetings is None or self._meetings[0] is not self.position:
            closest, collided = _learn.judge_meetings(
                self.position, self._before, self.active, self.vehicles, self._radius
            )
            self._meetings = self.position, closest, collided
        return self._meetings

    @property
    def closest(self) -> Numbers:
        """(n,) m, distance between the centres of the vehicle and of the nearest; inf if none."""
        return self._judged()[1]

    @property
    def collided(self) -> Flags:
        """(n,) whether the vehicle's sphere touched that of another in the last step.

        The paths between two steps are approximated by lines, at constant speeds.
        """
        return self._judged()[2]

    def neighbours(self, count: int, frame: str = "world") -> Numbers:
        """Returns the nearest `count` others, nearest first, as columns (n, 7 count).

        For each: its position (3) and velocity (3) relative to the vehicle, in the axes of `frame`,
        "world" or "body", and 1; zeros for each missing one.
        """
        attitude = self.attitude if frame == "body" else None
        return _learn.see_others(
            self.position, self.velocity, attitude, self.active, self.vehicles, count
        )

    def downwash(self, jet: Downwash) -> Numbers:
        """Returns the forces of the downwash of the others (n, 3) [N], in world axes."""
        coefficients = self.fleet.parameters["thrust_coefficient"]
        numbers = jet.numbers(self.fleet.vehicle)
        return _learn.downwash_forces(
            self.position,
            self.attitude,
            self.rotor_speeds,
            coefficients,
            self.active,
            self.vehicles,
            numbers,
        )

    def scene_any(self, values: NDArray[Any]) -> Flags:
        """Returns (n,) whether `values` (n,) hold for any vehicle of the scene."""
        return self.by_scene(values).any(axis=1).repeat(self.vehicles)

    def by_scene(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns rows (n, …) as (S, V, …)."""
        return values.reshape(-1, self.vehicles, *values.shape[1:])
