"""The inertial sensor alone, for simulators with other dynamics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks, _core
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, ImuReading, rebuilt
from propwash.vehicle.parameters import ImuParameters, VehicleParameters
from propwash.vehicle.validation import located


class Imu(_core.Imu):
    """An inertial sensor with lever arm, mounting, scale, bias, noise, quantisation and rate.

    sensor: ImuParameters, or a vehicle with an IMU: a name of `propwash.vehicles.names()`, the
        path of a TOML file, or VehicleParameters.
    seed, id: of the noise: sensors with one seed differ by their id.
    noise: False disables noise and biases.

    With the true motion of a Multicopter it returns bit-identical readings to that vehicle's IMU.
    Raises ParameterError for parameters out of range.

    >>> imu = Imu("crazyflie", seed=1)
    >>> reading = imu.read([0, 0, 9.81], rates=[0, 0, 0.1], dt=1 / 960)
    """

    parameters: ImuParameters

    def __init__(
        self,
        sensor: ImuParameters | VehicleParameters | str | PathLike[str],
        seed: int = 0,
        id: int = 0,
        noise: bool = True,
    ) -> None:
        vehicle = None if isinstance(sensor, ImuParameters) else sensor
        self.parameters = sensor if isinstance(sensor, ImuParameters) else vehicles.load(sensor).imu
        self._options = (
            _checks.seed(seed),
            _checks.seed(id, "id", 32),
            _checks.flag("noise", noise),
        )
        with nullcontext() if vehicle is None else located(vehicle):
            super().__init__(self.parameters, *self._options)

    def read(
        self,
        specific_force: ArrayLike,
        rates: ArrayLike,
        angular_acceleration: ArrayLike | None = None,
        dt: float = DEFAULT_DT,
    ) -> ImuReading:
        """Advances the sensor by a step of dt [s] and returns its reading at the end of the step.

        specific_force: (3,) m/s^2, of the centre of mass, body axes: acceleration minus gravity,
        (0, 0, 9.81) at rest on level ground.
        rates: (3,) rad/s, body axes.
        angular_acceleration: (3,) rad/s^2, body axes; required for a sensor with a lever arm.
        dt: 0 does not advance the sensor: a call before the first step returns the reading at time
        0.

        A sensor that is slower than the steps samples at the first step at or after each due time
        and repeats its last reading in between; the first call always samples. Raises ValueError
        for arguments of a wrong shape or not finite, ParameterError for a negative dt; nothing
        changes then.
        """
        if angular_acceleration is None:
            if any(self.parameters.position):
                raise ValueError(
                    "angular_acceleration: expected 3 numbers [rad/s^2] for a sensor with a lever "
                    f"arm, imu.position = {self.parameters.position}; got None"
                )
            angular_acceleration = (0.0, 0.0, 0.0)
        return ImuReading(*self._read(specific_force, rates, angular_acceleration, dt))

    def reset(self, seed: int | None = None) -> None:
        """Restarts at time 0 with newly drawn biases and without a reading.

        The noise sequence continues, so episodes differ, unless a seed is given: then the sensor
        restarts as newly constructed. Raises ValueError for an invalid seed.
        """
        self._reset(None if seed is None else _checks.seed(seed))

    @property
    def reading(self) -> ImuReading:
        """The last reading; zeros before the first."""
        return ImuReading(*self._reading())

    def __reduce__(self) -> tuple[Callable[..., Imu], tuple[Any, ...]]:
        arguments = (self.parameters, *self._options)
        return rebuilt, (type(self), Imu, arguments, self.snapshot())

    def __repr__(self) -> str:
        _, number, noise = self._options
        return f"Imu(seed={self.seed}, id={number}, noise={noise}) at {np.round(self.time, 6)} s"
