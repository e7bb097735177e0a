"""What the nodes of vehicles have in common: arming, resets, collisions, the last command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import isfinite
from typing import Any

from propwash.ros._messages import Message, Topic
from propwash.ros._node import Callback, InputError, Outputs
from propwash.vehicle.hosted import HostedVehicle

QUEUE = 96
"""Messages that wait for a slow subscriber: 0.1 s."""
COMMAND_MAX = 1e6
"""rad/s, N or m/s; larger values would overflow."""


def require_usable(values: Iterable[float]) -> None:
    """Raises InputError for values of a command that are not finite or absurd."""
    for value in values:
        if not isfinite(value):
            raise InputError("a value is not finite")
        if abs(value) > COMMAND_MAX:
            raise InputError(f"a value beyond {COMMAND_MAX:g}")


class VehicleNode(ABC):
    """A vehicle that moves only while armed, and returns to its start after a collision."""

    def __init__(
        self, host: HostedVehicle[Any], command_topic: str, ignore_collisions: bool
    ) -> None:
        self.host = host
        self.command_topic = command_topic
        self.how_to_arm = "publish a std_msgs/Empty on /uav/input/arm"
        self._ignore_collisions = ignore_collisions
        self._reset_requested = False
        empty = Topic("std_msgs/msg/Empty")
        self.subscribes: dict[str, tuple[Topic, Callback]] = {
            "/uav/input/arm": (empty, self.on_arm),
            "/uav/input/reset": (empty, self.on_reset),
            "/uav/collision": (empty, self.on_collision),
        }
        self.publishes = {"/tf": Topic("tf2_msgs/msg/TFMessage", QUEUE)}

    def on_arm(self, message: Message) -> None:
        """Lets the vehicle move."""
        self.host.armed = True

    def on_reset(self, message: Message) -> None:
        """Returns to the start at the next step."""
        self._reset_requested = True

    def on_collision(self, message: Message) -> None:
        """Returns to the start at the next step, unless collisions are ignored."""
        self._reset_requested |= not self._ignore_collisions

    @property
    def armed(self) -> bool:
        """Whether it moves with a command."""
        return self.host.armed

    @property
    def command(self) -> Any:
        """The last command, or None."""
        return self.host.command

    @property
    def is_moving(self) -> bool:
        """Whether it moves at the next step: it is armed and no reset is due."""
        return self.host.armed and not self._reset_requested

    def step(self, stamp: int) -> Outputs:
        """Moves, if armed, and returns messages; a step that resets publishes none."""
        if self._reset_requested:
            self._reset_requested = False
            self.host.reset()
            return []
        self.host.step()
        return self.outputs(stamp)

    @abstractmethod
    def start(self, stamp: int) -> Outputs:
        """Messages at the start."""

    @abstractmethod
    def outputs(self, stamp: int) -> Outputs:
        """Messages of a step."""
