"""State of the vehicles of many scenes, and what the vehicles of a scene are to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.fleet import Fleet
from propwash.gym._state import State

Numbers = NDArray[np.float32]
Flags = NDArray[np.bool_]


class SceneState(State):
    """State of the vehicles after a step. The V vehicles of a scene have consecutive rows.

    Vehicles whose episode has ended are absent: they have no neighbours and are none of others.
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
        numbers = np.arange(vehicles)
        self._others = np.stack([np.delete(numbers, i) for i in numbers])
        """(V, V - 1) numbers of the other vehicles of a scene."""
        self._pairs: tuple[Numbers, Any, Flags, Numbers] | None = None

    def read(self) -> None:
        """Reads position, velocity, attitude and body rates from the fleet."""
        before = self.position
        super().read()
        self._before = np.where(self.steps[:, None] == 0, self.position, before)

    def to_others(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns (n, V - 1, …): for each vehicle the rows of `values` (n, …) of the others."""
        rows = values.reshape(-1, self.vehicles, *values.shape[1:])
        return rows[:, self._others].reshape(self.size, self.vehicles - 1, *values.shape[1:])

    def _offsets(self, position: Numbers) -> Numbers:
        """(n, V - 1, 3) vectors to the others."""
        offsets: Numbers = self.to_others(position) - position[:, None]
        return offsets

    def _paired(self) -> tuple[Numbers, Flags, Numbers]:
        """Vectors to the others [m], whether both are active, and squared distances."""
        if self._pairs is None or self._pairs[1] is not self.position:
            offsets = self._offsets(self.position)
            present = self.to_others(self.active) & self.active[:, None]
            squared = np.einsum("nvk,nvk->nv", offsets, offsets)
            squared[~present] = np.inf
            self._pairs = offsets, self.position, present, squared
        offsets, _, present, squared = self._pairs
        return offsets, present, squared

    @property
    def closest(self) -> Numbers:
        """(n,) m, distance between the centres of the vehicle and of the nearest; inf if none."""
        _, _, squared = self._paired()
        nearest: Numbers = np.sqrt(squared.min(axis=1, initial=np.inf))
        return nearest

    @property
    def collided(self) -> Flags:
        """(n,) whether the vehicle's sphere touched that of another in the last step.

        The paths between two steps are approximated by lines, flown at constant speeds.
        """
        end, present, _ = self._paired()
        start = self._offsets(self._before)
        moved = end - start
        length = np.einsum("nvk,nvk->nv", moved, moved)
        along = -np.einsum("nvk,nvk->nv", start, moved) / np.maximum(length, np.float32(1e-12))
        nearest = start + np.clip(along, 0.0, 1.0)[..., None] * moved
        squared = np.einsum("nvk,nvk->nv", nearest, nearest)
        touched: Flags = ((squared < (2.0 * self._radius) ** 2) & present).any(axis=1)
        return touched

    def neighbours(self, count: int) -> Numbers:
        """Returns the nearest `count` others, nearest first, as columns (n, 7 count).

        For each: its position (3) and velocity (3) relative to the vehicle, world axes, and 1; zeros
        for each missing one.
        """
        offsets, _, squared = self._paired()
        velocities = self._offsets(self.velocity)
        order = np.argsort(squared, axis=1, kind="stable")[:, :count, None]
        seen = np.ones((self.size, count, 7), dtype=np.float32)
        seen[..., :3] = np.take_along_axis(offsets, order, axis=1)
        seen[..., 3:6] = np.take_along_axis(velocities, order, axis=1)
        seen[np.take_along_axis(squared, order[..., 0], axis=1) == np.inf] = 0.0
        return seen.reshape(self.size, 7 * count)
