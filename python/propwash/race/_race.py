"""The course and its scoring rules (see the package)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash import _learn, _rotation
from propwash._checks import shaped
from propwash.race._estimates import Estimates, EstimationErrors, errors_of
from propwash.vehicle.multicopter import DEFAULT_DT
from propwash.world import Gate, Scene

Array = NDArray[np.float64]

TIME_LIMIT = 60.0
"""Time limit of a race [s]."""
POINTS = 10.0
"""For each gate."""
COLLISION_RADIUS = 0.15
"""m, of the vehicle's sphere in the published renderer."""

ROW_STEPS = 8
"""Time steps between rows of a flight."""
PERIOD = ROW_STEPS * DEFAULT_DT
"""s, between rows of a flight: 120 Hz."""


@dataclass(frozen=True, eq=False)
class RaceFlight:
    """The motion of a vehicle, T rows."""

    time: Array
    """(T,) s, increasing."""
    position: Array
    """(T, 3) m, world frame."""
    attitude: Array
    """(T, 4) unit quaternions, scalar first: body to world."""
    velocity: Array
    """(T, 3) m/s, world frame."""


@dataclass(frozen=True)
class Passage:
    """A gate that was passed in order."""

    gate: str
    """Name of the scene's item."""
    time: float
    """Time of the passage [s]."""
    offset: tuple[float, float]
    """m from the centre of the opening, to the left and up in the direction of passage."""
    speed: float
    """Speed at the passage [m/s]."""


@dataclass(frozen=True)
class Collision:
    """The collision that ended a flight."""

    item: str
    """Name of the scene's item."""
    time: float
    """Time of the collision [s]."""


@dataclass(frozen=True, eq=False)
class Result:
    """A flight and its score."""

    scene: Scene
    course: tuple[str, ...]
    """Names of the gates in order."""
    flight: RaceFlight
    passages: tuple[Passage, ...]
    """The gates passed in order before a collision and the time limit."""
    collision: Collision | None
    """The first collision, if before the last gate."""
    score: float
    """Points."""
    vehicle: str = ""
    """Name of the vehicle."""
    seed: int | None = None
    """Seed of the noise and of the gates' positions; None if unknown."""
    estimates: Estimates | None = None
    """Estimates of a pilot that flies by sensors."""

    @property
    def finished(self) -> bool:
        """Whether every gate was passed without a collision."""
        return self.collision is None and len(self.passages) == len(self.course)

    @property
    def time(self) -> float:
        """Time of the last gate passed [s]; NaN without one."""
        return self.passages[-1].time if self.passages else float("nan")

    @property
    def estimation(self) -> EstimationErrors | None:
        """Errors of the estimates; None without estimates."""
        if self.estimates is None:
            return None
        flight, passed = self.flight, [passage.time for passage in self.passages]
        return errors_of(self.estimates, flight.time, flight.position, flight.attitude, passed)


def score(gates: int, time: float, collided: bool = False, time_limit: float = TIME_LIMIT) -> float:
    """Returns ten points per gate minus the time [s] of the last gate.

    0 without gates, after a collision, and if `time` [s] exceeds the limit.
    """
    if gates < 0 or not time_limit > 0.0 or (gates > 0 and not time >= 0.0):
        raise ValueError(
            f"expected gates >= 0, time >= 0 and time_limit > 0 [s], got {gates}, {time}, "
            f"{time_limit}"
        )
    if collided or gates == 0 or time > time_limit:
        return 0.0
    return POINTS * gates - time


def team_score(scores: Iterable[float], best: int = 5) -> float:
    """Returns the mean of the best scores; AlphaPilot counted the best 5 of 25 courses."""
    ranked = sorted(scores, reverse=True)
    if not 1 <= best <= len(ranked):
        raise ValueError(f"best: expected from 1 to {len(ranked)} scores, got {best}")
    return sum(ranked[:best]) / best


