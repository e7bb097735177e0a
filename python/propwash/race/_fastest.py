"""The fastest paths through courses: at the limits of the rotors, and what a controller follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    thrust=0.995,
    rates=(8.0, 8.0, 1.0),
    tilt=TILT - 0.02,
    rotor_thrust_min=0.15,
    vertical_thrust_min=0.3,
)
"""Of paths that predictive control follows."""
_SIZE = 8.0
"""m, width and height of the openings through which a path passes a frame outside."""
_MIN_GAP = 1.5
"""m, between ground and frame, from which a path leads under the frame."""
_RUN_OUT, _RUN_OUT_RADIUS = 3.0, 1.0
"""m, distance of the end from the last gate, and its tolerance."""
TURN_MARGIN = 0.15
"""m, additional margin of the sharp turn around a frame."""
FREE = Boundary(velocity=None, attitude=None, body_rates=None)


def fastest_path(
    scene: Scene,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    limits: Limits = FASTEST_LIMITS,
    margin: float = 0.25,
    wind: ArrayLike = (0.0, 0.0, 0.0),
    progress: Callable[[TimeOptimal], None] | None = None,
) -> TimeOptimal:
    """Returns the fastest path through a course that predictive control follows.

    limits: of the path; what they leave is for the controller. margin: m, between the path and the
    frames at the passages, and the ground. wind: (3,) m/s, world frame. progress as for
    time_optimal().

    It leads under or over a gate to which it comes from the wrong side. Frames and other items are
    not avoided elsewhere. Requires casadi and scipy. Raises ValueError or TypeError as
    time_optimal() does.
    """
    margin = _checks.not_negative("margin", margin, "m")
    gates = course_gates(scene)
    point, heading = start_pose(scene)
    places = openings(gates, sides(point, gates), margin, margin + TURN_MARGIN)
    return time_optimal(
        [Ball(point), *places, run_out(gates[-1])], vehicle, limits=limits, start=start(heading),
        end=FREE, region=above(margin), wind=wind, progress=progress,
    )  # fmt: skip


def fastest_time(
    scene: Scene,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
) -> float:
    """Returns an estimate of the least time [s] to the last gate at the limits of the rotors.

    It is the time of the best motion found, a local optimum, so a faster one may exist. Its
    body rates are at most 20 rad/s, and its commands are constant for up to 0.04 s; motor lag is
    neglected, and frames are no obstacles between the gates, but for one to which it comes from
    behind.
    Exceptions are those of fastest_path().
    """
    gates = course_gates(scene)
    point, heading = start_pose(scene)
    places = openings(gates, sides(point, gates), COLLISION_RADIUS, COLLISION_RADIUS)
    path = time_optimal(
        [Ball(point), *places], vehicle, limits=ROTOR_LIMITS, start=start(heading), end=FREE,
        region=above(COLLISION_RADIUS),
    )  # fmt: skip
    return path.duration


def sides(point: Array, gates: Sequence[Gate]) -> list[float]:
    """How a path from a point comes to each gate: 0 from the front; -1 under, 1 over its frame."""
    found = []
    for gate in gates:
        local = _rotation.rotation(gate.attitude).T @ (point - gate.position)
        low = gate.position[2] - 0.5 * gate.height - gate.border
        around = -1.0 if low > _MIN_GAP else 1.0
        found.append(around if local[0] > -MIN_APPROACH else 0.0)
        point = np.asarray(gate.position)
    return found


def openings(
    gates: Sequence[Gate], sides: Sequence[float], margin: float, in_turns: float
) -> list[Rectangle]:
    """The places that a path passes; see sides().

    margin: m, from the frames. in_turns: m, the same of those that it goes around.
    """
    places = []
    for gate, side in zip(gates, sides, strict=True):
        if side:
            places += _around(gate, side, in_turns)
        places.append(Rectangle.of(gate, in_turns if side else margin))
    return places


def _around(gate: Gate, side: float, margin: float) -> list[Rectangle]:
    """Openings that lead a path from before a gate to behind it, under or over its frame."""
    frame = 0.5 * gate.height + gate.border
    backwards = _rotation.product(gate.attitude, _rotation.about_z(np.pi))
    to_opening = _rotation.product(gate.attitude, _rotation.about_y(0.5 * np.pi * side))
    outside = _at(gate, 0.0, side * (frame + margin + 0.5 * _SIZE))
    behind = -0.5 * (gate.depth + _SIZE) - margin
    edges = [side * frame, side * 0.5 * gate.height]
    return [
        Rectangle(outside, backwards, _SIZE, _SIZE),
        *(Rectangle(_at(gate, behind, edge), to_opening, _SIZE, _SIZE) for edge in edges),
    ]


def run_out(gate: Gate) -> Ball:
    """The end of a path, beyond the last gate."""
    return Ball(_at(gate, _RUN_OUT, 0.0), _RUN_OUT_RADIUS)


def start(heading: float) -> Boundary:
    """A start at rest with a heading [rad]."""
    return Boundary(attitude=_rotation.about_z(heading))


def above(height: float) -> Array:
    """The region above a height [m]."""
    return np.array([[-np.inf, -np.inf, height], [np.inf] * 3])


def _at(gate: Gate, along: float, up: float) -> Array:
    """A point in the middle plane of a gate, from its centre [m]."""
    return np.asarray(_rotation.rotation(gate.attitude) @ [along, 0.0, up] + gate.position)
