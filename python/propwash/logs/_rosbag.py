"""Bags of ROS 1 and ROS 2, with rosbags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.logs._columns import Columns, from_topics
from propwash.logs._flights import Flight

Array = NDArray[np.float64]

_IMU = "sensor_msgs/msg/Imu"
_ODOMETRY = "nav_msgs/msg/Odometry"
_BATTERY = "sensor_msgs/msg/BatteryState"


def read(path: Path, columns: Columns | None, piece: tuple[float, float]) -> Flight:
    """Reads a bag; without a mapping its first Imu, Odometry and BatteryState, and no motors."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise ImportError('ROS bags need rosbags: pip install "propwash[log]"') from error
    folder = path.parent if path.suffix == ".db3" else path
    try:
        with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as bag:
            kinds = {c.topic: c.msgtype for c in bag.connections}
            columns = columns or _known(path, kinds)
            wanted = _topics(columns)
            messages: dict[str, tuple[list[float], list[Any]]] = {t: ([], []) for t in wanted}
            chosen = [c for c in bag.connections if c.topic in wanted]
            for connection, stamp, raw in bag.messages(connections=chosen) if chosen else ():
                message = bag.deserialize(raw, connection.msgtype)
                times, values = messages[connection.topic]
                times.append(_time(message, stamp))
                values.append(message)
    except (_NoMapping, ImportError):
        raise
    except MemoryError:  # of a record whose size is wrong
        raise ValueError(
            f"{path}: expected a ROS bag, it declares more than memory holds"
        ) from None
    except Exception as error:  # rosbags, sqlite3 and decompressors have many kinds
        raise ValueError(f"{path}: expected a ROS bag: {error!s:.300}") from None

    def series(name: str) -> tuple[Array, Array]:
        topic, _, field = name.rpartition(":")
        if topic not in kinds:
            raise KeyError(", ".join(f"{t} ({kind})" for t, kind in sorted(kinds.items())))
        times, values = messages[topic]
        parts = re.findall(r"[^.\[\]]+", field)
        return np.array(times), np.array([_field(one, parts, kinds[topic]) for one in values])

    return from_topics(path, columns, series, piece)


class _NoMapping(ValueError):
    """A sound bag without the topics that are read by default."""


def _time(message: Any, received: int) -> float:
    """s, of the message's header, or of its arrival where it has none."""
    header = getattr(message, "header", None)
    if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
        return received * 1e-9
    return float(header.stamp.sec + 1e-9 * header.stamp.nanosec)


def _field(message: Any, parts: Sequence[str], kind: str) -> float:
    """A number of a message. Raises KeyError, which tells the message's fields, for no number."""
    value = message
    try:
        for part in parts:
            value = value[int(part)] if part.isdigit() else getattr(value, part)
        return float(value)
    except (AttributeError, IndexError, TypeError, ValueError, OverflowError):
        names = [name for name in vars(message) if not name.startswith("_")]
        raise KeyError(f"in {kind}: {', '.join(names)}") from None


def _topics(columns: Columns) -> set[str]:
    keys = ("body_rates", "specific_force", "motors", "position", "velocity", "attitude", "voltage")
    return {name.rpartition(":")[0] for key in keys for name in getattr(columns, key)}


def _known(path: Path, kinds: dict[str, str]) -> Columns:
    """A mapping from the kinds of the messages, without odometry's velocity: it is the body's."""
    first = {kind: topic for topic, kind in reversed(sorted(kinds.items()))}
    if _IMU not in first:
        there = ", ".join(f"{topic} ({kind})" for topic, kind in sorted(kinds.items()))
        raise _NoMapping(
            f"{path}: expected a topic of {_IMU}, found {there or 'none':.500}; give a mapping"
        )
    imu, odometry, battery = (first.get(kind) for kind in (_IMU, _ODOMETRY, _BATTERY))
    pose = f"{odometry}:pose.pose"
    return Columns(
        body_rates=[f"{imu}:angular_velocity.{axis}" for axis in "xyz"],
        specific_force=[f"{imu}:linear_acceleration.{axis}" for axis in "xyz"],
        position=[f"{pose}.position.{axis}" for axis in "xyz"] if odometry else (),
        attitude=[f"{pose}.orientation.{part}" for part in "wxyz"] if odometry else (),
        voltage=[f"{battery}:voltage"] if battery else (),
    )