def passages(gate: Gate, time: Array, position: Array) -> list[Passage]:
    """Returns all passages of a path, (T,) s and (T, 3) m, through a gate's opening along its +x.

    The path is straight between rows. A passage is a crossing of the gate's plane inside the
    opening, from x < 0 to x >= 0 in the gate's frame.
    """
    axes = _rotation.rotation(gate.attitude).ravel().tolist()
    found = []
    for row, fraction, left, up in _learn.gate_passages(
        gate.position, axes, gate.width, gate.height, position
    ):
        i = int(row)
        span = time[i + 1] - time[i]
        speed = float(np.linalg.norm(position[i + 1] - position[i]) / span)
        found.append(Passage(gate.name, float(time[i] + fraction * span), (left, up), speed))
    return found


def gates_in_order(gates: Sequence[Gate], time: Array, position: Array) -> list[Passage]:
    """Returns the first passage of each gate after that of the previous gate, in order."""
    passed: list[Passage] = []
    for gate in gates:
        after = passed[-1].time if passed else -np.inf
        candidates = [p for p in passages(gate, time, position) if p.time > after]
        if not candidates:
            break
        passed.append(candidates[0])
    return passed


def course_gates(scene: Scene, course: Sequence[str] | None = None) -> list[Gate]:
    """Returns the gates of a scene with these names; None: all gates, in the order of the scene.

    Raises ValueError for an unknown name, a course without gates and a scene with moving items.
    """
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a Scene, such as Scene.load(…), got {scene!r:.100}")
    if scene.has_motion:
        raise ValueError("course: expected a scene whose items do not move, such as scene.at(0.0)")
    gates = {gate.name: gate for gate in scene.gates}
    course = list(gates) if course is None else course
    missing = [name for name in course if name not in gates]
    if missing or not course:
        raise ValueError(
            f"course: expected names of gates in the scene ({', '.join(gates) or 'it has none'}), "
            f"got {', '.join(missing) or 'none'}"
        )
    return [gates[name] for name in course]


def judge(
    scene: Scene,
    flight: RaceFlight,
    course: Sequence[str] | None = None,
    radius: float = COLLISION_RADIUS,
    time_limit: float = TIME_LIMIT,
) -> Result:
    """Scores a flight.

    course: names of gates in order; None: all. radius: m, of the collision sphere. time_limit: s.
    The path is straight between rows. Raises ValueError or TypeError for invalid rows.
    """
    flight = _checked(flight)
    gates = course_gates(scene, course)
    passed = gates_in_order(gates, flight.time, flight.position)
    passed = [passage for passage in passed if passage.time - flight.time[0] <= time_limit]
    finish = passed[-1].time if len(passed) == len(gates) else np.inf
    collision = _first_collision(scene, flight, radius)
    if collision is not None and collision.time > finish:
        collision = None
    if collision is not None:
        passed = [passage for passage in passed if passage.time <= collision.time]
    last = passed[-1].time - flight.time[0] if passed else 0.0
    points = score(len(passed), last, collision is not None, time_limit)
    names = tuple(gate.name for gate in gates)
    return Result(scene, names, flight, tuple(passed), collision, points)


def _first_collision(scene: Scene, flight: RaceFlight, radius: float) -> Collision | None:
    """Returns the first contact on the straight segments between rows."""
    hits = scene.spherecast(flight.position[:-1], flight.position[1:], radius)
    rows = np.flatnonzero(hits.id >= 0)
    if len(rows) == 0:
        return None
    first = rows[0]
    span = flight.time[first + 1] - flight.time[first]
    when = flight.time[first] + hits.fraction[first] * span
    return Collision(scene.names[hits.id[first]], float(when))


