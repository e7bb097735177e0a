"""Logs of topics, each by its own times: PX4 ULog files by their bytes, and ROS bags."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import simulated_flight
from propwash import frames, identify
from propwash.identify import Columns
from propwash.identify._parameters import FORCES
from propwash.identify._problem import free_names
from propwash.multicopter import Array

Topic = tuple[str, Array, Array]
"""Fields as a ULog declares them, times (K,) in s, values (K, N)."""

IMU = "float[3] gyro_rad;float[3] accelerometer_m_s2"


@pytest.fixture(scope="module")
def flown() -> identify.FlightLog:
    return simulated_flight(3.0)


def _message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), kind[0]) + body


def _write_ulog(path: Path, topics: Mapping[str, Topic], start: float = 100.0) -> Path:
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


def _px4(log: identify.FlightLog, motors_every: int = 1) -> dict[str, Topic]:
    """A flight as PX4 logs it: frames that look down, some topics slower."""
    assert log.position is not None
    assert log.velocity is not None
    assert log.attitude is not None
    imu = np.hstack([frames.flu_to_frd(log.body_rates), frames.flu_to_frd(log.specific_force)])
    place = np.hstack([frames.enu_to_ned(log.position), frames.enu_to_ned(log.velocity)])
    attitude = frames.quaternion_enu_flu_to_ned_frd(log.attitude)
    attitude[::3] *= -1.0  # a quaternion and its negative are one attitude
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


def test_a_flight_in_frames_that_look_down_is_the_same_flight(
    flown: identify.FlightLog, tmp_path: Path
) -> None:
    pytest.importorskip("pyulog")
    log = identify.read_log(_write_ulog(tmp_path / "log.ulg", _px4(flown)))
    rows = len(log.time)
    assert rows >= len(flown.time) - 2
    assert log.time == pytest.approx(flown.time[:rows], abs=2e-6)
    for name in ("position", "velocity", "body_rates", "specific_force", "duty"):
        assert getattr(log, name) == pytest.approx(getattr(flown, name)[:rows], abs=2e-5), name
    assert log.attitude is not None
    assert flown.attitude is not None
    # every second attitude is between two that were logged, whichever signs these have
    alike = np.abs(np.sum(log.attitude * flown.attitude[:rows], axis=1))
    assert alike == pytest.approx(np.ones(rows), abs=1e-6)
    assert log.synchronous


def test_slow_commands_are_not_taken_for_synchronous(
    flown: identify.FlightLog, tmp_path: Path
) -> None:
    """Torques cannot be told from commands of which seven in eight were not logged."""
    pytest.importorskip("pyulog")
    path = _write_ulog(tmp_path / "log.ulg", _px4(flown, motors_every=8))
    log = identify.read_log(path)
    assert not log.synchronous
    told = free_names([log], pw.load_vehicle("crazyflie"))
    assert set(told) == set(FORCES)


def test_motors_that_px4_disarms_stand(flown: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    topics = _px4(flown)
    declared, time, duty = topics["actuator_motors"]
    duty[:100] = np.nan
    path = _write_ulog(tmp_path / "log.ulg", {**topics, "actuator_motors": (declared, time, duty)})
    log = identify.read_log(path)
    assert np.all(log.duty[:100] == 0.0)
    assert log.duty[101:] == pytest.approx(flown.duty[101 : len(log.time)], abs=1e-6)


def test_a_piece_of_a_log_with_a_gap_can_be_read(flown: identify.FlightLog, tmp_path: Path) -> None:
    """What the error says would do does: the pieces before and after the gap."""
    pytest.importorskip("pyulog")
    topics = {
        name: (declared, time[(time < 1.0) | (time > 1.5)], values[(time < 1.0) | (time > 1.5)])
        for name, (declared, time, values) in _px4(flown).items()
    }
    path = _write_ulog(tmp_path / "log.ulg", topics)
    with pytest.raises(ValueError, match=r"row 251: a gap of .* s before .*: the piece to 0.996 s"):
        identify.read_log(path)
    before = identify.read_log(path, stop=0.99)
    after = identify.read_log(path, start=1.51)
    assert before.time[-1] == pytest.approx(0.988, abs=1e-5)
    assert after.time[0] == pytest.approx(1.512, abs=1e-5)
    first = round(1.512 / 4e-3)
    assert after.duty[0] == pytest.approx(flown.duty[first], abs=1e-6)


Maker = Callable[[int], object]


def _write_bag(folder: Path, topics: Sequence[tuple[str, str, float, Maker]], rows: int) -> Path:
    """A bag of topics: name, kind, s by which its messages are late, and messages by number."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    store = _store()
    with rosbag2.Writer(folder, version=9) as writer:
        links = [writer.add_connection(name, kind, typestore=store) for name, kind, *_ in topics]
        for k in range(rows):
            for link, (_, kind, late, make) in zip(links, topics, strict=True):
                stamp = 10**9 + round((0.004 * k + late) * 1e9)
                writer.write(link, stamp, store.serialize_cdr(make(k), kind))
    return folder


def _store() -> Any:
    typesys = pytest.importorskip("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


def _imu_message(k: int) -> object:
    types = _store().types
    vector = types["geometry_msgs/msg/Vector3"]
    stamp = types["builtin_interfaces/msg/Time"](*divmod(10**9 + 4_000_000 * k, 10**9))
    head = types["std_msgs/msg/Header"](stamp, "base")
    still = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    nine = np.zeros(9)
    return types["sensor_msgs/msg/Imu"](
        head, still, nine, vector(0.1, 0.2, 0.3), nine, vector(1.0, 2.0, 9.8), nine
    )


def _number(k: int) -> object:
    return _store().types["std_msgs/msg/Float64"](0.5 + 0.001 * k)


def test_every_motor_may_have_a_topic_and_a_time_of_its_own(tmp_path: Path) -> None:
    topics = [("/imu", "sensor_msgs/msg/Imu", 0.0, _imu_message)]
    topics += [(f"/m{i}", "std_msgs/msg/Float64", 0.001 * i, _number) for i in range(2)]
    folder = _write_bag(tmp_path / "bag", topics, 200)
    mapping: dict[str, Any] = {
        "body_rates": [f"/imu:angular_velocity.{a}" for a in "xyz"],
        "specific_force": [f"/imu:linear_acceleration.{a}" for a in "xyz"],
    }
    log = identify.read_log(folder, Columns(**mapping, motors=["/m0:data", "/m1:data"]))
    # a millisecond later is a quarter of a step of 0.001 less
    assert log.duty[:, 0] - log.duty[:, 1] == pytest.approx(np.full(len(log.time), 0.00025))
    for field in ("angular_velocity_covariance[9]", "header", "orientation.data", ""):
        wrong = {**mapping, "body_rates": [f"/imu:{field}"] * 3}
        with pytest.raises(ValueError, match=r"missing /imu:.* for body_rates; found in sensor_.*"):
            identify.read_log(folder, Columns(**wrong))
