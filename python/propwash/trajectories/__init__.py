"""Reference trajectories, and the states and rotor thrusts that they require of a vehicle.

    path = trajectories.minimum_snap([(0, 0, 1), (3, 1, 2), (4, 4, 1)], "flightgoggles")
    reference = path.sample(period=0.01)              # position … snap, yaw: arrays of (T, …)
    required = trajectories.flatness(reference, "flightgoggles")   # attitude, rates, thrust, …

`docs/trajectories.md` gives the equations and their limitations.
"""

from __future__ import annotations

from propwash.trajectories._flatness import Flatness, flatness
from propwash.trajectories._limits import Limits, demands
from propwash.trajectories._minimum_snap import Polynomial, minimum_snap
from propwash.trajectories._mpc import Mpc, MpcParameters
from propwash.trajectories._perception import covisibility, perception_aware_yaw
from propwash.trajectories._reference import Controller, Path, Reference, stack
from propwash.trajectories._repeated import Repeated
from propwash.trajectories._shapes import Circle, Lemniscate, Line

__all__ = [
    "Circle",
    "Controller",
    "Flatness",
    "Lemniscate",
    "Limits",
    "Line",
    "Mpc",
    "MpcParameters",
    "Path",
    "Polynomial",
    "Reference",
    "Repeated",
    "covisibility",
    "demands",
    "flatness",
    "minimum_snap",
    "perception_aware_yaw",
    "stack",
]
