"""Minimum-snap paths through waypoints, and the shortest duration within a vehicle's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash._checks import ParameterError, require_scipy
from propwash.trajectories._limits import Demand, Limits, demand
from propwash.trajectories._reference import ORDERS, Path, Yaw, heading, yaw_of
from propwash.trajectories._splines import ACCELERATION, SNAP, SplineProblem, derivatives
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

Array = NDArray[np.float64]

_MIN_DISTANCE = 1e-6
"""Minimum distance between adjacent waypoints [m]."""
_FINAL_DENSITY = 8
"""Factor on `_SAMPLES` for the final check."""
_FINAL_MAX_FRACTION = 0.999
"""Maximum fraction of the limits in the final check."""
_YAW_SAMPLES = 6
"""Samples of the path's heading per segment, for yaw "along"."""
_SAMPLES = 22 * _YAW_SAMPLES
"""Samples per segment at which limits are checked; they include the knots of the yaw spline."""
_MAX_FRACTION = 0.995
"""Maximum fraction of the limits at the samples."""


class Polynomial(Path):
    """Piecewise polynomials of degree 9 through waypoints, as returned by minimum_snap().

    An open path is at rest before its start and after its end; a closed path repeats.
    """

    def __init__(self, spline: PPoly, cost: float, yaw: PPoly | float, closed: bool) -> None:
        self._spline, self._yaw, self._closed = spline, yaw, closed
        self._cost = cost

    @property
    def duration(self) -> float:
        """s, from the first waypoint to the last, or of one lap."""
        return float(self._spline.x[-1])

    @property
    def knots(self) -> Array:
        """s, times of the waypoints; for a closed path, the end of the lap is appended."""
        return np.array(self._spline.x)

    @property
    def coefficients(self) -> Array:
        """(K, 10, 3) m, per segment, constant first, in powers of the fraction of its duration."""
        powers = np.diff(self._spline.x)[:, None] ** np.arange(2 * SNAP.ends)
        return np.asarray(np.swapaxes(self._spline.c[::-1], 0, 1) * powers[..., None])

    @property
    def snap_cost(self) -> float:
        """m^2/s^7, the integral of the squared snap."""
        return self._cost

    @property
    def closed(self) -> bool:
        """Whether the path ends where it starts."""
        return self._closed

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        lap = np.floor(time / self.duration) if self._closed else np.zeros_like(time)
        inside = np.clip(time - lap * self.duration, 0.0, self.duration)
        position = derivatives(self._spline, inside, ORDERS)
        yaw = np.zeros((3, *time.shape))
        if isinstance(self._yaw, float):
            yaw[0] = self._yaw
        else:
            yaw = derivatives(self._yaw, inside, 3)[..., 0]
            first, last = self._yaw([0.0, self.duration])[:, 0]
            yaw[0] += lap * (last - first)
        if not self._closed:
            is_outside = (time < 0.0) | (time > self.duration)
            position[1:, is_outside], yaw[1:, is_outside] = 0.0, 0.0
        return position, yaw


def minimum_snap(
    waypoints: ArrayLike,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    limits: Limits | None = None,
    closed: bool = False,
    velocities: Mapping[int, ArrayLike] | None = None,
    start: ArrayLike | None = None,
    yaw: ArrayLike | str = 0.0,
) -> Polynomial:
    """Returns the path through waypoints (m, 3) [m] that minimises the integral of squared snap.

    times: (K,) s, durations of the segments. None: those that minimise the cost for the total.
    duration: s, total. If neither is set, it is the shortest within the limits (None: Limits()) of
        the vehicle; otherwise limits are checked only if passed.
    closed: the path continues smoothly from the last waypoint to the first. Otherwise it starts and
        ends at rest.
    velocities: (3,) m/s, by index of the waypoint, ends included. Acceleration, jerk and snap at
        the ends of an open path remain zero.
    start: (k, 3) velocity, acceleration, jerk and snap at the first waypoint of an open path, in SI
        units, to continue from a moving state. With k < 4 the others are free.
    yaw: rad, constant; or (m,) at the waypoints, interpolated with the minimum integral of squared
        yaw acceleration; or "along" for the heading of the path, smoothed in the same way.

    Raises ValueError or TypeError for coinciding waypoints, values that are not finite and limits
    that cannot be met; ImportError if scipy is missing.
    """
    require_scipy("minimum_snap")
    points = _checked_waypoints(waypoints, closed)
    parameters = vehicles.load(vehicle)
    if limits is not None and not isinstance(limits, Limits):
        raise ParameterError(f"limits: expected Limits or None, got {limits!r:.100}")
    known = _known(points, closed, velocities or {}, np.inf if limits is None else limits.speed)
    if start is not None:
        known[0, 1:] = _checked_start(start, closed)
    problem = SplineProblem(SNAP, known, closed)
    checked_yaw = _checked_yaw(yaw, len(points))
    lengths = _lengths(problem, points, times, duration)
    total = float(np.sum(lengths))

    def path(end: float) -> Polynomial:
        return _path(problem, lengths * (end / total), checked_yaw)

    def critical(end: float, samples: int = _SAMPLES) -> Demand:
        candidate = path(end)
        fractions = np.linspace(0.0, 1.0, samples, endpoint=False)
        knots = candidate.knots
        rows = (knots[:-1, None] + np.diff(knots)[:, None] * fractions).reshape(-1)
        return demand(candidate.sample(np.append(rows, end)), parameters, limits or Limits())

    is_timed = times is not None or duration is not None
    if is_timed and limits is not None:
        worst = critical(total, _FINAL_DENSITY * _SAMPLES)
        if worst.fraction > 1.0:
            shortest = _shortest(critical, total)
            raise ValueError(
                f"limits: not met in {total:g} s: {worst.limit} {worst.fraction:.2f} times "
                f"the limit at {worst.time:.3g} s; allow {shortest:.3g} s"
            )
    return path(total if is_timed else _shortest(critical, total))


