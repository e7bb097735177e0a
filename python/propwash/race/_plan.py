"""Plans a path through points as fast as a vehicle can follow it.

A cubic spline through the points gives the way. Its speed v is the highest for which the
acceleration stays within a bound,

    (v^2 k)^2 + (v dv/ds)^2 <= a^2,

with the curvature k, by one pass forwards and one backwards (Bobrow, Dubowsky and Gibson, "Time-
optimal control of robotic manipulators along specified paths", IJRR 4, 1985, for a point mass).
Points of it at equal intervals are joined by a spline of degree 7, whose derivatives up to snap are
continuous. Flatness gives what that motion asks of the vehicle, with drag, gravity and moments of
inertia; where it exceeds the limits, the speed is reduced and the plan is made again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash._checks import require_scipy
from propwash.trajectories import Limits, Path, demands
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

Array = NDArray[np.float64]

TILT = 1.5
"""rad, that the tracking controller may command."""
LIMITS = Limits(
    thrust=1.0,
    rates=(12.0, 12.0, 8.0),
    speed=18.0,
    tilt=TILT - 0.02,
    rotor_thrust_min=0.0,
    vertical_thrust_min=0.22,
)
"""The tracking controller commands at least 0.2 of the weight along the vertical."""
_SPACING = 0.2
"""m, between the points of the speed profile."""
_KNOTS = 0.5
"""s, between those of the motion; shorter ones follow the speed's corners, which costs torque."""
_YAW_KNOTS = 2.0
"""s, between those of the heading; weak yaw torque cannot follow shorter ones."""
_ROUNDS = 8
_PERIOD = 0.01
"""s, at which limits are checked."""
_REACH = 0.3
"""s, around a place beyond the limits, that is slowed down."""


class RacePath(Path):
    """The motion over time; before the start and after the end it rests."""

    def __init__(self, time: Array, position: Array, yaw_time: Array, yaw: Array) -> None:
        from scipy.interpolate import make_interp_spline

        def spline(t: Array, values: Array, degree: int) -> BSpline:
            rest = [(k, np.zeros(values.shape[1:])) for k in range(1, (degree + 1) // 2)]
            return make_interp_spline(t, values, k=degree, bc_type=(rest, rest))

        self._duration = float(time[-1])
        self._position, self._yaw = spline(time, position, 7), spline(yaw_time, yaw, 5)

    @property
    def duration(self) -> float:
        """s, from the first point to the last."""
        return self._duration

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Position to snap, (5, *S, 3), and yaw to its second derivative, (3, *S)."""
        inside = np.clip(time, 0.0, self._duration)
        place = np.stack([self._position(inside, order) for order in range(5)])
        yaw = np.stack([self._yaw(inside, order) for order in range(3)])
        rests = inside != time
        place[1:, rests], yaw[1:, rests] = 0.0, 0.0
        return place, yaw


def plan(
    points: Array, vehicle: VehicleParameters, heading: float | None = None, limits: Limits = LIMITS
) -> RacePath:
    """A path from rest at the first of the points (n, 3) [m] through all to rest at the last.

    heading: rad, kept until the path leads that way; None: always along the path.
    """
    require_scipy("the race")
    from scipy.interpolate import CubicSpline
    from scipy.ndimage import maximum_filter1d

    most = min(OuterLoops.of(vehicle).thrust_max, limits.thrust * vehicle.max_thrust)
    bound = np.sqrt(max(most**2 - vehicle.weight**2, 0.0)) / vehicle.body.mass
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    way = CubicSpline(np.concatenate([[0.0], np.cumsum(chords)]), points, bc_type="natural")
    u = np.linspace(0.0, way.x[-1], max(3, round(way.x[-1] / _SPACING)))
    first, second = way(u, 1), way(u, 2)
    pace = np.linalg.norm(first, axis=1)
    curvature = np.linalg.norm(np.cross(first, second), axis=1) / pace**3
    steps = 0.5 * (pace[1:] + pace[:-1]) * np.diff(u)
    fastest = np.full(len(u), limits.speed)
    for _ in range(_ROUNDS):
        speed = _speeds(curvature, steps, fastest, bound)
        time = np.concatenate([[0.0], np.cumsum(2.0 * steps / (speed[1:] + speed[:-1]))])
        at = [np.interp(_even(time[-1], period), time, u) for period in (_KNOTS, _YAW_KNOTS)]
        yaw = _headings(way(at[1], 1), heading)
        path = RacePath(_even(time[-1], _KNOTS), way(at[0]), _even(time[-1], _YAW_KNOTS), yaw)
        reference = path.sample(period=_PERIOD)
        shares = np.max([*demands(reference, vehicle, limits).values()], axis=0)
        if shares.max() <= 1.0:
            break
        shares = maximum_filter1d(shares, round(_REACH / _PERIOD))
        slower = np.interp(time, reference.time, np.clip(shares, 1.0, 1.35) ** -0.4)
        fastest = np.where(slower < 1.0, np.maximum(speed, 0.5) * slower, fastest)
    return path


def _even(duration: float, period: float) -> Array:
    """s, from 0 to the duration, at intervals near to the period."""
    return np.linspace(0.0, duration, max(1, int(np.ceil(duration / period))) + 1)


def _speeds(curvature: Array, steps: Array, fastest: Array, bound: float) -> Array:
    """m/s, the fastest profile from rest to rest; `bound` [m/s^2] is that of the acceleration."""
    start = np.minimum(fastest**2, bound / np.maximum(curvature, 1e-9))
    start[[0, -1]] = 0.0
    squared: list[float] = start.tolist()
    lateral: list[float] = curvature.tolist()
    lengths: list[float] = steps.tolist()

    def gain(i: int, length: float) -> float:
        return 2.0 * length * math.sqrt(max(bound**2 - (squared[i] * lateral[i]) ** 2, 0.0))

    for i, length in enumerate(lengths):
        squared[i + 1] = min(squared[i + 1], squared[i] + gain(i, length))
    for i in range(len(lengths), 0, -1):
        squared[i - 1] = min(squared[i - 1], squared[i] + gain(i, lengths[i - 1]))
    return np.sqrt(squared)


def _headings(direction: Array, first: float | None) -> Array:
    """rad, (K,): along the path, interpolated where it is nearly vertical."""
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    is_level = np.hypot(direction[:, 0], direction[:, 1]) > 0.3 * np.linalg.norm(direction, axis=1)
    if first is not None:
        until = int(np.argmax(is_level & (np.cos(angle - first) > 0.7)))
        angle[:until], is_level[:until] = first, True
    if not is_level.any():
        return np.zeros(len(direction))
    every = np.arange(len(direction))
    return np.asarray(np.interp(every, every[is_level], np.unwrap(angle[is_level])))
