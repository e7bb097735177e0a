"""What actions in [-1, 1] stand for; only nominal parameters go in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._core import (
    AttitudeThrust,
    RateThrust,
    RateThrustAction,
    RotorSpeeds,
    VelocityCommand,
)
from propwash.fleet import Fleet
from propwash.gym._options import Settings

Numbers = NDArray[np.float32]


class RateThrustActions:
    """Body rates and collective thrust, for the vehicle's rate controller.

    action[:3] times `max_rates` are the rates. action[3] is the thrust: -1 none, 0 the vehicle's
    nominal weight, 1 all that its rotors have, straight lines between.
    """

    size = 4

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._map = RateThrustAction(tuple(chosen.max_rates), *_lever(fleet))

    def command(self, action: Numbers) -> RateThrust:
        """For actions (n, 4) within [-1, 1]."""
        return self._map.command(action)


class AttitudeThrustActions:
    """Where the thrust points and how large it is, for the vehicle's attitude controller.

    action[:2] times `max_tilt` is by how much the thrust leans towards the world's x and y, the
    greatest lean being `max_tilt`; action[2] times the last of `max_rates` is the yaw rate;
    action[3] the thrust, as of RateThrustActions.
    """

    size = 4

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        # three equal "rates" of 1 leave the first three numbers as they are
        self._lever = RateThrustAction((1.0, 1.0, 1.0), *_lever(fleet))
        self._tilt, self._yaw_rate = np.float32(chosen.max_tilt), np.float32(chosen.max_rates[2])

    def command(self, action: Numbers) -> AttitudeThrust:
        """For actions (n, 4) within [-1, 1]."""
        lean = np.hypot(action[:, 0], action[:, 1])
        half = np.float32(0.5) * self._tilt * np.minimum(lean, np.float32(1.0))
        share = np.sin(half) / np.maximum(lean, np.float32(1e-9))
        attitude = np.zeros((len(action), 4), dtype=np.float32)
        attitude[:, 0] = np.cos(half)
        attitude[:, 1] = -share * action[:, 1]
        attitude[:, 2] = share * action[:, 0]
        thrust = self._lever.command(action).thrust
        return AttitudeThrust(attitude, thrust, yaw_rate=self._yaw_rate * action[:, 2])


class VelocityActions:
    """Velocity and yaw rate, for the vehicle's velocity controller.

    action[:3] times `max_speed` is the velocity in the world's axes, action[3] times the last of
    `max_rates` the yaw rate.
    """

    size = 4

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._speed, self._yaw_rate = np.float32(chosen.max_speed), np.float32(chosen.max_rates[2])

    def command(self, action: Numbers) -> VelocityCommand:
        """For actions (n, 4) within [-1, 1]."""
        return VelocityCommand(self._speed * action[:, :3], yaw_rate=self._yaw_rate * action[:, 3])


def _lever(fleet: Fleet) -> tuple[float, float]:
    """N: the nominal weight, and what the rotors have beyond it."""
    vehicle = fleet.vehicle
    return vehicle.weight, vehicle.max_thrust - vehicle.weight


class RotorThrustActions:
    """The thrust of each rotor, turned into its speed.

    -1 the least that the motor turns, 0 the rotor's share of nominal hover, 1 the most, straight
    lines between.
    """

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        vehicle = fleet.vehicle
        self.size = len(vehicle.rotors)
        self._slowest = np.array(vehicle.motor_values("speed_min"), dtype=np.float32)
        self._fastest = np.array(vehicle.motor_values("speed_max"), dtype=np.float32)
        # thrust is proportional to the squared speed
        self._least, self._most = self._slowest**2, self._fastest**2
        self._hover = fleet.rotor_speeds[0].astype(np.float32) ** 2

    def command(self, action: Numbers) -> RotorSpeeds:
        """For actions (n, N) within [-1, 1]."""
        up = np.maximum(action, np.float32(0.0)) * (self._most - self._hover)
        down = np.minimum(action, np.float32(0.0)) * (self._hover - self._least)
        squared = (up + down) + self._hover
        speeds = np.sqrt(np.maximum(squared, np.float32(0.0)))
        return RotorSpeeds(np.clip(speeds, self._slowest, self._fastest))


_KINDS: dict[str, Any] = {
    "rate_thrust": RateThrustActions,
    "rotor_thrusts": RotorThrustActions,
    "attitude_thrust": AttitudeThrustActions,
    "velocity": VelocityActions,
}


def make(fleet: Fleet, chosen: Settings) -> Any:
    """The actions of this name. Raises ParameterError where the vehicle cannot fly them."""
    kind = _KINDS[chosen.action]
    trial = Fleet(fleet.vehicle, 1, "float32", chosen.integrator, fleet.dt, threads=1)
    actions = kind(trial, chosen)
    trial.step(actions.command(np.zeros((1, actions.size), dtype=np.float32)))
    return kind(fleet, chosen)
