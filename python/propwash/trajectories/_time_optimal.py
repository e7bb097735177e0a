"""Time-optimal paths through gates, within the rotor thrusts and limits of a vehicle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation
from propwash._checks import ParameterError, require_casadi, require_scipy
from propwash.trajectories._gates import Opening, openings
from propwash.trajectories._limits import Limits
from propwash.trajectories._point_mass import level_airspeed, point_mass
from propwash.trajectories._program import BODY, MIN_DURATION, Boundary, Nodes, Problem
from propwash.trajectories._reference import ORDERS, Path
from propwash.trajectories._shooting import Shooting
from propwash.trajectories._splines import derivatives, hermite
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import MulticopterState
from propwash.vehicle.parameters import VehicleParameters

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline, PPoly

Array = NDArray[np.float64]
Level = Literal["fast", "exact"]

_PERIODS = {"fast": 0.15, "exact": 0.04}
"""s, of the intervals with constant commands."""
_SHORTER = 0.6
"""Factor on the intervals of a second attempt."""
_TOLERANCES = {"fast": 1e-4, "exact": 1e-6}
_BARRIERS = (0.1, 0.001)
"""First parameters of the interior-point method, for a guess that is far from the solution, and for
one that is near: the plan of "fast", for the same dynamics."""


class TimeOptimal(Path):
    """A time-optimal path, as returned by time_optimal(); at rest outside its duration."""

    def __init__(self, problem: Problem, nodes: Nodes, position: PPoly, yaw: CubicSpline) -> None:
        self._problem, self._nodes = problem, nodes
        self._position, self._yaw = position, yaw

    @property
    def duration(self) -> float:
        """s, from the first gate to the last."""
        return float(np.sum(self._nodes.durations))

    @property
    def knots(self) -> Array:
        """(K + 1,) s, times of the gates, start and end included."""
        return np.concatenate([[0.0], np.cumsum(self._nodes.durations)])

    @property
    def time(self) -> Array:
        """(n + 1,) s, times of the nodes, between which the commands are constant."""
        return self._nodes.time

    @property
    def states(self) -> MulticopterState:
        """The states at the nodes: arrays (n + 1, …).

        Without motor lag the rotor speeds are the commands of the next interval.
        """
        return MulticopterState(*self._parts(slice(None)))

    def _parts(self, rows: int | slice) -> list[Array]:
        return np.split(self._nodes.states[rows], [3, 6, 10, BODY], axis=-1)

    @property
    def commands(self) -> Array:
        """(n, N) rad/s, rotor speeds of the n intervals."""
        return self._nodes.commands.copy()

    def replanned(
        self,
        node: int,
        gates: Sequence[Opening | ArrayLike],
        *,
        limits: Limits | None = None,
        motion: MulticopterState | None = None,
    ) -> TimeOptimal:
        """Returns the fastest path from the motion at a node through gates that have moved.

        node: its number; time 0 of the new path is time[node] of this one. gates: the places that
        replace those after the node, as many. limits: None: as before. motion: at the node; None:
        that of the path.

        The search starts from this path, at level "fast", and takes a fraction of the time of
        time_optimal(). Raises ValueError as that does, and for another number of gates.
        """
        nodes = self._nodes
        ends = np.cumsum(nodes.counts)
        node = _checks.whole_number("node", node, 0, int(ends[-1]) - 1)
        first = int(np.searchsorted(ends, node, side="right"))
        if len(gates) != len(ends) - first:
            raise ValueError(
                f"gates: expected the {len(ends) - first} after node {node}, got {len(gates)}"
            )
        counts, durations = nodes.counts[first:].copy(), nodes.durations[first:].copy()
        counts[0] = ends[first] - node
        durations[0] *= counts[0] / nodes.counts[first]
        left = Nodes(counts, durations, nodes.states[node:], nodes.commands[node:])
        x = MulticopterState(*self._parts(node)) if motion is None else motion
        problem = replace(
            self._problem,
            gates=openings([x.position, *gates]),
            limits=self._problem.limits if limits is None else limits,
            start=Boundary(x.velocity, x.attitude, x.body_rates),
            motor_lag=False,
        )
        _check(problem)
        shooting = Shooting(problem)
        return _path(shooting, shooting.solve(left, _TOLERANCES["fast"], _BARRIERS[1]))

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S).

        Between the nodes the position is the polynomial of degree 5 that has position, velocity
        and acceleration of the plan at both ends.
        """
        inside = np.clip(time, 0.0, self.duration)
        position = derivatives(self._position, inside, ORDERS)
        yaw = np.stack([self._yaw(inside, order) for order in range(3)])
        is_outside = inside != time
        position[1:, is_outside], yaw[1:, is_outside] = 0.0, 0.0
        return position, yaw


