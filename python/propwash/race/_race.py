"""The course, its scoring rules and simulated flights through it (see the package)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _rotation
from propwash._checks import shaped, whole_number
from propwash.fleet import Fleet
from propwash.race import _plan
from propwash.trajectories import Path
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT
from propwash.vehicle.parameters import VehicleParameters
from propwash.world import Gate, Scene

Array = NDArray[np.float64]

TIME_LIMIT = 60.0
"""s."""
POINTS = 10.0
"""For each gate."""
COLLISION_RADIUS = 0.15
"""m, of the vehicle's sphere in the published renderer."""

_SUBSTEPS = 8
PERIOD = _SUBSTEPS * DEFAULT_DT
"""s, between commands and between rows of a flight: 120 Hz."""
_RECORDED = ("position", "attitude", "velocity")


@dataclass(frozen=True, eq=False)
class Flight:
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
    """s."""
    offset: tuple[float, float]
    """m from the centre of the opening, to the left and up in the direction of passage."""
    speed: float
    """m/s."""


@dataclass(frozen=True)
class Collision:
    """The collision that ended a flight."""

    item: str
    """Name of the scene's item."""
    time: float
    """s."""


@dataclass(frozen=True, eq=False)
class Result:
    """A flight and its score."""

    scene: Scene
    course: tuple[str, ...]
    """Names of the gates in order."""
    flight: Flight
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

    @property
    def finished(self) -> bool:
        """Whether every gate was passed without a collision."""
        return self.collision is None and len(self.passages) == len(self.course)

    @property
    def time(self) -> float:
        """Time of the last gate passed [s]; NaN without one."""
        return self.passages[-1].time if self.passages else float("nan")


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
    rotation = _rotation.rotation(gate.attitude)
    relative = (position - np.asarray(gate.position)) @ rotation
    ahead = relative[:, 0]
    found = []
    for i in np.flatnonzero((ahead[:-1] < 0.0) & (ahead[1:] >= 0.0)):
        fraction = ahead[i] / (ahead[i] - ahead[i + 1])
        left, up = relative[i, 1:] + fraction * (relative[i + 1, 1:] - relative[i, 1:])
        if abs(left) > 0.5 * gate.width or abs(up) > 0.5 * gate.height:
            continue
        span = time[i + 1] - time[i]
        speed = float(np.linalg.norm(position[i + 1] - position[i]) / span)
        when = float(time[i] + fraction * span)
        found.append(Passage(gate.name, when, (float(left), float(up)), speed))
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
    flight: Flight,
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


def _first_collision(scene: Scene, flight: Flight, radius: float) -> Collision | None:
    """Returns the first contact on the straight segments between rows."""
    hits = scene.spherecast(flight.position[:-1], flight.position[1:], radius)
    rows = np.flatnonzero(hits.id >= 0)
    if len(rows) == 0:
        return None
    first = rows[0]
    span = flight.time[first + 1] - flight.time[first]
    when = flight.time[first] + hits.fraction[first] * span
    return Collision(scene.names[hits.id[first]], float(when))


