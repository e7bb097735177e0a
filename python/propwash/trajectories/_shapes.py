"""Circle, figure eight and straight line, with full derivatives."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial as Power
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash.trajectories._reference import ORDERS, Path, composed, heading, yaw_of

if TYPE_CHECKING:
    from propwash.trajectories._reference import Yaw

Array = NDArray[np.float64]

# its derivative rises from 0 to 1; its first three derivatives are zero at both ends
_EASE = Power([0.0, 0.0, 0.0, 0.0, 0.0, 7.0, -14.0, 10.0, -2.5])
_LAP = 2.0 * np.pi


def eased(time: Array, ramp: float) -> Array:
    """(5, *S): a function with slope 0 before time 0 and 1 after `ramp`, and its derivatives."""
    fraction = np.clip(time / ramp, 0.0, 1.0)
    result = [_EASE.deriv(k)(fraction) * ramp ** (1 - k) for k in range(ORDERS)]
    result[0] = result[0] + np.maximum(time - ramp, 0.0)
    return np.stack(result)


class _Curve(Path):
    """A curve whose parameter has a constant rate between an optional smooth start and stop."""

    _rate: float
    _total: float
    _ramp: float
    _yaw: Yaw
    _is_closed = True

    @property
    def duration(self) -> float:
        """s, from the first point to the last, ramps included."""
        return self._total / self._rate + self._ramp

    @abstractmethod
    def _shape(self, parameter: Array) -> Array:
        """(5, *S, 3): position and its derivatives with respect to the parameter."""

    def _parameter(self, time: Array) -> Array:
        """(5, *S): the parameter and its time derivatives."""
        if self._ramp > 0.0:
            stop = self._total / self._rate
            return self._rate * (eased(time, self._ramp) - eased(time - stop, self._ramp))
        result = np.zeros((ORDERS, *time.shape))
        if self._is_closed:
            result[0], result[1] = self._rate * time, self._rate
        else:
            result[0] = self._rate * np.clip(time, 0.0, self.duration)
            result[1] = np.where((time >= 0.0) & (time <= self.duration), self._rate, 0.0)
        return result

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        parameter = self._parameter(time)
        shape = self._shape(parameter[0])
        if self._yaw == "along":
            yaw = composed(heading(shape[1:4]), parameter[:3])
        else:
            yaw = np.zeros((3, *time.shape))
            yaw[0] = self._yaw
        return composed(shape, parameter), yaw


class _Loop(_Curve):
    """A closed curve about a centre."""

    def _configure(
        self,
        centre: ArrayLike,
        angle: float,
        laps: float,
        ramp: float,
        yaw: Yaw,
        clockwise: bool,
    ) -> None:
        """Sets the parameters that Circle documents."""
        self.centre = _checks.shaped("centre", centre, (3,))
        self._angle = float(_checks.number("angle", angle))
        self._total = _LAP * _checks.positive("laps", laps)
        self._ramp, self._yaw, self._sense = _ramp(ramp), yaw_of(yaw), -1.0 if clockwise else 1.0


class Circle(_Loop):
    """A level circle.

    radius: m. speed: m/s. centre: (3,) m. angle: rad, of the start point, from world x towards y.
    laps: number of laps. ramp: s, duration of the smooth start from rest and of the stop; 0: the
    speed is constant at all times, also before 0 and after the last lap.
    yaw: rad, constant, or "along". clockwise: seen from above.
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
        self.radius = _checks.positive("radius", radius)
        self.speed = _checks.positive("speed", speed)
        self._rate = self.speed / self.radius
        self._configure(centre, angle, laps, ramp, yaw, clockwise)

    def _shape(self, parameter: Array) -> Array:
        phase = self._angle + self._sense * parameter
        result = np.zeros((ORDERS, *parameter.shape, 3))
        for k in range(ORDERS):
            angle, size = phase + 0.5 * np.pi * self._sense * k, self.radius
            result[k, ..., 0], result[k, ..., 1] = size * np.cos(angle), size * np.sin(angle)
        result[0] += self.centre
        return result


class Lemniscate(_Loop):
    """A level figure eight (Gerono's), x = a cos s, y = a sin s cos s, about its centre.

    size: a, m. speed: m/s, the maximum, at the centre; it is 0.71 of that at x = ±a. angle: rad,
    start value of s. clockwise: direction of the lobe x > 0. Other arguments: see Circle.
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
        self.size, self.speed = _checks.positive("size", size), _checks.positive("speed", speed)
        self._rate = self.speed / (np.sqrt(2.0) * self.size)
        self._configure(centre, angle, laps, ramp, yaw, clockwise)

    def _shape(self, parameter: Array) -> Array:
        phase = self._angle + parameter
        result = np.zeros((ORDERS, *parameter.shape, 3))
        for k in range(ORDERS):
            quarter = 0.5 * np.pi * k
            result[k, ..., 0] = self.size * np.cos(phase + quarter)
            across = 0.5 * self.size * 2.0**k * np.sin(2.0 * phase + quarter)
            result[k, ..., 1] = self._sense * across
        result[0] += self.centre
        return result


class Line(_Curve):
    """A straight line.

    start, end: (3,) m. speed: m/s. ramp: s, duration of the smooth start and stop; 0: none.
    yaw: rad, constant, or "along". The path is at rest before the start and after the end.

    Raises ValueError for coinciding ends, and for yaw "along" a vertical line.
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
        self.start = _checks.shaped("start", start, (3,))
        self.end = _checks.shaped("end", end, (3,))
        self._total = float(np.linalg.norm(self.end - self.start))
        if not self._total > 1e-6:
            raise ValueError(f"end: expected a point other than the start, got {self.end.tolist()}")
        self._direction = (self.end - self.start) / self._total
        self._rate = _checks.positive("speed", speed)
        self._ramp, self._yaw = _ramp(ramp), yaw_of(yaw)
        if self._yaw == "along" and np.linalg.norm(self._direction[:2]) < 1e-6:
            raise ValueError("yaw: expected a number [rad] for a vertical line, got 'along'")

    @property
    def speed(self) -> float:
        """Speed along the path [m/s]."""
        return self._rate

    def _shape(self, parameter: Array) -> Array:
        result = np.zeros((ORDERS, *parameter.shape, 3))
        result[0] = self.start + parameter[..., None] * self._direction
        result[1] = self._direction
        return result


def _ramp(value: float) -> float:
    return _checks.not_negative("ramp", value, "s")
