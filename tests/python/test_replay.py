"""Predictions of simulated and recorded flights, and refused log files."""

from __future__ import annotations

import argparse
import csv
import dataclasses
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from log_files import write_simulated_flight
from propwash import identify, logs
from propwash.cli import replay as _replay_command

RECORDED_FLIGHTS = sorted(
    {file.name: file for folder in logs.flight_folders() for file in folder.glob("*.csv")}.items()
)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flight") / "simulated.csv"
    write_simulated_flight(path)
    return path


def test_the_model_predicts_its_own_flight(simulated: Path) -> None:
    result = identify.predict("crazyflie", logs.read_flight(simulated))
    assert set(result.errors) == set(identify.UNITS)
    assert len(result.starts) > 10
    for horizon in identify.HORIZONS:
        # RK4 with another step, where the motors' time constant changes
        assert result.error("position", horizon).max() < 3e-4
        assert result.error("velocity", horizon).max() < 1e-3
        assert result.error("attitude", horizon).max() < 0.05
        assert result.error("body rates", horizon).max() < 2e-3


def test_a_wrong_mass_causes_the_expected_error(simulated: Path) -> None:
    heavier = pw.vehicles.load("crazyflie").replace(body={"mass": 0.030})
    result = identify.predict(heavier, logs.read_flight(simulated), None, 0.5, "measured")
    # a tenth of the thrust is missing: g t^2 / 20
    drop = np.median(result.error("position", 0.5))
    assert drop == pytest.approx(9.81 * 0.1 * 0.5**2 / 2, rel=0.2)


def test_the_table_has_quantities_as_rows_and_horizons_as_columns(
    simulated: Path,
) -> None:
    result = identify.predict("crazyflie", logs.read_flight(simulated))
    text = result.table((0.1, 0.25))
    assert "position [m]" in text
    assert "attitude [deg]" in text
    assert text.splitlines()[0].split() == ["0.1", "s", "ahead", "0.25", "s", "ahead"]


