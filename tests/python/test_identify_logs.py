"""Logs of other tools, invalid logs, and the Allan deviation of known noise."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import identify
from propwash.identify import Columns
from propwash.vehicle.multicopter import Array

COLUMNS = Columns(
    time="us",
    body_rates=["p", "q", "r"],
    specific_force=["ax", "ay", "az"],
    motors=["m1", "m2"],
    scale={"time": 1e-6, "motors": 1e-3, "specific_force": 9.80665},
    offset={"motors": -1000.0},
)
NAMES = ["us", "p", "q", "r", "ax", "ay", "az", "m1", "m2"]


def _table(rows: int = 200) -> Array:
    time = 4000.0 * np.arange(rows)
    rates = np.sin(np.outer(time * 1e-6, [1.0, 2.0, 3.0]))
    force = np.tile([0.0, 0.0, 1.0], (rows, 1))
    motors = np.tile([1500.0, 1250.0], (rows, 1))
    return np.column_stack([time, rates, force, motors])


def _write(path: Path, table: Array, names: list[str] = NAMES) -> Path:
    rows = [",".join(f"{value:.9g}" for value in row) for row in table]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return path


def test_columns_of_a_csv_file_are_mapped_and_scaled(tmp_path: Path) -> None:
    log = identify.read_log(_write(tmp_path / "log.csv", _table()), COLUMNS)
    assert log.period == pytest.approx(4e-3)
    assert log.duty[0] == pytest.approx([0.5, 0.25])
    assert log.specific_force[0] == pytest.approx([0.0, 0.0, 9.80665])
    assert log.body_rates == pytest.approx(_table()[:, 1:4], abs=1e-8)
    assert log.position is None


def test_the_mapping_can_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "columns.toml"
    file.write_text(
        'time = "us"\nbody_rates = ["p", "q", "r"]\nspecific_force = ["ax", "ay", "az"]\n'
        'motors = ["m1", "m2"]\nscale = {time = 1e-6, motors = 1e-3, specific_force = 9.80665}\n'
        "offset = {motors = -1000.0}\n"
    )
    assert Columns.from_toml(file) == COLUMNS
    file.write_text('tiem = "us"\n')
    with pytest.raises(ValueError, match=r"columns\.toml: unknown key 'tiem'; known here: body"):
        Columns.from_toml(file)


def test_one_column_may_be_a_text(tmp_path: Path) -> None:
    """In code and in a file; a list of one name is accepted unless several are required."""
    one = replace(COLUMNS, motors="m1", voltage="m2", scale={"time": 1e-6}, offset={})
    listed = replace(one, motors=["m1"], voltage=["m2"])
    file = tmp_path / "columns.toml"
    file.write_text(
        'time = "us"\nbody_rates = ["p", "q", "r"]\nspecific_force = ["ax", "ay", "az"]\n'
        'motors = "m1"\nvoltage = "m2"\nscale = {time = 1e-6}\n'
    )
    table = _table()
    table[:, 7:] *= 1e-3 * 0.5
    path = _write(tmp_path / "log.csv", table)
    logs = [identify.read_log(path, each) for each in (listed, one, Columns.from_toml(file))]
    for log in logs:
        assert log.duty == pytest.approx(np.full((200, 1), 0.75))
        assert log.voltage == pytest.approx(np.full(200, 0.625))
    with pytest.raises(ValueError, match=r"columns\.body_rates: expected 3 names, got 1"):
        replace(COLUMNS, body_rates="p")
    assert replace(COLUMNS, voltage="").voltage == ()


def test_the_start_of_a_log_segment_must_precede_its_stop(tmp_path: Path) -> None:
    path = _write(tmp_path / "log.csv", _table())
    with pytest.raises(ValueError, match=r"start = 0\.6 s: expected a time below stop = 0\.2 s"):
        identify.read_log(path, COLUMNS, start=0.6, stop=0.2)
    with pytest.raises(ValueError, match="expected a time below stop"):
        identify.read_log(path, COLUMNS).cut(0.6, 0.2)


def _with(row: int, column: int, value: float) -> Array:
    table = _table()
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (_with(10, 0, 36000.0), r"row 11: .* the same time twice: 0.036 s, then 0.036 s; remove"),
        (_with(10, 0, 35000.0), r"row 11: .* time going back: 0.036 s, then 0.035 s; .*sort"),
        (np.delete(_table(), range(50, 90), axis=0), r"row 51: a gap of 0.164 s before .*split"),
        (_with(20, 2, np.nan), r"row 21: q is not a finite number, us = 80000; remove the row"),
        (_with(20, 0, np.inf), r"row 21: us is not a finite number"),
        (_with(20, 7, 2100.0), r"row 21, at 0.08 s: m1 gives a duty cycle of 1.1, .*set scale"),
        (_table(20), r"at least 50 rows, got 20, 0.076 s; use a longer log"),
    ],
)
def test_errors_name_bad_rows_and_a_remedy(tmp_path: Path, table: Array, message: str) -> None:
    path = _write(tmp_path / "log.csv", table)
    with pytest.raises(ValueError, match=message) as error:
        identify.read_log(path, COLUMNS)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": {"time": 0.0}}, r"scale\.time: expected a finite number that is not 0, got 0"),
        ({"scale": {"time": "ms"}}, r"scale\.time: expected a finite number .* got 'ms'"),
        (
            {"offset": {"motors": float("nan")}},
            r"offset\.motors: expected a finite number, got nan",
        ),
        ({"scale": {"engines": 1.0}}, r"scale: 'engines' is not one of time, motors"),
        ({"scale": 3}, r"scale: expected a table of numbers, got 3"),
        ({"motors": 4}, r"motors: expected a list of names, got 4"),
        ({"motors": [1, 2]}, r"motors: expected a list of names"),
        ({"time": 5}, r"time: expected a name, got 5"),
        ({"down": "no"}, r"down: expected true or false, got 'no'"),
        ({"accelerometer_cutoff": -3.0}, r"accelerometer_cutoff: expected a number > 0 \[Hz\]"),
    ],
)
def test_invalid_mappings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"columns\.{message}"):
        replace(COLUMNS, **wrong)


def test_errors_name_missing_columns(tmp_path: Path) -> None:
    path = _write(tmp_path / "log.csv", _table()[:, :8], NAMES[:8])
    with pytest.raises(ValueError, match=r"missing columns m2; found us, p, q, r.*Name others"):
        identify.read_log(path, COLUMNS)
    with pytest.raises(ValueError, match=r"missing columns .*docs/replay.md"):
        identify.read_log(path)
    with pytest.raises(TypeError, match=r"columns: expected identify\.Columns, got 'm1'"):
        identify.read_log(path, "m1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"columns\.body_rates: expected 3 names, got 2"):
        Columns(body_rates=["p", "q"], specific_force=["x", "y", "z"])


def _ulog_message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), kind[0]) + body


def _write_ulog(path: Path, rows: int = 200) -> None:
    """A PX4 log with two topics of different rates."""
    imu = b"sensor_combined:uint64_t timestamp;float[3] gyro_rad;float[3] accelerometer_m_s2;"
    pose = b"vehicle_attitude:uint64_t timestamp;float[4] q;"
    parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0)]
    parts += [_ulog_message(b"B", bytes(40))]
    parts += [_ulog_message(b"F", text) for text in (imu, pose)]
    for number, name in enumerate((b"sensor_combined", b"vehicle_attitude")):
        parts.append(_ulog_message(b"A", struct.pack("<BH", 0, number) + name))
    for k in range(rows):
        stamp = 1_000_000 + 4000 * k
        body = struct.pack("<HQ6f", 0, stamp, 0.1, 0.2, 0.3, 1.0, 2.0, -9.8)
        parts.append(_ulog_message(b"D", body))
        if k % 2 == 0:
            parts.append(_ulog_message(b"D", struct.pack("<HQ4f", 1, stamp, 1.0, 0.0, 0.0, 0.0)))
    path.write_bytes(b"".join(parts))


def test_a_px4_log_is_read_into_our_frames(tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    path = tmp_path / "log.ulg"
    _write_ulog(path)
    log = identify.read_log(path)
    assert log.period == pytest.approx(4e-3)
    assert log.body_rates[5] == pytest.approx([0.1, -0.2, -0.3])  # forward, left, up
    assert log.specific_force[5] == pytest.approx([1.0, -2.0, 9.8], rel=1e-6)
    assert log.attitude is not None
    # north is y in a world whose x is east
    assert log.attitude[5] == pytest.approx(np.sqrt(0.5) * np.array([1, 0, 0, 1]), abs=1e-6) or (
        log.attitude[5] == pytest.approx(-np.sqrt(0.5) * np.array([1, 0, 0, 1]), abs=1e-6)
    )
    assert log.duty.shape[1] == 0
    mapping = Columns(
        body_rates=[f"sensor_combined:gyro_rad[{k}]" for k in range(3)],
        specific_force=["vehicle_attitude:p[0]"] * 3,
    )
    with pytest.raises(ValueError, match=r"missing vehicle_attitude:p\[0\] for specific_force; .*"):
        identify.read_log(path, mapping)
    path.write_bytes(b"no log")
    with pytest.raises(ValueError, match=r"log\.ulg: expected a PX4 ULog file"):
        identify.read_log(path)


def test_a_ros_bag_is_read(tmp_path: Path) -> None:
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    vector, imu = types["geometry_msgs/msg/Vector3"], types["sensor_msgs/msg/Imu"]
    stamp, header = types["builtin_interfaces/msg/Time"], types["std_msgs/msg/Header"]
    still = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    folder = tmp_path / "bag"
    with rosbag2.Writer(folder, version=9) as writer:
        connection = writer.add_connection("/imu", imu.__msgtype__, typestore=store)
        for k in range(200):
            time = 1_000_000_000 + 4_000_000 * k
            head = header(stamp(time // 10**9, time % 10**9), "base")
            message = imu(
                head, still, np.zeros(9), vector(0.1, 0.2, 0.3), np.zeros(9),
                vector(1.0, 2.0, 9.8), np.zeros(9),
            )  # fmt: skip
            writer.write(connection, time + 777, store.serialize_cdr(message, imu.__msgtype__))
    log = identify.read_log(folder)
    assert log.period == pytest.approx(4e-3)
    assert log.body_rates[3] == pytest.approx([0.1, 0.2, 0.3])
    assert log.specific_force[3] == pytest.approx([1.0, 2.0, 9.8])
    with pytest.raises(ValueError, match=r"missing /gyro:x for body_rates; found /imu \(sensor"):
        identify.read_log(
            folder, Columns(body_rates=["/gyro:x"] * 3, specific_force=["/imu:a"] * 3)
        )
    with pytest.raises(FileNotFoundError, match="no_such"):
        identify.read_log(tmp_path / "no_such.mcap")


def _still(gyroscope: Array, rate: float) -> identify.FlightLog:
    rows = len(gyroscope)
    return identify.FlightLog(
        path=Path("still"),
        time=np.arange(rows) / rate,
        duty=np.zeros((rows, 0)),
        body_rates=gyroscope,
        specific_force=np.random.default_rng(5).standard_normal((rows, 3)),
    )


def test_allan_slopes_of_white_noise_and_random_walk() -> None:
    rng = np.random.default_rng(3)
    white = identify.allan(rng.standard_normal(2**16), 0.01)
    walk = identify.allan(np.cumsum(rng.standard_normal(2**16)), 0.01)
    for curve, slope in ((white, -0.5), (walk, 0.5)):
        well = (curve.freedom > 100) & (curve.tau > 0.05)
        found = np.polyfit(np.log(curve.tau[well]), np.log(curve.deviation[well]), 1)[0]
        assert found == pytest.approx(slope, abs=0.05)
        assert np.all(curve.low < curve.deviation)
        assert np.all(curve.deviation < curve.high)
    # standard deviation 1 at 100 Hz is a density of 0.1
    assert white.deviation[0] == pytest.approx(0.1 / np.sqrt(0.01), rel=0.03)


def test_known_noise_densities_are_recovered() -> None:
    vehicle = pw.vehicles.load("crazyflie").replace(
        imu={"gyroscope_noise_density": 2e-3, "gyroscope_bias_walk": 4e-3}
    )
    rng = np.random.default_rng(8)
    rate, rows = 100.0, 2**15
    imu = vehicle.imu
    bias = np.cumsum(rng.standard_normal((rows, 3)), axis=0) * imu.gyroscope_bias_walk / rate**0.5
    signal = bias + imu.gyroscope_noise_density * rate**0.5 * rng.standard_normal((rows, 3))
    noise = identify.fit_imu(_still(signal, rate), confidence=0.999)
    for axis in noise.axes[:3]:
        assert axis.noise_density.low <= imu.gyroscope_noise_density <= axis.noise_density.high
        assert axis.random_walk.low <= imu.gyroscope_bias_walk <= axis.random_walk.high
        assert axis.random_walk.low > 0.0
    again = vehicle.replace(imu=noise.parameters())
    assert again.imu.gyroscope_noise_density == pytest.approx(2e-3, rel=0.1)
    assert again.imu.accelerometer_bias_walk == 0.0  # white, and reported as white
    assert "gyroscope x" in noise.table()


def test_confidence_intervals_of_the_noise_have_their_coverage() -> None:
    """They contain 95 of 100 values; fewer than 50 of 60 has a probability of 0.001."""
    rng = np.random.default_rng(6)
    density, walk, rate, rows = 1e-2, 1e-1, 100.0, 2**12
    held = np.zeros(2)
    for _ in range(20):
        white = density * rate**0.5 * rng.standard_normal((rows, 3))
        bias = walk / rate**0.5 * np.cumsum(rng.standard_normal((rows, 3)), axis=0)
        for axis in identify.fit_imu(_still(white, rate)).axes[:3]:
            held[0] += axis.noise_density.low <= density <= axis.noise_density.high
            assert axis.random_walk.low == 0.0
        for axis in identify.fit_imu(_still(0.01 * white + 0.1 * bias, rate)).axes[:3]:
            held[1] += axis.random_walk.low <= 0.1 * walk <= axis.random_walk.high
    assert np.all(held >= 50)


def test_motion_is_not_identified_as_noise() -> None:
    """In a log without motors, only the signals indicate whether it is at rest."""
    still = np.random.default_rng(2).standard_normal((2000, 3))
    moved = still.copy()
    moved[1200:1400, 1] += 1.5
    rest = identify.fit_imu(_still(still, 100.0))
    with pytest.raises(ValueError, match=r"still, at 12 s: expected a log at rest, .* gyroscope y"):
        identify.fit_imu(_still(moved, 100.0))
    assert identify.fit_imu(_still(moved, 100.0), stop=11.9).axes[0].noise_density.value == (
        pytest.approx(rest.axes[0].noise_density.value, rel=0.2)
    )
    dead = still.copy()
    dead[:, 2] = 0.25
    with pytest.raises(ValueError, match=r"gyroscope z: .* all of the 2000 samples are 0\.25"):
        identify.fit_imu(_still(dead, 100.0))


def test_the_allan_figure_shows_both_sensors() -> None:
    pytest.importorskip("matplotlib")
    signal = np.random.default_rng(1).standard_normal((4096, 3))
    assert len(identify.allan_figure(identify.fit_imu(_still(signal, 100.0))).axes) == 2


def test_unsuitable_signals_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 200 samples"):
        identify.allan(np.zeros(100), 0.01)
    bad = np.zeros(1000)
    bad[300] = np.inf
    with pytest.raises(ValueError, match=r"sample 300, at 3 s, is not a finite number; cut"):
        identify.allan(bad, 0.01)
    with pytest.raises(ValueError, match="period"):
        identify.allan(np.zeros(1000), 0.0)
    with pytest.raises(ValueError, match="confidence"):
        identify.allan(np.zeros(1000), 0.01, confidence=1.0)
    with pytest.raises(ValueError, match=r"at least 200 rows at rest, got 100"):
        identify.fit_imu(_still(np.zeros((100, 3)), 100.0))
