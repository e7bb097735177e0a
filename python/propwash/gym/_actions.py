"""Maps actions in [-1, 1] to commands, with the nominal parameters of the vehicle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

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
from propwash.gym._state import State

Array = NDArray[Any]
Numbers = NDArray[np.float32]
Pull = Callable[[Mapping[str, Array]], Array]
"""Maps derivatives by the parts of a command to those (n, A) by the actions."""


class Actions:
    """Base class of the maps; `vjp` returns the command of `command`, and its pullback."""

    parts: ClassVar[tuple[str, ...]]
    """Arguments of the command."""
    state: State
    """Of the environments."""

    def joined(self, commands: Sequence[Any]) -> Any:
        """Returns T commands as one with rows (T, n, …)."""
        stacked = {
            part: np.stack([getattr(each, part) for each in commands]) for part in self.parts
        }
        return type(commands[0])(**stacked)


class RateThrustActions(Actions):
    """Body rates and collective thrust, for the vehicle's rate controller.

    action[:3] times `max_rates` are the rates [rad/s]. action[3] is the thrust, piecewise linear:
    -1 is zero, 0 the nominal weight, 1 the maximum thrust.
    """

    size = 4
    parts = ("rates", "thrust")

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._map = RateThrustAction(tuple(chosen.max_rates), *thrust_range(fleet))
        self._max_rates, (self._weight, self._reserve) = chosen.max_rates, thrust_range(fleet)

    def command(self, action: Numbers) -> RateThrust:
        """Returns the command of actions (n, 4) in [-1, 1]."""
        return self._map.command(action)

    def vjp(self, action: Numbers) -> tuple[RateThrust, Pull]:
        """Returns the command and its pullback."""
        command = self.command(action)
        slope = np.where(action[:, 3] > 0.0, self._reserve, self._weight)

        def pull(by: Mapping[str, Array]) -> Array:
            thrust = (slope * by["thrust"])[:, None]
            return np.concatenate([self._max_rates * by["rates"], thrust], axis=1)

        return command, pull


class AttitudeThrustActions(Actions):
    """Direction and magnitude of the thrust, for the vehicle's attitude controller.

    action[:2] times `max_tilt` is the tilt of the thrust towards the world's x and y [rad], limited
    to `max_tilt` in total. action[2] times the last of `max_rates` is the yaw rate [rad/s].
    action[3] is the thrust as in RateThrustActions.
    """

    size = 4
    parts = ("attitude", "thrust", "yaw_rate")

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        # maximum rates of 1 leave the first three columns unchanged; only the thrust is used
        self._map = RateThrustAction((1.0, 1.0, 1.0), *thrust_range(fleet))
        self._tilt, self._yaw_rate = np.float32(chosen.max_tilt), np.float32(chosen.max_rates[2])
        self._weight, self._reserve = thrust_range(fleet)

    def command(self, action: Numbers) -> AttitudeThrust:
        """Returns the command of actions (n, 4) in [-1, 1]."""
        length = np.hypot(action[:, 0], action[:, 1])
        half_tilt = np.float32(0.5) * self._tilt * np.minimum(length, np.float32(1.0))
        scale = np.sin(half_tilt) / np.maximum(length, np.float32(1e-9))
        attitude = np.zeros((len(action), 4), dtype=np.float32)
        attitude[:, 0] = np.cos(half_tilt)
        attitude[:, 1] = -scale * action[:, 1]
        attitude[:, 2] = scale * action[:, 0]
        thrust = self._map.command(action).thrust
        return AttitudeThrust(attitude, thrust, yaw_rate=self._yaw_rate * action[:, 2])

    def vjp(self, action: Numbers) -> tuple[AttitudeThrust, Pull]:
        """Returns the command and its pullback."""
        command, tilting = self.command(action), action[:, :2].astype(np.float64)
        length = np.maximum(np.hypot(*tilting.T), 1e-6)
        half = 0.5 * float(self._tilt)
        angle, rate = half * np.minimum(length, 1.0), np.where(length < 1.0, half, 0.0)
        scale = np.sin(angle) / length  # of the components of the quaternion by those of the action
        change = (np.cos(angle) * rate - scale) / length
        slope = np.where(action[:, 3] > 0.0, self._reserve, self._weight)

        def pull(by: Mapping[str, Array]) -> Array:
            real, x, y, _ = by["attitude"].T
            along = (y * tilting[:, 0] - x * tilting[:, 1]) * change - real * np.sin(angle) * rate
            by_tilt = scale * np.stack([y, -x]) + along / length * tilting.T
            return np.stack([*by_tilt, self._yaw_rate * by["yaw_rate"], slope * by["thrust"]], 1)

        return command, pull


class VelocityActions(Actions):
    """Velocity and yaw rate, for the vehicle's velocity controller.

    action[:3] times `max_speed` is the velocity in the world frame [m/s]. action[3] times the last
    of `max_rates` is the yaw rate [rad/s].
    """

    size = 4
    parts = ("velocity", "yaw_rate")

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        self._speed, self._yaw_rate = np.float32(chosen.max_speed), np.float32(chosen.max_rates[2])

    def command(self, action: Numbers) -> VelocityCommand:
        """Returns the command of actions (n, 4) in [-1, 1]."""
        return VelocityCommand(self._speed * action[:, :3], yaw_rate=self._yaw_rate * action[:, 3])

    def vjp(self, action: Numbers) -> tuple[VelocityCommand, Pull]:
        """Returns the command and its pullback."""

        def pull(by: Mapping[str, Array]) -> Array:
            yaw_rate = (self._yaw_rate * by["yaw_rate"])[:, None]
            return np.concatenate([self._speed * by["velocity"], yaw_rate], axis=1)

        return self.command(action), pull

    def inverse(self, command: VelocityCommand) -> Numbers:
        """Returns the actions (n, 4) of a command with a yaw rate, clipped to [-1, 1]."""
        scaled = np.concatenate(
            [command.velocity / self._speed, command.yaw_rate[:, None] / self._yaw_rate], axis=1
        )
        action: Numbers = np.clip(scaled, -1.0, 1.0).astype(np.float32)
        return action


class HeadingVelocityActions(VelocityActions):
    """Velocity and yaw rate as VelocityActions, in axes forward, left and up of the heading.

    The heading is that of the attitude when the command begins.
    """

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        super().__init__(fleet, chosen)
        self._fleet = fleet

    def _heading(self) -> Array:
        w, x, y, z = np.asarray(self._fleet.attitude).T
        return _angle(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    def command(self, action: Numbers) -> VelocityCommand:
        """Returns the command of actions (n, 4) in [-1, 1]."""
        velocity = about_z(self._heading(), self._speed * action[:, :3])
        return VelocityCommand(velocity, yaw_rate=self._yaw_rate * action[:, 3])

    def vjp(self, action: Numbers) -> tuple[VelocityCommand, Pull]:
        """Returns the command and its pullback, in which the heading is constant."""
        command, pull = super().vjp(action)
        back = -self._heading()

        def turned(by: Mapping[str, Array]) -> Array:
            return pull({**by, "velocity": about_z(back, by["velocity"])})

        return command, turned

    def inverse(self, command: VelocityCommand) -> Numbers:
        """Returns the actions (n, 4) of a command with a yaw rate, clipped to [-1, 1]."""
        velocity = about_z(-self._heading(), np.asarray(command.velocity))
        return super().inverse(VelocityCommand(velocity, yaw_rate=command.yaw_rate))


class TargetVelocityActions(HeadingVelocityActions):
    """Velocity and yaw rate as HeadingVelocityActions, of the direction to the task's target."""

    def __init__(self, fleet: Fleet, chosen: Settings, task: Any) -> None:
        super().__init__(fleet, chosen)
        self._task = task

    def _heading(self) -> Array:
        target = self._task.target(self.state)
        away = (0.0 if target is None else np.asarray(target)) - self._fleet.position
        return _angle(away[:, 1], away[:, 0]).astype(np.float32)


