"""Bags of ROS 1 and ROS 2, written without an installation of ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

from propwash._bridge import ros_types
from propwash.ros import _messages
from propwash.ros._messages import Message, Topic
from propwash.ros._node import Outputs

Encoder = Callable[[bytes], bytes]
"""Converts a serialized message of ROS 1 to one of ROS 2."""


_ROS2_DEFINITIONS = {
    "mav_msgs/msg/RateThrust": (
        "std_msgs/Header header\ngeometry_msgs/Vector3 angular_rates\ngeometry_msgs/Vector3 thrust"
    ),
    "mav_msgs/msg/Actuators": (
        "std_msgs/Header header\nfloat64[] angles\nfloat64[] angular_velocities\n"
        "float64[] normalized"
    ),
    "flightgoggles/msg/IRMarker": (
        "std_msgs/String landmark_id\nstd_msgs/String marker_id\nfloat32 x\nfloat32 y\nfloat32 z"
    ),
    "flightgoggles/msg/IRMarkerArray": ("std_msgs/Header header\nflightgoggles/IRMarker[] markers"),
}
"""ROS 2 has no capitals in names of fields."""


@cache
def ros2_types() -> Any:
    """The types of ROS 2 Humble with those of FlightGoggles. Raises ImportError without rosbags."""
    return ros_types("ROS2_HUMBLE", _ROS2_DEFINITIONS)


def to_ros2(kind: str) -> Encoder:
    """Returns the converter of a type of message from ROS 1 to ROS 2 (CDR).

    Headers lose `seq`, fields with capitals are renamed, new fields have their defaults.
    """
    from rosbags.convert.converter import is_same_wireformat, migrate_message

    ours, theirs = _messages.typestore(), ros2_types()
    if is_same_wireformat(ours, theirs, kind, kind):
        return lambda data: bytes(theirs.ros1_to_cdr(data, kind))
    cache: dict[str, object] = {}

    def convert(data: bytes) -> bytes:
        message = ours.deserialize_ros1(data, kind)
        return bytes(
            theirs.serialize_cdr(migrate_message(ours, theirs, kind, kind, cache, message), kind)
        )

    return convert


def from_ros2(kind: str) -> Callable[[bytes], Message]:
    """Returns the decoder of a type of message of ROS 2 (CDR) as one of ROS 1."""
    from rosbags.convert.converter import migrate_message

    ours, theirs = _messages.typestore(), ros2_types()
    cache: dict[str, object] = {}
    return lambda data: migrate_message(
        theirs, ours, kind, kind, cache, theirs.deserialize_cdr(data, kind)
    )


class BagRecorder:
    """Writes published messages to a bag. A context manager.

    path: a file `.bag` for ROS 1; a new folder for ROS 2, with the storage MCAP if its name ends in
    `.mcap`, SQLite otherwise. An existing path is not replaced. topics: name to topic; messages of
    others are not recorded.

    Raises FileExistsError for an existing path and ImportError without rosbags.
    """

    def __init__(self, path: Path, topics: Mapping[str, Topic]) -> None:
        _messages.typestore()
        if path.exists():
            raise FileExistsError(f"{path}: expected a path that does not exist, to write a bag")
        self.path = path
        self.count = 0
        """Messages written."""
        self._connections: dict[str, tuple[Any, Encoder | None]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._is_ros1 = path.suffix == ".bag"
        self._bag = _ros1_writer(path) if self._is_ros1 else _ros2_writer(path)
        self._bag.open()
        for name, topic in topics.items():
            self._add(name, topic)

    def write(self, stamp: int, outputs: Outputs) -> None:
        """Writes messages at a time [ns]."""
        for name, message in outputs:
            if name not in self._connections:
                continue
            connection, encode = self._connections[name]
            data = _messages.serialized(message)
            self._bag.write(connection, stamp, data if encode is None else encode(data))
            self.count += 1

    def close(self) -> None:
        """Completes the bag."""
        self._bag.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, name: str, topic: Topic) -> None:
        if self._is_ros1:
            text, checksum = _messages.definition(topic.kind)
            connection = self._bag.add_connection(
                name, topic.kind, msgdef=text, md5sum=checksum, latching=int(topic.latched)
            )
            self._connections[name] = (connection, None)
            return
        connection = self._bag.add_connection(
            name,
            topic.kind,
            typestore=ros2_types(),
            offered_qos_profiles=_latched() if topic.latched else (),
        )
        self._connections[name] = (connection, to_ros2(topic.kind))


def _ros1_writer(path: Path) -> Any:
    from rosbags.rosbag1 import Writer

    return Writer(path)


def _ros2_writer(path: Path) -> Any:
    from rosbags.rosbag2 import StoragePlugin, Writer

    plugin = StoragePlugin.MCAP if path.suffix == ".mcap" else StoragePlugin.SQLITE3
    return Writer(path, version=8, storage_plugin=plugin)


def _latched() -> tuple[Any, ...]:
    """The quality of service of ROS 2 that corresponds to a latched topic."""
    from rosbags.convert.converter import LATCH

    return tuple(LATCH)
