"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class TrackPath:
    """A closed path and the speed along it."""
    def __getstate__(self) -> tuple: ...
    def __init__(self, table: NDArray[Any], length: Float, speed: Float) -> None: ...
    def __setstate__(self, arg0: tuple) -> None: ...
    def follow(
        self, phase: NDArray[Any], steps: NDArray[Any], period: Float, ahead: Float = 0.0
    ) -> tuple:
        """Returns positions [m] and velocities [m/s] of the reference points, (n, 3) each."""
    def look_ahead(
        self,
        phase: NDArray[Any],
        steps: NDArray[Any],
        period: Float,
        position: NDArray[Any],
        velocity: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Returns the extras (n, 12) of propwash.gym.Track."""

class RaceCourses:
    """Courses of gates and their scenes, for collision checks."""
    def __init__(
        self, scenes: list, centre: NDArray[Any], rotation: NDArray[Any], half: NDArray[Any]
    ) -> None: ...
    def judge(
        self,
        position: NDArray[Any],
        body_rates: NDArray[Any],
        steps: NDArray[Any],
        course: NDArray[Any],
        next: NDArray[Any],
        time: NDArray[Any],
        passed: NDArray[Any],
        collided: NDArray[Any],
        before: NDArray[Any],
        clearance: NDArray[Any],
        weights: Any,
        radius: Float,
        bound: Float,
        period: Float,
    ) -> tuple:
        """Returns (reward, over), (n,) each, of propwash.gym.Race; updates its state in place.

        weights: a RaceReward.
        """
    def look(self, position: NDArray[Any], course: NDArray[Any], next: NDArray[Any]) -> tuple:
        """Returns the centre of the next gate (n, 3) [m] and the extras (n, 12) and (n, 4) of propwash.gym.Race."""
    def placed_at(self, address: Int) -> bytes:
        """Returns the bytes of the courses for the memory of a device at an address."""

def downwash_forces(
    position: NDArray[Any],
    attitude: NDArray[Any],
    rotor_speeds: NDArray[Any],
    coefficients: NDArray[Any],
    active: NDArray[Any],
    vehicles: Int,
    jet: Sequence[Float],
) -> NDArray[np.float32]:
    """Returns the forces of the downwash of the others (n, 3) [N], world axes.

    coefficients: (n, N) N/(rad/s)^2, of the rotors. jet: area of the rotor discs of a vehicle [m^2], spread, coefficient.
    """

def gate_passages(
    centre: Sequence[Float],
    rotation: Sequence[Float],
    width: Float,
    height: Float,
    position: ArrayLike,
) -> list[list[float]]:
    """Returns (row, fraction, left, up) of the passages of a path (T, 3) through a gate."""

def judge_landing(
    position: NDArray[Any],
    velocity: NDArray[Any],
    attitude: NDArray[Any],
    body_rates: NDArray[Any],
    bounds: Sequence[Float],
    weights: Any,
    distance: NDArray[Any],
) -> tuple:
    """Returns (reward, over, landed, speed [m/s]), (n,) each, of propwash.gym.Land.

    bounds: gear, bound, radius, speed, cosine of the tilt. weights: a LandReward. distance: (n,) m, from the previous step, updated in place.
    """

def judge_meetings(
    position: NDArray[Any], before: NDArray[Any], active: NDArray[Any], vehicles: Int, radius: Float
) -> tuple:
    """Returns, for vehicles of scenes in consecutive rows, the distance to the nearest other (n,) [m], inf without one, and whether the vehicle's sphere touched another (n,) on the straight paths from `before` (n, 3)."""

def judge_track(
    position: NDArray[Any],
    velocity: NDArray[Any],
    body_rates: NDArray[Any],
    action: NDArray[Any],
    previous: NDArray[Any],
    target: NDArray[Any],
    target_velocity: NDArray[Any],
    weights: Any,
    bound: Float,
) -> tuple:
    """Returns (reward, over, distance [m]), (n,) each, of propwash.gym.Track.

    weights: a TrackReward.
    """

def see_others(
    position: NDArray[Any],
    velocity: NDArray[Any],
    attitude: NDArray[Any] | None,
    active: NDArray[Any],
    vehicles: Int,
    count: Int,
) -> NDArray[np.float32]:
    """Returns the nearest others (n, 7 count); see propwash.gym.multi.SceneState.neighbours.

    attitude: for vectors in the body frame, or None.
    """