def _lengths(
    problem: SplineProblem, points: Array, times: ArrayLike | None, duration: float | None
) -> Array:
    """Durations of the segments [s]: `times`, or optimal ones, by default for a mean of 1 m/s."""
    if times is not None and duration is not None:
        raise ValueError("expected either times or duration [s], got both")
    if times is not None:
        lengths = _checks.shaped("times", times, (problem.segments,))
        if not (lengths > 0.0).all():
            raise ValueError(f"times: expected numbers > 0 [s], got {lengths.tolist()!r:.100}")
        return lengths
    chords = np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1)[: problem.segments]
    total = float(np.sum(chords)) if duration is None else _checks.positive("duration", duration)
    return _allocated(problem, total * np.sqrt(chords) / np.sum(np.sqrt(chords)))


def _checked_waypoints(waypoints: ArrayLike, closed: bool) -> Array:
    points = _checks.shaped("waypoints", waypoints, ("m", 3))
    minimum = 3 if closed else 2
    if len(points) < minimum:
        what = "for a closed path" if closed else "for a path"
        raise ValueError(f"waypoints: expected at least {minimum} {what}, got {len(points)}")
    gaps = np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1)
    gaps = gaps if closed else gaps[:-1]
    if not (gaps > _MIN_DISTANCE).all():
        first = int(np.argmin(gaps))
        second = (first + 1) % len(points)
        raise ValueError(
            f"waypoints: expected distinct adjacent points, but {first} and {second} coincide at "
            f"{points[first].tolist()}"
        )
    return points


def _known(
    points: Array, closed: bool, velocities: Mapping[int, ArrayLike], max_speed: float
) -> Array:
    """Constraints (m, 5, 3): positions and prescribed derivatives; NaN where free."""
    known = np.full((len(points), SNAP.ends, 3), np.nan)
    known[:, 0] = points
    if not closed:
        known[[0, -1], 1:] = 0.0
    for key, value in velocities.items():
        number = _checks.whole_number("velocities: waypoint", key, -len(points), len(points) - 1)
        known[number, 1] = _checks.shaped(f"velocities[{number}]", value, (3,))
        if np.linalg.norm(known[number, 1]) > max_speed:
            raise ValueError(
                f"velocities[{number}]: expected at most limits.speed = {max_speed:g} m/s, got "
                f"{np.linalg.norm(known[number, 1]):g}"
            )
    return known


def _checked_start(start: ArrayLike, closed: bool) -> Array:
    """Derivatives (4, 3) at the start of a path; NaN where free."""
    if closed:
        raise ValueError("start: expected None for a closed path, which has no start")
    rows = _checks.shaped("start", start, ("k", 3))
    if not 1 <= len(rows) < SNAP.ends:
        got = _checks.described(start)
        raise ValueError(f"start: expected 1 to {SNAP.ends - 1} derivatives, (k, 3), got {got}")
    return np.concatenate((rows, np.full((SNAP.ends - 1 - len(rows), 3), np.nan)))


def _checked_yaw(yaw: ArrayLike | str, count: int) -> Yaw | Array:
    if isinstance(yaw, str) or np.ndim(yaw) == 0:
        return yaw_of(yaw)
    return _checks.shaped("yaw", yaw, (count,))


