"""Logs with topics at different times: PX4 ULog files and ROS bags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import simulated_flight
from log_files import imu_message, px4, typestore, write_bag, write_ulog
from propwash import identify
from propwash.identify import Columns
from propwash.identify._parameters import BALANCES, FORCES
from propwash.identify._problem import free_names


@pytest.fixture(scope="module")
def flown() -> identify.FlightLog:
    return simulated_flight(3.0)


def test_logs_in_z_down_frames_are_converted(flown: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    log = identify.read_log(write_ulog(tmp_path / "log.ulg", px4(flown)))
    rows = len(log.time)
    assert rows >= len(flown.time) - 2
    assert log.time == pytest.approx(flown.time[:rows], abs=2e-6)
    for name in ("position", "velocity", "body_rates", "specific_force", "duty"):
        assert getattr(log, name) == pytest.approx(getattr(flown, name)[:rows], abs=2e-5), name
    assert log.attitude is not None
    assert flown.attitude is not None
    # every second attitude is interpolated, also between quaternions of opposite signs
    cosine = np.abs(np.sum(log.attitude * flown.attitude[:rows], axis=1))
    assert cosine == pytest.approx(np.ones(rows), abs=1e-6)
    assert log.synchronous


def test_slow_commands_are_not_treated_as_synchronous(
    flown: identify.FlightLog, tmp_path: Path
) -> None:
    """Torques are not identifiable if only every eighth command is logged."""
    pytest.importorskip("pyulog")
    path = write_ulog(tmp_path / "log.ulg", px4(flown, motors_every=8))
    log = identify.read_log(path)
    assert not log.synchronous
    names = free_names([log], pw.vehicles.load("crazyflie"))
    assert set(names) == {*FORCES, *BALANCES, "blow_back"}


def test_motors_disarmed_by_px4_are_stopped(flown: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    topics = px4(flown)
    declared, time, duty = topics["actuator_motors"]
    duty[:100] = np.nan
    path = write_ulog(tmp_path / "log.ulg", {**topics, "actuator_motors": (declared, time, duty)})
    log = identify.read_log(path)
    assert np.all(log.duty[:100] == 0.0)
    assert log.duty[101:] == pytest.approx(flown.duty[101 : len(log.time)], abs=1e-6)


def test_a_truncated_log_is_read_and_a_damaged_one_warns(
    flown: identify.FlightLog, tmp_path: Path
) -> None:
    pytest.importorskip("pyulog")
    path = write_ulog(tmp_path / "log.ulg", px4(flown))
    content = path.read_bytes()
    rows = len(identify.read_log(path).time)
    path.write_bytes(content[:-7])  # within the last motor command
    assert rows - 2 <= len(identify.read_log(path).time) <= rows
    # a message of an unknown type, after the definitions
    head = content.index(b"D", content.rindex(b"actuator_motors")) - 2
    path.write_bytes(content[:head] + bytes([4, 0, 0, 1, 2, 3, 4]) + content[head:])
    with pytest.warns(UserWarning, match=r"log\.ulg: damaged messages are omitted"):
        assert len(identify.read_log(path).time) <= rows


def test_an_implausible_number_is_refused(flown: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    topics = px4(flown)
    declared, time, position = topics["vehicle_local_position"]
    position[100, 1] = 1e30
    topics["vehicle_local_position"] = (declared, time, position)
    path = write_ulog(tmp_path / "log.ulg", topics)
    with pytest.raises(
        ValueError, match=r"log\.ulg, row 101: position is 1e\+30, expected at most"
    ):
        identify.read_log(path)


def test_a_segment_of_a_log_with_a_gap_can_be_read(
    flown: identify.FlightLog, tmp_path: Path
) -> None:
    """As the error message suggests: the segments before and after the gap."""
    pytest.importorskip("pyulog")
    topics = {
        name: (declared, time[(time < 1.0) | (time > 1.5)], values[(time < 1.0) | (time > 1.5)])
        for name, (declared, time, values) in px4(flown).items()
    }
    path = write_ulog(tmp_path / "log.ulg", topics)
    with pytest.raises(ValueError, match=r"row 251: a gap of .* s before .*: the part to 0.996 s"):
        identify.read_log(path)
    before = identify.read_log(path, stop=0.99)
    after = identify.read_log(path, start=1.51)
    assert before.time[-1] == pytest.approx(0.988, abs=1e-5)
    assert after.time[0] == pytest.approx(1.512, abs=1e-5)
    first = round(1.512 / 4e-3)
    assert after.duty[0] == pytest.approx(flown.duty[first], abs=1e-6)


def _number(k: int) -> object:
    return typestore().types["std_msgs/msg/Float64"](0.5 + 0.001 * k)


def test_motors_can_have_separate_topics_and_times(tmp_path: Path) -> None:
    topics = [("/imu", "sensor_msgs/msg/Imu", 0.0, imu_message)]
    topics += [(f"/m{i}", "std_msgs/msg/Float64", 0.001 * i, _number) for i in range(2)]
    folder = write_bag(tmp_path / "bag", topics, 200)
    mapping: dict[str, Any] = {
        "body_rates": [f"/imu:angular_velocity.{a}" for a in "xyz"],
        "specific_force": [f"/imu:linear_acceleration.{a}" for a in "xyz"],
    }
    log = identify.read_log(folder, Columns(**mapping, motors=["/m0:data", "/m1:data"]))
    # a shift of 1 ms is a quarter of a step of 0.001
    assert log.duty[:, 0] - log.duty[:, 1] == pytest.approx(np.full(len(log.time), 0.00025))
    for field in ("angular_velocity_covariance[9]", "header", "orientation.data", ""):
        wrong = {**mapping, "body_rates": [f"/imu:{field}"] * 3}
        with pytest.raises(ValueError, match=r"missing /imu:.* for body_rates; found in sensor_.*"):
            identify.read_log(folder, Columns(**wrong))
