"""Minimum-snap paths through waypoints, and how fast a vehicle can fly them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash._checks import ParameterError, checked_parameters, require_scipy
from propwash.control import Allocation
from propwash.trajectories._flatness import flatness
from propwash.trajectories._reference import ORDERS, Path, Reference, Yaw, heading, yaw_of
from propwash.trajectories._splines import BEND, SNAP, Problem, derivatives
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

Array = NDArray[np.float64]

_APART = 1e-6
"""m, between neighbouring waypoints, at least."""
_CLOSER = 8
"""Times as many, at the end."""
_KEPT = 0.999
"""Of the limits, there."""
_HEADINGS = 6
"""Of a path, taken from each piece."""
_LOOKS = 22 * _HEADINGS
"""At each piece, for what it asks of a vehicle; the corners of the yaw acceleration are among."""
_SLACK = 0.995
"""Of the limits, used at the places that are looked at."""


@dataclass(frozen=True)
class Limits:
    """What a path may ask of a vehicle."""

    thrust: float = 0.8
    """Share of its greatest thrust that may be asked of any rotor."""
    rates: tuple[float, float, float] = (8.0, 8.0, 3.0)
    """rad/s, about the body axes."""
    speed: float = np.inf
    """m/s."""
    tilt: float = 1.2
    """rad, of the thrust axis from the vertical; the outer loops track up to 1.35."""
    rotor_thrust_min: float = 0.15
    """Least thrust of any rotor: 0 is its thrust at the motor's least speed, 1 that in hover. What
    is above 0 is left to attitude control, of which noise alone takes up to 0.07 (one standard
    deviation)."""
    vertical_thrust_min: float = 0.3
    """Least vertical component of the thrust, as a share of the weight. The outer loops command no
    less than 0.2; the rest is left to them for corrections of the acceleration, 1 m/s^2."""

    @checked_parameters()
    def __post_init__(self) -> None:
        rates = given.numeric("limits.rates", self.rates, "3 numbers [rad/s]").astype(np.float64)
        if rates.shape not in ((), (3,)):
            raise ValueError(f"limits.rates: expected 3 numbers [rad/s], got {self.rates!r:.100}")
        for name in ("thrust", "speed", "tilt", "rotor_thrust_min", "vertical_thrust_min"):
            given.numeric(f"limits.{name}", getattr(self, name), "a number")
        rates = np.broadcast_to(rates, 3)
        object.__setattr__(self, "rates", tuple(map(float, rates)))
        if not 0.0 < self.thrust <= 1.0:
            raise ValueError(f"limits.thrust: expected a share in (0, 1], got {self.thrust!r:.100}")
        if not 0.0 <= self.rotor_thrust_min < 1.0:
            raise ValueError(
                f"limits.rotor_thrust_min: expected a share in [0, 1), got "
                f"{self.rotor_thrust_min!r:.100}"
            )
        if not self.vertical_thrust_min < 1.0:  # negative for thrust that may point down
            raise ValueError(
                f"limits.vertical_thrust_min: expected a share of the weight < 1, got "
                f"{self.vertical_thrust_min!r:.100}"
            )
        if not (rates > 0.0).all() or not self.speed > 0.0:
            raise ValueError(
                f"limits: expected rates [rad/s] and speed [m/s] > 0, got {self.rates} and "
                f"{self.speed}"
            )
        if not 0.0 < self.tilt <= np.pi:
            raise ValueError(f"limits.tilt: expected an angle in (0, pi] rad, got {self.tilt!r}")


@dataclass(frozen=True)
class Demand:
    """The limit that a reference comes nearest to, or exceeds most."""

    share: float
    """Of the limit; above 1 it is exceeded."""
    what: str
    time: float
    """s."""


def demands(reference: Reference, vehicle: VehicleParameters, limits: Limits) -> dict[str, Array]:
    """What a reference of one vehicle asks for, as fractions (T,) of each limit, by their names.

    Above 1 a limit is exceeded; infinite where there is no attitude. Raises ParameterError as
    flatness() does.
    """
    asked = flatness(reference, vehicle)
    squares = asked.rotor_speeds * np.abs(asked.rotor_speeds)
    slowest, fastest = (
        np.array(speeds) * np.abs(speeds)
        for speeds in map(vehicle.motor_values, ("speed_min", "speed_max"))
    )
    hover = Allocation(vehicle).inverse[:, 3] * vehicle.weight
    spare = (hover - slowest) * (1.0 - limits.rotor_thrust_min)
    lean = np.linalg.norm(asked.attitude[..., 1:3], axis=-1)
    # the outer loops limit both (O16) and (O19), which differ by rotor drag along body z; the
    # cosine of the tilt is 1 - 2 lean^2
    vertical = np.minimum(
        asked.thrust * (1.0 - 2.0 * lean**2),
        vehicle.body.mass * asked.specific_force[..., 2],
    )
    weight = vehicle.weight
    with np.errstate(divide="ignore", invalid="ignore"):  # a vehicle without weight
        fall = (weight - vertical) / (weight * (1.0 - limits.vertical_thrust_min))
    fractions = {
        "thrust of a rotor": (squares / (limits.thrust * fastest)).max(axis=-1),
        "fall of a rotor's thrust below hover": (
            (hover - squares) / np.maximum(spare, 1e-9 * fastest)
        ).max(axis=-1),
        "fall of the vertical thrust below the weight": fall,
        "body rates": np.abs(asked.body_rates / limits.rates).max(axis=-1),
        "speed": np.linalg.norm(reference.velocity, axis=-1) / limits.speed,
        "tilt": 2.0 * np.arcsin(np.minimum(lean, 1.0)) / limits.tilt,
    }
    return {
        what: np.where(np.isfinite(fraction), fraction, np.inf)
        for what, fraction in fractions.items()
    }


def demand(reference: Reference, vehicle: VehicleParameters, limits: Limits) -> Demand:
    """Which limit a reference of one vehicle comes nearest to, and by how much."""
    found = demands(reference, vehicle, limits)
    what = max(found, key=lambda name: float(found[name].max()))
    row = int(np.argmax(found[what]))
    return Demand(float(found[what][row]), what, float(reference.time[row]))


class Polynomial(Path):
    """Polynomials of degree 9 through waypoints, as minimum_snap() makes them.

    Before the start and after the end the path rests there; a closed one goes round and round.
    """

    def __init__(self, spline: PPoly, cost: float, yaw: PPoly | float, closed: bool) -> None:
        self._spline, self._yaw, self._closed = spline, yaw, closed
        self._cost = cost

    @property
    def duration(self) -> float:
        """s, from the first waypoint to the last, or around once."""
        return float(self._spline.x[-1])

    @property
    def knots(self) -> Array:
        """s, when it is at each waypoint; of a closed path the first again at the end."""
        return np.array(self._spline.x)

    @property
    def coefficients(self) -> Array:
        """(K, 10, 3) m of each piece, the constant first, by the share of the piece flown."""
        powers = np.diff(self._spline.x)[:, None] ** np.arange(2 * SNAP.ends)
        return np.asarray(np.swapaxes(self._spline.c[::-1], 0, 1) * powers[..., None])

    @property
    def snap_cost(self) -> float:
        """m^2/s^7, the integral of the squared snap."""
        return self._cost

    @property
    def closed(self) -> bool:
        """Whether it ends where it begins."""
        return self._closed

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Position to snap, (5, *S, 3), and yaw to its second derivative, (3, *S)."""
        lap = np.floor(time / self.duration) if self._closed else np.zeros_like(time)
        inside = np.clip(time - lap * self.duration, 0.0, self.duration)
        place = derivatives(self._spline, inside, ORDERS)
        yaw = np.zeros((3, *time.shape))
        if isinstance(self._yaw, float):
            yaw[0] = self._yaw
        else:
            yaw = derivatives(self._yaw, inside, 3)[..., 0]
            first, last = self._yaw([0.0, self.duration])[:, 0]
            yaw[0] += lap * (last - first)
        if not self._closed:
            rests = (time < 0.0) | (time > self.duration)
            place[1:, rests], yaw[1:, rests] = 0.0, 0.0
        return place, yaw