def time_optimal(
    gates: Sequence[Opening | ArrayLike],
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    limits: Limits | None = None,
    level: Level = "exact",
    start: Boundary | None = None,
    end: Boundary | None = None,
    region: ArrayLike | None = None,
    wind: ArrayLike = (0.0, 0.0, 0.0),
    motor_lag: bool = False,
    progress: Callable[[TimeOptimal], None] | None = None,
) -> TimeOptimal:
    """Returns the fastest path through gates within the limits of a vehicle's rotors.

    gates: from start to end, in order: points (3,) [m], or Ball, Disc and Rectangle.
    limits: of the plan; None: Limits(), which leaves a margin for tracking.
    level: "fast": intervals of up to 0.15 s; "exact": of up to 0.04 s, from the plan of "fast".
    start, end: motion at the first and the last gate; None: at rest and level, with any heading.
    region: (2, 3) m, lowest and highest position; None: unbounded.
    wind: (3,) m/s, constant, world frame, less than the largest airspeed in level flight.
    motor_lag: at level "exact" the rotor speeds follow the commands with the motors' time
        constants; otherwise at once. Limits of thrust hold for the speeds, those of the motors for
        the commands.
    progress: called with each plan, from the coarsest.

    The dynamics are those of casadi_model(). The plan is a local optimum: the motion around the
    gates is found from straight lines between their centres.

    Raises ImportError without casadi and scipy, ParameterError for an invalid vehicle, and
    ValueError or TypeError for invalid arguments and for constraints that cannot be met, with the
    name of one of them.
    """
    require_scipy("time_optimal")
    require_casadi("time_optimal")
    chosen = _checks.choice("level", level, list(_PERIODS))
    problem = Problem(
        openings(gates),
        vehicles.load(vehicle),
        Limits() if limits is None else limits,
        _boundary("start", start),
        _boundary("end", end),
        _checked_region(region),
        _checks.shaped("wind", wind, (3,), unit="m/s"),
        _checks.flag("motor_lag", motor_lag),
    )
    _check(problem)
    if problem.motor_lag and chosen != "exact":
        raise ValueError(
            f"motor_lag: expected with level 'exact', as its intervals are short, got {level!r}"
        )
    nodes = point_mass(problem)
    for each in _PERIODS:
        shooting = Shooting(replace(problem, motor_lag=motor_lag and each == "exact"))
        is_near = each == "exact" and not motor_lag
        nodes = _refined(shooting, nodes, _PERIODS[each], _TOLERANCES[each], _BARRIERS[is_near])
        path = _path(shooting, nodes)
        if path.duration < 2.0 * MIN_DURATION * len(nodes.counts):
            raise ValueError(
                "gates: expected an end that differs from the start, or gates between them, got "
                "the same motion at both; move the end, or add a gate"
            )
        if progress is not None:
            progress(path)
        if each == chosen:
            break
    return path


def _refined(
    shooting: Shooting, nodes: Nodes, period: float, tolerance: float, barrier: float
) -> Nodes:
    """The solution with intervals of a period [s], or if none is found, with shorter ones."""
    try:
        return shooting.solve(nodes.resampled(period), tolerance, barrier)
    except ValueError:
        return shooting.solve(nodes.resampled(_SHORTER * period), tolerance, _BARRIERS[0])


