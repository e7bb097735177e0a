"""Logs of other tools, invalid logs, and the Allan deviation of known noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from log_files import IMU, imu_message, write_bag, write_ulog
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


def test_one_column_may_be_a_string(tmp_path: Path) -> None:
    """In code and in a file, if one column is sufficient."""
    scale = {"time": 1e-6, "specific_force": 9.80665}
    one = replace(COLUMNS, motors="m1", voltage="m2", scale=scale, offset={})
    listed = replace(one, motors=["m1"], voltage=["m2"])
    file = tmp_path / "columns.toml"
    file.write_text(
        'time = "us"\nbody_rates = ["p", "q", "r"]\nspecific_force = ["ax", "ay", "az"]\n'
        'motors = "m1"\nvoltage = "m2"\nscale = {time = 1e-6, specific_force = 9.80665}\n'
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
def test_errors_name_invalid_rows_and_a_remedy(tmp_path: Path, table: Array, message: str) -> None:
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
    with pytest.raises(ValueError, match=r"missing columns .*docs/logs.md"):
        identify.read_log(path)
    with pytest.raises(TypeError, match=r"columns: expected identify\.Columns, got 'm1'"):
        identify.read_log(path, "m1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"columns\.body_rates: expected 3 names, got 2"):
        Columns(body_rates=["p", "q"], specific_force=["x", "y", "z"])


def test_a_px4_log_is_converted_to_z_up_frames(tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    path = tmp_path / "log.ulg"
    time: Array = np.linspace(0.0, 0.796, 200)
    imu, attitude = np.array([0.1, 0.2, 0.3, 1.0, 2.0, -9.8]), np.array([1.0, 0.0, 0.0, 0.0])
    topics = {
        "sensor_combined": (IMU, time, np.tile(imu, (200, 1))),
        "vehicle_attitude": ("float[4] q", time[::2], np.tile(attitude, (100, 1))),
    }
    write_ulog(path, topics)
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
    path.write_bytes(b"not a log")
    with pytest.raises(ValueError, match=r"log\.ulg: expected a PX4 ULog file"):
        identify.read_log(path)


def test_a_ros_bag_is_read(tmp_path: Path) -> None:
    topics = [("/imu", "sensor_msgs/msg/Imu", 777e-9, imu_message)]
    folder = write_bag(tmp_path / "bag", topics, 200)
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
        rows = (curve.freedom > 100) & (curve.tau > 0.05)
        found = np.polyfit(np.log(curve.tau[rows]), np.log(curve.deviation[rows]), 1)[0]
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
    assert again.imu.accelerometer_bias_walk == 0.0  # the noise is white
    assert "gyroscope x" in noise.table()


def test_confidence_intervals_of_the_noise_have_their_coverage() -> None:
    """Of 95 %: fewer than 50 of 60 intervals contain the value with a probability of 0.001."""
    rng = np.random.default_rng(6)
    density, walk, rate, rows = 1e-2, 1e-1, 100.0, 2**12
    counts = np.zeros(2)
    for _ in range(20):
        white = density * rate**0.5 * rng.standard_normal((rows, 3))
        bias = walk / rate**0.5 * np.cumsum(rng.standard_normal((rows, 3)), axis=0)
        for axis in identify.fit_imu(_still(white, rate)).axes[:3]:
            counts[0] += axis.noise_density.low <= density <= axis.noise_density.high
            assert axis.random_walk.low == 0.0
        for axis in identify.fit_imu(_still(0.01 * white + 0.1 * bias, rate)).axes[:3]:
            counts[1] += axis.random_walk.low <= 0.1 * walk <= axis.random_walk.high
    assert np.all(counts >= 50)


def test_motion_is_not_identified_as_noise() -> None:
    """Without motor commands, rest is detected from the signals only."""
    still = np.random.default_rng(2).standard_normal((2000, 3))
    moved = still.copy()
    moved[1200:1400, 1] += 1.5
    rest = identify.fit_imu(_still(still, 100.0))
    with pytest.raises(ValueError, match=r"still, at 12 s: expected a log at rest, .* gyroscope y"):
        identify.fit_imu(_still(moved, 100.0))
    assert identify.fit_imu(_still(moved, 100.0), stop=11.9).axes[0].noise_density.value == (
        pytest.approx(rest.axes[0].noise_density.value, rel=0.2)
    )
    constant = still.copy()
    constant[:, 2] = 0.25
    with pytest.raises(ValueError, match=r"gyroscope z: .* all of the 2000 samples are 0\.25"):
        identify.fit_imu(_still(constant, 100.0))


def test_the_allan_figure_shows_both_sensors() -> None:
    pytest.importorskip("matplotlib")
    signal = np.random.default_rng(1).standard_normal((4096, 3))
    assert len(identify.allan_figure(identify.fit_imu(_still(signal, 100.0))).axes) == 2


def test_unsuitable_signals_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 200 samples"):
        identify.allan(np.zeros(100), 0.01)
    infinite = np.zeros(1000)
    infinite[300] = np.inf
    with pytest.raises(ValueError, match=r"sample 300, at 3 s, is not a finite number; cut"):
        identify.allan(infinite, 0.01)
    with pytest.raises(ValueError, match="period"):
        identify.allan(np.zeros(1000), 0.0)
    with pytest.raises(ValueError, match="confidence"):
        identify.allan(np.zeros(1000), 0.01, confidence=1.0)
    with pytest.raises(ValueError, match=r"at least 200 rows at rest, got 100"):
        identify.fit_imu(_still(np.zeros((100, 3)), 100.0))
