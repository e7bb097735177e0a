"""One vehicle: its parameters and files, the multicopter, the car and the inertial sensor."""

from __future__ import annotations

from propwash.vehicle.car import Car, CarState, CarTrajectory
from propwash.vehicle.imu import Imu
from propwash.vehicle.multicopter import (
    DEFAULT_DT,
    ImuReading,
    Integrator,
    Multicopter,
    MulticopterState,
    Trajectory,
)
from propwash.vehicle.outer_loops import OuterLoops
from propwash.vehicle.validation import validate

__all__ = [
    "DEFAULT_DT",
    "Car",
    "CarState",
    "CarTrajectory",
    "Imu",
    "ImuReading",
    "Integrator",
    "Multicopter",
    "MulticopterState",
    "OuterLoops",
    "Trajectory",
    "validate",
]
