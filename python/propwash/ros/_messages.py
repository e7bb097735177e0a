"""Message types of ROS, also of packages that a system lacks, made from their definitions.

Messages are the dataclasses of rosbags for ROS 1. A shell serializes them, so that the logic of the
nodes and the recorder of bags need no installation of ROS.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from propwash._bridge import ros_types

Message = Any
"""A message of ROS 1 as a dataclass of rosbags."""

_DEFINITIONS = {
    "tf2_msgs/msg/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "mav_msgs/msg/RateThrust": (
        "Header header\ngeometry_msgs/Vector3 angular_rates\ngeometry_msgs/Vector3 thrust"
    ),
    "mav_msgs/msg/Actuators": (
        "Header header\nfloat64[] angles\nfloat64[] angular_velocities\nfloat64[] normalized"
    ),
    "flightgoggles/msg/IRMarker": (
        "std_msgs/String landmarkID\nstd_msgs/String markerID\nfloat32 x\nfloat32 y\nfloat32 z"
    ),
    "flightgoggles/msg/IRMarkerArray": "Header header\nflightgoggles/IRMarker[] markers",
}
"""Types of ROS 1 that are not in the store of rosbags."""


@dataclass(frozen=True)
class Topic:
    """A topic that is published or subscribed to."""

    kind: str
    """Type of its messages, such as sensor_msgs/msg/Imu."""
    queue: int = 1
    """Messages that are kept for a slow subscriber."""
    latched: bool = False
    """Whether a new subscriber receives the last message."""
    remote: bool = True
    """Whether a subscriber receives messages of other processes."""


@cache
def typestore() -> Any:
    """The types of ROS 1 with those of FlightGoggles. Raises ImportError without rosbags."""
    return ros_types("ROS1_NOETIC", _DEFINITIONS)


def type_of(kind: str) -> Any:
    """The class of a type of message, such as std_msgs/msg/Header."""
    return typestore().types[kind]


def definition(kind: str) -> tuple[str, str]:
    """The full text of a type's definition and its MD5 checksum, as ROS 1 compares it."""
    text, checksum = typestore().generate_msgdef(kind, ros_version=1)
    return str(text), str(checksum)


def serialized(message: Message) -> bytes:
    """The bytes of a message on the wire of ROS 1."""
    return bytes(typestore().serialize_ros1(message, message.__msgtype__))


def deserialized(data: bytes, kind: str) -> Message:
    """The message in `data`. Raises an exception of any type for malformed bytes."""
    return typestore().deserialize_ros1(data, kind)


def ros1_name(kind: str) -> str:
    """The name of a type in ROS 1: sensor_msgs/Imu for sensor_msgs/msg/Imu."""
    return kind.replace("/msg/", "/")


def time(stamp: int) -> Message:
    """A time stamp [ns]."""
    return type_of("builtin_interfaces/msg/Time")(*divmod(stamp, 10**9))


def nanoseconds(stamp: Message) -> int:
    """A time stamp as ns."""
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def header(stamp: int, frame: str = "", number: int = 0) -> Message:
    """A header with a time stamp [ns], a frame and a sequence number."""
    return type_of("std_msgs/msg/Header")(number, time(stamp), frame)


def empty() -> Message:
    """A std_msgs/Empty."""
    return type_of("std_msgs/msg/Empty")()


def transform(
    stamp: int,
    parent: str,
    child: str,
    position: tuple[float, float, float],
    quaternion: tuple[float, float, float, float],
) -> Message:
    """A geometry_msgs/TransformStamped from frame `parent` to `child`; quaternion (x, y, z, w)."""
    vector, rotation, pose, stamped = (
        type_of(f"geometry_msgs/msg/{name}")
        for name in ("Vector3", "Quaternion", "Transform", "TransformStamped")
    )
    motion = pose(vector(*position), rotation(*quaternion))
    return stamped(header(stamp, parent), child, motion)


def transforms(*each: Message) -> Message:
    """A tf2_msgs/TFMessage of stamped transforms."""
    return type_of("tf2_msgs/msg/TFMessage")(list(each))
