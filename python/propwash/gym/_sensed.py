"""Observations of sensors alone: what flies knows no more than its instruments tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.gym._options import Settings
from propwash.gym._state import State
from propwash.gym._task import Task
from propwash.sensors import Beacons, RangeFinder

Numbers = NDArray[np.float32]

GRAVITY = np.float32(9.81)
"""m/s^2, in which specific force is observed."""


class SensedObservation:
    """IMU history, last action; range to the ground and beacons where the task has a scene.

    Newest reading first, each specific force / g (3) and angular rate [rad/s] (3); last action (A);
    range / 20 m (1), 1.05 where nothing is met; for each beacon of the
    scene u and v, from -1 to 1 across the picture, and 1, or three zeros where it is not in view.
    """

    def __init__(self, state: State, task: Task, chosen: Settings) -> None:
        fleet, actions = state.fleet, state.action.shape[1]
        self._inertial = 6 * chosen.history
        width = self._inertial + actions
        rate = 1.0 / state.period
        self._range: Any = None
        self._beacons: Any = None
        if task.scene is not None:
            self._range = fleet.attach(RangeFinder(task.scene), rate=rate)
            width += 1
            if len(task.scene.markers.names):
                beacons = Beacons(task.scene)
                self._beacons = fleet.attach(beacons, rate=rate)
                self._middle = beacons.camera.width / 2.0, beacons.camera.height / 2.0
                width += 3 * len(beacons.ids)
        self._actions = slice(self._inertial, self._inertial + actions)
        self._seen = np.zeros((state.size, width), dtype=np.float32)

    def memory(self) -> Numbers:
        """For a snapshot: the readings before."""
        return self._seen

    def recall(self, memory: Numbers) -> None:
        """Takes up what memory() gave."""
        self._seen = memory

    def observe(self, state: State, fresh: NDArray[np.bool_] | None) -> Numbers:
        """(n, k) after a step, with one reading repeated where an episode has just begun.

        fresh: which have just begun, where nothing else has changed; None after a step.
        """
        seen, width = self._seen, self._inertial
        if fresh is None:
            fresh = state.steps == 0
            seen[:, 6:width] = seen[:, : width - 6].copy()
        seen[:, self._actions] = state.action
        self._read(state, fresh)
        own = state.blank(seen.shape[1])
        np.copyto(own, seen)
        return own

    def _read(self, state: State, fresh: NDArray[np.bool_]) -> None:
        seen, width = self._seen, self._inertial
        reading = state.imu
        seen[:, 0:3] = reading.specific_force / GRAVITY
        seen[:, 3:6] = reading.angular_rate
        if fresh.any():
            seen[fresh, 6:width] = np.tile(seen[fresh, :6], width // 6 - 1)
        place = self._actions.stop
        if self._range is not None:
            metres = self._range.reading.range
            seen[:, place] = np.where(np.isnan(metres), 21.0, metres) / 20.0
            place += 1
        if self._beacons is not None:
            picture = self._beacons.reading
            for value, middle in zip((picture.u, picture.v), self._middle, strict=True):
                across = np.where(picture.visible, value / middle - 1.0, 0.0)
                seen[:, place : place + across.shape[1]] = across
                place += across.shape[1]
            seen[:, place:] = picture.visible
        if state.diverged.any():
            seen[state.diverged] = 0.0