def minimum_snap(
    waypoints: ArrayLike,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    limits: Limits | None = None,
    closed: bool = False,
    velocities: Mapping[int, ArrayLike] | None = None,
    yaw: ArrayLike | str = 0.0,
) -> Polynomial:
    """The path through waypoints (m, 3) [m] with the least integral of squared snap.

    times: (K,) s, of the pieces between them. Without, what each piece gets of the whole is what
        costs least. duration: s, of the whole. Without both it is the shortest
        that stays within the limits (None: Limits()) of the vehicle; with either, limits that are
        given are checked.
    closed: the path leads on from the last waypoint to the first, smoothly. Otherwise it starts and
        ends at rest.
    velocities: m/s, (3,) by the number of a waypoint; of the first and the last of an open path
        too, whose acceleration, jerk and snap stay zero there.
    yaw: rad, kept; or (m,) at the waypoints, between which it turns with the least integral of
        squared yaw acceleration; or "along" for the heading of the path, smoothed alike.

    Raises ValueError or TypeError for waypoints that coincide, numbers that are not finite and
    limits that cannot be met, and says which; ImportError where scipy is missing.
    """
    require_scipy("minimum_snap")
    points = _checked_waypoints(waypoints, closed)
    parameters = vehicles.load(vehicle)
    if limits is not None and not isinstance(limits, Limits):
        raise ParameterError(f"limits: expected Limits or None, got {limits!r:.100}")
    known = _known(points, closed, velocities or {}, np.inf if limits is None else limits.speed)
    problem = Problem(SNAP, known, closed)
    turning = _checked_yaw(yaw, len(points))
    lengths = _lengths(problem, points, times, duration)
    total = float(np.sum(lengths))

    def path(whole: float) -> Polynomial:
        return _path(problem, lengths * (whole / total), turning)

    def asked(whole: float, looks: int = _LOOKS) -> Demand:
        flown = path(whole)
        shares = np.linspace(0.0, 1.0, looks, endpoint=False)
        at = (flown.knots[:-1, None] + np.diff(flown.knots)[:, None] * shares).reshape(-1)
        return demand(flown.sample(np.append(at, whole)), parameters, limits or Limits())

    is_given = times is not None or duration is not None
    if is_given and limits is not None:
        found = asked(total, _CLOSER * _LOOKS)
        if found.share > 1.0:
            enough = _shortest(asked, total)
            raise ValueError(
                f"limits: cannot be met in {total:g} s: {found.what} {found.share:.2f} times the "
                f"limit at {found.time:.3g} s; {enough:.3g} s would do"
            )
    return path(total if is_given else _shortest(asked, total))


