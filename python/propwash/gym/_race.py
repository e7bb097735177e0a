"""Race: through gates in their order, against the clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as given
from propwash import _core, race
from propwash.fleet import Fleet
from propwash.gym import _course
from propwash.gym._draws import Draws
from propwash.gym._rewards import RaceReward, weights_of
from propwash.gym._state import State
from propwash.gym._task import Judged, Numbers
from propwash.world import Scene

Seeds = int | Sequence[int] | None


class Race(Judged):
    """Pass gates in order; a collision with anything of the scene ends the run with score 0.

    course: a scene with gates and a start: its name, file, or a Scene. course_seed: None for the
        gates' nominal places, a number for their perturbation, or several numbers, of which
        environment i flies the one at i modulo their count. gates: names in their order; None for
        all. spread: m, how far from the start an episode begins along each axis. radius: m, of the
        sphere that may touch nothing. bound: m from the next gate, at which it is over. anywhere:
        an episode begins at the start, or, each as likely, 1 to 3 m behind a gate that was passed,
        looking at the next one; time and score are then of what is left. For training.

    Between two steps the vehicle flies a straight line. A gate is passed where that crosses its
    plane along its +x within its opening; a collision is seen anywhere on it. The target is the
    middle of the next gate; the state's extras are its direction of passage (3), the way to the one
    after it (3) and that one's direction (3), in `frame`.

    weights: of the reward, a RaceReward, which states it, or a dict of its fields. They do not
    change the score.

    Infos of runs that ended: gates, time [s, of the last], score (10 a gate less the time, 0 after
    a collision), collision, finished.

    Raises ValueError for a course that cannot be flown: gates that overlap, or lie under ground.
    """

    episode_seconds: ClassVar[float] = race.TIME_LIMIT
    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = (
        "scene",
        "weights",
        "courses",
        "_gates",
        "_starts",
        "_yaws",
    )

    def __init__(
        self,
        course: str | PathLike[str] | Scene = "alphapilot",
        course_seed: Seeds = None,
        gates: Sequence[str] | None = None,
        spread: float = 0.2,
        radius: float = race.COLLISION_RADIUS,
        bound: float = 100.0,
        anywhere: bool = False,
        frame: str = "world",
        weights: RaceReward | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(RaceReward, weights)
        self.anywhere = given.flag("anywhere", anywhere)
        for name, value, least in (("spread", spread, ">= 0"), ("radius", radius, "> 0")):
            finite = given.number(name, value)
            if finite < 0.0 or (finite == 0.0 and name == "radius"):
                raise ValueError(f"{name}: expected a number {least} [m], got {value!r:.100}")
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
        # for sensors; environments of different courses have no scene in common
        self.scene = self.courses[0].scene if len(self.courses) == 1 else None
        self.spread, self.radius = spread, radius
        self.bound = bound
        self.count = len(self.courses[0].names)

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Which course each environment flies, and how far it has come."""
        n = fleet.size
        self.course = (index + np.arange(n)) % len(self.courses)
        self.next = np.zeros(n, dtype=np.int64)
        """(n,) gates passed, which is the place of the next one in the course."""
        self.time = np.zeros(n)
        """(n,) s, at which the last gate was passed."""
        self.collided = np.zeros(n, dtype=np.bool_)
        self._passed = np.zeros(n, dtype=np.bool_)
        self._period = period
        self._before: Numbers = np.zeros((n, 3), dtype=np.float32)
        self._start = self._before.copy()
        self._first = self.next.copy()
        self._skipped = self.next.copy()
        self._clearance: Numbers = np.zeros(n, dtype=np.float32)
        self._starts = np.stack([each.start for each in self.courses])
        self._yaws = np.array([each.yaw for each in self.courses])
        self._gates = self._made_gates()
        self._seen: tuple[Numbers, Numbers] | None = None

    def _made_gates(self) -> _core.RaceCourses:
        # the last gate stays in view after the run, so that there always is a next and a second
        wide = [*range(self.count), self.count - 1, self.count - 1]
        return _core.RaceCourses(
            [each.scene._core for each in self.courses],
            np.stack([each.centre[wide] for each in self.courses]),
            np.stack([each.turn[wide] for each in self.courses]),
            np.stack([each.half[wide] for each in self.courses]),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what refers to the scenes in memory."""
        return {name: value for name, value in vars(self).items() if name != "_gates"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_clearance" in state:
            self._gates = self._made_gates()

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """At the start, or behind a gate, at rest, level."""
        rows = draws.rows
        chosen = self.course[rows]
        place, yaw = self._starts[chosen], self._yaws[chosen]
        if self.anywhere:
            first = draws.integers(self.count)
            behind = draws.uniform(1.0, 3.0)
            place, yaw = self._behind(chosen, first, behind, place, yaw)
            self._first[rows] = first
        place = place + draws.uniform(-self.spread, self.spread, 3)
        level = np.zeros_like(yaw)
        self._start[rows] = place
        turned = np.stack([np.cos(0.5 * yaw), level, level, np.sin(0.5 * yaw)], axis=1)
        return {"position": place, "attitude": turned}

    def _behind(self, chosen: Any, first: Any, behind: Any, start: Any, yaw: Any) -> Any:
        """Places (m, 3) and headings (m,) past the gate before the first one to be passed."""
        passed = np.maximum(first - 1, 0)
        centre = np.stack([each.centre for each in self.courses])
        along = np.stack([each.turn[:, :, 0] for each in self.courses])
        place = centre[chosen, passed] + behind[:, None] * along[chosen, passed]
        way = centre[chosen, first] - place
        is_start = first == 0
        heading = np.arctan2(way[:, 1], way[:, 0])
        return np.where(is_start[:, None], start, place), np.where(is_start, yaw, heading)

    def started(self, rows: NDArray[np.intp]) -> None:
        """No gate is passed yet."""
        for values in (self.time, self.collided, self._passed, self._clearance):
            values[rows] = 0
        self.next[rows] = self._skipped[rows] = self._first[rows]
        self._before[rows] = self._start[rows]
        self._seen = None

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """They have not flown the way there."""
        self._before[rows] = state.position[rows]
        self._clearance[rows] = 0.0
        self._seen = None

    def scenery(self, row: int) -> Scene:
        """The course of an environment."""
        course: _course.Course = self.courses[self.course[row]]
        return course.scene

    def update(self, state: State) -> None:
        """Who passed a gate, who touched something, who came nearer."""
        self._reward, self._over = self._gates.judge(
            state.position,
            state.body_rates,
            state.steps,
            self.course,
            self.next,
            self.time,
            self._passed,
            self.collided,
            self._before,
            self._clearance,
            self.weights.numbers(),
            self.radius,
            self.bound,
            self._period,
        )
        self._seen = None

    def _look(self, state: State) -> tuple[Numbers, Numbers]:
        if self._seen is None:
            self._seen = self._gates.look(state.position, self.course, self.next)
        return self._seen

    def target(self, state: State) -> Numbers:
        """(n, 3) m, the middle of the next gate."""
        return self._look(state)[0]

    def extras(self, state: State) -> Numbers:
        """How the next gate is passed, the way to the one after it, and how that is."""
        seen = self._look(state)[1]
        return state.to_body(seen) if self.frame == "body" else seen

    def info(self, state: State) -> Mapping[str, Any]:
        """How the run went."""
        passed = self.next - self._skipped
        score = race.POINTS * passed - self.time
        nothing = self.collided | state.diverged | (passed == 0)
        return {
            "gates": passed,
            "time": self.time.copy(),
            "score": np.where(nothing, 0.0, score),
            "collision": self.collided.copy(),
            "finished": (self.next == self.count) & ~self.collided & ~state.diverged,
        }
