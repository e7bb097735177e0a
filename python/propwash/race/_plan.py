"""Plans the fastest path through points within the limits of a vehicle.

A cubic spline through the points defines the curve. The speed v along it is the maximum for which
the acceleration stays within a bound a,

    (v^2 k)^2 + (v dv/ds)^2 <= a^2,

with the curvature k, computed by a forward and a backward pass (Bobrow, Dubowsky and Gibson, "Time-
optimal control of robotic manipulators along specified paths", IJRR 4, 1985, for a point mass). A
spline of degree 7 through samples at equal time intervals has continuous derivatives up to snap.
Flatness gives the forces and torques that this motion requires, with drag, gravity and inertia;
where they exceed the limits, the speed is reduced and the plan repeated.
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
"""rad, maximum tilt that the tracking controller may command."""
LIMITS = Limits(
    thrust=1.0,
    rates=(12.0, 12.0, 8.0),
    speed=18.0,
    tilt=TILT - 0.02,
    rotor_thrust_min=0.0,
    vertical_thrust_min=0.22,
)
"""`vertical_thrust_min` is above 0.2, the minimum that the tracking controller commands."""
_SPACING = 0.2
"""m, between samples of the speed profile."""
_KNOTS = 0.5
"""s, knot spacing of the position; less would follow corners of the speed, with higher torque."""
_YAW_KNOTS = 2.0
"""s, knot spacing of the yaw; the yaw torque is too low to follow a finer spacing."""
_MAX_ROUNDS = 8
_PERIOD = 0.01
"""s, sampling period for checking limits."""
_REACH = 0.3
"""s, duration of the slowed interval around a sample that exceeds the limits."""


class RacePath(Path):
    """Splines of position and yaw over time; at rest before the start and after the end."""

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
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        inside = np.clip(time, 0.0, self._duration)
        position = np.stack([self._position(inside, order) for order in range(5)])
        yaw = np.stack([self._yaw(inside, order) for order in range(3)])
        is_outside = inside != time
        position[1:, is_outside], yaw[1:, is_outside] = 0.0, 0.0
        return position, yaw


def plan(
    points: Array, vehicle: VehicleParameters, heading: float | None = None, limits: Limits = LIMITS
) -> RacePath:
    """Returns a path through the points (n, 3) [m], from rest at the first to rest at the last.

    heading: rad, constant until the path has about this direction; None: always along the path.
    """
    require_scipy("the race")
    from scipy.interpolate import CubicSpline
    from scipy.ndimage import maximum_filter1d

    max_thrust = min(OuterLoops.of(vehicle).thrust_max, limits.thrust * vehicle.max_thrust)
    bound = np.sqrt(max(max_thrust**2 - vehicle.weight**2, 0.0)) / vehicle.body.mass
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    curve = CubicSpline(np.concatenate([[0.0], np.cumsum(chords)]), points, bc_type="natural")
    u = np.linspace(0.0, curve.x[-1], max(3, round(curve.x[-1] / _SPACING)))
    d1, d2 = curve(u, 1), curve(u, 2)
    ds_du = np.linalg.norm(d1, axis=1)
    curvature = np.linalg.norm(np.cross(d1, d2), axis=1) / ds_du**3
    steps = 0.5 * (ds_du[1:] + ds_du[:-1]) * np.diff(u)
    max_speed = np.full(len(u), limits.speed)
    for _ in range(_MAX_ROUNDS):
        speed = _speeds(curvature, steps, max_speed, bound)
        time = np.concatenate([[0.0], np.cumsum(2.0 * steps / (speed[1:] + speed[:-1]))])
        at = [np.interp(_grid(time[-1], period), time, u) for period in (_KNOTS, _YAW_KNOTS)]
        yaw = _headings(curve(at[1], 1), heading)
        path = RacePath(_grid(time[-1], _KNOTS), curve(at[0]), _grid(time[-1], _YAW_KNOTS), yaw)
        reference = path.sample(period=_PERIOD)
        fractions = np.max([*demands(reference, vehicle, limits).values()], axis=0)
        if fractions.max() <= 1.0:
            break
        fractions = maximum_filter1d(fractions, round(_REACH / _PERIOD))
        factor = np.interp(time, reference.time, np.clip(fractions, 1.0, 1.35) ** -0.4)
        max_speed = np.where(factor < 1.0, np.maximum(speed, 0.5) * factor, max_speed)
    return path


def _grid(duration: float, period: float) -> Array:
    """Equal steps from 0 to the duration [s], not longer than the period."""
    return np.linspace(0.0, duration, max(1, int(np.ceil(duration / period))) + 1)


def _speeds(curvature: Array, steps: Array, max_speed: Array, bound: float) -> Array:
    """Maximum speed profile [m/s] from rest to rest; `bound` [m/s^2] limits the acceleration."""
    max_squared = np.minimum(max_speed**2, bound / np.maximum(curvature, 1e-9))
    max_squared[[0, -1]] = 0.0
    squared: list[float] = max_squared.tolist()
    lateral: list[float] = curvature.tolist()
    lengths: list[float] = steps.tolist()

    def gain(i: int, length: float) -> float:
        return 2.0 * length * math.sqrt(max(bound**2 - (squared[i] * lateral[i]) ** 2, 0.0))

    for i, length in enumerate(lengths):
        squared[i + 1] = min(squared[i + 1], squared[i] + gain(i, length))
    for i in range(len(lengths), 0, -1):
        squared[i - 1] = min(squared[i - 1], squared[i] + gain(i, lengths[i - 1]))
    return np.sqrt(squared)


def _headings(direction: Array, initial: float | None) -> Array:
    """Headings (K,) [rad] along the path, interpolated where it is nearly vertical."""
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    is_level = np.hypot(direction[:, 0], direction[:, 1]) > 0.3 * np.linalg.norm(direction, axis=1)
    if initial is not None:
        aligned = int(np.argmax(is_level & (np.cos(angle - initial) > 0.7)))
        angle[:aligned], is_level[:aligned] = initial, True
    if not is_level.any():
        return np.zeros(len(direction))
    rows = np.arange(len(direction))
    return np.asarray(np.interp(rows, rows[is_level], np.unwrap(angle[is_level])))
