"""MCAP files of JSON and protobuf messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from identify_flight import simulated_flight
from log_files import imu_message, write_bag, write_mcap
from propwash import logs

pytest.importorskip("mcap")
pytest.importorskip("mcap_protobuf")

MAPPING = logs.Columns(
    body_rates=[f"/imu:rates.{axis}" for axis in "xyz"],
    specific_force=[f"/imu:force.{axis}" for axis in "xyz"],
    motors=["/imu:duty[0]", "/imu:duty[1]"],
)


@pytest.fixture(scope="module")
def flown() -> logs.Flight:
    return simulated_flight(1.5)


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("encoding", ["json", "protobuf"])
def test_messages_are_read(
    flown: logs.Flight, tmp_path: Path, encoding: str, stamped: bool
) -> None:
    log = logs.read_log(write_mcap(tmp_path / "log.mcap", flown, encoding, stamped), MAPPING)
    assert log.time == pytest.approx(flown.time, abs=1e-6)
    assert log.body_rates == pytest.approx(flown.body_rates)
    assert log.specific_force == pytest.approx(flown.specific_force)
    assert log.duty == pytest.approx(flown.duty[:, :2])


@pytest.mark.parametrize("encoding", ["json", "protobuf"])
def test_errors_name_topics_and_fields(flown: logs.Flight, tmp_path: Path, encoding: str) -> None:
    path = write_mcap(tmp_path / "log.mcap", flown, encoding, stamped=True)
    kind = "json" if encoding == "json" else "test.Imu"
    with pytest.raises(ValueError, match=rf"expected a mapping of the topics /imu \({kind}\)"):
        logs.read_log(path)
    for name, found in (
        ("/imu:gyro.x", rf"in {kind}: .*rates.*force"),
        ("/imu:duty[7]", rf"in {kind}: .*rates.*force"),
        ("/gyro:x", rf"/imu \({kind}\)"),
    ):
        mapping = logs.Columns(body_rates=[name] * 3, specific_force=MAPPING.specific_force)
        with pytest.raises(ValueError, match=f"missing .* for body_rates; found {found}"):
            logs.read_log(path, mapping)


def test_a_damaged_file_is_refused(flown: logs.Flight, tmp_path: Path) -> None:
    path = write_mcap(tmp_path / "log.mcap", flown, "json", stamped=True)
    content = path.read_bytes()
    for damaged in (content[:200], content[: len(content) // 2], b"\x89MCAP0\r\n", b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"log\.mcap: expected"):
            logs.read_log(path, MAPPING)


def test_a_file_of_ros_without_metadata_is_read(tmp_path: Path) -> None:
    topics = [("/imu", "sensor_msgs/msg/Imu", 0.0, imu_message)]
    folder = write_bag(tmp_path / "bag", topics, 100, "MCAP")
    expected = logs.read_log(folder)
    alone = next(folder.glob("*.mcap")).rename(tmp_path / "alone.mcap")
    log = logs.read_log(alone)
    assert np.array_equal(log.time, expected.time)
    assert np.array_equal(log.body_rates, expected.body_rates)
