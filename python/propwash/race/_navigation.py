"""The estimates of a pilot by sensors: a Kalman filter on its readings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash.race._interface import Briefing, PilotEstimate, Readings
from propwash.race._view import GateView
from propwash.vehicle.multicopter import MotionEstimate
from propwash.world import Gate

if TYPE_CHECKING:
    from propwash.estimate import ErrorStateFilter

Array = NDArray[np.float64]

_SIGMAS = 3.0
"""Standard deviations of a gate's position that must be within its opening for a fast approach."""
_MARGIN = 0.25
"""m, between vehicle and frame, for the error of the flight."""
_RADIUS = 0.15
"""m, of the vehicle."""
_MAX_SLOPE = 1.0
"""The largest slope of a path to a gate's axis, in the estimate of how far it misses the gate."""
_POSITION = slice(6, 8)
"""Rows of the horizontal position in the covariance of the filter."""
_HISTORY = 64
"""IMU readings that the filter keeps beyond the delay of the other sensors."""
_MAX_RANGE = 20.0
"""m, of the range finder."""


class Navigation:
    """Estimates motion and gates from the readings of a flight, for a pilot."""

    def __init__(self, briefing: Briefing) -> None:
        self._briefing = briefing
        half = 0.5 * briefing.yaw
        attitude = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
        start = MotionEstimate(briefing.position, np.zeros(3), attitude)
        kept = round(briefing.sensors.latency / briefing.dt) + _HISTORY
        vehicle = briefing.vehicle
        from propwash.estimate import ErrorStateFilter  # only now, as gym imports this module

        self.filter: ErrorStateFilter = ErrorStateFilter(
            vehicle.imu, start, gates=briefing.gates, gravity=vehicle.body.gravity, history=kept
        )
        """Its covariance states how accurate the estimate is."""
        self.view = GateView.of(briefing.sensors.camera, briefing.sensors.reach)
        self._tolerance = np.array([0.5 * g.width - _RADIUS - _MARGIN for g in briefing.gates])

    def update(self, readings: Readings) -> float:
        """Adds the readings of a step; returns the time since the last ones [s]."""
        dt = readings.time - self.filter.time
        if dt > 0.0:
            self.filter.propagate(readings.gyroscope, readings.accelerometer, dt)
        sensors, seen, ground = self._briefing.sensors, readings.beacons, readings.range
        if seen is not None and len(seen.gates):
            self.filter.update_beacons(
                seen.gates, seen.corners, seen.u, seen.v, sensors.camera, sensors.deviation,
                time=seen.time,
            )  # fmt: skip
        if ground is not None and ground.range < _MAX_RANGE:
            self.filter.update_range(
                ground.range, variance=sensors.range_variance, time=ground.time
            )
        return dt

    @property
    def estimate(self) -> PilotEstimate:
        """The present motion, and the gates."""
        motion = self.filter.state
        return PilotEstimate(motion.position, motion.velocity, motion.attitude, self.filter.gates)

    @property
    def gates(self) -> list[Gate]:
        """The gates at their estimated poses."""
        return [
            gate.moved((x, y, 0.0), yaw)
            for gate, (x, y, yaw) in zip(
                self._briefing.gates, self.filter.gates.tolist(), strict=True
            )
        ]

    def uncertainty(self, courses: Array) -> Array:
        """(g,) m, by how much a gate may be further aside than a path through its centre allows.

        courses: (g, 2) horizontal directions in which the path passes the gates.
        """
        gates, offsets = self._briefing.gates, self.filter.gates
        covariance = self.filter.covariance
        of_position = covariance[_POSITION, _POSITION]
        first = len(covariance) - 3 * len(gates)
        sides = np.zeros(len(gates))
        for number, gate in enumerate(gates):
            xy = slice(first + 3 * number, first + 3 * number + 2)
            aside = _aside(gate.yaw + offsets[number, 2], courses[number])
            bound = float(abs(aside) @ gate.perturbation[:2])
            of_gate = min(_SIGMAS * _deviation(aside, covariance[xy, xy]), bound)
            # errors of the vehicle that it shares with the gate do not count
            shared = covariance[_POSITION, xy]
            relative = of_position + covariance[xy, xy] - shared - shared.T
            of_both = of_gate + _SIGMAS * _deviation(aside, of_position)
            sides[number] = min(_SIGMAS * _deviation(aside, relative), of_both)
        return np.where(sides > self._tolerance, sides, 0.0)


def _aside(yaw: float, course: Array) -> Array:
    """(2,), by whose product with the offset of a gate a path misses its centre to the side."""
    axis, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
    slope = float(course @ left) / max(float(course @ axis), 1e-3)
    return np.asarray(left - np.clip(slope, -_MAX_SLOPE, _MAX_SLOPE) * axis)


def _deviation(factors: Array, covariance: Array) -> float:
    """The standard deviation of the product of factors with a random vector."""
    return math.sqrt(max(float(factors @ covariance @ factors), 0.0))
