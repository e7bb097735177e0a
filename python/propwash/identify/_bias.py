"""The accelerometer's bias, common to all logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash._rotation import rotation
from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

PRIOR = 0.3
"""m/s^2, standard deviation of the bias before any log: 30 mg."""
_MOUNTING = 0.05
"""m/s^2, variation between flights: the attitude's body frame against the accelerometer's."""
_MEAN_SPEED = 0.3
"""m/s, standard deviation of the mean lateral velocity of a flight without poses: it stays near
its start."""


@dataclass(frozen=True)
class AccelerometerBias:
    """Estimate of the accelerometer's bias: the reading minus the specific force, body frame."""

    value: Array
    """(3,) m/s^2."""
    standard_error: Array
    """(3,) m/s^2."""


def fit_bias(
    flights: Sequence[tuple[Flight, tuple[int, int]]], vehicle: VehicleParameters
) -> AccelerometerBias:
    """Estimates the bias from flights on uniform grids and their rows in the air.

    With poses the specific force is known from the acceleration. Without, the mean lateral force
    is rotor drag at the mean velocity, which is near 0; the vertical bias keeps its prior.
    """
    gravity = np.asarray(vehicle.body.gravity)
    weight = np.full(3, PRIOR**-2)
    weighted = np.zeros(3)
    for flight, rows in flights:
        mean, deviation = _with_pose(flight, rows, gravity) if flight.has_pose else (None, None)
        if mean is None or deviation is None:
            mean = flight.specific_force[slice(*rows)].mean(axis=0)
            deviation = np.array([*np.array(vehicle.rotor_drag.linear[:2]) * _MEAN_SPEED, np.inf])
        precision = 1.0 / (deviation**2 + _MOUNTING**2)
        weight += precision
        weighted += precision * mean
    return AccelerometerBias(weighted / weight, np.sqrt(1.0 / weight))


def _with_pose(flight: Flight, rows: tuple[int, int], gravity: Array) -> tuple[Array, Array]:
    """Returns mean and standard error of the reading minus the specific force."""
    assert flight.velocity is not None
    assert flight.attitude is not None
    first, last = rows
    matrices = rotation(flight.attitude[first:last])
    gained = np.gradient(flight.velocity[first:last], flight.time[first:last], axis=0)
    force = np.einsum("kji,kj->ki", matrices, gained - gravity)
    errors = flight.specific_force[first:last] - force
    blocks = np.array_split(errors, max(2, int(flight.time[last - 1] - flight.time[first])))
    means = np.array([block.mean(axis=0) for block in blocks])
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))
