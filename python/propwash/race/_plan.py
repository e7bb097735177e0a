"""Plans fast paths through points within the limits of a vehicle, from rest or from a motion.

A cubic spline through the points defines the curve. The speed v along it is the maximum for which
the acceleration stays within a bound a,

    (v^2 k)^2 + (v dv/ds + d(v))^2 <= a^2,

with the curvature k and the drag d, computed by a forward and a backward pass (Bobrow, Dubowsky and
Gibson, "Time-optimal control of robotic manipulators along specified paths", IJRR 4, 1985, for a
point mass). A spline of degree 7 through samples at equal time intervals has continuous derivatives
up to snap. Flatness gives the forces and torques that this motion requires, with drag, gravity and
inertia; where they exceed the limits, the speed is reduced and the plan repeated.

A planner remembers the reduced speeds. A later plan, through points that have moved a little,
starts from them, so that one or two rounds suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash._checks import require_scipy
from propwash.trajectories import Limits, Path, Reference, demands, flatness
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from scipy.interpolate import BSpline, CubicSpline

Array = NDArray[np.float64]

TILT = 1.5
"""rad, maximum tilt that the tracking controller may command."""
LIMITS = Limits(
    thrust=0.9,
    rates=(12.0, 12.0, 8.0),
    speed=22.0,
    tilt=TILT - 0.02,
    rotor_thrust_min=0.0,
    vertical_thrust_min=0.22,
)
"""`vertical_thrust_min` is above 0.2, the minimum that the tracking controller commands."""
LIMITS_IN_GUSTS = replace(LIMITS, thrust=0.85)
"""Of a plan that is not renewed in flight."""
_SPACING = 0.25
"""m, between samples of the speed profile."""
_KNOTS = 0.5
"""s, knot spacing of the position; less would follow corners of the speed, with higher torque."""
_YAW_KNOTS = 2.0
"""s, knot spacing of the yaw; the yaw torque is too low to follow a finer spacing."""
_LOOK_KNOTS = 0.6
"""s, the same for a heading that is chosen for the view."""
_LOOK_AHEAD = 1.0
"""s; without a gate in view, the heading is towards the point of the path after this time."""
_MAX_FRACTION = 2.0
"""The largest fraction of a limit in the excess; larger ones count as this."""
_EXCESS_WEIGHT = 20.0
"""Weight of the integral of the fractions above 1, relative to the duration of a plan."""
_MAX_EXCESS = 3.0
"""s, of the weighted integral; a plan above it gets up to `_ROUNDS_OF_EXCESS` rounds."""
_ROUNDS_OF_EXCESS = 4
_MAX_ROUNDS = 16
_PERIOD = 0.01
"""s, sampling period for checking limits."""
_REACH = 0.3
"""s, duration of the slowed interval around a sample that exceeds the limits."""
_RECOVERY = 1.03
"""Factor on the remembered speeds at each later plan; without it they could only decrease."""
_JERK = 60.0
"""m/s^3, with which the acceleration grows from rest, while the vehicle rotates."""
MIN_APPROACH_SPEED = 2.0
"""m/s, near a point that is approached slowly."""
_LOOK_PERIOD = 0.1
"""s, between the directions of which the heading is a smooth interpolation."""


@dataclass(frozen=True, eq=False)
class PlanStart:
    """The motion at which a plan starts, and the curve that it continues."""

    position: Array
    """(4, 3): position to jerk, world frame, SI."""
    yaw: Array
    """(3,): yaw, its rate and its acceleration [rad, s]."""
    curve: Array
    """(2, 3): the point of the curve, and its derivative."""
    ahead: Array
    """(k,) distances to the points of the last plan that are ahead, in the curve's parameter."""


class RacePath(Path):
    """Splines of position and yaw over time; at rest before the start and after the end."""

    def __init__(
        self, position: BSpline, yaw: BSpline, curve: CubicSpline, time: Array, u: Array
    ) -> None:
        self._position, self._yaw = position, yaw
        self._curve, self._time, self._u = curve, time, u
        end = np.where(curve.x > u[-1], np.inf, 0.0)
        self.point_times: Array = np.interp(curve.x, u, time) + end
        """(n,) s, when the path is nearest to the points of the plan; inf beyond its horizon."""

    @property
    def duration(self) -> float:
        """s, from the first point to the last."""
        return float(self._time[-1])

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        inside = np.clip(time, 0.0, self.duration)
        position = np.stack([self._position(inside, order) for order in range(5)])
        yaw = np.stack([self._yaw(inside, order) for order in range(3)])
        is_outside = inside != time
        position[1:, is_outside], yaw[1:, is_outside] = 0.0, 0.0
        return position, yaw

    def motion(self, time: float) -> PlanStart:
        """The motion at a time [s], at which another plan may start."""
        position, yaw = self.evaluate(np.asarray(time))
        u = float(np.interp(time, self._time, self._u))
        curve = np.stack([self._curve(u), self._curve(u, 1)])
        return PlanStart(position[:4], yaw, curve, self._curve.x[self._curve.x > u] - u)


