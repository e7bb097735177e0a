"""Race: through gates in their order, against the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from propwash import _fleet_input as given
from propwash import race
from propwash.fleet import Fleet
from propwash.gym import _course
from propwash.gym._draws import Draws
from propwash.gym._state import State
from propwash.gym._task import Numbers, Task, squared
from propwash.world import Scene

Seeds = int | Sequence[int] | None


class Race(Task):
    """Pass gates in order; a collision with anything of the scene ends the run with score 0.

    course: a scene with gates and a start: its name, file, or a Scene. course_seed: None for the
        gates' nominal places, a number for their perturbation, or several numbers, of which
        environment i flies the one at i modulo their count. gates: names in their order; None for
        all. spread: m, how far from the start an episode begins along each axis. radius: m, of the
        sphere that may touch nothing. bound: m from the next gate, at which it is over.

    A gate is passed where the straight line between two steps crosses its plane along its +x
    within its opening. The target is the middle of the next gate; the state's extras are its
    direction of passage (3), the way to the one after it (3) and that one's direction (3), in
    `frame`.

    Reward: metres by which the next gate came nearer, +10 for a gate, −10 for a collision or beyond
    `bound`, − 0.001 |rates|². Infos of runs that ended: gates, time [s, of the last], score (10 a
    gate less the time, 0 after a collision), collision, finished.

    Raises ValueError for a course that cannot be flown: gates that overlap, or lie under ground.
    """

    episode_seconds: ClassVar[float] = race.TIME_LIMIT

    def __init__(
        self,
        course: str | PathLike[str] | Scene = "alphapilot",
        course_seed: Seeds = None,
        gates: Sequence[str] | None = None,
        spread: float = 0.2,
        radius: float = race.COLLISION_RADIUS,
        bound: float = 100.0,
        frame: str = "world",
    ) -> None:
        super().__init__(frame)
        for name, value, least in (("spread", spread, -1.0), ("radius", radius, 0.0)):
            if not (value > least and 0.0 <= value < np.inf):
                raise ValueError(f"{name}: expected a finite number of metres, got {value!r:.100}")
        if not bound > 0.0:
            raise ValueError(f"bound: expected a number > 0 [m], got {bound!r:.100}")
        several = isinstance(course_seed, Sequence)
        seeds: Sequence[Any] = course_seed if several else [course_seed]  # type: ignore[assignment]
        if len(seeds) == 0:
            raise ValueError("course_seed: expected at least one number, got none")
        for seed in seeds:
            if seed is not None:
                given.whole_number("course_seed", seed, 0, 2**64 - 1)
        self.courses = [_course.load(course, seed, gates) for seed in seeds]
        # what sensors see; environments of different courses have no scene in common
        self.scene = self.courses[0].scene if len(self.courses) == 1 else None
        self.spread, self.radius = spread, radius
        self.bound = np.float32(bound**2)
        self.count = len(self.courses[0].names)

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Which course each environment flies, and how far it has come."""
        n = fleet.size
        self.course = (index + np.arange(n)) % len(self.courses)
        self.next = np.zeros(n, dtype=np.intp)
        """(n,) gates passed, which is the place of the next one in the course."""
        self.time = np.zeros(n)
        """(n,) s, at which the last gate was passed."""
        self.collided = np.zeros(n, dtype=np.bool_)
        self._passed = np.zeros(n, dtype=np.bool_)
        self._period = period
        self._before: Numbers = np.zeros((n, 3), dtype=np.float32)
        self._members = [np.flatnonzero(self.course == k) for k in range(len(self.courses))]
        centres = np.stack([each.centre for each in self.courses])
        turns = np.stack([each.turn for each in self.courses])
        self._half = np.stack([each.half for each in self.courses]).astype(np.float32)
        # the last gate stays in view after the run, so that there always is a next and a second
        wide = [*range(self.count), self.count - 1, self.count - 1]
        self._centre = centres[:, wide].astype(np.float32)
        self._turn = turns[:, wide].astype(np.float32)
        self._half = self._half[:, wide]
        self._look()

    def _look(self) -> None:
        """Gathers the next gate of each environment."""
        self._middle = self._centre[self.course, self.next]
        self._frame = self._turn[self.course, self.next]
        self._opening = self._half[self.course, self.next]
        self._after = self._centre[self.course, self.next + 1]
        self._ways = self._frame[:, :, 0], self._turn[self.course, self.next + 1, :, 0]
        self._axes = [[self._frame[:, i, axis].copy() for i in range(3)] for axis in range(3)]

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """At the start, at rest, level."""
        rows = draws.rows
        chosen = self.course[rows]
        starts = np.stack([each.start for each in self.courses])[chosen]
        half = 0.5 * np.array([each.yaw for each in self.courses])[chosen]
        place = starts + draws.uniform(-self.spread, self.spread, 3)
        level = np.zeros_like(half)
        for values in (self.next, self.time, self.collided, self._passed):
            values[rows] = 0
        self._before = self._before.copy()
        self._before[rows] = place
        self._look()
        turned = np.stack([np.cos(half), level, level, np.sin(half)], axis=1)
        return {"position": place, "attitude": turned}

    def update(self, state: State) -> None:
        """Who passed a gate, who touched something, who came nearer."""
        start, end = self._before - self._middle, state.position - self._middle
        self._gain = np.sqrt(squared(start)) - np.sqrt(squared(end))
        ahead = self._along(start, 0), self._along(end, 0)
        crossing = (ahead[0] < 0.0) & (ahead[1] >= 0.0)
        self._passed[:] = False
        rows = np.flatnonzero(crossing & (self.next < self.count))
        if len(rows):
            self._pass(rows, start, end, ahead, state.steps)
        self._before = state.position
        self._far = squared(state.position - self._middle)
        for each, members in zip(self.courses, self._members, strict=True):
            touched = each.scene.collides(state.position[members], radius=self.radius).collided
            self.collided[members] = touched
        # what comes after the last gate does not count
        self.collided &= ~((self.next == self.count) & self._passed)

    def _pass(
        self, rows: Any, start: Numbers, end: Numbers, ahead: tuple[Any, Any], steps: Any
    ) -> None:
        first, second = ahead[0][rows], ahead[1][rows]
        share = first / (first - second)
        inside = np.ones(len(rows), dtype=np.bool_)
        for axis in (1, 2):
            one, two = self._along(start, axis)[rows], self._along(end, axis)[rows]
            inside &= np.abs(one + share * (two - one)) <= self._opening[rows, axis - 1]
        rows = rows[inside]
        self._passed[rows] = True
        self.next[rows] += 1
        self.time[rows] = (steps[rows] - 1 + share[inside]) * self._period
        self._look()

    def _along(self, vector: Numbers, axis: int) -> Numbers:
        """(n,) components of vectors along an axis of each one's next gate."""
        x, y, z = self._axes[axis]
        along: Numbers = vector[:, 0] * x + vector[:, 1] * y + vector[:, 2] * z
        return along

    def target(self, state: State) -> Numbers:
        """(n, 3) m, the middle of the next gate."""
        return self._middle

    def extras(self, state: State) -> list[Numbers]:
        """How the next gate is passed, the way to the one after it, and how that is."""
        parts = [self._ways[0], self._after - state.position, self._ways[1]]
        if self.frame == "body":
            parts = [state.to_body(part) for part in parts]
        return parts

    def reward(self, state: State) -> Any:
        """Nearer to the next gate, through it, untouched."""
        worth = self._gain - np.float32(0.001) * squared(state.body_rates)
        worth += np.float32(10.0) * self._passed
        worth -= np.float32(10.0) * (self.collided | (self._far > self.bound))
        return worth

    def terminated(self, state: State) -> Any:
        """All gates passed, something touched, or too far away."""
        return (self.next == self.count) | self.collided | (self._far > self.bound)

    def info(self, state: State) -> Mapping[str, Any]:
        """How the run went."""
        score = race.POINTS * self.next - self.time
        return {
            "gates": self.next.copy(),
            "time": self.time.copy(),
            "score": np.where(self.collided | (self.next == 0), 0.0, score),
            "collision": self.collided.copy(),
            "finished": (self.next == self.count) & ~self.collided,
        }