class GoalVelocityActions(Actions):
    """Velocity relative to a straight flight to the task's goal.

    Added to the velocity of the straight flight, `task.desired`, are in axes forward, left and up
    of its heading: action[:2] times `max_speed`, and action[2] times a third of it [m/s]. With
    `yaw_mode` "goal" the heading is that of the straight flight, with "velocity" that of the
    commanded velocity, whose forward part counts as at least the set speed: a vehicle that brakes
    looks ahead.
    """

    size = 3
    parts = ("velocity", "yaw")

    def __init__(self, fleet: Fleet, chosen: Settings, task: Any) -> None:
        self._task, self._follows = task, chosen.yaw_mode == "velocity"
        self._reach = np.float32(chosen.max_speed) * np.array([1.0, 1.0, 1.0 / 3.0], np.float32)

    def command(self, action: Numbers) -> VelocityCommand:
        """Returns the command of actions (n, 3) in [-1, 1]."""
        desired = np.broadcast_to(self._task.desired, (len(action), 3))
        change, yaw = self._reach * action, np.arctan2(desired[:, 1], desired[:, 0])
        velocity = desired + about_z(yaw, change)
        if self._follows:
            speed = np.sqrt(np.square(desired).sum(axis=1))
            yaw = yaw + np.arctan2(change[:, 1], speed + np.maximum(change[:, 0], 0.0))
        return VelocityCommand(velocity, yaw)

    def vjp(self, action: Numbers) -> tuple[VelocityCommand, Pull]:
        """Returns the command and its pullback, in which the heading is constant."""
        desired = np.broadcast_to(self._task.desired, (len(action), 3))
        back = -np.arctan2(desired[:, 1], desired[:, 0])
        return self.command(action), lambda by: self._reach * about_z(back, by["velocity"])


