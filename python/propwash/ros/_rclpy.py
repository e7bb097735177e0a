"""The shell that connects a node to ROS 2 by rclpy.

Messages are converted to the types of ROS 2 and exchanged as serialized bytes. Tests use a stand-in
for rclpy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from propwash.ros import _messages
from propwash.ros._bags import Encoder, from_ros2, to_ros2
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Node
from propwash.ros._shell import Recorder, Shell

_SUBSTITUTES = {
    "mav_msgs/msg/RateThrust": "geometry_msgs/msg/TwistStamped",
    "mav_msgs/msg/Actuators": "sensor_msgs/msg/JointState",
}
"""Types of commands where the package mav_msgs is not built: angular rates and linear z as the
thrust [N]; velocities as the rotor speeds."""


def connect_ros2(
    name: str,
    remappings: Sequence[str] = (),
    host: str | None = None,
    environment: MutableMapping[str, str] = os.environ,
) -> tuple[Any, Any]:
    """Creates a node of ROS 2; returns rclpy and the node.

    host: None: nodes of this machine alone, unless the environment chooses the range; any address:
        all that the network reaches, as DDS cannot select one. Raises ImportError without rclpy.
    """
    try:
        import rclpy
    except ModuleNotFoundError as error:
        if error.name != "rclpy":
            raise
        raise ImportError(
            "ROS 2 needs rclpy: source the setup.bash of a ROS 2 installation, and run this with "
            "the Python for which it was built"
        ) from None
    ranges = ("ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    if host is None and not any(key in environment for key in ranges):
        environment.update({ranges[0]: "1", ranges[1]: "LOCALHOST"})
    arguments = [part for text in remappings for part in ("-r", text)]
    rclpy.init(args=["propwash", "--ros-args", *arguments] if arguments else None)
    return rclpy, rclpy.create_node(name)


class RclpyShell(Shell):
    """Connects a node to ROS 2.

    rclpy, ros2_node: from `connect_ros2`. Topics of types that are not installed are reported, and
    not published; commands then have substitutes of installed types.
    """

    def __init__(
        self,
        node: Node,
        rclpy: Any,
        ros2_node: Any,
        *,
        real_time: bool,
        recorder: Recorder | None = None,
        report: Callable[[str], None] = print,
    ) -> None:
        super().__init__(node, real_time=real_time, recorder=recorder, report=report)
        self._rclpy, self._ros2_node = rclpy, ros2_node
        self._publishers: dict[str, tuple[Any, Encoder, bool]] = {}
        for name, topic in node.publishes.items():
            kind = _installed(topic.kind)
            if kind is None:
                report(f"{name} is not published: {topic.kind} is not installed")
                continue
            publisher = ros2_node.create_publisher(kind, name, _quality(topic))
            self._publishers[name] = (publisher, to_ros2(topic.kind), topic.latched)
        for name, topic in node.subscribes.items():
            # ROS 2 does not name the sender, so a collision of this node would arrive twice
            if topic.remote and not (name in node.publishes and topic.kind == "std_msgs/msg/Empty"):
                self._subscribe(name, topic)
        self._thread = threading.Thread(target=self._spin, name="propwash-rclpy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the node and its thread."""
        self._rclpy.try_shutdown()
        self._thread.join(5.0)

    def _subscribe(self, name: str, topic: Topic) -> None:
        used = topic.kind
        kind = _installed(used)
        if kind is None:
            used = _SUBSTITUTES.get(topic.kind, topic.kind)
            kind = _installed(used)
        if kind is None:
            self._report(f"{name} is not received: {topic.kind} is not installed")
            return
        if used != topic.kind:
            self._report(f"{name} is received as {used}: {topic.kind} is not installed")
        decode = partial(_translated, from_ros2(used), topic.kind)
        self._ros2_node.create_subscription(
            kind,
            name,
            partial(self._receive_raw, name, used, decode),
            _quality(topic),
            raw=True,
        )

    def _receive_raw(
        self, name: str, kind: str, decode: Callable[[bytes], Message], data: bytes
    ) -> None:
        self._receive(name, kind, partial(decode, data))

    def _spin(self) -> None:
        # raised at the end, and by versions under several names
        with suppress(Exception):
            self._rclpy.spin(self._ros2_node)

    def _send(self, name: str, message: Message) -> None:
        if name not in self._publishers:
            return
        publisher, encode, latched = self._publishers[name]
        if latched or publisher.get_subscription_count() > 0:
            publisher.publish(encode(_messages.serialized(message)))

    def _is_shutdown(self) -> bool:
        return not self._rclpy.ok()


def _installed(kind: str) -> Any | None:
    """The class of a type in ROS 2; None if its package is not installed."""
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None


def _quality(topic: Topic) -> Any:
    qos = import_module("rclpy.qos")
    durability = qos.DurabilityPolicy
    return qos.QoSProfile(
        depth=topic.queue,
        durability=durability.TRANSIENT_LOCAL if topic.latched else durability.VOLATILE,
    )


def _translated(decode: Callable[[bytes], Message], kind: str, data: bytes) -> Message:
    """The message of a command, also from a substitute of its type."""
    message = decode(data)
    if message.__msgtype__ == kind:
        return message
    if kind == "mav_msgs/msg/RateThrust":
        twist = message.twist
        return _messages.type_of(kind)(message.header, twist.angular, twist.linear)
    none = message.velocity[:0]
    return _messages.type_of(kind)(message.header, none, message.velocity, none)
