"""The fastest paths through courses: at the limits of the rotors, and what a controller follows."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation
from propwash.race._fly import start_pose
from propwash.race._plan import TILT
from propwash.race._race import COLLISION_RADIUS, course_gates
from propwash.race._route import MIN_APPROACH
from propwash.trajectories import (
    ROTOR_LIMITS,
    Ball,
    Boundary,
    Limits,
    Rectangle,
    TimeOptimal,
    time_optimal,
)
from propwash.vehicle.parameters import VehicleParameters
from propwash.world import Gate, Scene

Array = NDArray[np.float64]

FASTEST_LIMITS = Limits(
    thrust=0.97,
    rates=(8.0, 8.0, 1.0),
    tilt=TILT - 0.02,
    rotor_thrust_min=0.15,
    vertical_thrust_min=0.3,
)
"""Of paths that predictive control follows."""
_CLEARANCE = 0.6
"""m, between the frame of a gate and a path that passes it outside."""
_GROUND = 0.4
"""m, minimum height of a path that a vehicle follows."""
_BEHIND = 0.85
"""m, between the plane of such a gate and the place behind it that the path comes from."""
_SHARP_FRACTION = 0.45
"""Margin of the passage in the sharp turn that follows, as a fraction of the opening."""
_SIZE = 8.0
"""m, width and greatest height of the window through which a path passes a gate outside."""
_BEHIND_RADIUS = 0.6
"""m, of the place behind the frame through which it comes to the opening."""
_RUN_OUT, _RUN_OUT_RADIUS = 3.0, 1.0
"""m, distance of the end from the last gate, and its tolerance."""
_FREE = Boundary(velocity=None, attitude=None, body_rates=None)


def fastest_path(
    scene: Scene,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    limits: Limits = FASTEST_LIMITS,
    margin: float = 0.3,
    wind: ArrayLike = (0.0, 0.0, 0.0),
    progress: Callable[[TimeOptimal], None] | None = None,
) -> TimeOptimal:
    """Returns the fastest path through a course that predictive control follows.

    limits: of the path; what they leave is for the controller. margin: m, between the path and the
    frames at the passages. wind: (3,) m/s, world frame. progress as for time_optimal().

    It leads under or over a gate to which it comes from the wrong side. Frames and other items are
    not avoided elsewhere. Requires casadi and scipy. Raises ValueError or TypeError as
    time_optimal() does.
    """
    margin = _checks.not_negative("margin", margin, "m")
    gates = course_gates(scene)
    point, heading = start_pose(scene)
    places: list[Ball | Rectangle] = [Ball(point)]
    previous = point
    for gate in gates:
        local = _rotation.rotation(gate.attitude).T @ (previous - gate.position)
        is_behind = bool(local[0] > -MIN_APPROACH)
        if is_behind:
            places += _around(gate)
        sharp = _SHARP_FRACTION * min(gate.width, gate.height) * is_behind
        places.append(Rectangle.of(gate, max(margin, sharp)))
        previous = np.asarray(gate.position)
    places.append(Ball(_at(gates[-1], _RUN_OUT, 0.0), _RUN_OUT_RADIUS))
    return time_optimal(
        places, vehicle, limits=limits, start=_start(heading), end=_FREE,
        region=_above(_GROUND), wind=wind, progress=progress,
    )  # fmt: skip


def fastest_time(
    scene: Scene,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
) -> float:
    """Returns an estimate of the least time [s] to the last gate at the limits of the rotors.

    It is the time of the best motion found, a local optimum, so a faster one may exist. Its
    body rates are at most 20 rad/s, and its commands are constant for up to 0.04 s; motor lag is
    neglected, and frames are no obstacles between the gates.
    Exceptions are those of fastest_path().
    """
    point, heading = start_pose(scene)
    windows = [Rectangle.of(gate, COLLISION_RADIUS) for gate in course_gates(scene)]
    path = time_optimal(
        [Ball(point), *windows], vehicle, limits=ROTOR_LIMITS, start=_start(heading), end=_FREE,
        region=_above(COLLISION_RADIUS),
    )  # fmt: skip
    return path.duration


def _around(gate: Gate) -> list[Ball | Rectangle]:
    """Places that lead a path from before a gate to behind it: under its frame, or else over it."""
    half = 0.5 * gate.height + gate.border
    low = gate.position[2] - half - _CLEARANCE
    side = -1.0 if low - _GROUND > 2.0 * _CLEARANCE else 1.0
    height = min(low - _GROUND, _SIZE) if side < 0.0 else _SIZE
    attitude = _rotation.product(gate.attitude, _rotation.about_z(np.pi))
    centre = _at(gate, 0.0, side * (half + _CLEARANCE + 0.5 * height))
    behind = _at(gate, -_BEHIND - _BEHIND_RADIUS, side * 0.5 * (gate.height + gate.border))
    return [Rectangle(centre, attitude, _SIZE, height), Ball(behind, _BEHIND_RADIUS)]


def _at(gate: Gate, along: float, up: float) -> Array:
    """A point in the middle plane of a gate, from its centre [m]."""
    return np.asarray(_rotation.rotation(gate.attitude) @ [along, 0.0, up] + gate.position)


def _start(heading: float) -> Boundary:
    return Boundary(attitude=_rotation.about_z(heading))


def _above(height: float) -> Array:
    return np.array([[-np.inf, -np.inf, height], [np.inf] * 3])
