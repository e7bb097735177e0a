"""Writers of log files, byte by byte: PX4 ULog, and bags of ROS 1 and ROS 2."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from propwash import frames, identify
from propwash.vehicle.multicopter import Array

Topic = tuple[str, Array, Array]
"""Fields as a ULog declares them, times (K,) in s, values (K, N)."""
Maker = Callable[[int], Any]
"""Makes a message from its number."""

IMU = "float[3] gyro_rad;float[3] accelerometer_m_s2"


def _message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), kind[0]) + body


def write_ulog(path: Path, topics: Mapping[str, Topic], start: float = 100.0) -> Path:
    """A ULog with these topics."""
    parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0), _message(b"B", bytes(40))]
    for name, (declared, _, _) in topics.items():
        parts.append(_message(b"F", f"{name}:uint64_t timestamp;{declared};".encode()))
    for number, name in enumerate(topics):
        parts.append(_message(b"A", struct.pack("<BH", 0, number) + name.encode()))
    for number, (_, time, values) in enumerate(topics.values()):
        for at, row in zip(time, values, strict=True):
            stamp = round((start + at) * 1e6)
            body = struct.pack(f"<HQ{len(row)}f", number, stamp, *row)
            parts.append(_message(b"D", body))
    path.write_bytes(b"".join(parts))
    return path


def px4(log: identify.FlightLog, motors_every: int = 1) -> dict[str, Topic]:
    """A flight as logged by PX4: axes point down, some topics have lower rates."""
    assert log.position is not None
    assert log.velocity is not None
    assert log.attitude is not None
    imu = np.hstack([frames.flu_to_frd(log.body_rates), frames.flu_to_frd(log.specific_force)])
    place = np.hstack([frames.enu_to_ned(log.position), frames.enu_to_ned(log.velocity)])
    attitude = frames.quaternion_enu_flu_to_ned_frd(log.attitude)
    attitude[::3] *= -1.0  # a quaternion and its negative are the same attitude
    slow = slice(None, None, 2)
    duty = np.pad(log.duty, ((0, 0), (0, 2)), constant_values=np.nan)[::motors_every]
    return {
        "sensor_combined": (IMU, log.time, imu),
        "vehicle_local_position": (
            "float x;float y;float z;float vx;float vy;float vz", log.time, place,
        ),
        "vehicle_attitude": ("float[4] q", log.time[slow], attitude[slow]),
        "actuator_motors": ("float[6] control", log.time[::motors_every], duty),
    }  # fmt: skip


def typestore() -> Any:
    """The message types of ROS 2 Humble."""
    typesys = pytest.importorskip("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def write_bag(
    folder: Path,
    topics: Sequence[tuple[str, str, float, Maker]],
    rows: int,
    storage: str = "SQLITE3",
) -> Path:
    """A ROS 2 bag of topics: name, type, delay of its messages [s], and messages."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    store = typestore()
    plugin = rosbag2.StoragePlugin[storage]
    with rosbag2.Writer(folder, version=9, storage_plugin=plugin) as writer:
        links = [writer.add_connection(name, kind, typestore=store) for name, kind, *_ in topics]
        for k in range(rows):
            for link, (_, kind, late, make) in zip(links, topics, strict=True):
                stamp = 10**9 + round((0.004 * k + late) * 1e9)
                writer.write(link, stamp, store.serialize_cdr(make(k), kind))
    return folder


def write_ros1_bag(path: Path, rows: int) -> Path:
    """A ROS 1 bag of inertial readings on /imu."""
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    kind = "sensor_msgs/msg/Imu"
    with rosbag1.Writer(path) as writer:
        link = writer.add_connection("/imu", kind, typestore=store)
        for k in range(rows):
            stamp = 10**9 + 4_000_000 * k
            writer.write(link, stamp, store.serialize_ros1(_imu_message(k, store.types), kind))
    return path


def imu_message(k: int) -> Any:
    """An inertial reading of ROS 2, 250 a second."""
    return _imu_message(k, typestore().types)


def _imu_message(k: int, types: Any) -> Any:
    vector = types["geometry_msgs/msg/Vector3"]
    stamp = types["builtin_interfaces/msg/Time"](*divmod(10**9 + 4_000_000 * k, 10**9))
    header = types["std_msgs/msg/Header"]
    numbered = {"seq": k} if "seq" in header.__dataclass_fields__ else {}
    still = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    nine = np.zeros(9)
    return types["sensor_msgs/msg/Imu"](
        header(stamp=stamp, frame_id="base", **numbered),
        *(still, nine, vector(0.1, 0.2, 0.3), nine, vector(1.0, 2.0, 9.8), nine),
    )
