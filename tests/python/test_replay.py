"""Replays: of a flight that the model itself made, of real flights, and of files that are none."""

from __future__ import annotations

import argparse
import csv
import dataclasses
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from propwash import frames, logs, viz
from propwash.cli import replay as _replay_command
from propwash.vehicle.multicopter import Array

PERIOD = 0.01
REAL_FLIGHTS = sorted(
    {file.name: file for folder in logs.flight_folders() for file in folder.glob("*.csv")}.items()
)


def _duty(time: Array, hover: float) -> Array:
    """A vertical flight with motors that differ a little."""
    climb = np.where(time < 2.0, 0.05, 0.0) - np.where((time >= 2.0) & (time < 4.0), 0.05, 0.0)
    wobble = 0.002 * np.sin(7.0 * time)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    return np.asarray((hover + climb)[:, np.newaxis] + wobble[:, np.newaxis] * signs)


def _write_simulated_flight(path: Path, vehicle: str = "crazyflie") -> None:
    uav = pw.Multicopter(vehicle, noise=False)
    fastest = uav.parameters.motor_values("speed_max")[0]
    time = np.arange(0.0, 6.0, PERIOD)
    hover = float(np.asarray(uav.trim().rotor_speeds)[0]) / fastest
    duty = np.round(_duty(time, hover) * logs.PWM_FULL, 1) / logs.PWM_FULL
    # the motors turn already, as the log's first command has it
    uav.step(pw.RotorSpeeds(0.5 * (duty[0] + duty[1]) * fastest), dt=1e-3, substeps=4000)
    uav.set_state(uav.trim(), position=[0.0, 0.0, 1.0], rotor_speeds=uav.rotor_speeds)
    rows = []
    for k, t in enumerate(time):
        attitude = frames.wxyz_to_xyzw(uav.attitude)
        if k % 3 == 1:  # a quaternion and its negative are one attitude
            attitude = -attitude
        force = uav.imu.specific_force / logs.STANDARD_GRAVITY
        rows.append(
            [
                *(t, *uav.position, *attitude, *uav.velocity, *uav.body_rates, *force),
                *(0.0, 0.0, 0.0, *(duty[k] * logs.PWM_FULL), uav.battery_voltage),
            ]
        )
        if k + 1 < len(time):
            command = 0.5 * (duty[k] + duty[k + 1]) * fastest
            uav.step(pw.RotorSpeeds(command), dt=1e-3, substeps=10)
    names = (
        "t,px,py,pz,qx,qy,qz,qw,vx,vy,vz,wx_vicon,wy_vicon,wz_vicon,imu_acc_x,imu_acc_y,imu_acc_z,"
        "imu_gyro_x,imu_gyro_y,imu_gyro_z,motor_motor_m1,motor_motor_m2,motor_motor_m3,"
        "motor_motor_m4,pwr_pm_vbat"
    )
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names.split(","))
        writer.writerows([f"{value:.12g}" for value in row] for row in rows)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flight") / "simulated.csv"
    _write_simulated_flight(path)
    return path


def test_a_flight_of_the_model_is_predicted_by_the_model(simulated: Path) -> None:
    result = logs.replay(logs.read_flight(simulated), "crazyflie")
    assert set(result.predictions) == {"model", "measured attitude"}
    assert len(result.predictions["model"].time) > 10
    for horizon in logs.HORIZONS:
        assert result.error("model", "position", horizon).max() < 1e-6
        assert result.error("model", "velocity", horizon).max() < 1e-6
        assert result.error("model", "attitude", horizon).max() < 1e-4
        assert result.error("model", "body rates", horizon).max() < 1e-5


def test_another_vehicle_does_not_predict_it(simulated: Path) -> None:
    heavier = pw.vehicles.load("crazyflie").replace(body={"mass": 0.030})
    result = logs.replay(logs.read_flight(simulated), heavier)
    # a tenth of the thrust is missing: g t^2 / 20
    drop = np.median(result.error("measured attitude", "position", 0.5))
    assert drop == pytest.approx(9.81 * 0.1 * 0.5**2 / 2, rel=0.2)


def test_the_table_has_a_row_for_every_quantity_and_a_column_for_every_horizon(
    simulated: Path,
) -> None:
    result = logs.replay(logs.read_flight(simulated))
    text = logs.replay_table(result, (0.1, 0.25))
    assert "position [m]" in text
    assert "attitude [deg]" in text
    assert text.splitlines()[0].split() == ["0.1", "s", "ahead", "0.25", "s", "ahead"]


