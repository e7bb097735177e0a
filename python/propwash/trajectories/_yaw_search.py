"""The control points of a yaw spline: dynamic programming on a grid, then descent within limits.

Control point k + 1 belongs to keyframe k. The first three are equal, and the last three, so that
the yaw is at rest at both ends. A cubic B-spline and its derivatives lie between their own control
points: limits on the differences of control points hold at all times, (P6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MAX_BIN = np.radians(3.0)
"""Maximum distance of the yaws of the grid [rad]."""
_MAX_BINS = 1440
"""Maximum number of yaws of the grid."""
_INNER = 0.98
"""Fraction of the limits that the search on the grid uses; the descent starts inside."""
_BARRIER = 0.01
"""Weight of the logarithmic barrier of the limits [landmarks]."""
_STEPS = 300
"""Maximum number of steps of the descent."""
_DIFFERENCE = 1e-4
"""Step of the numerical derivative by yaw [rad]."""


class Visibility(Protocol):
    """The visibility of landmarks at keyframes, as a function of yaw."""

    @property
    def time(self) -> Array:
        """(K + 1,) s."""

    def visibility(self, rows: int | slice, yaw: Array) -> Array:
        """(B, J) for one keyframe and yaws (B,); (K + 1, J) for all keyframes and one yaw each."""


@dataclass(frozen=True)
class YawLimits:
    """Limits on the yaw."""

    rate: float
    """The largest yaw rate [rad/s]."""
    acceleration: float
    """The largest angular acceleration about the vertical [rad/s^2]."""


def best_control_points(views: Visibility, limits: YawLimits, smoothness: float) -> Array:
    """(K + 3,) rad: the best control points on a grid of yaws, by dynamic programming: (P7).

    A state is the yaw of a control point and its difference from the previous one.
    """
    count, step = len(views.time) - 1, float(views.time[1] - views.time[0])
    max_bend = _INNER * limits.acceleration * step**2
    bins = int(np.clip(np.ceil(2.0 * np.pi / min(_MAX_BIN, 0.5 * max_bend)), 8, _MAX_BINS))
    width = 2.0 * np.pi / bins
    reach = min(int(_INNER * limits.rate * step / width), (bins - 1) // 2)
    bend = min(int(max_bend / width), 2 * reach)
    price = smoothness * (width / step**2) ** 2
    yaws = width * np.arange(bins, dtype=np.float64)
    differences = np.arange(-reach, reach + 1)
    targets = (np.arange(bins)[:, None] + differences) % bins
    sources = (np.arange(bins)[:, None] - differences) % bins
    value = np.full((bins, len(differences)), -np.inf)
    value[:, reach] = 0.0
    chosen = np.zeros((count, *value.shape), dtype=np.int32)
    seen = views.visibility(0, yaws)
    for k in range(count):
        following = views.visibility(k + 1, yaws)
        gain = np.take_along_axis(seen @ following.T, targets, axis=1)
        best, chosen[k] = _best_previous(value, bend, price)
        best += gain
        if k in (0, count - 1):  # at rest at the ends
            best[:, differences != 0] = -np.inf
        value = best[sources, np.arange(len(differences))]
        seen = following
    place, column = map(int, np.unravel_index(int(np.argmax(value)), value.shape))
    places = [place]
    for k in range(count - 1, -1, -1):
        place = int(sources[place, column])
        places.append(place)
        column = int(chosen[k, place, column])
    found = np.unwrap(yaws[places[::-1]])
    found -= 2.0 * np.pi * np.round(found[0] / (2.0 * np.pi))
    return np.concatenate([found[:1], found, found[-1:]])


def _best_previous(value: Array, bend: int, price: float) -> tuple[Array, NDArray[np.int32]]:
    """For each state and next difference: the best value, and the previous difference."""
    count = value.shape[1]
    best = np.full_like(value, -np.inf)
    chosen = np.zeros(value.shape, dtype=np.int32)
    for change in sorted(range(-bend, bend + 1), key=abs):
        after = np.arange(max(0, change), min(count, count + change))
        candidate = value[:, after - change] - price * change**2
        is_better = candidate > best[:, after]
        best[:, after] = np.where(is_better, candidate, best[:, after])
        chosen[:, after] = np.where(is_better, after - change, chosen[:, after])
    return best, chosen


class _Objective:
    """The cost (P5) with a barrier, as a function of the free control points; its derivatives."""

    def __init__(self, views: Visibility, limits: YawLimits, smoothness: float) -> None:
        self.views = views
        count, step = len(views.time) - 1, float(views.time[1] - views.time[0])
        # the free control points are the third to the last but two
        all_points = np.eye(count + 3)[:, 2:-2]
        all_points[:2, 0] = all_points[-2:, -1] = 1.0
        self.all_points = all_points
        self.yaw = (all_points[:-2] + 4.0 * all_points[1:-1] + all_points[2:]) / 6.0
        rate = np.diff(all_points, axis=0) / step
        acceleration = np.diff(rate, axis=0) / step
        self.bounded = np.concatenate([rate / limits.rate, acceleration / limits.acceleration])
        self.weight, self.barrier = 1.0 / count, _BARRIER / count
        self.smooth = 2.0 * smoothness * self.weight * acceleration.T @ acceleration

    def cost(self, free: Array) -> float:
        """Infinite outside the limits."""
        fraction = self.bounded @ free
        if not (np.abs(fraction) < 1.0).all():
            return np.inf
        seen = self.views.visibility(slice(None), self.yaw @ free)
        barrier = -self.barrier * float(np.sum(np.log1p(-(fraction**2))))
        covisible = self.weight * float(np.sum(seen[:-1] * seen[1:]))
        return 0.5 * float(free @ self.smooth @ free) + barrier - covisible

    def slope(self, free: Array) -> tuple[Array, Array]:
        """The gradient, and the Hessian of smoothness and barrier, which is positive."""
        yaw, every = self.yaw @ free, slice(None)
        seen = self.views.visibility(every, yaw)
        after = self.views.visibility(every, yaw + _DIFFERENCE)
        change = (after - self.views.visibility(every, yaw - _DIFFERENCE)) / (2.0 * _DIFFERENCE)
        neighbours = np.zeros_like(seen)
        neighbours[:-1] += seen[1:]
        neighbours[1:] += seen[:-1]
        by_yaw = -self.weight * np.sum(change * neighbours, axis=1)
        fraction = self.bounded @ free
        room = 1.0 - fraction**2
        first = self.barrier * 2.0 * fraction / room
        second = self.barrier * (2.0 + 2.0 * fraction**2) / room**2
        gradient = self.yaw.T @ by_yaw + self.smooth @ free + self.bounded.T @ first
        return gradient, self.smooth + (self.bounded.T * second) @ self.bounded


def refined(
    control_points: Array, views: Visibility, limits: YawLimits, smoothness: float
) -> Array:
    """(K + 3,) rad: control points of lower cost, by damped Newton steps within the limits."""
    objective = _Objective(views, limits, smoothness)
    free = control_points[2:-2]
    cost, damping = objective.cost(free), 1.0
    gradient, hessian = objective.slope(free)
    for _ in range(_STEPS):
        step = np.linalg.solve(hessian + damping * np.eye(len(free)), -gradient)
        lower = objective.cost(free + step)
        if lower < cost:
            has_converged = cost - lower < 1e-7 * (1.0 + abs(cost))
            free, cost, damping = free + step, lower, 0.3 * damping
            if has_converged:
                break
            gradient, hessian = objective.slope(free)
        else:
            damping *= 4.0
            if damping > 1e9:
                break
    return np.asarray(objective.all_points @ free)