def _path(shooting: Shooting, nodes: Nodes) -> TimeOptimal:
    """The path through the nodes of a solution."""
    from scipy.interpolate import CubicSpline

    time, states = nodes.time, nodes.states
    ends = []
    for side in (states[:-1], states[1:]):
        moving = side.copy()
        if not shooting.problem.motor_lag:
            moving[:, BODY:] = nodes.commands
        acceleration = shooting.derivative(moving, nodes.commands)[:, 3:6]
        ends.append(np.stack([side[:, :3], side[:, 3:6], acceleration], axis=1))
    position = hermite(time, np.concatenate(ends, axis=1))
    return TimeOptimal(
        shooting.problem, nodes, position, CubicSpline(time, _headings(states[:, 6:10]))
    )


def _headings(attitude: Array) -> Array:
    """(n,) rad, headings of the vertical planes that contain body x, without jumps."""
    x, _, z = np.moveaxis(_rotation.rotation(attitude), -1, 0)
    angle = np.arctan2(x[:, 1], x[:, 0])
    normal = np.stack([-np.sin(angle), np.cos(angle), np.zeros(len(angle))], axis=1)
    # x is the product of the plane's normal and z; of an inverted vehicle it points backwards
    backwards = np.sum(np.cross(normal, z) * x, axis=1) < 0.0
    return np.unwrap(angle + np.pi * backwards)


def _boundary(name: str, value: Boundary | None) -> Boundary:
    if value is None:
        return Boundary()
    if not isinstance(value, Boundary):
        raise TypeError(f"{name}: expected a Boundary or None, got {value!r:.100}")
    return value


def _checked_region(region: ArrayLike | None) -> Array:
    if region is None:
        return np.array([[-np.inf] * 3, [np.inf] * 3])
    bounds = _checks.shaped("region", region, (2, 3), unit="m", finite=False)
    if not (bounds[0] < bounds[1]).all():
        raise ValueError(f"region: expected lowest < highest position [m], got {bounds.tolist()}")
    return bounds


def _check(problem: Problem) -> None:
    """Raises ValueError for constraints that contradict each other."""
    limits, vehicle = problem.limits, problem.vehicle
    if not isinstance(limits, Limits):
        raise ParameterError(f"limits: expected Limits or None, got {limits!r:.100}")
    if not vehicle.weight > 0.0:
        raise ValueError(
            f"vehicle: expected a weight > 0, got body.gravity = {vehicle.body.gravity} m/s^2; "
            f"set a gravity"
        )
    limits.check_hover(vehicle)
    wind = float(np.linalg.norm(problem.wind))
    if wind > 0.0 and wind >= (airspeed := level_airspeed(vehicle, limits)):
        raise ValueError(
            f"wind: expected less than {airspeed:g} m/s, at which drag in level flight equals the "
            f"thrust within the limits, got {wind:g} m/s; raise limits.thrust and limits.tilt"
        )
    for number, gate in enumerate(problem.gates):
        centre, reach = np.asarray(gate.centre), gate.reach
        if (centre + reach < problem.region[0]).any() or (centre - reach > problem.region[1]).any():
            raise ValueError(
                f"gates[{number}]: expected a place in the region {problem.region.tolist()} m, "
                f"got {centre.tolist()} m; move it, or extend the region"
            )
    for name, each in (("start", problem.start), ("end", problem.end)):
        parts: list[tuple[str, Any, Any]] = [
            ("velocity", each.velocity, limits.speed),
            ("body_rates", each.body_rates, np.asarray(limits.rates)),
        ]
        if each.attitude is not None and not isinstance(each.attitude, str):
            _, i, j, _ = np.asarray(each.attitude)
            tilt = 2.0 * np.arcsin(min(float(np.hypot(i, j)), 1.0))
            if tilt > limits.tilt:
                raise ValueError(
                    f"{name}.attitude: expected a tilt of at most limits.tilt = "
                    f"{limits.tilt:.4g} rad, got {tilt:.4g} rad; lower it, or raise the limit"
                )
        for part, value, limit in parts:
            if value is None:
                continue
            size = np.linalg.norm(value) if part == "velocity" else np.abs(value)
            if not np.all(size <= limit):
                key = "speed" if part == "velocity" else "rates"
                raise ValueError(
                    f"{name}.{part}: expected at most limits.{key} = {limit}, got "
                    f"{np.asarray(value).tolist()}"
                )
