"""Race: pass gates in order in minimum time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash import _learn, _rotation, race
from propwash._core import VelocityCommand
from propwash._rotation import rotation
from propwash.fleet import Fleet
from propwash.gym import _race_teacher
from propwash.gym._randomize import Draws
from propwash.gym._rewards import RaceReward, weights_of
from propwash.gym._state import State
from propwash.gym._task import Judged, Numbers
from propwash.world import Gate, Plane, Scene

if TYPE_CHECKING:
    from propwash.gym._evaluation import Evaluation

Array = NDArray[np.float64]
Seeds = int | Sequence[int] | None


@dataclass(frozen=True, eq=False)
class GateArrays:
    """Gates in order, as arrays."""

    scene: Scene
    names: tuple[str, ...]
    centre: Array
    """(g, 3) m."""
    rotation: Array
    """(g, 3, 3) from gate to world frame: x in the direction of passage, y left, z up."""
    half: Array
    """(g, 2) m, half the width and height of the opening."""
    start: Array
    """(3,) m."""
    yaw: float
    """rad, heading at the start."""


def load(
    course: str | PathLike[str] | Scene, seed: int | None, gates: Sequence[str] | None
) -> GateArrays:
    """Loads a course from a scene, its name or file. Raises ValueError if it is invalid."""
    scene = course if isinstance(course, Scene) else Scene.load(course, seed=seed)
    chosen = race.course_gates(scene, gates)
    _check(scene)
    if scene.start is None:
        raise ValueError(f"course: expected a scene with a start, {scene.name!r} has none")
    return GateArrays(
        scene,
        tuple(gate.name for gate in chosen),
        np.array([gate.position for gate in chosen]),
        np.array([rotation(np.asarray(gate.attitude)) for gate in chosen]),
        np.array([[0.5 * gate.width, 0.5 * gate.height] for gate in chosen]),
        np.array(scene.start.position, dtype=np.float64),
        float(scene.start.yaw),
    )


def _check(scene: Scene) -> None:
    grounds = [item for item in scene.items if isinstance(item, Plane)]
    for gate in scene.gates:
        opening = _corners(gate, 0.0)
        for ground in grounds:
            normal = rotation(np.asarray(ground.attitude))[:, 2]
            depth = float(((opening - np.asarray(ground.position)) @ normal).min())
            if depth < -1e-6:
                raise ValueError(
                    f"course: expected openings above {ground.name!r}, that of gate {gate.name!r} "
                    f"reaches {-depth:.3g} m below it"
                )
    for one, other in combinations(scene.gates, 2):
        if _overlap(one, other):
            raise ValueError(
                f"course: expected gates apart from each other, {one.name!r} and {other.name!r} "
                "overlap"
            )


def _corners(gate: Gate, border: float) -> Array:
    """(8, 3) m, corners of the gate's box, extended by a border [m]."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    wide, high = 0.5 * gate.width + border, 0.5 * gate.height + border
    half = np.array([0.5 * gate.depth, wide, high])
    return np.asarray(gate.position + (signs * half) @ rotation(np.asarray(gate.attitude)).T)


def _overlap(one: Gate, other: Gate) -> bool:
    """Whether the boxes of two gates, opening and frame, overlap (separating axis theorem)."""
    a, b = rotation(np.asarray(one.attitude)), rotation(np.asarray(other.attitude))
    crossed = np.cross(a.T[:, None], b.T[None]).reshape(-1, 3)
    axes = np.concatenate([a.T, b.T, crossed[np.linalg.norm(crossed, axis=1) > 1e-6]])
    p, q = (_corners(gate, gate.border) @ axes.T for gate in (one, other))
    return not bool(((p.max(0) <= q.min(0)) | (q.max(0) <= p.min(0))).any())


def outcome(
    passed: Any, time: Any, collided: Any, is_last: Any, diverged: Any, where: Any
) -> dict[str, Any]:
    """The infos of runs, from arrays or tensors (n,).

    passed: gates. time: s, of the last of them. is_last: whether the course ended with it. where:
    the function of their library.
    """
    has_failed = collided | diverged
    return {
        "gates": passed,
        "time": time,
        "score": where(has_failed | (passed == 0), 0.0, race.POINTS * passed - time),
        "collision": collided,
        "finished": is_last & ~has_failed,
    }