def _checked(flight: RaceFlight) -> RaceFlight:
    time = shaped("flight.time", flight.time, ("T",))
    arrays = {
        name: shaped(f"flight.{name}", getattr(flight, name), (len(time), width))
        for name, width in (("position", 3), ("attitude", 4), ("velocity", 3))
    }
    for name, array in arrays.items():
        if len(array) != len(time):
            raise ValueError(f"flight.{name}: expected {len(time)} rows, got {len(array)}")
    if len(time) < 2:
        raise ValueError(f"flight.time: expected at least 2 times, got {len(time)}")
    invalid = np.flatnonzero(np.diff(time) <= 0.0)
    if len(invalid):
        before, after = time[invalid[0] : invalid[0] + 2]
        raise ValueError(
            f"flight.time: expected increasing times, got {after:g} s after {before:g} s in row "
            f"{invalid[0] + 1}"
        )
    return RaceFlight(time, **arrays)


def table(results: Sequence[Result]) -> str:
    """Returns a table of results and a summary, as text. Raises ValueError for no results.

    For flights by sensors it contains the errors of the estimates: root mean squares over the
    flight, and of the gates at their passages.
    """
    if not results:
        raise ValueError("results: expected at least one run, got none")
    has_estimates = any(result.estimates is not None for result in results)
    head = f"{'seed':>6s}{'gates':>8s}{'time [s]':>10s}{'score':>8s}"
    if has_estimates:
        head += f"{'position [m]':>14s}{'attitude [deg]':>16s}{'gates [m]':>11s}"
    lines = [head]
    for result in results:
        last = f"{result.passages[-1].time:.2f}" if result.passages else "-"
        gates = f"{len(result.passages)}/{len(result.course)}"
        line = f"{result.seed!s:>6s}{gates:>8s}{last:>10s}{result.score:8.2f}"
        errors = result.estimation
        if errors is not None:
            degrees = np.degrees(errors.attitude)
            gates = f"{errors.gates:.3f}" if np.isfinite(errors.gates) else "-"  # none passed
            line += f"{errors.position:14.3f}{degrees:16.2f}{gates:>11s}"
        note = "" if result.collision is None else f"  collision with {result.collision.item}"
        lines.append(line + note)
    scores = [result.score for result in results]
    best = min(5, len(scores))
    finished = sum(result.finished for result in results)
    lines.append(f"{finished} of {len(scores)} courses finished, mean score {np.mean(scores):.2f}")
    mean = f"mean of the best {best}: {team_score(scores, best):.2f}"
    if all(result.scene.name == "alphapilot" for result in results):
        mean += " (20 published teams, flying by camera: best 91.39, tenth 71.10)"
    lines.append(mean)
    return "\n".join(lines)


def report(result: Result) -> str:
    """Returns a summary of the flight and its gates, as text."""
    flight = result.flight
    distance = float(np.linalg.norm(np.diff(flight.position, axis=0), axis=1).sum())
    max_speed = float(np.linalg.norm(flight.velocity, axis=1).max())
    lines = [
        f"{result.vehicle or 'flight'}, seed {result.seed}: {distance:.0f} m in "
        f"{flight.time[-1] - flight.time[0]:.1f} s, fastest {max_speed:.1f} m/s",
        f"  {'gate':8s}{'time [s]':>10s}{'speed [m/s]':>13s}{'left [m]':>10s}{'up [m]':>8s}",
    ]
    for p in result.passages:
        left, up = p.offset
        lines.append(f"  {p.gate:8s}{p.time:10.2f}{p.speed:13.1f}{left:10.2f}{up:8.2f}")
    lines += [f"  {name:8s}{'-':>10s}" for name in result.course[len(result.passages) :]]
    if result.collision is not None:
        lines.append(f"  collision with {result.collision.item} at {result.collision.time:.2f} s")
    errors = result.estimation
    if errors is not None:
        gates = f", gates {errors.gates:.3f} m" if np.isfinite(errors.gates) else ""
        lines.append(
            f"  estimation errors (rms): position {errors.position:.3f} m, attitude "
            f"{np.degrees(errors.attitude):.2f} deg{gates}"
        )
    lines.append(
        f"  {len(result.passages)} of {len(result.course)} gates, score {result.score:.2f}"
    )
    return "\n".join(lines)
