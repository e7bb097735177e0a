"""Where a vehicle is to be: rows of position to snap and yaw, and the paths that they are of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core

Array = NDArray[np.float64]
Controller = Literal["geometric", "backstepping", "indi"]
"""Tracking controllers."""
Yaw = float | Literal["along"]
"""rad, kept; or the heading of the path."""

_MOST_ROWS = 1e8

ORDERS = 5
"""Position, velocity, acceleration, jerk, snap."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What a path asks for at T times, of one vehicle, or of n: then arrays are (T, n, …).

    Yaw is the heading of the body's x axis: that axis lies in the vertical plane of this heading.
    """

    time: Array
    """(T,) s."""
    position: Array
    """(T, 3) m, world frame."""
    velocity: Array
    """(T, 3) m/s, world frame."""
    acceleration: Array
    """(T, 3) m/s^2, world frame."""
    jerk: Array
    """(T, 3) m/s^3, world frame."""
    snap: Array
    """(T, 3) m/s^4, world frame."""
    yaw: Array
    """(T,) rad, from world x towards y; without leaps."""
    yaw_rate: Array
    """(T,) rad/s."""
    yaw_acceleration: Array
    """(T,) rad/s^2."""

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, rows: int | slice | NDArray[np.intp]) -> Reference:
        """Some rows, or one: of a number the arrays lose their first axis."""
        return Reference(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    def command(self, controller: Controller = "geometric") -> _core.TrajectoryCommand:
        """Its rows as the commands of a rollout, or one row, reference[k], as that of a step.

        step() and rollout() take a Reference too, for the geometric controller.
        A reference of one vehicle, yaw (T,), gives rows (T, 1, …): for a Multicopter, and for each
        vehicle of a Fleet alike.
        """
        rows = {item.name: getattr(self, item.name) for item in fields(self)}
        has_rows = np.ndim(rows.pop("time")) > 0
        if has_rows and self.yaw.ndim == 1:
            rows = {name: array[:, None] for name, array in rows.items()}
        return _core.TrajectoryCommand(**rows, controller=controller)


def stack(references: Sequence[Reference]) -> Reference:
    """References of n vehicles in one: (T, n, …). Raises ValueError where their times differ."""
    if not references:
        raise ValueError("references: expected at least one, got none")
    first = references[0]
    for number, each in enumerate(references):
        if each.yaw.ndim != 1:
            raise ValueError(
                f"references[{number}]: expected one of one vehicle, got {each.yaw.shape}"
            )
        if not np.array_equal(each.time, first.time):
            raise ValueError(
                f"references[{number}]: expected the times of the first, {len(first)} rows up to "
                f"{first.time[-1]:g} s, got {len(each)} rows up to {each.time[-1]:g} s"
            )
    parts = {
        item.name: np.stack([getattr(each, item.name) for each in references], axis=1)
        for item in fields(first)
        if item.name != "time"
    }
    return Reference(first.time, **parts)


class Path(ABC):
    """A way through space over time, and a heading.

    A path of one's own gives `duration` and evaluate().
    """

    @property
    @abstractmethod
    def duration(self) -> float:
        """s, from the first point to the last, or around once."""

    @abstractmethod
    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Position to snap, (5, *S, 3), and yaw to its second derivative, (3, *S).

        time: s, of any shape S.
        """

    def sample(
        self,
        time: ArrayLike | None = None,
        *,
        period: float | None = None,
        offset: ArrayLike | None = None,
    ) -> Reference:
        """What the path asks for at times (T,) [s], or every `period` [s] from 0 to its end.

        offset: (n,) s, by which n vehicles are ahead of the times; the arrays are then (T, n, …).

        Raises ValueError or TypeError for times that are none.
        """
        if (time is None) == (period is None):
            raise ValueError("expected either time or period [s]")
        if period is not None:
            step = given.positive("period", period)
            if not self.duration / step < _MOST_ROWS:
                raise ValueError(
                    f"period: expected at least {self.duration / _MOST_ROWS:.3g} s of a path of "
                    f"{self.duration:.6g} s, got {period!r}"
                )
            count = int(np.floor(self.duration / step * (1.0 + 1e-12))) + 1
            rows = np.arange(count, dtype=np.float64) * step
        else:
            rows = given.shaped("time", time, ("T",))
        at = rows if offset is None else rows[:, None] + given.shaped("offset", offset, ("n",))
        place, yaw = self.evaluate(at)
        if place.shape != (ORDERS, *at.shape, 3) or yaw.shape != (3, *at.shape):
            raise ValueError(
                f"{type(self).__name__}.evaluate: expected shapes {(ORDERS, *at.shape, 3)} and "
                f"{(3, *at.shape)}, got {place.shape} and {yaw.shape}"
            )
        return Reference(rows, *place, *yaw)


def yaw_of(value: object) -> Yaw:
    """A heading that is kept, or "along"."""
    if isinstance(value, str):
        if value != "along":
            raise ValueError(f"yaw: expected 'along' or a number [rad], got {value!r:.100}")
        return "along"
    return given.number("yaw", value, "'along' or a finite number [rad]")


def composed(outer: Array, inner: Array) -> Array:
    """Derivatives of f(s(t)) by t, (k, *S, …): of f by s (k, *S, …) and of s by t (k, *S), k <= 5.

    Faà di Bruno's formula, its Bell polynomials by their recurrence.
    """
    count = len(outer)
    bell: list[list[Array | float]] = [[0.0] * count for _ in range(count)]
    bell[0][0] = 1.0
    for n in range(1, count):
        for k in range(1, n + 1):
            terms = [
                comb(n - 1, i) * inner[i + 1] * bell[n - 1 - i][k - 1] for i in range(n - k + 1)
            ]
            bell[n][k] = sum(terms[1:], terms[0])
    extra = (1,) * (outer.ndim - inner.ndim)
    derivatives = [outer[0]]
    for n in range(1, count):
        parts = [
            outer[k] * np.asarray(bell[n][k]).reshape(*inner.shape[1:], *extra)
            for k in range(1, n + 1)
        ]
        derivatives.append(sum(parts[1:], parts[0]))
    return np.stack(derivatives)


def heading(tangents: Array) -> Array:
    """(3, *S) rad: yaw along a path, and its two derivatives by the path's own parameter.

    tangents: (3, *S, 3), the first three derivatives of position. Not finite where the path is
    vertical or stands still. Without leaps along the first axis of S.
    """
    (x, y), (ax, ay), (jx, jy) = ((each[..., 0], each[..., 1]) for each in tangents)
    squared = x * x + y * y
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = x * ay - y * ax
        rate = turning / squared
        second = (x * jy - y * jx) / squared - 2.0 * rate * (x * ax + y * ay) / squared
    angle = np.arctan2(y, x)
    if angle.ndim:
        angle = np.unwrap(angle, axis=0)
    return np.stack([angle, rate, second])
