"""Ghosts: former flights, the built-in pilot or a policy, which fly a course beside the pilot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from propwash import _checks, race
from propwash.arcade._interface import Array
from propwash.vehicle import VehicleParameters
from propwash.world import Waypoints

if TYPE_CHECKING:
    from propwash.arcade._board import Board
    from propwash.logs import FlightRecord

GhostKind = Literal["best", "pilot", "policy"]
"""The best flight of the leader board; the plan of `race.fly`; the trained policy `race`."""
GHOSTS: tuple[GhostKind, ...] = get_args(GhostKind)
"""All kinds of ghosts."""

_AFTER = 0.5
"""s, shown before take-off and after the last gate."""
_MAX_GAP = 0.1
"""s, between two rows of a flight."""


@dataclass(frozen=True, eq=False)
class Ghost:
    """The recorded motion of a vehicle on a course; race time 0 is its take-off."""

    name: str
    """As the page shows it."""
    time: Array
    """(K,) s, race time, increasing."""
    position: Array
    """(K, 3) m, world frame."""
    attitude: Array
    """(K, 4) unit quaternions, scalar first, body to world."""
    gate_times: tuple[float, ...]
    """s, race times of the gates passed, in order."""
    _motion: Waypoints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError for rows that are no motion."""
        object.__setattr__(self, "_motion", Waypoints(self.time, self.position, self.attitude))

    def at(self, race_time: float) -> tuple[Array, Array] | None:
        """Position (3,) and attitude (4,); None after the last row.

        Before the first row, they are those of that row; between rows, as of Waypoints.
        """
        if race_time > self.time[-1]:
            return None
        return self._motion(race_time)

    def passed(self, gates: int) -> float | None:
        """Race time [s] at which it passed this many gates; None: it did not."""
        return self.gate_times[gates - 1] if 1 <= gates <= len(self.gate_times) else None

    def difference(self, passed: Sequence[tuple[str, float]]) -> float | None:
        """Race time [s] of the last gate passed minus that of the ghost there; positive: slower.

        passed: gates and race times. None: no gate, or the ghost did not pass it.
        """
        its = self.passed(len(passed))
        return None if its is None else passed[-1][1] - its


def poses(ghosts: Iterable[Ghost], race_time: float) -> list[tuple[Array, Array]]:
    """The poses of the ghosts that fly at a race time [s]."""
    every = (ghost.at(race_time) for ghost in ghosts)
    return [pose for pose in every if pose is not None]


def ghost(
    kind: GhostKind, course: race.Course, seed: int, vehicle: str | VehicleParameters, board: Board
) -> Ghost | None:
    """The ghost of a kind for a course and seed. vehicle: of the built-in pilot.

    None if the leader board has no flight with a log, and for the policy on another course than
    AlphaPilot, which it was trained for. Takes up to some seconds. Raises ImportError without a
    package that it needs, and OSError or ValueError for the log of a flight that cannot be read.
    """
    if kind == "pilot":
        return of_pilot(course, seed, vehicle)
    if kind == "policy":
        return of_policy(course, seed) if course.name == "alphapilot" else None
    for entry in board.best(course.name, seed):
        if entry.log:
            return of_log(board.folder / entry.log, f"{entry.name}, {entry.race_time:.2f} s")
    return None


def of_pilot(course: race.Course, seed: int, vehicle: str | VehicleParameters) -> Ghost:
    """The built-in pilot, `race.fly`, from hover at the start. Requires scipy."""
    result = race.fly(seed, vehicle, scene=course.scene(seed))
    return of_result(result, "built-in pilot")


def of_policy(course: race.Course, seed: int, policy: str | PathLike[str] = "race") -> Ghost:
    """A policy for the task `race`, from hover at the start. Requires onnxruntime and gymnasium."""
    try:
        from propwash.gym.evaluation import evaluate
        from propwash.gym.policy import Policy
    except ImportError as error:
        raise ImportError('the ghost of a policy needs: pip install "propwash[gym]"') from error

    scene = course.scene(seed)
    loaded = Policy.load(policy)
    envs = loaded.description.make_vec(1, course=scene, course_seed=None, spread=0.0)
    flown = evaluate(loaded, envs, seed)
    rows = race.RaceFlight(
        np.asarray(flown.time, dtype=np.float64),
        *(
            np.asarray(part[:, 0], dtype=np.float64)
            for part in (flown.position, flown.attitude, flown.velocity)
        ),
    )
    return of_result(race.judge(scene, rows), f"policy {policy}")


def of_result(result: race.Result, name: str) -> Ghost:
    """The ghost of a race, until shortly after its last gate or until its collision."""
    return _cut(
        name,
        result.flight.time - result.flight.time[0],
        result.flight.position,
        result.flight.attitude,
        [passage.time - result.flight.time[0] for passage in result.passages],
        result.collision.time - result.flight.time[0] if result.collision is not None else None,
        is_finished=result.finished,
    )


def of_log(file: str | PathLike[str], name: str) -> Ghost:
    """The ghost of a flight log. Raises ValueError, which names the file."""
    from propwash.logs import read_record

    record = read_record(file)
    try:
        return of_record(record, name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def of_record(record: FlightRecord, name: str) -> Ghost:
    """The ghost of a recorded flight.

    Raises ValueError or TypeError without the time of its take-off, and for rows that are no
    motion.
    """
    take_off = _checks.number(
        "take_off", record.info.get("take_off"), "the time of the take-off [s]"
    )
    gap = np.diff(record.time).max(initial=0.0)
    if gap > _MAX_GAP:
        raise ValueError(f"time: expected rows at most {_MAX_GAP} s apart, got {gap:.3g} s")
    return _cut(
        name,
        record.time - take_off,
        record.position,
        _checks.attitudes("attitude", record.attitude),
        _gate_times(record.info.get("passed", [])),
        is_finished=record.info.get("phase") == "finished",
    )


def _gate_times(passed: Any) -> list[float]:
    try:
        times = [float(time) for _, time in passed]
    except (OverflowError, TypeError, ValueError):
        times = [np.nan]
    if not np.isfinite(times).all() or np.any(np.diff(times) < 0.0):
        raise ValueError(
            f"passed: expected pairs of a gate and its race time, ascending, got {passed!r:.100}"
        )
    return times


def _cut(
    name: str,
    time: Array,
    position: Array,
    attitude: Array,
    gate_times: Sequence[float],
    end: float | None = None,
    *,
    is_finished: bool,
) -> Ghost:
    """The rows from shortly before take-off to the end of the race."""
    if is_finished and gate_times:
        end = gate_times[-1] + _AFTER
    kept = (time >= -_AFTER) & (time <= (np.inf if end is None else end))
    if not kept.any():
        raise ValueError("time: expected rows of the flight after its take-off")
    return Ghost(name, time[kept], position[kept], attitude[kept], tuple(map(float, gate_times)))
