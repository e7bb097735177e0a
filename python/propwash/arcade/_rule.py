"""The rule of a flight: take-off, gates in order, and what ends it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propwash import race
from propwash.arcade._guide import Openings
from propwash.arcade._interface import Phase, WrongGate
from propwash.world import Scene

Array = NDArray[np.float64]

TIME_LIMIT = 300.0
"""s, of a flight."""
TAKE_OFF_CLEARANCE = 0.05
"""m, between the collision sphere and all items, and above the start, at which the flight
begins."""


class Rule:
    """Judges a flight row by row, as `race.judge` judges all rows since take-off.

    scene: with gates in the order of their passage. ground: name of the item on which the vehicle
    stands. start: (3,) m, its position there.

    Raises ValueError for a scene without gates, and for a start that touches another item.
    """

    def __init__(self, scene: Scene, ground: str, start: Array) -> None:
        self.scene = scene
        self.gates = race.course_gates(scene)
        self._ground, self._height = ground, float(start[2])
        self._openings = Openings(self.gates)
        self._obstacles = Scene([item for item in scene.items if item.name != ground])
        touched = self._obstacles.collides(start, radius=race.COLLISION_RADIUS)
        if touched.collided:
            raise ValueError(
                f"scene {scene.name!r}: expected a start on free ground, item "
                f"{self._obstacles.names[int(touched.id)]!r} is within "
                f"{race.COLLISION_RADIUS} m of {np.round(start, 3).tolist()}; move the start"
            )
        self.reset()

    def reset(self) -> None:
        """Begins again, on the ground."""
        self.phase: Phase = "ready"
        self.passages: list[race.Passage] = []
        self.collision: str | None = None
        self.wrong: WrongGate | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the flight has ended."""
        return self.phase not in ("ready", "flying")

    def wait(self, before: Array, after: Array, upright: bool) -> None:
        """Judges a row on the ground: it takes off, remains, or touches an obstacle.

        before, after: (3,) m, positions of the last row and this one. upright: False for a vehicle
        that has turned over, which ends the flight as well.
        """
        hit = self._obstacles.spherecast(before, after, race.COLLISION_RADIUS)
        if hit.id >= 0:
            self._collide(self._obstacles.names[int(hit.id)])
        elif not upright:
            self._collide(self._ground)
        elif not self._is_near(after):
            self.phase = "flying"

    def advance(self, times: tuple[float, float], before: Array, after: Array) -> None:
        """Judges the straight line between two rows of the flight.

        times: s, since take-off, of the rows. before, after: (3,) m, their positions.
        """
        time, line = np.array(times), np.array((before, after))
        passed = race.gates_in_order(self.gates[len(self.passages) :], time, line)
        passed = [passage for passage in passed if passage.time <= TIME_LIMIT]
        hit = self.scene.spherecast(before, after, race.COLLISION_RADIUS)
        contact = times[0] + float(hit.fraction) * (times[1] - times[0])
        finish = passed[-1].time if len(self.passages) + len(passed) == len(self.gates) else np.inf
        if hit.id >= 0 and contact <= finish:
            passed = [passage for passage in passed if passage.time <= contact]
            self._collide(self.scene.names[int(hit.id)])
        elif finish < np.inf:
            self.phase = "finished"
        elif times[1] >= TIME_LIMIT:
            self.phase = "timeout"
        if self.phase == "flying":
            right = range(len(self.passages), len(self.passages) + len(passed))
            self.wrong = self._openings.wrong(right, times[1], before, after) or self.wrong
        self.passages += passed

    def _is_near(self, position: Array) -> bool:
        if position[2] < self._height + TAKE_OFF_CLEARANCE:  # on long legs
            return True
        radius = race.COLLISION_RADIUS + TAKE_OFF_CLEARANCE
        return bool(self.scene.collides(position, radius=radius).collided)

    def _collide(self, item: str) -> None:
        self.phase, self.collision = "collided", item
