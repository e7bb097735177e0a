"""The inertial sensor by itself, for a simulator that has its own dynamics."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks as given
from propwash import _core
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, ImuReading, _key
from propwash.vehicle.parameters import ImuParameters, VehicleParameters
from propwash.vehicle.validation import located


class Imu(_core.Imu):
    """An inertial sensor: lever arm, mounting, scale, bias, noise, digits and its own rate.

    sensor: ImuParameters, or a vehicle that has one: a name of `propwash.vehicles.names()`, the
        path of a TOML file, or VehicleParameters.
    seed, id: of the noise: sensors with one seed differ by their id.
    noise: False turns noise and biases off.

    Driven with the true quantities of a Multicopter's steps, it reads the same bits as that
    vehicle's own. Raises ParameterError for parameters out of their range.

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
        if isinstance(sensor, ImuParameters):
            parameters = sensor
            super().__init__(parameters, *self._keys(seed, id, noise))
        else:
            parameters = vehicles.load(sensor).imu
            with located(sensor):
                super().__init__(parameters, *self._keys(seed, id, noise))
        self.parameters = parameters
        self._options = self._keys(seed, id, noise)

    @staticmethod
    def _keys(seed: int, id: int, noise: bool) -> tuple[int, int, bool]:
        return _key("seed", seed, 64), _key("id", id, 32), given.flag("noise", noise)

    def read(
        self,
        specific_force: ArrayLike,
        rates: ArrayLike,
        angular_acceleration: ArrayLike | None = None,
        dt: float = DEFAULT_DT,
    ) -> ImuReading:
        """Advances the sensor by a step of dt [s] and gives its reading at the end of the step.

        specific_force: (3,) m/s^2, of the centre of mass in body axes: acceleration less gravity,
        (0, 0, 9.81) at rest on level ground.
        rates: (3,) rad/s, body axes.
        angular_acceleration: (3,) rad/s^2, body axes; a sensor with a lever arm needs it.
        dt: with 0 nothing advances: a call before the first step takes the reading of time 0.

        A sensor that is slower than the steps samples at the first step at or after each due time
        and gives its last reading in between; the first call gives a reading taken in that call.
        Raises ValueError for arguments of a wrong shape or not finite, ParameterError for a
        negative dt; nothing changes then.
        """
        if angular_acceleration is None:
            if any(self.parameters.position):
                raise ValueError(
                    "angular_acceleration: expected 3 numbers rad/s^2, as the sensor has a lever "
                    f"arm, imu.position = {self.parameters.position}; got None"
                )
            angular_acceleration = (0.0, 0.0, 0.0)
        return ImuReading(*self._read(specific_force, rates, angular_acceleration, dt))

    def reset(self, seed: int | None = None) -> None:
        """Starts again at time 0: draws the biases anew; there is no reading yet.

        The noise goes on, so that no two episodes are alike, unless a seed is given: then the
        sensor starts as if new. Raises ValueError for an invalid seed.
        """
        self._reset(None if seed is None else _key("seed", seed, 64))

    @property
    def reading(self) -> ImuReading:
        """The last reading taken; zeros before the first."""
        return ImuReading(*self._reading())

    def __reduce__(self) -> tuple[Callable[..., Imu], tuple[Any, ...]]:
        return _rebuilt, (type(self), self.parameters, self._options, self.snapshot())

    def __repr__(self) -> str:
        _, number, noise = self._options
        return f"Imu(seed={self.seed}, id={number}, noise={noise}) at {np.round(self.time, 6)} s"


def _rebuilt(
    kind: type[Imu], parameters: ImuParameters, options: tuple[int, int, bool], snapshot: bytes
) -> Imu:
    sensor = kind.__new__(kind)
    Imu.__init__(sensor, parameters, *options)
    sensor.restore(snapshot)
    return sensor