def _lengths(
    problem: Problem, points: Array, times: ArrayLike | None, duration: float | None
) -> Array:
    """s, of the pieces: those given, or what each gets of the whole, for a mean of 1 m/s."""
    if times is not None and duration is not None:
        raise ValueError("expected either times or duration [s], got both")
    if times is not None:
        lengths = given.shaped("times", times, (problem.pieces,))
        if not (lengths > 0.0).all():
            raise ValueError(f"times: expected numbers > 0 [s], got {lengths.tolist()!r:.100}")
        return lengths
    chords = np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1)[: problem.pieces]
    total = float(np.sum(chords)) if duration is None else given.positive("duration", duration)
    return _allocated(problem, total * np.sqrt(chords) / np.sum(np.sqrt(chords)))


def _checked_waypoints(waypoints: ArrayLike, closed: bool) -> Array:
    points = given.shaped("waypoints", waypoints, ("m", 3))
    least = 3 if closed else 2
    if len(points) < least:
        what = "for a closed path" if closed else "for a path"
        raise ValueError(f"waypoints: expected at least {least} {what}, got {len(points)}")
    gaps = np.linalg.norm(np.diff(points, axis=0, append=points[:1]), axis=1)
    gaps = gaps if closed else gaps[:-1]
    if not (gaps > _APART).all():
        first = int(np.argmin(gaps))
        second = (first + 1) % len(points)
        raise ValueError(
            f"waypoints: expected neighbours apart, but {first} and {second} coincide at "
            f"{points[first].tolist()}"
        )
    return points


def _known(
    points: Array, closed: bool, velocities: Mapping[int, ArrayLike], fastest: float
) -> Array:
    """(m, 5, 3): positions, and what else is known; NaN where it is free."""
    known = np.full((len(points), SNAP.ends, 3), np.nan)
    known[:, 0] = points
    if not closed:
        known[[0, -1], 1:] = 0.0
    for key, value in velocities.items():
        number = given.whole_number("velocities: waypoint", key, -len(points), len(points) - 1)
        known[number, 1] = given.shaped(f"velocities[{number}]", value, (3,))
        if np.linalg.norm(known[number, 1]) > fastest:
            raise ValueError(
                f"velocities[{number}]: expected at most limits.speed = {fastest:g} m/s, got "
                f"{np.linalg.norm(known[number, 1]):g}"
            )
    return known


def _checked_yaw(yaw: ArrayLike | str, count: int) -> Yaw | Array:
    if isinstance(yaw, str) or np.ndim(yaw) == 0:
        return yaw_of(yaw)
    return given.shaped("yaw", yaw, (count,))


