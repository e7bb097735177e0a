"""Estimates the wind of a flight by sensors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_TIME_CONSTANT = 0.5
"""s, in which the estimate follows the wind at a high airspeed."""
_MIN_SLOPE = 0.3
"""1/s, of the drag over the airspeed, below which noise is followed less."""
_MIN_AIRSPEED = 3.0
"""m/s, for that slope: that of quadratic drag vanishes in still air."""


class WindEstimate:
    """The horizontal wind that explains the drag, by normalised least mean squares.

    The rotors push along body z: x and y of the specific force are those of the drag, a function of
    the velocity relative to the air. drag: coefficients of v [1/s] and v^2 [1/m] of its
    acceleration.
    """

    def __init__(self, vehicle: VehicleParameters, drag: tuple[float, float]) -> None:
        self._mount = _rotation.rotation(np.asarray(vehicle.imu.attitude, np.float64))
        self._linear, self._quadratic = drag
        self.wind = np.zeros(3)
        """(3,) m/s, world frame; the vertical component is 0."""

    def update(self, specific_force: Array, velocity: Array, attitude: Array, dt: float) -> None:
        """Corrects the estimate.

        specific_force: (3,) m/s^2, of the accelerometer, sensor axes. velocity: (3,) m/s, world
        frame. attitude: (4,) body to world. dt: s, since the last call.
        """
        to_world = _rotation.rotation(attitude)
        air = velocity - self.wind
        airspeed = float(np.linalg.norm(air))
        expected = -(self._linear + self._quadratic * airspeed) * air
        error = self._mount @ specific_force - to_world.T @ expected
        slope = self._linear + self._quadratic * max(airspeed, _MIN_AIRSPEED)
        gain = dt / _TIME_CONSTANT * slope / (slope**2 + _MIN_SLOPE**2)
        self.wind[:2] += gain * (to_world[:2, :2] @ error[:2])
