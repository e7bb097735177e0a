"""The simulated vehicle that an autopilot flies: motors in, samples of its sensors out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash.autopilot import _motors
from propwash.logs import Layout
from propwash.vehicle import Multicopter, RotorSpeeds, VehicleParameters, ground
from propwash.vehicle import files as vehicles
from propwash.vehicle.hosted import HostedVehicle

Array = NDArray[np.float64]

_MAX_STEP = 1e-3  # s
_TOUCHING = 0.01  # m, above the position at rest


@dataclass(frozen=True, eq=False)
class Sample:
    """State and readings of the vehicle at one time. World frame: x east, y north, z up."""

    time: float
    """s, simulated."""
    position: Array
    """(3,) m, world frame; z = 0 at rest on the ground."""
    velocity: Array
    """(3,) m/s, world frame."""
    attitude: Array
    """(4,) unit quaternion, scalar first, body (forward, left, up) to world."""
    body_rates: Array
    """(3,) rad/s, body frame."""
    specific_force: Array
    """(3,) m/s^2, body frame, accelerometer, mean since the last sample."""
    angular_rate: Array
    """(3,) rad/s, body frame, gyroscope, mean since the last sample."""
    motors: Array
    """(N,) outputs of the flight controller from 0 to 1, in its order."""
    rotor_speeds: Array
    """(N,) rad/s, in the order of the vehicle's rotors."""


class Simulation:
    """A multicopter on the ground, whose rotors are driven by the outputs of a flight controller.

    An output m from 0 to 1 is a fraction of the maximum thrust: the rotor speed is sqrt(m) times
    its maximum.

    vehicle: a name, a TOML file or VehicleParameters. Without `contact` it gets the legs of
        `vehicle.ground.with_contact`.
    layout: of the flight controller's motors, such as `QUAD_X["px4"]`.
    own_spins: False lets the rotors spin as the flight controller's table states, if those of the
        vehicle spin the other way; True keeps them, for a flight controller configured for them.
    dt, substeps: s, of a step, and the number of steps between two samples.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters,
        layout: Layout,
        *,
        own_spins: bool = False,
        dt: float = 1e-3,
        substeps: int = 1,
        seed: int = 0,
        noise: bool = True,
    ) -> None:
        parameters = vehicles.load(vehicle)
        self.motor_map = _motors.match(parameters, layout)
        if self.motor_map.reversed and not own_spins:
            parameters = _motors.with_reversed_spins(parameters)
        parameters = ground.with_contact(parameters)
        self.parameters = parameters
        self.substeps = substeps
        self._rest_height = ground.rest_height(parameters)
        self._max = np.array(parameters.motor_values("speed_max"))
        self.host = HostedVehicle(
            Multicopter(parameters, seed=seed, noise=noise),
            {"state": ground.standing(parameters)},
            dt,
            arms_itself=True,
            averages_imu=True,
        )
        self.reset()

    @property
    def uav(self) -> Multicopter:
        """The vehicle."""
        return self.host.vehicle

    def reset(self) -> None:
        """Puts the vehicle back on the ground at the start, at time 0, with the motors off."""
        self._motors = np.zeros(self.uav.rotors)
        self.host.reset()
        self.sample = self._sampled(np.array([0.0, 0.0, 9.81]), np.zeros(3))

    @property
    def dt(self) -> float:
        """s, of a step."""
        return self.host.dt

    @property
    def period(self) -> float:
        """s, between two samples; a new one is divided into steps of at most 1 ms."""
        return self.dt * self.substeps

    @period.setter
    def period(self, period: float) -> None:
        self.substeps = math.ceil(period / _MAX_STEP - 1e-9)
        self.host.dt = period / self.substeps

    @property
    def on_ground(self) -> bool:
        """Whether the vehicle stands on the ground."""
        return bool(self.sample.position[2] < _TOUCHING)

    @property
    def overturned(self) -> bool:
        """Whether the vehicle lies on the ground with its top side down."""
        return bool(self.sample.position[2] < 0.5 and tilt(self.sample.attitude) > math.pi / 2)

    def step(self, motors: Array) -> Sample:
        """Advances by one period with motor outputs from 0 to 1; returns the new sample."""
        self._motors = np.clip(motors, 0.0, 1.0)
        speeds = np.sqrt(self.motor_map.to_rotors(self._motors)) * self._max
        self.host.command = RotorSpeeds(speeds)
        self.host.step(self.substeps)
        force, rate, _ = self.host.imu_mean()
        self.sample = self._sampled(force, rate)
        return self.sample

    def _sampled(self, force: Array, rate: Array) -> Sample:
        state = self.uav.state
        height = state.position - (0.0, 0.0, self._rest_height)
        return Sample(
            self.uav.time,
            height,
            state.velocity,
            state.attitude,
            state.body_rates,
            force,
            rate,
            self._motors,
            state.rotor_speeds,
        )


def tilt(attitude: Array) -> float:
    """Angle between the body's z axis and the vertical, rad."""
    _, x, y, _ = attitude
    return math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y))))