def test_a_piece_that_begins_in_the_air_is_predicted_as_in_the_whole_log(simulated: Path) -> None:
    """Motors turn already: they did not start in the piece's first row."""
    whole = logs.replay(logs.read_flight(simulated), longest=0.5)
    starts = whole.predictions["model"].time[:, 0]
    begin = float(starts[len(starts) // 2]) - whole.period
    piece = logs.replay(logs.read_flight(simulated, start=begin - 1e-9), longest=0.5)
    first = piece.predictions["model"]
    k = int(np.argmin(np.abs(starts - first.time[0, 0])))
    for quantity in ("velocity", "body rates"):
        expected = whole.predictions["model"].values[quantity][k]
        off = np.abs(first.values[quantity][0] - expected).max()
        assert off < 0.05 * np.ptp(expected, axis=0).max(), quantity


@pytest.mark.parametrize(("name", "path"), REAL_FLIGHTS or [("none", None)])
def test_real_flights_replay(name: str, path: Path | None) -> None:
    if path is None:
        pytest.skip("real flights: neither $PROPWASH_FLIGHTS nor ../shared/flights has any")
    flight = logs.read_flight(path)
    if flight.position is not None:
        result = logs.replay(flight, "crazyflie", every=0.5)
        assert np.median(result.error("measured attitude", "position", 0.5)) < 0.06
        assert np.median(result.error("measured attitude", "position", 1.0)) < 0.20
        return
    result = logs.replay(flight, "crazyflie", longest=0.05, every=0.02)
    prediction = result.predictions["model"]
    starts = np.searchsorted(result.flight.time, prediction.time[:, 0] - 1e-9) - 1
    # thrust: better than "it hovers"
    force = result.flight.specific_force[starts + 25, 2]
    hovering = np.median(np.abs(force - 9.81))
    assert np.median(result.error("model", "vertical specific force", 0.05)) < hovering
    # torque: changes of the rates go with those measured, on the axis that the flight excites; a
    # constant torque, which the motors of one vehicle have, does not enter
    measured = result.flight.body_rates[starts + 25] - result.flight.body_rates[starts]
    predicted = prediction.values["body rates"][:, 24] - result.flight.body_rates[starts]
    axis = int(np.argmax(measured.std(axis=0)))
    assert np.corrcoef(measured[:, axis], predicted[:, axis])[0, 1] > 0.5


@pytest.mark.parametrize("column", ["pz", "qw", "motor_motor_m3", "pwr_pm_vbat", "t"])
def test_errors_name_missing_columns(simulated: Path, tmp_path: Path, column: str) -> None:
    with simulated.open() as stream:
        rows = list(csv.reader(stream))
    index = rows[0].index(column)
    path = tmp_path / "missing.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([r[:index] + r[index + 1 :] for r in rows])
    with pytest.raises(ValueError, match=rf"missing\.csv: missing columns .*\b{column}\b"):
        logs.read_flight(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least two rows"),
        ("t,px\n0,1\n0.1\n", "line 3: expected 2 columns, got 1"),
        ("a,b\n0,1\n0.1,2\n", "found a, b"),
        ("a;b\n0;1\n0.1;2\n", r"found a;b\. Columns must be separated by commas"),
        ("a" * 200_000, "line 1: expected a CSV file"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        logs.read_flight(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("two", r"line 3: expected numbers, pz has 'two'; remove the row"),
        ("", r"line 3: expected numbers, pz has ''"),
        ("nan", r"row 2: pz is not a finite number, t = 0\.01; remove the row"),
        ("1e999", r"row 2: pz is not a finite number"),
    ],
)
def test_cells_of_a_column_that_is_read_are_numbers(
    simulated: Path, tmp_path: Path, cell: str, message: str
) -> None:
    with simulated.open() as stream:
        rows = list(csv.reader(stream))
    rows[2][rows[0].index("pz")] = cell
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    with pytest.raises(ValueError, match=message):
        logs.read_flight(path)


def test_columns_that_nobody_asks_for_may_hold_anything(simulated: Path, tmp_path: Path) -> None:
    lines = simulated.read_text().splitlines()
    added = [
        lines[0] + ",mode,mode",
        *(f"{line},{k % 3 or ''},hover" for k, line in enumerate(lines[1:])),
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(added), encoding="utf-8-sig")  # a spreadsheet's first three bytes
    assert np.array_equal(logs.read_flight(path).duty, logs.read_flight(simulated).duty)
    twice = tmp_path / "twice.csv"
    twice.write_text("\n".join([lines[0].replace("imu_gyro_x", "pz"), *lines[1:]]))
    with pytest.raises(ValueError, match=r"2 columns have the name 'pz'; rename all but one"):
        logs.read_flight(twice)


def test_what_is_wrong_outside_of_a_piece_does_no_harm(simulated: Path, tmp_path: Path) -> None:
    lines = simulated.read_text().splitlines()
    del lines[300:350]
    lines[500] = lines[500].replace(lines[500].split(",")[3], "nan")
    path = tmp_path / "gap.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"row 300: a gap .*: the part to 2\.98 s and that from"):
        logs.read_flight(path)
    whole = logs.read_flight(simulated)
    before = logs.read_flight(path, stop=2.98)
    assert before.time == pytest.approx(whole.time[:299])
    with pytest.raises(ValueError, match=r"row 500: pz is not a finite number"):  # of the file
        logs.read_flight(path, start=3.49)
    after = logs.read_flight(path, 3.49, 5.4)
    assert after.time[0] == pytest.approx(3.49)
    assert after.duty[0] == pytest.approx(whole.duty[349])
    with pytest.raises(ValueError, match=r"rows between 7 and 8 s, the log has 0 to 5\.99 s"):
        logs.read_flight(path, 7.0, 8.0)


def test_time_must_increase(simulated: Path, tmp_path: Path) -> None:
    lines = simulated.read_text().splitlines()
    lines[50], lines[51] = lines[51], lines[50]
    path = tmp_path / "shuffled.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"row 51: expected time to increase"):
        logs.read_flight(path)


def test_an_attitude_that_is_no_rotation_is_named(simulated: Path, tmp_path: Path) -> None:
    with simulated.open() as stream:
        rows = list(csv.reader(stream))
    for name in ("qx", "qy", "qz", "qw"):
        rows[8][rows[0].index(name)] = "0"
    path = tmp_path / "lost.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    with pytest.raises(ValueError, match=r"row 8, at 0\.07 s: .* unit quaternion, its length is 0"):
        logs.read_flight(path)


def test_a_log_that_begins_in_the_air_is_in_the_air(simulated: Path) -> None:
    """The ground is not where a piece of a flight begins: it may stay at its height, and below."""
    level = logs.read_flight(simulated)
    assert level.position is not None
    level = dataclasses.replace(level, position=level.position * [1.0, 1.0, 0.0])
    result = logs.replay(level.cut(stop=2.0), longest=0.1, every=0.1)
    assert len(result.predictions["model"].time) == 19


def test_errors_beyond_the_windows_are_refused(simulated: Path) -> None:
    """The sample before the first is not the last."""
    result = logs.replay(logs.read_flight(simulated), longest=0.3, every=0.5)
    for horizon in (0.002, 0.0, -0.1, 0.31):
        with pytest.raises(ValueError, match=r"horizon: expected 0\.01 to 0\.3 s"):
            result.error("model", "position", horizon)
    with pytest.raises(ValueError, match=r"longest: expected at least the 0\.01 s of a sample"):
        logs.replay(logs.read_flight(simulated), longest=0.004)
    slow = logs.read_flight(simulated)
    with pytest.raises(ValueError, match=r"steps of at most 0\.1 s, got 10 s; set scale of time"):
        logs.replay(dataclasses.replace(slow, time=1e3 * slow.time))


def test_what_was_observed_is_not_compared_as_if_it_had_been_measured(simulated: Path) -> None:
    """Without an attitude there is no heading, and no position to predict in the world."""
    flight = dataclasses.replace(
        logs.read_flight(simulated).cut(stop=3.0), attitude=None, synchronous=True
    )
    result = logs.replay(flight, longest=0.1, every=0.5)
    assert set(result.predictions) == {"model"}
    assert set(result.predictions["model"].errors) == {"body rates", "vertical specific force"}


def _replay(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _replay_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["replay", *arguments])
    options.run(options)


def test_the_command_replays_a_piece_of_a_log_of_other_columns(
    simulated: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(result: logs.Replay) -> None:
        raise ImportError("plots need matplotlib")

    monkeypatch.setattr(viz, "replay_figure", absent)  # drawing takes longer than all the rest
    log = tmp_path / "other.csv"
    log.write_text(simulated.read_text().replace("t,px", "seconds,px", 1))
    mapping = tmp_path / "columns.toml"
    mapping.write_text(
        'time = "seconds"\nbody_rates = ["wx_vicon", "wy_vicon", "wz_vicon"]\n'
        'specific_force = ["imu_acc_x", "imu_acc_y", "imu_acc_z"]\n'
        f"motors = {[f'motor_motor_m{i}' for i in range(1, 5)]}\n"
        'position = ["px", "py", "pz"]\nattitude = ["qw", "qx", "qy", "qz"]\n'
        "scale = {motors = 1.52587890625e-5, specific_force = 9.80665}\nsynchronous = false\n"
    )
    _replay([f"{log}@1:3", "--columns", str(mapping), "--horizons", "0.1", "--out", str(tmp_path)])
    text = capsys.readouterr().out
    assert "2.0 s, 19 windows in the air" in text
    position = next(line for line in text.splitlines() if "position [m]" in line)
    assert float(position.split()[2]) < 1e-3
    assert "plot: none: plots need matplotlib" in text


def test_a_vehicle_with_other_motors_is_refused(simulated: Path) -> None:
    with pytest.raises(ValueError, match="the log has 4 motors, vehicle 'hexacopter' has 6"):
        logs.replay(logs.read_flight(simulated), "hexacopter")


def test_flights_are_looked_for_where_the_user_says(
    simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPWASH_FLIGHTS", str(simulated.parent))
    assert logs.find_flight("simulated.csv") == simulated
    with pytest.raises(FileNotFoundError, match=r"nanobench-iros2026.*PROPWASH_FLIGHTS"):
        logs.find_flight("no_such_flight.csv")
