"""Reference trajectories, and the states and rotor thrusts that they require of a vehicle.

    path = trajectories.minimum_snap([(0, 0, 1), (3, 1, 2), (4, 4, 1)], "flightgoggles")
    reference = path.sample(period=0.01)              # position … snap, yaw: arrays of (T, …)
    required = trajectories.flatness(reference, "flightgoggles")   # attitude, rates, thrust, …

`docs/trajectories.md` gives the equations and their limitations.
"""

from __future__ import annotations

from propwash.trajectories._flatness import Flatness, flatness
from propwash.trajectories._gates import Ball, Disc, Rectangle
from propwash.trajectories._limits import ROTOR_LIMITS, Limits, demands
from propwash.trajectories._minimum_snap import Polynomial, minimum_snap
from propwash.trajectories._mpc import Mpc, MpcParameters
from propwash.trajectories._perception import covisibility, perception_aware_yaw
from propwash.trajectories._program import Boundary
from propwash.trajectories._reference import Controller, Path, Reference, stack
from propwash.trajectories._repeated import Repeated
from propwash.trajectories._shapes import Circle, Lemniscate, Line
from propwash.trajectories._time_optimal import TimeOptimal, time_optimal

__all__ = [
    "ROTOR_LIMITS",
    "Ball",
    "Boundary",
    "Circle",
    "Controller",
    "Disc",
    "Flatness",
    "Lemniscate",
    "Limits",
    "Line",
    "Mpc",
    "MpcParameters",
    "Path",
    "Polynomial",
    "Rectangle",
    "Reference",
    "Repeated",
    "TimeOptimal",
    "covisibility",
    "demands",
    "flatness",
    "minimum_snap",
    "perception_aware_yaw",
    "stack",
    "time_optimal",
]
