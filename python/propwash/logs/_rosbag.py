"""Bags of ROS 1 and ROS 2, with rosbags."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.logs._columns import WIDTHS, Columns, from_topics
from propwash.logs._flights import Flight, LogPart

Array = NDArray[np.float64]

_IMU = "sensor_msgs/msg/Imu"
_ODOMETRY = "nav_msgs/msg/Odometry"
_BATTERY = "sensor_msgs/msg/BatteryState"

BLACKBIRD = Columns(
    body_rates=[f"/blackbird/imu:angular_velocity.{axis}" for axis in "xyz"],
    specific_force=[f"/blackbird/imu:linear_acceleration.{axis}" for axis in "xyz"],
    motors=[f"/blackbird/pwm:pwm[{rotor}]" for rotor in range(4)],
    rotor_speeds=[f"/blackbird/rotor_rpm:rpm[{rotor}]" for rotor in range(4)],
    rotor_speed_unit="rpm",
    position=[f"/blackbird/state:pose.position.{axis}" for axis in "xyz"],
    attitude=[f"/blackbird/state:pose.orientation.{part}" for part in "wxyz"],
    offset={"motors": -1000.0},
    scale={"motors": 1e-3},
    down=True,
    imu_attitude=(0.707479362748676, 0.002029830683065, -0.007745228390866, 0.706688646087723),
)
"""Bags of the Blackbird data set (logConversionUtilities/msgConverters.py of
github.com/mit-aera/Blackbird-Dataset); pulses of 1000 to 2000 us."""


def read(path: Path, columns: Columns | None, part: LogPart) -> Flight:
    """Reads a bag; by default as Blackbird's, or its first Imu, Odometry and BatteryState."""
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
            names = [name for key in WIDTHS for name in getattr(columns, key)]
            messages: dict[str, tuple[list[float], list[Any]]] = {
                name.rpartition(":")[0]: ([], []) for name in names
            }
            chosen = [c for c in bag.connections if c.topic in messages]
            for connection, stamp, raw in bag.messages(connections=chosen) if chosen else ():
                message = bag.deserialize(raw, connection.msgtype)
                times, values = messages[connection.topic]
                times.append(_time(message, stamp))
                values.append(message)
    except (_NoMapping, ImportError):
        raise
    except MemoryError:  # a record declares a wrong size
        raise ValueError(
            f"{path}: expected a ROS bag, it declares more than memory holds"
        ) from None
    except Exception as error:  # rosbags, sqlite3 and decompressors raise many types
        raise ValueError(f"{path}: expected a ROS bag: {error!s:.300}") from None

    return from_topics(path, columns, series_of(messages, kinds), part)


def series_of(
    messages: Mapping[str, tuple[list[float], list[Any]]], kinds: Mapping[str, str]
) -> Callable[[str], tuple[Array, Array]]:
    """Returns a function from `topic:field` to times [s] and values, for `from_topics`.

    messages: Times and messages of the topics that are used. kinds: Type of each topic of the log.
    """

    def series(name: str) -> tuple[Array, Array]:
        topic, _, field = name.rpartition(":")
        if topic not in kinds:
            raise KeyError(", ".join(f"{t} ({kind})" for t, kind in sorted(kinds.items())))
        times, values = messages[topic]
        parts = re.findall(r"[^.\[\]]+", field)
        return np.array(times), np.array([_field(one, parts, kinds[topic]) for one in values])

    return series


class _NoMapping(ValueError):
    """A valid bag without the default topics."""


def _time(message: Any, received: int) -> float:
    """Time of the message's header, or of its reception if it has none [s]."""
    header = getattr(message, "header", None)
    if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
        return received * 1e-9
    return float(header.stamp.sec + 1e-9 * header.stamp.nanosec)


def _field(message: Any, parts: Sequence[str], kind: str) -> float:
    """Returns a number of a message. Raises KeyError that lists the fields if there is none."""
    value = message
    try:
        for part in parts:
            if isinstance(value, Mapping):
                value = value[part]
            else:
                value = value[int(part)] if part.isdigit() else getattr(value, part)
        return float(value)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
        raise KeyError(f"in {kind}: {', '.join(_names(message))}") from None


def _names(message: Any) -> list[str]:
    """Fields of a message of ROS, JSON or protobuf."""
    if isinstance(message, Mapping):
        return [str(name) for name in message]
    if hasattr(message, "DESCRIPTOR"):
        return list(message.DESCRIPTOR.fields_by_name)
    return [name for name in getattr(message, "__dict__", {}) if not name.startswith("_")]


def _known(path: Path, kinds: dict[str, str]) -> Columns:
    """Makes a mapping from message types; odometry's velocity, in the body frame, is not used."""
    if {f"/blackbird/{topic}" for topic in ("imu", "pwm", "state")} <= set(kinds):
        has_speeds = "/blackbird/rotor_rpm" in kinds
        return BLACKBIRD if has_speeds else replace(BLACKBIRD, rotor_speeds=())
    first = {kind: topic for topic, kind in reversed(sorted(kinds.items()))}
    if _IMU not in first:
        there = ", ".join(f"{topic} ({kind})" for topic, kind in sorted(kinds.items()))
        raise _NoMapping(
            f"{path}: expected a topic of {_IMU}, found {there or 'none':.500}; pass a mapping"
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
