"""The fastest motion of a point mass through gates, from which a time-optimal path is found."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation, control
from propwash.trajectories._limits import Limits
from propwash.trajectories._program import (
    BODY,
    MIN_DURATION,
    Counts,
    Nodes,
    Problem,
    Rows,
    interval_lengths,
)
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_PERIOD = 0.2
"""s, of the intervals with constant force."""
_SPEEDS = (0.7, 0.85, 0.5)
"""Of the first guesses, tried in turn, as fractions of the square root of acceleration times mean
length of the segments."""
_MAX_INTERVALS = 300
"""Of all segments; the plan of "exact" has five times as many."""
_DRAG_SPEEDS = np.arange(1.0, 300.0)
"""m/s, at which thrust and drag in level flight are compared."""
_FORCE_CHANGE = 0.01
"""s, weight of the sum of squared changes of the force, over the largest force: a vehicle has to
rotate for them."""
_OPPOSITE = 1e-3
"""1 plus the cosine between two thrust axes; below it the rotation has no direction."""
_TOLERANCE = 1e-3
_BARRIER = 0.1


def point_mass(problem: Problem) -> Nodes:
    """The fastest motion with a force limited in magnitude, and an attitude along the force.

    Raises ValueError with the name of a constraint that cannot be met.
    """
    *others, last = _SPEEDS
    for fraction in others:
        try:
            return _from(problem, fraction)
        except ValueError:
            continue
    return _from(problem, last)


def _from(problem: Problem, fraction: float) -> Nodes:
    """The same from straight lines, at a fraction of the speed that a mean segment permits."""
    import casadi

    vehicle, limits = problem.vehicle, problem.limits
    strongest = limits.thrust * vehicle.max_thrust / vehicle.body.mass
    gravity = np.array(vehicle.body.gravity)
    fastest = _fastest(problem)
    guess, counts = _straight(problem, fraction * strongest**0.5, fastest)
    n, k = int(np.sum(counts)), len(counts)
    x, force = casadi.MX.sym("x", 6, n + 1), casadi.MX.sym("force", 3, n)
    durations = casadi.MX.sym("durations", k)
    h = casadi.repmat(interval_lengths(durations, counts), 3, 1)
    position, velocity, acceleration = x[:3, :], x[3:, :], force + casadi.DM(gravity)
    rows = Rows()
    for now, change in (
        (position, h * velocity[:, :-1] + 0.5 * h**2 * acceleration),
        (velocity, h * acceleration),
    ):
        rows.add("the dynamics", casadi.vec(now[:, :-1] + change - now[:, 1:]), 0.0, 0.0)
    rows.add("limits.thrust", casadi.sum1(force**2).T / strongest**2, -np.inf, 1.0)
    rows.add("limits.speed", casadi.sum1(velocity**2).T / fastest**2, -np.inf, 1.0)
    rows.add_gates(problem.gates, x, counts)
    for name, each, at in (("start", problem.start, 0), ("end", problem.end, -1)):
        if each.velocity is not None:
            rows.add(f"{name}.velocity", velocity[:, at] - np.asarray(each.velocity), 0.0, 0.0)
    changes = casadi.sumsqr(force[:, 1:] - force[:, :-1]) / strongest**2
    states = np.full((2, n + 1, 6), [[[-np.inf]], [[np.inf]]])
    states[:, :, :3] = problem.region[:, None]
    forces = np.full((2, 3 * n), [[-np.inf], [np.inf]])
    segments = np.full((2, k), [[MIN_DURATION], [np.inf]])
    found = rows.solve(
        casadi.veccat(x, force, durations),
        casadi.sum1(durations) + _FORCE_CHANGE * changes,
        guess, np.concatenate([states.reshape(2, -1), forces, segments], axis=1),
        tolerance=_TOLERANCE, barrier=_BARRIER,
    )  # fmt: skip
    motion, push = np.split(found[:-k], [6 * (n + 1)])
    mass = Nodes(counts, found[-k:], motion.reshape(-1, 6), push.reshape(-1, 3))
    return _with_attitudes(problem, mass)


def level_airspeed(vehicle: VehicleParameters, limits: Limits) -> float:
    """m/s, the least at which drag in level flight equals the thrust; inf above 300 m/s."""
    model = control.casadi_model(vehicle)
    tilt = min(math.acos(vehicle.weight / (limits.thrust * vehicle.max_thrust)), limits.tilt)
    thrust = vehicle.weight / max(math.cos(tilt), 1e-3)
    rotors = np.sqrt(control.Allocation(vehicle).inverse[:, 3] * thrust)
    state = np.concatenate([np.zeros(6), _rotation.about_y(tilt), np.zeros(3), rotors])
    states = np.repeat(state[:, None], len(_DRAG_SPEEDS), axis=1)
    states[3] = _DRAG_SPEEDS
    still = np.zeros(3)
    rates = model.function.map(len(_DRAG_SPEEDS))(states, rotors, still, still, still, model.p)
    is_slower = np.asarray(rates)[3] <= 0.0
    return float(_DRAG_SPEEDS[int(np.argmax(is_slower))]) if is_slower.any() else math.inf


def _fastest(problem: Problem) -> float:
    """m/s, limit of the guess."""
    terminal = min(level_airspeed(problem.vehicle, problem.limits), _DRAG_SPEEDS[-1])
    ends = [each.velocity for each in (problem.start, problem.end) if each.velocity is not None]
    needed = [float(np.linalg.norm(velocity)) for velocity in ends]
    air = terminal + float(np.linalg.norm(problem.wind))
    return float(min(problem.limits.speed, max(air, *needed, 0.0)))


def _straight(problem: Problem, scale: float, fastest: float) -> tuple[Array, Counts]:
    """A guess of the variables: straight lines between the gates at constant speed.

    scale: m^0.5/s, of the speed with the square root of the mean length of a segment.
    """
    points = np.clip([gate.centre for gate in problem.gates], *problem.region)
    chords = np.diff(points, axis=0)
    lengths = np.maximum(np.linalg.norm(chords, axis=1), 0.1)
    speed = min(scale * float(np.sqrt(np.mean(lengths))), fastest)
    counts = np.maximum(np.ceil(lengths / speed / _PERIOD), 3).astype(np.intp)
    if np.sum(counts) > max(_MAX_INTERVALS, 3 * len(counts)):
        raise ValueError(
            f"gates: expected a distance of at most {_MAX_INTERVALS} intervals of {_PERIOD:g} s, "
            f"got {np.sum(lengths):.4g} m at {speed:.3g} m/s, {np.sum(counts)} intervals; plan "
            f"parts of the path, with a Boundary in motion between them"
        )
    fractions = np.concatenate([np.arange(count) / count for count in counts])
    position = np.repeat(points[:-1], counts, 0) + fractions[:, None] * np.repeat(chords, counts, 0)
    velocity = np.repeat(speed * chords / lengths[:, None], counts, axis=0)
    states = np.concatenate([position, velocity], axis=1)
    weight = np.tile(-np.array(problem.vehicle.body.gravity), len(states))
    last = np.concatenate([points[-1], velocity[-1]])
    return np.concatenate([states.ravel(), last, weight, lengths / speed]), counts


def _with_attitudes(problem: Problem, mass: Nodes) -> Nodes:
    """Nodes of a vehicle from those of a point mass, whose commands are specific forces (n, 3)."""
    forces, vehicle = mass.commands, problem.vehicle
    between = np.concatenate([forces[:1], 0.5 * (forces[1:] + forces[:-1]), forces[-1:]])
    axes = between / np.maximum(np.linalg.norm(between, axis=1), 1e-6)[:, None]
    given = problem.start.attitude
    q: _rotation.Quaternion = (1.0, 0.0, 0.0, 0.0)
    if given is not None and not isinstance(given, str):
        q = tuple(np.asarray(given).tolist())
    attitudes = []
    for axis in axes:
        now = _rotation.rotation(q)[:, 2]
        rotation = np.append(1.0 + now @ axis, np.cross(now, axis))  # the shortest one
        if rotation[0] > _OPPOSITE:
            w, x, y, z = (rotation / np.linalg.norm(rotation)).tolist()
            q = _rotation.product((w, x, y, z), q)
        attitudes.append(q)
    hover = np.sqrt(control.Allocation(vehicle).inverse[:, 3] * vehicle.weight)
    thrusts = np.linalg.norm(forces, axis=1) * vehicle.body.mass / vehicle.weight
    commands = np.sqrt(thrusts)[:, None] * hover
    states = np.zeros((len(axes), BODY + len(hover)))
    states[:, :6], states[:, 6:10] = mass.states, attitudes
    states[:, BODY:] = commands[[*range(len(commands)), -1]]
    return Nodes(mass.counts, mass.durations, states, commands)