def _path(problem: SplineProblem, lengths: Array, yaw: Yaw | Array) -> Polynomial:
    ends, cost, _ = problem.solve(lengths)
    spline = problem.spline(lengths, ends)
    points = problem.constraints[:, 0]
    error = np.abs(spline(spline.x[: len(points)]) - points).max()
    if not error < 1e-6 * np.ptp(points, axis=0).max():
        raise ValueError(
            f"times: expected more similar durations of the segments, got {lengths.min():g} to "
            f"{lengths.max():g} s, with which the path overshoots too far to be computed"
        )
    if isinstance(yaw, float):
        return Polynomial(spline, cost, yaw, problem.closed)
    if isinstance(yaw, str):
        return Polynomial(spline, cost, _along(spline, problem.closed), problem.closed)
    values = yaw
    if problem.closed:  # the shortest rotation back to the first heading
        change = float(yaw[0] - yaw[-1])
        values = np.append(yaw, yaw[-1] + (change + np.pi) % (2.0 * np.pi) - np.pi)
    return Polynomial(spline, cost, _yaw_spline(spline.x, values, problem.closed), problem.closed)


def _along(spline: PPoly, closed: bool) -> PPoly:
    """A yaw spline through samples of the heading; steep parts are interpolated."""
    fractions = np.arange(_YAW_SAMPLES) / _YAW_SAMPLES
    time = np.append((spline.x[:-1, None] + np.diff(spline.x)[:, None] * fractions), spline.x[-1])
    tangents = derivatives(spline, time, 4)[1:]
    horizontal = np.linalg.norm(tangents[0, :, :2], axis=1)
    known = np.flatnonzero(horizontal > 0.02 * horizontal.max())
    if len(known) == 0 or horizontal.max() < 1e-9:
        raise ValueError("yaw: expected a number [rad] for a vertical path, got 'along'")
    angle = np.unwrap(heading(tangents[:, known])[0])
    return _yaw_spline(time, np.interp(time, time[known], angle), closed)


def _yaw_spline(knots: Array, values: Array, closed: bool) -> PPoly:
    """Yaw spline through values (K + 1,); a closed path may gain a yaw offset per lap."""
    mean_rate = (values[-1] - values[0]) / knots[-1] if closed else 0.0
    # a constant yaw rate adds no cost; the rest of a closed path's yaw is periodic
    periodic = values - mean_rate * knots
    known = np.full((len(values) - closed, ACCELERATION.ends, 1), np.nan)
    known[:, 0, 0] = periodic[:-1] if closed else periodic
    if not closed:
        known[[0, -1], 1:] = 0.0
    spline = SplineProblem(ACCELERATION, known, closed).spline(np.diff(knots))
    spline.c[-1, :, 0] += mean_rate * knots[:-1]
    spline.c[-2, :, 0] += mean_rate
    return spline


def _allocated(problem: SplineProblem, lengths: Array) -> Array:
    """The lengths of minimum cost for the same sum, by descent with the exact gradient."""
    if len(lengths) < 2:
        return lengths
    from scipy.optimize import minimize

    total = float(np.sum(lengths))

    def lengths_of(logs: Array) -> Array:
        weights = np.exp(logs - logs.max())
        return np.asarray(total * weights / np.sum(weights))

    def cost(logs: Array) -> tuple[float, Array]:
        parts = lengths_of(logs)
        _, value, gradient = problem.solve(parts)
        slope = gradient / max(value, 1e-300)
        return float(np.log(max(value, 1e-300))), parts * (slope - (slope @ parts) / total)

    start = np.log(lengths / total)
    bounds = [(value - 3.0, value + 3.0) for value in start]
    options: dict[str, Any] = {"maxiter": 200, "ftol": 1e-9}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return lengths_of(np.asarray(found.x, dtype=np.float64))


def _shortest(critical: Callable[..., Demand], total: float) -> float:
    """The shortest duration within the limits [s]."""
    upper, worst = total, critical(total)
    for _ in range(40):
        if worst.fraction <= _MAX_FRACTION:
            break
        upper *= 2.0
        try:
            worst = critical(upper)
        except ValueError:  # too slow for the numerical solution
            raise ValueError(_unreachable(worst)) from None
    else:
        raise ValueError(_unreachable(worst))
    lower = 0.5 * upper
    while critical(lower).fraction <= _MAX_FRACTION:
        upper, lower = lower, 0.5 * lower
    while upper - lower > 1e-3 * upper:
        middle = 0.5 * (upper + lower)
        if critical(middle).fraction <= _MAX_FRACTION:
            upper = middle
        else:
            lower = middle
    while critical(upper, _FINAL_DENSITY * _SAMPLES).fraction > _FINAL_MAX_FRACTION:
        upper *= 1.002
    return upper


def _unreachable(worst: Demand) -> str:
    """The message for limits that no duration satisfies."""
    if not np.isfinite(worst.fraction):
        return (
            f"limits: no duration meets them: at {worst.time:.3g} s the attitude is undefined, as "
            f"in free fall or for a vehicle without weight"
        )
    return (
        f"limits: no duration meets them: {worst.limit} {worst.fraction:.2f} times the limit; "
        f"relax it, use a vehicle with more thrust, or reduce the prescribed velocities"
    )
