"""Circle, figure eight and straight line, with full derivatives."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial as Power
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash.trajectories._reference import ORDERS, Path, composed, heading, yaw_of

if TYPE_CHECKING:
    from propwash.trajectories._reference import Yaw

Array = NDArray[np.float64]

# its derivative goes from 0 to 1 with three derivatives that are zero at both ends
_EASE = Power([0.0, 0.0, 0.0, 0.0, 0.0, 7.0, -14.0, 10.0, -2.5])
_WHOLE = 2.0 * np.pi


def _eased(time: Array, ramp: float) -> Array:
    """(5, *S): what has a rate of 0 before time 0 and of 1 after `ramp`, and its derivatives."""
    share = np.clip(time / ramp, 0.0, 1.0)
    found = [_EASE.deriv(k)(share) * ramp ** (1 - k) for k in range(ORDERS)]
    found[0] = found[0] + np.maximum(time - ramp, 0.0)
    return np.stack(found)


class _Curve(Path):
    """A curve by a parameter that runs at one rate, after a start from rest and until a stop."""

    _rate: float
    _total: float
    _ramp: float
    _yaw: Yaw
    _is_closed = True

    @property
    def duration(self) -> float:
        """s, from the first point to the last."""
        return self._total / self._rate + self._ramp

    @abstractmethod
    def _shape(self, parameter: Array) -> Array:
        """(5, *S, 3): position and its derivatives by the parameter."""

    def _parameter(self, time: Array) -> Array:
        """(5, *S): the parameter and its derivatives by time."""
        if self._ramp > 0.0:
            until = self._total / self._rate
            return self._rate * (_eased(time, self._ramp) - _eased(time - until, self._ramp))
        found = np.zeros((ORDERS, *time.shape))
        if self._is_closed:
            found[0], found[1] = self._rate * time, self._rate
        else:
            found[0] = self._rate * np.clip(time, 0.0, self.duration)
            found[1] = np.where((time >= 0.0) & (time <= self.duration), self._rate, 0.0)
        return found

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Position to snap, (5, *S, 3), and yaw to its second derivative, (3, *S)."""
        parameter = self._parameter(time)
        shape = self._shape(parameter[0])
        if self._yaw == "along":
            yaw = composed(heading(shape[1:4]), parameter[:3])
        else:
            yaw = np.zeros((3, *time.shape))
            yaw[0] = self._yaw
        return composed(shape, parameter), yaw


class _Loop(_Curve):
    """A curve that closes, about a centre."""

    def _lay(
        self,
        centre: ArrayLike,
        angle: float,
        laps: float,
        ramp: float,
        yaw: Yaw,
        clockwise: bool,
    ) -> None:
        """Where it lies, how often and which way it is flown, as Circle says."""
        self.centre = given.shaped("centre", centre, (3,))
        self._angle = float(given.number("angle", angle))
        self._total = _WHOLE * given.positive("laps", laps)
        self._ramp, self._yaw, self._sense = _ramp(ramp), yaw_of(yaw), -1.0 if clockwise else 1.0


class Circle(_Loop):
    """A level circle.

    radius: m. speed: m/s. centre: m. angle: rad, where it begins, from world x towards y.
    laps: after which it ends. ramp: s, in which it starts from rest and, at the end, stops; 0: it
    is flown at its speed at all times, before 0 and after the last lap too.
    yaw: rad, kept, or "along". clockwise: as seen from above.
    """

    def __init__(
        self,
        radius: float = 2.0,
        speed: float = 2.0,
        *,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        angle: float = 0.0,
        laps: float = 1.0,
        ramp: float = 0.0,
        yaw: Yaw = 0.0,
        clockwise: bool = False,
    ) -> None:
        self.radius, self.speed = given.positive("radius", radius), given.positive("speed", speed)
        self._rate = self.speed / self.radius
        self._lay(centre, angle, laps, ramp, yaw, clockwise)

    def _shape(self, parameter: Array) -> Array:
        around = self._angle + self._sense * parameter
        found = np.zeros((ORDERS, *parameter.shape, 3))
        for k in range(ORDERS):
            turned, size = around + 0.5 * np.pi * self._sense * k, self.radius
            found[k, ..., 0], found[k, ..., 1] = size * np.cos(turned), size * np.sin(turned)
        found[0] += self.centre
        return found


class Lemniscate(_Loop):
    """A level figure eight (Gerono's), x = a cos s, y = a sin s cos s, about its centre.

    size: a, m. speed: m/s, the greatest, in the middle; at the ends it is 0.71 of it.
    The rest as of Circle; angle: rad, where it begins, s; clockwise: of the end at x = a.
    """

    def __init__(
        self,
        size: float = 3.0,
        speed: float = 2.0,
        *,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        angle: float = 0.0,
        laps: float = 1.0,
        ramp: float = 0.0,
        yaw: Yaw = 0.0,
        clockwise: bool = False,
    ) -> None:
        self.size, self.speed = given.positive("size", size), given.positive("speed", speed)
        self._rate = self.speed / (np.sqrt(2.0) * self.size)
        self._lay(centre, angle, laps, ramp, yaw, clockwise)

    def _shape(self, parameter: Array) -> Array:
        around = self._angle + parameter
        found = np.zeros((ORDERS, *parameter.shape, 3))
        for k in range(ORDERS):
            quarter = 0.5 * np.pi * k
            found[k, ..., 0] = self.size * np.cos(around + quarter)
            across = 0.5 * self.size * 2.0**k * np.sin(2.0 * around + quarter)
            found[k, ..., 1] = self._sense * across
        found[0] += self.centre
        return found


class Line(_Curve):
    """A straight line.

    start, end: m. speed: m/s. ramp: s, in which it starts from rest and stops; 0: at once.
    yaw: rad, kept, or "along". Before the start and after the end it rests there.

    Raises ValueError for ends that coincide, and for a heading along a line that has none.
    """

    _is_closed = False

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        speed: float = 2.0,
        *,
        ramp: float = 0.0,
        yaw: Yaw = 0.0,
    ) -> None:
        self.start, self.end = given.shaped("start", start, (3,)), given.shaped("end", end, (3,))
        self._total = float(np.linalg.norm(self.end - self.start))
        if not self._total > 1e-6:
            raise ValueError(f"end: expected a point apart from the start, got {self.end.tolist()}")
        self._direction = (self.end - self.start) / self._total
        self._rate, self._ramp, self._yaw = given.positive("speed", speed), _ramp(ramp), yaw_of(yaw)
        if self._yaw == "along" and np.linalg.norm(self._direction[:2]) < 1e-6:
            raise ValueError("yaw: expected a number [rad] for a vertical line, got 'along'")

    @property
    def speed(self) -> float:
        """m/s."""
        return self._rate

    def _shape(self, parameter: Array) -> Array:
        found = np.zeros((ORDERS, *parameter.shape, 3))
        found[0] = self.start + parameter[..., None] * self._direction
        found[1] = self._direction
        return found


def _ramp(value: float) -> float:
    return given.not_negative("ramp", value, "s")
