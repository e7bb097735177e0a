"""Sensors that are attached to a vehicle or a fleet: sampling times, latency, noise, snapshots."""

from __future__ import annotations

from propwash.sampling._attached import AttachedSensor, SensorPlan, SensorSample
from propwash.sampling._carrier import SensorCarrier
from propwash.sampling.sensor import Sensor

__all__ = ["AttachedSensor", "Sensor", "SensorCarrier", "SensorPlan", "SensorSample"]