def test_a_segment_in_flight_is_predicted_as_in_the_whole_log(simulated: Path) -> None:
    """The motors start at their logged command, not from rest."""
    whole = identify.predict("crazyflie", logs.read_flight(simulated), 3.0, [0.1, 0.5])
    segment = logs.read_flight(simulated, start=2.4 - 1e-9)
    part = identify.predict("crazyflie", segment, 3.0, [0.1, 0.5])
    for quantity in ("velocity", "body rates"):
        np.testing.assert_allclose(
            part.values[quantity], whole.values[quantity], rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize(("name", "path"), RECORDED_FLIGHTS or [("none", None)])
def test_recorded_flights_are_predicted(name: str, path: Path | None) -> None:
    if path is None:
        pytest.skip("neither $PROPWASH_FLIGHTS nor ../shared/flights has a recorded flight")
    flight = logs.read_flight(path)
    if flight.position is not None:
        result = identify.predict("crazyflie", flight, None, [0.5, 1.0], "measured", every=0.5)
        assert np.median(result.error("position", 0.5)) < 0.04
        assert np.median(result.error("position", 1.0)) < 0.14
        return
    calibrated = identify.calibrate("crazyflie", flight.cut(stop=21.9), 3.0, threads=1)
    result = identify.predict(calibrated, flight, None, 0.05, every=0.02)
    starts = np.searchsorted(result.flight.time, result.starts - 1e-9)
    # thrust: better than the assumption of hover
    hovering = np.median(np.abs(result.measured["vertical specific force"] - 9.81))
    assert np.median(result.error("vertical specific force", 0.05)) < hovering
    # torque: changes of the rates correlate with the measured ones on the most excited axis; the
    # constant torque of unequal motors has no effect
    before = result.flight.body_rates[starts]
    measured = result.measured["body rates"][:, 0] - before
    predicted = result.values["body rates"][:, 0] - before
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
def test_invalid_log_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
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
def test_errors_name_invalid_cells(
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


def test_unused_columns_may_have_any_content(simulated: Path, tmp_path: Path) -> None:
    lines = simulated.read_text().splitlines()
    added = [
        lines[0] + ",mode,mode",
        *(f"{line},{k % 3 or ''},hover" for k, line in enumerate(lines[1:])),
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(added), encoding="utf-8-sig")  # with a byte order mark
    assert np.array_equal(logs.read_flight(path).duty, logs.read_flight(simulated).duty)
    twice = tmp_path / "twice.csv"
    twice.write_text("\n".join([lines[0].replace("imu_gyro_x", "pz"), *lines[1:]]))
    with pytest.raises(ValueError, match=r"2 columns have the name 'pz'; rename all but one"):
        logs.read_flight(twice)


def test_faults_outside_a_segment_are_ignored(simulated: Path, tmp_path: Path) -> None:
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


def test_errors_name_the_row_of_an_invalid_attitude(simulated: Path, tmp_path: Path) -> None:
    with simulated.open() as stream:
        rows = list(csv.reader(stream))
    for name in ("qx", "qy", "qz", "qw"):
        rows[8][rows[0].index(name)] = "0"
    path = tmp_path / "lost.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    with pytest.raises(ValueError, match=r"row 8, at 0\.07 s: .* unit quaternion, its length is 0"):
        logs.read_flight(path)


def test_a_log_may_begin_in_flight(simulated: Path) -> None:
    """Its first position is not that of the ground."""
    flight = logs.read_flight(simulated).cut(1.5, 4.5)
    assert flight.position is not None
    flight = dataclasses.replace(flight, position=flight.position - [0.0, 0.0, 1.0])
    result = identify.predict("crazyflie", flight, None, 0.1)
    # 0.5 s are excluded, in which the speeds of the motors are unknown
    assert len(result.starts) == 24


def test_invalid_starts_and_horizons_are_refused(simulated: Path) -> None:
    """Also zero and negative ones, which would be indices of the last samples."""
    flight = logs.read_flight(simulated)
    result = identify.predict("crazyflie", flight, None, [0.1, 0.3])
    for horizon in (0.002, 0.0, -0.1, 0.31):
        with pytest.raises(ValueError, match=r"horizon: expected one of 0\.1, 0\.3 s"):
            result.error("position", horizon)
    with pytest.raises(ValueError, match="quantity: expected one of position, velocity"):
        result.error("speed", 0.1)
    for horizons in (0.004, [], [0.1, np.nan], 100.0):
        with pytest.raises(ValueError, match=r"horizons: expected seconds from 0\.01, a sample of"):
            identify.predict("crazyflie", flight, None, horizons)
    with pytest.raises(ValueError, match="horizons: expected increasing seconds"):
        identify.predict("crazyflie", flight, None, [0.5, 0.1])
    for starts in (-1.0, [2.0, 5.95], [], np.nan):
        with pytest.raises(ValueError, match=r"starts: expected times from 0 to 4\.\d+ s"):
            identify.predict("crazyflie", flight, starts)
    with pytest.raises(ValueError, match=r"every: expected a time > 0 s, got 0"):
        identify.predict("crazyflie", flight, every=0.0)
    with pytest.raises(ValueError, match="attitude: expected None or 'measured', got 'none'"):
        identify.predict("crazyflie", flight, attitude="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'measured' needs a log with position, velocity and att"):
        identify.predict(
            "crazyflie", dataclasses.replace(flight, attitude=None), attitude="measured"
        )
    with pytest.raises(ValueError, match=r"steps of at most 0\.05 s, got 10 s; set scale of time"):
        identify.predict("crazyflie", dataclasses.replace(flight, time=1e3 * flight.time))


def test_estimated_quantities_are_not_compared_with_predictions(simulated: Path) -> None:
    """Without attitude the log has no heading, so positions and velocities are not predicted."""
    flight = dataclasses.replace(logs.read_flight(simulated), attitude=None, synchronous=True)
    result = identify.predict("crazyflie", flight, None, 0.1, every=0.5)
    assert set(result.errors) == {"body rates", "vertical specific force"}


def _replay(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _replay_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["replay", *arguments])
    options.run(options)


def test_the_command_replays_a_segment_of_a_log_with_other_columns(
    simulated: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(predictions: object) -> None:
        raise ImportError("plots need matplotlib")

    monkeypatch.setattr(identify, "replay_figure", absent)  # drawing takes too long
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
    assert "2.0 s, 14 windows in the air" in text
    position = next(line for line in text.splitlines() if "position [m]" in line)
    assert float(position.split()[2]) < 1e-3
    assert "plot: none: plots need matplotlib" in text


def test_a_vehicle_with_other_motors_is_refused(simulated: Path) -> None:
    with pytest.raises(ValueError, match="the log has 4 motors, vehicle 'hexacopter' has 6"):
        identify.predict("hexacopter", logs.read_flight(simulated))


def test_flights_are_found_by_the_environment_variable(
    simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPWASH_FLIGHTS", str(simulated.parent))
    assert logs.find_flight("simulated.csv") == simulated
    with pytest.raises(FileNotFoundError, match=r"nanobench-iros2026.*PROPWASH_FLIGHTS"):
        logs.find_flight("no_such_flight.csv")


def test_the_longest_prediction_is_the_whole_log(simulated: Path) -> None:
    flight = logs.read_flight(simulated)
    grid = identify.predict("crazyflie", flight, None, 0.1).flight
    seconds = grid.time[-1] - grid.time[0]
    assert grid.position is not None
    result = identify.predict("crazyflie", flight, grid.time[0], seconds)
    np.testing.assert_array_equal(result.measured["position"][0, 0], grid.position[-1])


def test_a_calibration_belongs_to_its_log(simulated: Path) -> None:
    """Its flight has no accelerometer bias any more, which is not subtracted twice."""
    pytest.importorskip("scipy")
    flight = logs.read_flight(simulated)
    calibrated = identify.calibrate("crazyflie", flight, 2.0)
    assert np.abs(calibrated.bias.value).max() > 0.0
    again = identify.predict(calibrated, calibrated.flight, None, 0.1)
    first = identify.predict(calibrated, flight, None, 0.1)
    for name, errors in first.errors.items():
        np.testing.assert_allclose(again.errors[name], errors, atol=1e-6)
    other = dataclasses.replace(flight, path=Path("other.csv"))
    with pytest.raises(ValueError, match=r"expected the calibration of other\.csv, got that of"):
        identify.predict(calibrated, other)


def test_plots_accept_any_name(simulated: Path) -> None:
    """Matplotlib would interpret text between two $ as a formula."""
    pytest.importorskip("matplotlib")
    flight = dataclasses.replace(logs.read_flight(simulated), path=Path("a$_{b$.csv"))
    every = 0.01 * np.arange(1, 11)
    figure = identify.replay_figure([identify.predict("crazyflie", flight, None, every)])
    figure.canvas.draw()
    with pytest.raises(ValueError, match=r"expected horizons at every sample ahead, 0\.01 s apart"):
        identify.replay_figure([identify.predict("crazyflie", flight, None, 0.1)])