class Race(Judged):
    """Pass gates in order; a collision with the scene ends the run with score 0.

    The path between two steps is approximated by a line. A gate is passed if the line crosses its
    plane in its +x direction within the opening; collisions are checked along the line. Target: the
    centre of the next gate. The extras of the observation, in `frame`, are the direction of passage
    of the next gate (3), the vector to the gate after it (3), that gate's direction (3) and the
    direction from the next gate to the vehicle (3); then, with p the position in the axes of the
    next gate (in the direction of passage, left, up) in metres, asinh(p) (3) and log(|p| + 0.1).

    Infos of ended runs: gates, time [s] of the last gate, score (10 per gate minus the time, 0
    after a collision), collision, finished.

    Args:
        course: A scene with gates and a start: its name, its file, or a Scene.
        course_seed: None for the nominal gate positions, an integer for perturbed ones, or a
            sequence, of which environment i uses element i modulo its length.
        gates: Names in order; None for all.
        spread: Maximum initial distance from the start along each axis [m].
        radius: Radius of the collision sphere [m].
        bound: Distance from the next gate that ends an episode [m].
        anywhere: For training: an episode begins at the start or, with equal probability, 1 to 3 m
            behind any gate but the last, facing the next one. Time and score count from there.
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a RaceReward or a dict of its fields. They do not change the
            score.

    Raises:
        ValueError: For an invalid course: overlapping gates, or gates below the ground.
    """

    episode_seconds: ClassVar[float] = race.TIME_LIMIT
    starts_ahead: ClassVar[bool] = True
    replaced: ClassVar[Mapping[str, tuple[str, ...]]] = {"course": ("gates",)}
    constants: ClassVar[tuple[str, ...]] = (
        "scene",
        "weights",
        "courses",
        "_gates",
        "_starts",
        "_yaws",
        "_centres",
        "_axes",
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
        self.anywhere = checks.flag("anywhere", anywhere)
        checks.positive("radius", radius)
        if checks.number("spread", spread) < 0.0:
            raise ValueError(f"spread: expected a number >= 0 [m], got {spread!r:.100}")
        if not bound > 0.0:
            raise ValueError(f"bound: expected a number > 0 [m], got {bound!r:.100}")
        several = isinstance(course_seed, Sequence)
        seeds: Sequence[Any] = course_seed if several else [course_seed]  # type: ignore[assignment]
        if len(seeds) == 0:
            raise ValueError("course_seed: expected at least one number, got none")
        for seed in seeds:
            if seed is not None:
                checks.whole_number("course_seed", seed, 0, 2**64 - 1)
        self.courses = [load(course, seed, gates) for seed in seeds]
        # for sensors; environments with different courses have no common scene
        self.scene = self.courses[0].scene if len(self.courses) == 1 else None
        self.spread, self.radius = spread, radius
        self.bound = bound
        self.count = len(self.courses[0].names)

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Assigns the courses and allocates the progress of each environment."""
        n = fleet.size
        self.course = (index + np.arange(n)) % len(self.courses)
        self.next = np.zeros(n, dtype=np.int64)
        """(n,) index of the next gate, the number of gates passed."""
        self.time = np.zeros(n)
        """(n,) s, time of the last gate passed."""
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
        self._centres = np.stack([each.centre for each in self.courses])
        self._axes = np.stack([each.rotation for each in self.courses])
        self._gates = self._made_gates()
        self._seen: tuple[Numbers, Numbers, Numbers] | None = None

    def _made_gates(self) -> _learn.RaceCourses:
        # the last gate is repeated, so that there always are a next gate and one after it
        rows = [*range(self.count), self.count - 1, self.count - 1]
        return _learn.RaceCourses(
            [each.scene._core for each in self.courses],
            np.stack([each.centre[rows] for each in self.courses]),
            np.stack([each.rotation[rows] for each in self.courses]),
            np.stack([each.half[rows] for each in self.courses]),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Omits the C++ object, which refers to the scenes in memory."""
        return {name: value for name, value in vars(self).items() if name != "_gates"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_clearance" in state:
            self._gates = self._made_gates()

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws states at the start, or behind a gate, level and at rest."""
        rows = draws.rows
        chosen = self.course[rows]
        place, yaw = self._starts[chosen], self._yaws[chosen]
        if self.anywhere:
            first, behind = self._first_gate(draws)
            place, yaw = self._behind(chosen, first, behind, place, yaw)
            self._first[rows] = first
        place = place + draws.uniform(-self.spread, self.spread, 3)
        self._start[rows] = place
        return {"position": place, "attitude": _rotation.from_euler(0.0, 0.0, yaw)}

    def _first_gate(self, draws: Draws) -> Any:
        """Draws the first gate to pass (m,) and the distance behind the gate before it (m,) [m]."""
        return draws.integers(self.count), draws.uniform(1.0, 3.0)

    def _behind(self, chosen: Any, first: Any, behind: Any, start: Any, yaw: Any) -> Any:
        """Positions (m, 3) and headings (m,) behind the gate before the first one to pass."""
        passed = np.maximum(first - 1, 0)
        centre = np.stack([each.centre for each in self.courses])
        along = np.stack([each.rotation[:, :, 0] for each in self.courses])
        place = centre[chosen, passed] + behind[:, None] * along[chosen, passed]
        to_gate = centre[chosen, first] - place
        is_start = first == 0
        heading = np.arctan2(to_gate[:, 1], to_gate[:, 0])
        return np.where(is_start[:, None], start, place), np.where(is_start, yaw, heading)

    def started(self, rows: NDArray[np.intp]) -> None:
        """Resets the progress."""
        for values in (self.time, self.collided, self._passed, self._clearance):
            values[rows] = 0
        self.next[rows] = self._skipped[rows] = self._first[rows]
        self._before[rows] = self._start[rows]
        self._seen = None

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """Restarts the path line at the new position."""
        self._before[rows] = state.position[rows]
        self._clearance[rows] = 0.0
        self._seen = None

    def scenery(self, row: int) -> Scene:
        """Returns the scene of the environment's course."""
        course: GateArrays = self.courses[self.course[row]]
        return course.scene

    def update(self, state: State) -> None:
        """Detects passed gates and collisions, and computes rewards and terminations."""
        self._reward, self._terminated = self._gates.judge(
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
            self.weights,
            self.radius,
            self.bound,
            self._period,
        )
        self._seen = None

    def look(self, position: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Returns the centre of the next gate (n, 3), and the extras of vehicles at `position`."""
        return self._gates.look(position, self.course, self.next)

    def _look(self, state: State) -> tuple[Numbers, Numbers, Numbers]:
        if self._seen is None:
            self._seen = self.look(state.position)
        return self._seen

    def _next_gates(self) -> tuple[Array, Array]:
        """Returns centres (n, 3) [m] and rotations (n, 3, 3) of the next gates, or of the last."""
        gates = np.minimum(self.next, self.count - 1)
        return self._centres[self.course, gates], self._axes[self.course, gates]

    def teach(self, state: State) -> VelocityCommand:
        """Returns the commands of a pilot that knows all positions, to imitate."""
        return _race_teacher.teach(state, *self._next_gates())

    def target(self, state: State) -> Numbers:
        """Returns the centre of the next gate, (n, 3) m."""
        return self._look(state)[0]

    def extras(self, state: State) -> list[Numbers]:
        """Returns vectors in `frame`, (n, 12), and the scaled position at the gate, (n, 4)."""
        _, seen, scaled = self._look(state)
        return [state.to_body(seen) if self.frame == "body" else seen, scaled]

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns gates, time, score, collision and finished of each run."""
        time, collided = self.time.copy(), self.collided.copy()
        is_last = self.next == self.count
        return outcome(self.next - self._skipped, time, collided, is_last, state.diverged, np.where)

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns gates, finished runs, collisions, scores and times."""
        infos = result.infos
        finished = np.asarray(infos["finished"], dtype=bool)
        times = infos["time"][finished]
        return {
            "gates passed": float(np.mean(infos["gates"])),
            "finished [%]": 100.0 * float(np.mean(finished)),
            "collided [%]": 100.0 * float(np.mean(infos["collision"])),
            "score": float(np.mean(infos["score"])),
            "best five scores": float(np.mean(np.sort(infos["score"])[-5:])),
            "median time [s]": float(np.median(times)) if len(times) else np.nan,
        }

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """The mean score, in which a collision counts 0."""
        return (measured["score"],)
