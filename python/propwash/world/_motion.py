"""Motions: poses as functions of time, for the items of a scene."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _world
from propwash._checks import ParameterError, checked_parameters, refusal
from propwash._rotation import about_z

Array = NDArray[np.float64]

Motion = Callable[[float], tuple[ArrayLike, ArrayLike]]
"""A function from the time [s] to a position (3,) [m] and an attitude (4,), world frame."""


class Pose(NamedTuple):
    """The pose of a body; NaN if the body is absent."""

    position: Array
    """(3,) m, world frame"""
    attitude: Array
    """(4,) unit, scalar first, from body axes to world axes"""


class RowMotion(ABC):
    """A motion whose poses are checked rows."""

    @abstractmethod
    def row(self, time: float) -> Array:
        """(7,) position and attitude at a time [s]."""

    def __call__(self, time: float) -> Pose:
        """The pose at a time [s]."""
        row = self.row(time)
        return Pose(row[:3], row[3:])


class Waypoints(RowMotion):
    """A motion through poses at given times.

    times: (T,) s, increasing. positions: (T, 3) m. attitudes: (T, 4), or yaws: (T,) rad; level with
    the heading of the x axis towards x by default. repeat: whether to start again at the first pose
    after the last time.

    Positions are interpolated linearly, attitudes along the shortest rotation. Before the first
    time and after the last one the body is at rest, unless the motion repeats. Raises
    ParameterError for invalid arguments.

    >>> walk = Waypoints([0, 4], [[0, -3, 0], [0, 3, 0]], yaws=[1.57, 1.57])
    >>> walk(2.0).position
    """

    @checked_parameters()
    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        attitudes: ArrayLike | None = None,
        *,
        yaws: ArrayLike | None = None,
        repeat: bool = False,
    ) -> None:
        if attitudes is not None and yaws is not None:
            raise ParameterError("attitudes and yaws are both given: expected one")
        self._times = _checks.shaped("times", times, ("T",), unit="s")
        count = len(self._times)
        self._positions = _checks.shaped("positions", positions, (count, 3), unit="m")
        if yaws is not None:
            angles = _checks.shaped("yaws", yaws, (count,), unit="rad")
            attitudes = [about_z(yaw) for yaw in angles.tolist()]
        elif attitudes is None:
            attitudes = [_checks.LEVEL] * count
        self._attitudes = _checks.shaped("attitudes", attitudes, (count, 4))
        _checks.unit_quaternions("attitudes", self._attitudes)  # refuses other norms
        self._repeat = _checks.flag("repeat", repeat)
        rows = np.concatenate((self._positions, self._attitudes), axis=1)
        self._core = _world.Waypoints(self._times.tolist(), rows, self._repeat)

    @classmethod
    def recorded(cls, motion: Motion, times: ArrayLike) -> Self:
        """The poses of another motion at times (T,) [s]."""
        poses = [pose_at(motion, "motion", float(time)) for time in np.asarray(times)]
        return cls(times, [row[:3] for row in poses], [row[3:] for row in poses])

    def row(self, time: float) -> Array:
        """(7,) position and attitude at a time [s]."""
        row: Array = self._core(time)
        return row

    @property
    def times(self) -> Array:
        """(T,) s."""
        return self._times.copy()

    @property
    def positions(self) -> Array:
        """(T, 3) m, world frame."""
        return self._positions.copy()

    @property
    def attitudes(self) -> Array:
        """(T, 4), from body axes to world axes."""
        return self._attitudes.copy()

    @property
    def repeat(self) -> bool:
        """Whether the motion starts again after the last time."""
        return self._repeat

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Waypoints):
            return NotImplemented
        return self._repeat == other._repeat and all(
            np.array_equal(a, b) for a, b in zip(self._rows(), other._rows(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((self._times.tobytes(), self._positions.tobytes()))

    def __repr__(self) -> str:
        first, last = self._times[0], self._times[-1]
        return f"<Waypoints: {len(self._times)} poses, {first:g} to {last:g} s>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _waypoints, (*self._rows(), self._repeat)

    def _rows(self) -> tuple[Array, Array, Array]:
        return self._times, self._positions, self._attitudes


def _waypoints(times: Array, positions: Array, attitudes: Array, repeat: bool) -> Waypoints:
    return Waypoints(times, positions, attitudes, repeat=repeat)


def motion_of(value: object, key: str, _unit: str = "") -> Motion | None:
    """Converts a field of an item: None, a function of time, or the table of Waypoints."""
    if value is None or callable(value):
        return value
    known = ("times", "positions", "attitudes", "yaws", "repeat")
    if not isinstance(value, Mapping) or not {"times", "positions"} <= set(value) <= set(known):
        expected = "a function of time, or a table with times, positions and, optionally,"
        raise refusal(key, value, f"{expected} attitudes or yaws, and repeat")
    try:
        return Waypoints(**value)
    except ParameterError as error:
        raise ParameterError(f"{key}.{error}") from None


def pose_at(motion: Motion, name: str, time: float) -> Array:
    """(7,) position and attitude of a motion. Raises ValueError that names the item."""
    if isinstance(motion, RowMotion):
        return motion.row(time)
    pose = motion(time)
    try:
        position, attitude = pose
        row = np.concatenate((np.asarray(position, float), np.asarray(attitude, float)))
        if row.shape != (7,) or np.shape(position) != (3,):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"motion of {name!r} at {time:g} s: expected a position (3,) [m] and an attitude (4,), "
            f"got {pose!r:.100}"
        ) from None
    norm = math.sqrt(row[3:] @ row[3:])
    if abs(norm - 1.0) > 1e-3:  # NaN: absent
        raise ValueError(
            f"motion of {name!r} at {time:g} s: expected an attitude of norm 1, got {norm:.6g}"
        )
    return row