Look = Callable[[Array, Array, Array], Array]
"""Returns directions (K, 3) of the body's x axis, see Planner."""


class Planner:
    """Plans for one vehicle within limits.

    look: returns directions (K, 3) of the body's x axis for positions (K, 3) [m], thrust axes (K,
    3) and directions of the path (K, 3); None: the last. min_approach_speed: m/s, near a point that
    is approached slowly. Raises ValueError for limits within which the vehicle cannot hover.
    """

    def __init__(
        self,
        vehicle: VehicleParameters,
        limits: Limits = LIMITS,
        look: Look | None = None,
        min_approach_speed: float = MIN_APPROACH_SPEED,
    ) -> None:
        require_scipy("the race")
        limits.check_hover(vehicle)
        self._vehicle, self._limits, self._look = vehicle, limits, look
        self._slowest = min_approach_speed
        max_thrust = min(OuterLoops.of(vehicle).thrust_max, limits.thrust * vehicle.max_thrust)
        excess = np.sqrt(max(max_thrust**2 - vehicle.weight**2, 0.0))
        self._bound = float(excess) / vehicle.body.mass
        self._drag = drag_of(vehicle)
        self._caps: tuple[Array, Array] | None = None
        self.wind = np.zeros(3)
        """(3,) m/s, world frame, in which the paths must be possible."""

    @property
    def airspeed(self) -> float:
        """m/s, at which drag in level flight equals the thrust within the limits."""
        linear, quadratic = self._drag
        root = math.sqrt(linear**2 + 4.0 * quadratic * self._bound)
        return 2.0 * self._bound / (linear + root) if linear + root > 0.0 else math.inf

    def plan(
        self,
        points: Array,
        heading: float | None = None,
        start: PlanStart | None = None,
        horizon: float = np.inf,
        rounds: int = _MAX_ROUNDS,
        approach: Array | None = None,
    ) -> RacePath:
        """Returns a path through the points (n, 3) [m].

        heading: rad, constant until the path has about this direction; None: always along the
        path. start: the motion before the first point; None: at rest at the first point. horizon:
        m, length of the path; it ends at rest only at the last point. rounds: number of speed
        profiles, of which the best is chosen; more follow if it exceeds the limits by far.
        approach: (n,) s; the speed before a point is at most the distance to it over this time.
        """
        curve, u, is_whole = self._curve(points, start, horizon)
        d1, d2 = curve(u, 1), curve(u, 2)
        ds_du = np.linalg.norm(d1, axis=1)
        curvature = np.linalg.norm(np.cross(d1, d2), axis=1) / ds_du**3
        steps = 0.5 * (ds_du[1:] + ds_du[:-1]) * np.diff(u)
        first = 0.0 if start is None else float(np.linalg.norm(start.position[1]))
        remaining = curve.x[-1] - u
        caps = self._remembered(remaining)
        knots = curve.x[len(curve.x) - len(points) :]
        slow = _approach_speeds(u, knots, approach, self._slowest)
        if start is None:
            travelled = np.concatenate([[0.0], np.cumsum(steps)])
            slow = np.minimum(slow, 0.5 * _JERK * (6.0 * travelled / _JERK) ** (2.0 / 3.0))
        last = 0.0 if is_whole else None
        best: tuple[float, RacePath, Array] | None = None
        for count in range(1, max(rounds, _ROUNDS_OF_EXCESS) + 1):
            allowed = np.minimum(caps, slow)
            speed = _speeds(curvature, steps, allowed, self._bound, self._drag, first, last)
            time = np.concatenate([[0.0], np.cumsum(2.0 * steps / (speed[1:] + speed[:-1]))])
            path = self._path(curve, u, time, start, heading, is_whole)
            excess, factor = self._excess(path, time)
            reduced = np.maximum(speed, 0.5) * factor
            caps = np.where(factor < 1.0, reduced, np.minimum(caps * factor, self._limits.speed))
            if best is None or path.duration + excess < best[1].duration + best[0]:
                best = (excess, path, caps)
            if count >= rounds and best[0] <= _MAX_EXCESS:
                break
        assert best is not None
        _, path, caps = best
        self._remember(remaining, caps)
        return path

    def _excess(self, path: RacePath, time: Array) -> tuple[float, Array]:
        """By how much a path exceeds the limits [s], and factors on its speeds at the times."""
        from scipy.ndimage import maximum_filter1d

        reference = path.sample(period=_PERIOD)
        # forces depend on the velocity by the drag alone
        in_air = replace(reference, velocity=reference.velocity - self.wind)
        fractions = np.max([*demands(in_air, self._vehicle, self._limits).values()], axis=0)
        excess = float(np.sum(np.clip(fractions, 1.0, _MAX_FRACTION) - 1.0)) * _PERIOD
        fractions = maximum_filter1d(fractions, round(_REACH / _PERIOD))
        factor = np.interp(time, reference.time, np.clip(fractions, 0.9, 1.35) ** -0.4)
        return _EXCESS_WEIGHT * excess, np.asarray(factor)

    def _curve(
        self, points: Array, start: PlanStart | None, horizon: float
    ) -> tuple[CubicSpline, Array, bool]:
        """The curve, samples of its parameter, and whether they reach the last point."""
        from scipy.interpolate import CubicSpline

        ends: list[Any] = [(2, np.zeros(3)), (2, np.zeros(3))]
        chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
        if start is not None:
            # with the parameter of the last curve: it is continued exactly if no point has moved
            first = start.ahead[len(start.ahead) - len(points)]
            points, chords = np.vstack([start.curve[:1], points]), np.append(first, chords)
            ends[0] = (1, start.curve[1])
        u = np.concatenate([[0.0], np.cumsum(chords)])
        end = min(float(u[-1]), horizon)
        samples = np.linspace(0.0, end, max(3, round(end / _SPACING)))
        return CubicSpline(u, points, bc_type=tuple(ends)), samples, end == u[-1]

    def _path(
        self,
        curve: CubicSpline,
        u: Array,
        time: Array,
        start: PlanStart | None,
        heading: float | None,
        is_whole: bool,
    ) -> RacePath:
        knots = _grid(time[-1], _KNOTS)
        points = curve(np.interp(knots, time, u))
        moving = (None, None) if start is None else (start.position[1:], start.yaw[1:])
        if start is not None:
            points[0] = start.position[0]
        position = _spline(knots, points, 7, moving[0], is_whole)
        if self._look is None:
            yaw_knots = _grid(time[-1], _YAW_KNOTS)
            yaw = _headings(curve(np.interp(yaw_knots, time, u), 1), heading)
        else:
            yaw_knots = _grid(time[-1], _LOOK_KNOTS)
            zero = np.zeros(1)

            def sampled(time: Array) -> Reference:
                p, v, a, j, s = (position(time, order) for order in range(5))
                return Reference(time, p, v, a, j, s, zero, zero, zero)

            yaw = looking(sampled, yaw_knots, self._vehicle, self._look, heading, self.wind)
        first = heading if start is None else float(start.yaw[0])
        if first is not None:
            yaw += 2.0 * np.pi * np.round((first - yaw[0]) / (2.0 * np.pi))
            yaw[0] = first
        return RacePath(
            position,
            _spline(yaw_knots, yaw, 5, moving[1], is_whole),
            curve,
            time,
            u,
        )

    def _remembered(self, remaining: Array) -> Array:
        """Maximum speeds [m/s] at distances to the last point [m]."""
        if self._caps is None:
            return np.full(len(remaining), self._limits.speed)
        caps = _RECOVERY * np.interp(remaining, *self._caps)
        return np.minimum(caps, self._limits.speed)

    def _remember(self, remaining: Array, caps: Array) -> None:
        distance, speeds = remaining[::-1], caps[::-1]
        if self._caps is not None:
            before = self._caps[0] < distance[0]
            distance = np.concatenate([self._caps[0][before], distance])
            speeds = np.concatenate([self._caps[1][before], speeds])
        self._caps = (distance, speeds)


