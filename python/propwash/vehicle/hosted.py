"""A vehicle behind the messages of a host: arming, resets, the mean of its IMU, its recorder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks
from propwash.vehicle.car import Car
from propwash.vehicle.multicopter import Multicopter

__all__ = ["HostedVehicle"]

Array = NDArray[np.float64]
Vehicle = TypeVar("Vehicle", bound=Multicopter | Car)


class HostedVehicle(Generic[Vehicle]):
    """A vehicle that moves while it is armed, and returns to its start.

    vehicle: a Multicopter or a Car. start: arguments of its reset(). dt: s, > 0, of a step.
    idle: the command of an armed vehicle that has no other one; None: it does not move.
    arms_itself: it is armed at the start and after a reset.
    averages_imu: imu_mean() is used.
    """

    armed: bool
    """Whether it moves."""
    command: Any
    """The held command; None: `idle`."""
    steps: int
    """Number of steps since the start, armed or not."""

    def __init__(
        self,
        vehicle: Vehicle,
        start: Mapping[str, Any],
        dt: float,
        *,
        idle: Any = None,
        arms_itself: bool = False,
        averages_imu: bool = False,
    ) -> None:
        self.vehicle = vehicle
        self.dt = _checks.positive("dt", dt, "s")
        self.stepped: Callable[[Array], None] | None = None
        """Receives the rotor speeds (N,) [rad/s] that are commanded in each step."""
        self._start, self._idle = start, idle
        self._arms_itself, self._averages_imu = arms_itself, averages_imu
        self.reset()

    def reset(self) -> None:
        """Returns to the start, without a command."""
        self.vehicle.reset(**self._start)
        self.armed, self.command, self.steps = self._arms_itself, None, 0
        self._readings, self._count = np.zeros((2, 3)), 0

    def step(self, count: int = 1) -> None:
        """Makes `count` >= 0 steps.

        Raises ValueError for another count or a command that the vehicle does not accept.
        """
        count = _checks.whole_number("count", count, 0, 2**31 - 1)
        command = self._idle if self.command is None else self.command
        moves = self.armed and command is not None
        vehicle: Any = self.vehicle
        for _ in range(count if moves else 0):
            vehicle.step(command, self.dt)
            if self._averages_imu:
                reading = vehicle.imu
                self._readings += (reading.specific_force, reading.angular_rate)
                self._count += 1
            if self.stepped is not None:
                self.stepped(vehicle.rotor_command)
        self.steps += count

    def imu_mean(self) -> tuple[Array, Array, int]:
        """Means of the readings since the last call or reset, and the number of readings.

        Specific force (3,) [m/s^2] and angular rate (3,) [rad/s], sensor axes; zero without
        readings.
        """
        mean, count = self._readings / max(self._count, 1), self._count
        self._readings, self._count = np.zeros((2, 3)), 0
        return mean[0], mean[1], count