def fly(
    seed: int = 0,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    scene: Scene | None = None,
    course: Sequence[str] | None = None,
    start: ArrayLike | None = None,
    yaw: float | None = None,
    dtype: Literal["float32", "float64"] = "float64",
    time_limit: float = TIME_LIMIT,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulates a flight through a course, with the noise of the vehicle, and scores it.

    seed: of the gates' positions and of the noise. scene: None: the AlphaPilot course. course:
    names of gates in order; None: all. start: (3,) m, world frame. yaw: rad. None: those of the
    scene. time_limit: s. progress: called with the completed fraction.

    The path is planned from the true positions of the gates; the geometric tracking controller
    follows it with feedback of the true state. Requires scipy.
    """
    parameters = vehicles.load(vehicle)
    seed = whole_number("seed", seed, 0, 2**64 - 1)
    scene = Scene.load("alphapilot", seed=seed) if scene is None else scene
    gates = course_gates(scene, course)
    point, heading = _start(scene, start, yaw)
    path = _plan.plan(route(point, gates), parameters, heading)
    if progress is not None:
        progress(0.5)
    flight = _simulated(parameters, path, point, heading, dtype, seed, time_limit)
    result = judge(scene, flight, course, time_limit=time_limit)
    if progress is not None:
        progress(1.0)
    return Result(**{**vars(result), "vehicle": parameters.name, "seed": seed})


def _simulated(
    vehicle: VehicleParameters,
    path: Path,
    point: Array,
    heading: float,
    dtype: Literal["float32", "float64"],
    seed: int,
    time_limit: float,
) -> Flight:
    fleet = Fleet(vehicle, 1, dtype, seed=seed, threads=1)
    fleet.outer_loops = replace(fleet.outer_loops, tracking_tilt_limit=_plan.TILT)
    fleet.reset(position=point, attitude=_level(heading))
    start = {name: getattr(fleet, name).astype(np.float64) for name in _RECORDED}
    rows = min(round(path.duration / PERIOD), round(time_limit / PERIOD))
    time = np.arange(rows + 1, dtype=np.float64) * PERIOD
    # each command is constant for a period: it is sampled at the middle
    reference = path.sample(time[:-1] + 0.5 * PERIOD)
    motion = fleet.rollout(reference, substeps=_SUBSTEPS, record=_RECORDED)
    return Flight(
        time, *(np.concatenate([start[name], getattr(motion, name)[:, 0]]) for name in _RECORDED)
    )


def route(start: ArrayLike, gates: Sequence[Gate]) -> Array:
    """Returns points (n, 3) [m] from the start through all gates along their axes.

    If the path comes from the wrong side of a gate, a point beside the gate is added.
    """
    points = [np.asarray(start, dtype=np.float64)]
    for number, gate in enumerate(gates):
        rotation = _rotation.rotation(gate.attitude)
        centre, along, left = np.asarray(gate.position), rotation[:, 0], rotation[:, 1]
        before = _clearance(centre, gates[number - 1 : number])
        after = _clearance(centre, gates[number + 1 : number + 2])
        offset = points[-1] - centre
        if offset @ along > -1.0:
            side = left if offset @ left > 0.0 else -left
            detour = centre + (0.5 * gate.width + gate.border + 1.3) * side
            detour[2] = 0.5 * (points[-1][2] + centre[2])
            points.append(detour)
        last = number == len(gates) - 1
        points += [centre - before * along, centre, centre + (12.0 if last else after) * along]
    return np.array(points)


def _clearance(centre: Array, neighbour: Sequence[Gate]) -> float:
    if not neighbour:
        return 2.5
    return min(2.5, 0.25 * float(np.linalg.norm(np.asarray(neighbour[0].position) - centre)))


def _level(yaw: float) -> Array:
    return np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)])


def _start(scene: Scene, start: ArrayLike | None, yaw: float | None) -> tuple[Array, float]:
    scene_start = scene.start
    if start is None:
        if scene_start is None:
            raise ValueError(f"start: expected a point [m], as scene {scene.name!r} has no start")
        start = scene_start.position
    if yaw is None:
        yaw = 0.0 if scene_start is None else scene_start.yaw
    point = np.array(start, dtype=np.float64)
    if point.shape != (3,) or not np.isfinite(point).all() or not np.isfinite(yaw):
        raise ValueError(f"start, yaw: expected 3 and 1 finite numbers, got {start!r:.100}, {yaw}")
    return point, float(yaw)


def _checked(flight: Flight) -> Flight:
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
    return Flight(time, **arrays)


def table(results: Sequence[Result]) -> str:
    """Returns a table of results and a summary, as text. Raises ValueError for no results."""
    if not results:
        raise ValueError("results: expected at least one run, got none")
    lines = [f"{'seed':>6s}{'gates':>8s}{'time [s]':>10s}{'score':>8s}"]
    for result in results:
        last = result.passages[-1].time if result.passages else np.nan
        note = "" if result.collision is None else f"  collision with {result.collision.item}"
        gates = f"{len(result.passages)}/{len(result.course)}"
        lines.append(f"{result.seed!s:>6s}{gates:>8s}{last:10.2f}{result.score:8.2f}{note}")
    scores = [result.score for result in results]
    best = min(5, len(scores))
    finished = sum(result.finished for result in results)
    return "\n".join(
        [
            *lines,
            f"{finished} of {len(scores)} courses finished, mean score {np.mean(scores):.2f}",
            f"mean of the best {best}: {team_score(scores, best):.2f} "
            "(20 published teams, flying by camera: best 91.39, tenth 71.10)",
        ]
    )


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
    lines.append(
        f"  {len(result.passages)} of {len(result.course)} gates, score {result.score:.2f}"
    )
    return "\n".join(lines)