def _path(problem: Problem, lengths: Array, yaw: Yaw | Array) -> Polynomial:
    ends, cost, _ = problem.solve(lengths)
    spline = problem.spline(lengths, ends)
    points = problem.given[:, 0]
    missed = np.abs(spline(spline.x[: len(points)]) - points).max()
    if not missed < 1e-6 * np.ptp(points, axis=0).max():
        raise ValueError(
            f"times: expected pieces of more alike lengths, got {lengths.min():g} to "
            f"{lengths.max():g} s: the path would overshoot too far to be computed"
        )
    if isinstance(yaw, float):
        return Polynomial(spline, cost, yaw, problem.closed)
    if isinstance(yaw, str):
        return Polynomial(spline, cost, _along(spline, problem.closed), problem.closed)
    values = yaw
    if problem.closed:  # the nearest way back to the first heading
        leap = float(yaw[0] - yaw[-1])
        values = np.append(yaw, yaw[-1] + (leap + np.pi) % (2.0 * np.pi) - np.pi)
    return Polynomial(spline, cost, _turned(spline.x, values, problem.closed), problem.closed)


def _along(spline: PPoly, closed: bool) -> PPoly:
    """The heading at places of each piece, and what joins them."""
    shares = np.arange(_HEADINGS) / _HEADINGS
    time = np.append((spline.x[:-1, None] + np.diff(spline.x)[:, None] * shares), spline.x[-1])
    tangents = derivatives(spline, time, 4)[1:]
    level = np.linalg.norm(tangents[0, :, :2], axis=1)
    known = np.flatnonzero(level > 0.02 * level.max())
    if len(known) == 0 or level.max() < 1e-9:
        raise ValueError("yaw: expected a number [rad] for a vertical path, got 'along'")
    angle = np.unwrap(heading(tangents[:, known])[0])
    return _turned(time, np.interp(time, time[known], angle), closed)


def _turned(knots: Array, values: Array, closed: bool) -> PPoly:
    """Yaw through values (K + 1,), of a closed path with what it has turned at the end."""
    steady = (values[-1] - values[0]) / knots[-1] if closed else 0.0
    # a steady turn costs nothing: less it, yaw of a closed path comes back to where it was
    rest = values - steady * knots
    known = np.full((len(values) - closed, BEND.ends, 1), np.nan)
    known[:, 0, 0] = rest[:-1] if closed else rest
    if not closed:
        known[[0, -1], 1:] = 0.0
    spline = Problem(BEND, known, closed).spline(np.diff(knots))
    spline.c[-1, :, 0] += steady * knots[:-1]
    spline.c[-2, :, 0] += steady
    return spline


def _allocated(problem: Problem, lengths: Array) -> Array:
    """The lengths with the same sum that cost least, by descent along the exact gradient."""
    if len(lengths) < 2:
        return lengths
    from scipy.optimize import minimize

    total = float(np.sum(lengths))

    def shared(logs: Array) -> Array:
        parts = np.exp(logs - logs.max())
        return np.asarray(total * parts / np.sum(parts))

    def cost(logs: Array) -> tuple[float, Array]:
        parts = shared(logs)
        _, value, gradient = problem.solve(parts)
        slope = gradient / max(value, 1e-300)
        return float(np.log(max(value, 1e-300))), parts * (slope - (slope @ parts) / total)

    start = np.log(lengths / total)
    bounds = [(value - 3.0, value + 3.0) for value in start]
    options: dict[str, Any] = {"maxiter": 200, "ftol": 1e-9}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return shared(np.asarray(found.x, dtype=np.float64))


def _shortest(asked: Callable[..., Demand], total: float) -> float:
    """s, the shortest whole that stays within the limits."""
    slow, found = total, asked(total)
    for _ in range(40):
        if found.share <= _SLACK:
            break
        slow *= 2.0
        try:
            found = asked(slow)
        except ValueError:  # so slow that it cannot be computed
            raise ValueError(_never(found)) from None
    else:
        raise ValueError(_never(found))
    quick = 0.5 * slow
    while asked(quick).share <= _SLACK:
        slow, quick = quick, 0.5 * quick
    while slow - quick > 1e-3 * slow:
        middle = 0.5 * (slow + quick)
        if asked(middle).share <= _SLACK:
            slow = middle
        else:
            quick = middle
    while asked(slow, _CLOSER * _LOOKS).share > _KEPT:  # between the places that were looked at
        slow *= 1.002
    return slow


def _never(found: Demand) -> str:
    """Why no time will do."""
    if not np.isfinite(found.share):
        return (
            f"limits: cannot be met in any time: at {found.time:.3g} s no attitude is asked for, "
            f"as in free fall or of a vehicle without weight"
        )
    return (
        f"limits: cannot be met in any time: {found.what} {found.share:.2f} times the limit "
        f"however slowly; loosen it, take a vehicle with more, or ask for less where velocities "
        f"are given"
    )