def _angle(y: Array, x: Array) -> Array:
    """Angles (n,) [rad]; 0 for diverged vehicles, whose commands must be finite."""
    return np.nan_to_num(np.arctan2(y, x))


def about_z(yaw: Array, vector: Array) -> Array:
    """Rotates vectors (…, 3) about z by angles (…,) [rad]."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = np.moveaxis(vector, -1, 0)
    return np.stack([c * x - s * y, s * x + c * y, z], axis=-1)


def thrust_range(fleet: Fleet) -> tuple[float, float]:
    """N: the nominal weight, and the maximum thrust minus the weight."""
    vehicle = fleet.vehicle
    return vehicle.weight, vehicle.max_thrust - vehicle.weight


class RotorThrustActions(Actions):
    """The thrust of each rotor, converted to rotor speeds.

    Piecewise linear: -1 is the thrust at minimum motor speed, 0 that of nominal hover, 1 that at
    maximum motor speed.
    """

    parts = ("speeds",)

    def __init__(self, fleet: Fleet, chosen: Settings) -> None:
        vehicle = fleet.vehicle
        self.size = len(vehicle.rotors)
        self._speed_min = np.array(vehicle.motor_values("speed_min"), dtype=np.float32)
        self._speed_max = np.array(vehicle.motor_values("speed_max"), dtype=np.float32)
        # thrust is proportional to the squared speed
        self._min, self._max = self._speed_min**2, self._speed_max**2
        self.hover = fleet.rotor_speeds[0].astype(np.float32) ** 2
        """(N,) rad^2/s^2, squared speeds of an action of 0."""

    def command(self, action: Numbers) -> RotorSpeeds:
        """Returns the command of actions (n, N) in [-1, 1]."""
        up = np.maximum(action, np.float32(0.0)) * (self._max - self.hover)
        down = np.minimum(action, np.float32(0.0)) * (self.hover - self._min)
        squared = (up + down) + self.hover
        speeds = np.sqrt(np.maximum(squared, np.float32(0.0)))
        return RotorSpeeds(np.clip(speeds, self._speed_min, self._speed_max))

    def vjp(self, action: Numbers) -> tuple[RotorSpeeds, Pull]:
        """Returns the command and its pullback."""
        command = self.command(action)
        squared = np.where(action > 0.0, self._max - self.hover, self.hover - self._min)
        slope = squared / (2.0 * np.maximum(command.speeds, 1.0))
        return command, lambda by: slope * by["speeds"]


_KINDS: dict[str, Any] = {
    "rate_thrust": RateThrustActions,
    "rotor_thrusts": RotorThrustActions,
    "attitude_thrust": AttitudeThrustActions,
    "velocity": VelocityActions,
    "heading_velocity": HeadingVelocityActions,
    "target_velocity": TargetVelocityActions,
    "goal_velocity": GoalVelocityActions,
}


def make(fleet: Fleet, chosen: Settings, task: Any) -> Any:
    """Makes the action map `chosen.action`.

    Raises ParameterError if the vehicle lacks the parameters of the controller it needs, and
    ValueError if the task lacks the goal it needs.
    """
    if chosen.action == "goal_velocity" and not hasattr(task, "desired"):
        raise ValueError(
            f"action = 'goal_velocity': expected a task with a set speed to a goal, such as "
            f"ForestFlight, got {type(task).__name__}; use 'target_velocity'"
        )
    arguments = (task,) if chosen.action in ("goal_velocity", "target_velocity") else ()
    kind = _KINDS[chosen.action]
    trial = Fleet(fleet.vehicle, 1, "float32", chosen.integrator, fleet.dt, threads=1)
    actions = VelocityActions(trial, chosen) if arguments else kind(trial, chosen)
    trial.step(actions.command(np.zeros((1, actions.size), dtype=np.float32)))
    return kind(fleet, chosen, *arguments)
