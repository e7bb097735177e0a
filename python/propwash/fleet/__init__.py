"""Fleets: many vehicles stepped together, with attached sensors."""

from __future__ import annotations

from propwash.fleet._car_fleet import CarFleet, CarFleetState
from propwash.fleet._fleet import Fleet, build_info
from propwash.fleet._gradient import FlightGradient
from propwash.fleet._parameters import FleetParameters, per_motor
from propwash.fleet._sensors import FleetSensor
from propwash.fleet._types import (
    FleetImuReading,
    FleetIntegrator,
    FleetState,
    FleetTrajectory,
    SensorRecord,
)
from propwash.fleet.threads import ThreadPool

__all__ = [
    "CarFleet",
    "CarFleetState",
    "Fleet",
    "FleetImuReading",
    "FleetIntegrator",
    "FleetParameters",
    "FleetSensor",
    "FleetState",
    "FleetTrajectory",
    "FlightGradient",
    "SensorRecord",
    "ThreadPool",
    "build_info",
    "per_motor",
]
