"""References (position to snap, and yaw, over time) and the paths that they are sampled from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core

Array = NDArray[np.float64]
Controller = Literal["geometric", "backstepping", "indi"]
"""Tracking controllers."""
Yaw = float | Literal["along"]
"""Constant yaw [rad], or "along" for the heading of the path."""

_MAX_ROWS = 1e8

ORDERS = 5
"""Number of position arrays: position, velocity, acceleration, jerk, snap."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A sampled trajectory: T rows for one vehicle; for n vehicles the arrays are (T, n, …).

    The body x axis lies in the vertical plane whose heading is `yaw`.
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
    """(T,) rad, from world x towards y, without jumps."""
    yaw_rate: Array
    """(T,) rad/s."""
    yaw_acceleration: Array
    """(T,) rad/s^2."""

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, rows: int | slice | NDArray[np.intp]) -> Reference:
        """Returns the selected rows; an integer removes the first axis of the arrays."""
        return Reference(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    def command(self, controller: Controller = "geometric") -> _core.TrajectoryCommand:
        """Returns the commands for a rollout or, from a single row `reference[k]`, for a step.

        step() and rollout() also accept a Reference, for the geometric controller. A single-vehicle
        reference, yaw (T,), gives commands (T, 1, …): for a Multicopter or for every vehicle of a
        Fleet.
        """
        rows = {item.name: getattr(self, item.name) for item in fields(self)}
        has_rows = np.ndim(rows.pop("time")) > 0
        if has_rows and self.yaw.ndim == 1:
            rows = {name: array[:, None] for name, array in rows.items()}
        return _core.TrajectoryCommand(**rows, controller=controller)


def stack(references: Sequence[Reference]) -> Reference:
    """Combines n single-vehicle references to (T, n, …). Raises ValueError if times differ."""
    if not references:
        raise ValueError("references: expected at least one, got none")
    first = references[0]
    for number, reference in enumerate(references):
        if reference.yaw.ndim != 1:
            raise ValueError(
                f"references[{number}]: expected a single-vehicle reference (1-D yaw), got yaw of "
                f"shape {reference.yaw.shape}"
            )
        if not np.array_equal(reference.time, first.time):
            raise ValueError(
                f"references[{number}]: expected the times of the first, {len(first)} rows up to "
                f"{first.time[-1]:g} s, got {len(reference)} rows up to {reference.time[-1]:g} s"
            )
    parts = {
        item.name: np.stack([getattr(reference, item.name) for reference in references], axis=1)
        for item in fields(first)
        if item.name != "time"
    }
    return Reference(first.time, **parts)


class Path(ABC):
    """Position and yaw over time.

    A custom path implements `duration` and evaluate().
    """

    @property
    @abstractmethod
    def duration(self) -> float:
        """s, from the first point to the last, or of one lap."""

    @abstractmethod
    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S).

        time: s, of any shape S.
        """

    def sample(
        self,
        time: ArrayLike | None = None,
        *,
        period: float | None = None,
        offset: ArrayLike | None = None,
    ) -> Reference:
        """Samples the path at `time` (T,) [s], or every `period` [s] from 0 to its end.

        offset: (n,) s, added to the times of each of n vehicles; the arrays are then (T, n, …).

        Raises ValueError or TypeError for invalid times.
        """
        if (time is None) == (period is None):
            raise ValueError("expected either time or period [s]")
        if period is not None:
            step = _checks.positive("period", period)
            if not self.duration / step < _MAX_ROWS:
                raise ValueError(
                    f"period: expected at least {self.duration / _MAX_ROWS:.3g} s of a path of "
                    f"{self.duration:.6g} s, got {period!r}"
                )
            count = int(np.floor(self.duration / step * (1.0 + 1e-12))) + 1
            rows = np.arange(count, dtype=np.float64) * step
        else:
            rows = _checks.shaped("time", time, ("T",))
        times = rows if offset is None else rows[:, None] + _checks.shaped("offset", offset, ("n",))
        position, yaw = self.evaluate(times)
        if position.shape != (ORDERS, *times.shape, 3) or yaw.shape != (3, *times.shape):
            raise ValueError(
                f"{type(self).__name__}.evaluate: expected shapes {(ORDERS, *times.shape, 3)} and "
                f"{(3, *times.shape)}, got {position.shape} and {yaw.shape}"
            )
        return Reference(rows, *position, *yaw)


def yaw_of(value: object) -> Yaw:
    """Returns a checked constant yaw [rad], or "along"."""
    if isinstance(value, str):
        if value != "along":
            raise ValueError(f"yaw: expected 'along' or a number [rad], got {value!r:.100}")
        return "along"
    return _checks.number("yaw", value, "'along' or a finite number [rad]")


def composed(outer: Array, inner: Array) -> Array:
    """Returns the derivatives (k, *S, …) of f(s(t)) with respect to t, k <= 5.

    outer: (k, *S, …), derivatives of f with respect to s. inner: (k, *S), of s with respect to t.
    Faà di Bruno's formula; the Bell polynomials by recurrence.
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
    """Returns (3, *S) rad: yaw along a path and two derivatives with respect to its parameter.

    tangents: (3, *S, 3), the first three derivatives of position. The yaw has no jumps along the
    first axis of S. Derivatives are not finite where the horizontal velocity is zero.
    """
    (x, y), (ax, ay), (jx, jy) = ((tangent[..., 0], tangent[..., 1]) for tangent in tangents)
    squared = x * x + y * y
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = x * ay - y * ax
        rate = cross / squared
        second = (x * jy - y * jx) / squared - 2.0 * rate * (x * ax + y * ay) / squared
    angle = np.arctan2(y, x)
    if angle.ndim:
        angle = np.unwrap(angle, axis=0)
    return np.stack([angle, rate, second])