def looking(
    sampled: Callable[[Array], Reference],
    knots: Array,
    vehicle: VehicleParameters,
    look: Look,
    heading: float | None,
    wind: Array,
) -> Array:
    """Headings (K,) [rad] at the knots (K,) [s], each the mean of those desired around it.

    sampled: the motion at times; its yaw is not used.
    """
    from scipy.ndimage import gaussian_filter1d

    time = _grid(knots[-1], _LOOK_PERIOD)
    motion = sampled(time)
    zero = np.zeros(len(time))
    in_air = replace(
        motion, velocity=motion.velocity - wind, yaw=zero, yaw_rate=zero, yaw_acceleration=zero
    )
    force = flatness(in_air, vehicle).specific_force
    axis = force / np.maximum(np.linalg.norm(force, axis=1), 1e-9)[:, None]
    far = sampled(np.minimum(time + _LOOK_AHEAD, time[-1])).position - motion.position
    default = np.where(np.linalg.norm(far, axis=1)[:, None] > 0.5, far, motion.velocity)
    angles = _headings(look(motion.position, axis, default), heading)
    smooth = gaussian_filter1d(angles, 0.5 * _LOOK_KNOTS / _LOOK_PERIOD, mode="nearest")
    return np.asarray(np.interp(knots, time, smooth))


