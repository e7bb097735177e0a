"""What actions in [-1, 1] stand for; only nominal parameters go in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._core import RateThrust, RotorSpeeds
from propwash.fleet import Fleet
from propwash.gym._options import Settings
from propwash.gym._state import FEW

Numbers = NDArray[np.float32]


class RateThrustActions:
    """Body rates and collective thrust, for the vehicle's rate controller.

    action[:3] times `max_rates` are the rates. action[3] is the thrust: -1 none, 0 the vehicle's
    nominal weight, 1 all that its rotors have, straight lines between.
    """

    size = 4

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        vehicle = fleet.vehicle
        most = sum(r.thrust_coefficient for r in vehicle.rotors) * vehicle.motor.speed_max**2
        weight = vehicle.body.mass * float(np.linalg.norm(vehicle.body.gravity))
        self.max_rates = np.asarray(chosen.max_rates, dtype=np.float32)
        self.hover, self.climb = np.float32(weight), np.float32(most - weight)
        self._rates = np.empty((fleet.size, 3), dtype=np.float32)
        self._zero = np.float32(0.0)

    def command(self, action: Numbers) -> RateThrust:
        """For actions (n, 4) within [-1, 1]."""
        rates = self._rates
        if len(action) < FEW:
            np.multiply(action[:, :3], self.max_rates, out=rates)
        else:
            for axis, most in enumerate(self.max_rates):
                np.multiply(action[:, axis], most, out=rates[:, axis])
        lever = action[:, 3]
        thrust = np.maximum(lever, self._zero)
        thrust *= self.climb
        low = np.minimum(lever, self._zero)
        low *= self.hover
        thrust += low
        thrust += self.hover
        return RateThrust(rates, thrust)


class RotorThrustActions:
    """The thrust of each rotor, turned into its speed.

    -1 the least that the motor turns, 0 the rotor's share of nominal hover, 1 the most, straight
    lines between.
    """

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        vehicle = fleet.vehicle
        self.size = len(vehicle.rotors)
        self._factor = np.array([r.thrust_coefficient for r in vehicle.rotors], dtype=np.float32)
        self.least, self.most = (
            self._factor * np.float32(speed**2)
            for speed in (vehicle.motor.speed_min, vehicle.motor.speed_max)
        )
        self.hover = self._factor * fleet.rotor_speeds[0].astype(np.float32) ** 2
        self._speeds = np.float32(vehicle.motor.speed_min), np.float32(vehicle.motor.speed_max)

    def command(self, action: Numbers) -> RotorSpeeds:
        """For actions (n, N) within [-1, 1]."""
        up = np.maximum(action, np.float32(0.0)) * (self.most - self.hover)
        down = np.minimum(action, np.float32(0.0)) * (self.hover - self.least)
        squared = ((up + down) + self.hover) / self._factor
        speeds = np.sqrt(np.maximum(squared, np.float32(0.0)))
        return RotorSpeeds(np.clip(speeds, *self._speeds))


def make(fleet: Fleet, chosen: Settings) -> Any:
    """The actions of this name."""
    kind = {"rate_thrust": RateThrustActions, "rotor_thrusts": RotorThrustActions}[chosen.action]
    return kind(fleet, chosen)