def look_spline(
    sampled: Callable[[Array], Reference],
    duration: float,
    vehicle: VehicleParameters,
    look: Look,
    start: Array,
) -> BSpline:
    """The yaw [rad] over a duration [s]; see looking().

    start: (3,) yaw at time 0, with two derivatives.
    """
    knots = _grid(duration, _LOOK_KNOTS)
    yaw = looking(sampled, knots, vehicle, look, float(start[0]), np.zeros(3))
    yaw += 2.0 * np.pi * np.round((start[0] - yaw[0]) / (2.0 * np.pi))
    yaw[0] = start[0]
    return _spline(knots, yaw, 5, start[1:], False)


def _spline(
    time: Array, values: Array, degree: int, first: Array | None, ends_at_rest: bool
) -> BSpline:
    """An interpolating spline; first: its derivatives at the start, None: zero."""
    from scipy.interpolate import make_interp_spline

    count = (degree - 1) // 2
    zero = np.zeros(values.shape[1:])
    left = [(k + 1, zero if first is None else first[k]) for k in range(count)]
    offset = 1 if ends_at_rest else count + 1
    right = [(k + offset, zero) for k in range(count)]
    return make_interp_spline(time, values, k=degree, bc_type=(left, right))


def _approach_speeds(u: Array, knots: Array, approach: Array | None, slowest: float) -> Array:
    """Maximum speeds [m/s] at the parameters u before the knots."""
    speeds = np.full(len(u), np.inf)
    if approach is not None:
        for knot, duration in zip(knots, approach, strict=True):
            if duration > 0.0:
                distance = knot - u
                slow = np.maximum(distance / duration, slowest)
                speeds = np.where(distance > -_SPACING, np.minimum(speeds, slow), speeds)
    return speeds


def _grid(duration: float, period: float) -> Array:
    """Equal steps from 0 to the duration [s], not longer than the period."""
    return np.linspace(0.0, duration, max(1, int(np.ceil(duration / period))) + 1)


def _speeds(
    curvature: Array,
    steps: Array,
    max_speed: Array,
    bound: float,
    drag: tuple[float, float] = (0.0, 0.0),
    first: float = 0.0,
    last: float | None = 0.0,
) -> Array:
    """Maximum speed profile [m/s]; `bound` [m/s^2] limits the acceleration plus that of the drag.

    drag: 1/s and 1/m, coefficients of v and v^2. first, last: m/s, speeds at the ends; last None:
    any.
    """
    max_squared = np.minimum(max_speed**2, bound / np.maximum(curvature, 1e-9))
    max_squared[0] = first**2
    if last is not None:
        max_squared[-1] = last**2
    forward = _reached(max_squared, curvature, steps, bound, drag)
    decelerating = -drag[0], -drag[1]  # backwards drag increases the gain of speed
    backward = _reached(forward[::-1], curvature[::-1], steps[::-1], bound, decelerating)
    squared = backward[::-1]
    squared[0] = first**2
    return np.sqrt(squared)


def _reached(
    max_squared: Array, curvature: Array, steps: Array, bound: float, drag: tuple[float, float]
) -> Array:
    """The squares of the maximum speeds [m^2/s^2] that the bound lets follow from the first one."""
    caps, lateral = max_squared.tolist(), curvature.tolist()
    limit, (linear, quadratic) = bound**2, drag
    square = caps[0]
    reached = [square]
    for cap, k, double_step in zip(caps[1:], lateral, (2.0 * steps).tolist(), strict=False):
        rest = limit - (square * k) ** 2
        thrust = math.sqrt(rest) if rest > 0.0 else 0.0
        resistance = linear * math.sqrt(square) + quadratic * square
        gained = square + double_step * (thrust - resistance)
        low = 0.25 * square
        square = gained if gained > low else low
        if cap < square:
            square = cap
        reached.append(square)
    return np.array(reached)


def drag_of(vehicle: VehicleParameters) -> tuple[float, float]:
    """Coefficients of v [1/s] and v^2 [1/m] of the acceleration by drag in level flight."""
    speeds = np.array([5.0, 15.0])
    zero, still = np.zeros(2), np.zeros((2, 3))
    velocity = speeds[:, None] * [1.0, 0.0, 0.0]
    reference = Reference(zero, still, velocity, still, still, still, zero, zero, zero)
    deceleration = flatness(reference, vehicle).specific_force[:, 0]
    linear, quadratic = np.linalg.solve(np.stack([speeds, speeds**2], axis=1), deceleration)
    return max(float(linear), 0.0), max(float(quadratic), 0.0)


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
