"""Logs with wrong units, exchanged axes and lost voltages: refused, or corrected on request."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, simulated_flight
from log_files import px4, write_ulog
from propwash import identify, logs
from propwash.cli.main import main
from propwash.vehicle.multicopter import Array
from test_flight_log import flown

RECORDED = sorted(
    path for folder in logs.flight_folders() for path in folder.glob("*.csv") if path.is_file()
)
POSES = [path for path in RECORDED if path.name.startswith("nanobench")]
ON_BOARD = [path for path in RECORDED if path.name.startswith("onboard")]
EXCHANGED = [1, 0, 2]
MOTION = ("position", "velocity", "attitude", "body_rates", "specific_force", "voltage")

Change = Callable[[Any], dict[str, Any]]
"""Of a flight."""

CORRECTABLE: dict[str, tuple[Change, str]] = {
    "position in mm": (
        lambda f: {"position": 1e3 * f.position},
        r"velocity of 0\.00(1|099\d+) times the rate of change of the position: position in mm",
    ),
    "position and velocity in mm": (
        lambda f: {"position": 1e3 * f.position, "velocity": 1e3 * f.velocity},
        r"specific force of 0\.00\d+ times .* velocity: velocity in mm/s; .*: position in mm",
    ),
    "position and velocity in feet": (
        lambda f: {"position": f.position / 0.3048, "velocity": f.velocity / 0.3048},
        r"velocity in feet/s; .*: position in feet",
    ),
    "position in km": (lambda f: {"position": 1e-3 * f.position}, "position in km"),
    "velocity in km/h": (lambda f: {"velocity": 3.6 * f.velocity}, "velocity in km/h"),
    "velocity in cm/s": (lambda f: {"velocity": 1e2 * f.velocity}, "velocity in cm/s"),
    "vx and vy exchanged": (
        lambda f: {"velocity": f.velocity[:, EXCHANGED]},
        r"matches the specific force, .* with its axes in the order y, x, z",
    ),
    "px and py exchanged": (
        lambda f: {"position": f.position[:, EXCHANGED]},
        r"matches the velocity, .* rate of change of the position with its axes .* y, x, z",
    ),
    "both exchanged": (
        lambda f: {
            "position": f.position[:, EXCHANGED] * [1, -1, 1],
            "velocity": f.velocity[:, EXCHANGED] * [1, -1, 1],
        },
        r"order -y, x, z; .* in the order (-?[xyz], ){2}z",
    ),
    "body rates in degrees/s": (
        lambda f: {"body_rates": np.rad2deg(f.body_rates)},
        r"got body rates of 5[67](\.\d+)? times the rate of change of the attitude, in degrees/s",
    ),
    "body rates in rad/s where degrees/s are expected": (
        lambda f: {"body_rates": np.deg2rad(f.body_rates)},
        r"got body rates of 0\.017\d+ times .*, in rad/s, converted as if from degrees/s",
    ),
    "specific force in g": (
        lambda f: {"specific_force": f.specific_force / logs.STANDARD_GRAVITY},
        r"expected specific force of about 1 g = .*, got a median of 1\.\d+ m/s\^2, in g",
    ),
    "specific force in mg": (
        lambda f: {"specific_force": 1e3 * f.specific_force / logs.STANDARD_GRAVITY},
        r"got a median of 10\d\d m/s\^2, in mg",
    ),
}
REFUSED: dict[str, tuple[Change, str]] = {
    "axes of the accelerometer down": (
        lambda f: {"specific_force": f.specific_force * [1, -1, -1]},
        r"upwards, got -9\.\d+ m/s\^2 along world z; set down = true",
    ),
    "axes of the gyroscope down": (
        lambda f: {"body_rates": f.body_rates * [1, -1, -1]},
        r"axes in the order x, -y, -z; .*set down = true",
    ),
    "attitude from world to body": (
        lambda f: {"attitude": f.attitude * [1, -1, -1, -1]},
        r"body rates that match the attitude, .*quaternion as w x y z, body to world",
    ),
    "attitude in the order x, y, z, w": (
        lambda f: {"attitude": np.roll(f.attitude, -1, axis=1)},
        r"body rates that match the attitude, .*quaternion as w x y z, body to world",
    ),
    "position in units of 7 m": (
        lambda f: {"position": f.position / 7.0},
        r"times the rate of change of the position; map the position in SI units",
    ),
}


@pytest.fixture(scope="module", params=["simulated", *(path.stem for path in POSES)])
def log(request: pytest.FixtureRequest) -> identify.FlightLog:
    """Flights with poses."""
    if request.param == "simulated":
        return simulated_flight(8.0)
    return logs.read_log(next(path for path in POSES if path.stem == request.param))


def _wrong(log: identify.FlightLog, change: Change) -> identify.FlightLog:
    return replace(log, **change(log))


@pytest.mark.parametrize("fault", CORRECTABLE)
def test_a_fault_is_refused_or_corrected(log: identify.FlightLog, fault: str) -> None:
    change, message = CORRECTABLE[fault]
    wrong = _wrong(log, change)
    with pytest.raises(ValueError, match=f"^{log.path}: .*{message}.*correct=True"):
        logs.consistent(wrong)
    with pytest.warns(UserWarning, match=f"{message}.*: corrected"):
        corrected = logs.consistent(wrong, correct=True)
    for name in MOTION:
        np.testing.assert_allclose(getattr(corrected, name), getattr(log, name), 1e-9, 1e-9)
    assert logs.consistent(corrected) is corrected


@pytest.mark.parametrize("fault", REFUSED)
def test_a_fault_without_a_certain_correction_is_refused(
    log: identify.FlightLog, fault: str
) -> None:
    change, message = REFUSED[fault]
    for correct in (False, True):
        with pytest.raises(ValueError, match=message):
            logs.consistent(_wrong(log, change), correct)


@pytest.mark.parametrize("signal", ["velocity", "body_rates", "specific_force", "position"])
def test_a_constant_signal_is_refused(log: identify.FlightLog, signal: str) -> None:
    constant = np.zeros_like(getattr(log, signal))
    with pytest.raises(ValueError, match="expected"):
        logs.consistent(replace(log, **{signal: constant}))


@pytest.mark.parametrize("axes", [[2, 0, 1], [1, 2, 0], [0, 2, 1]])
def test_exchanged_axes_of_the_accelerometer_are_refused(
    log: identify.FlightLog, axes: list[int]
) -> None:
    with pytest.raises(ValueError, match="specific force"):
        logs.consistent(replace(log, specific_force=log.specific_force[:, axes]))


def test_noise_is_not_a_fault(log: identify.FlightLog) -> None:
    assert log.position is not None
    assert log.attitude is not None
    noise = np.random.default_rng(1).normal(size=(len(log.time), 4))
    attitude = log.attitude + 0.01 * noise
    noisy = {
        "position": log.position + 0.05 * noise[:, :3],
        "attitude": attitude / np.linalg.norm(attitude, axis=1)[:, None],
    }
    for signal, values in noisy.items():
        logs.consistent(replace(log, **{signal: values}))


def test_positions_without_velocities_show_their_unit(log: identify.FlightLog) -> None:
    """The velocity is then their derivative, and as wrong."""
    assert log.position is not None
    velocity = np.gradient(1e3 * log.position, log.time, axis=0)
    with pytest.raises(ValueError, match=r"velocity in mm/s; .*position in mm"):
        logs.consistent(replace(log, position=1e3 * log.position, velocity=velocity))


def test_rows_without_voltage_are_interpolated_on_request(log: identify.FlightLog) -> None:
    assert log.voltage is not None
    rows = np.arange(len(log.time))
    lost = rows % 97 < 3
    with pytest.raises(ValueError, match=rf"{lost.sum()} of {len(rows)} rows .* down to 0 V, .*"):
        logs.consistent(replace(log, voltage=np.where(lost, 0.0, log.voltage)))
    # a message of 0 V in a log that was interpolated: also the rows beside it are wrong
    ramp = log.voltage * np.minimum(1.0, 0.1 * np.abs(rows - 1000))
    with pytest.warns(UserWarning, match=r"they are interpolated on request: corrected"):
        found = logs.consistent(replace(log, voltage=ramp), correct=True)
    assert found.voltage == pytest.approx(log.voltage, rel=0.25)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_no_recorded_flight_is_refused(path: Path) -> None:
    log = logs.read_log(path)
    for length in (2.0, 5.0, 15.0):
        for start in np.arange(0.0, log.time[-1] - length, 0.5 * length):
            logs.consistent(log.cut(start, start + length))


@pytest.mark.parametrize("vehicle", pw.vehicles.names())
def test_no_simulated_flight_is_refused(vehicle: str, tmp_path: Path) -> None:
    """With process and sensor noise, as shipped."""
    path = logs.write_record(tmp_path / "flight.csv", flown(vehicle, 5.0, noise=True))
    log = logs.read_log(path)
    for start in np.arange(0.0, 4.0, 0.5):
        logs.consistent(log.cut(start, start + 1.5))


def test_rest_and_free_fall_are_no_faults() -> None:
    """Noise has no relation, and a vehicle that falls measures no force."""
    rng = np.random.default_rng(4)
    time = 0.01 * np.arange(400, dtype=np.float64)
    resting = identify.FlightLog(
        path=Path("rest"),
        time=time,
        duty=np.zeros((400, 4)),
        body_rates=0.05 * rng.standard_normal((400, 3)),
        specific_force=[0.0, 0.0, 9.8] + 0.3 * rng.standard_normal((400, 3)),
        position=0.02 * rng.standard_normal((400, 3)),
        velocity=[0.1, -0.2, 0.0] + 0.05 * rng.standard_normal((400, 3)),
        attitude=np.tile([1.0, 0.0, 0.0, 0.0], (400, 1)),
    )
    logs.consistent(resting)
    down = np.outer(time, [0.0, 0.0, 1.0])
    falling = replace(
        resting,
        duty=np.full((400, 4), 0.5),
        specific_force=0.1 * rng.standard_normal((400, 3)),
        position=-0.5 * 9.81 * time[:, None] * down,
        velocity=-9.81 * down,
    )
    logs.consistent(falling)
    with pytest.raises(ValueError, match=r"got a median of 0\.1.*accelerometer's readings"):
        logs.consistent(replace(falling, position=None, velocity=None, attitude=None))


def _write(path: Path, log: identify.FlightLog) -> Path:
    """Writes a CSV file with its mapping."""
    parts: dict[str, Array] = {
        **{name: getattr(log, name) for name in MOTION[:-1]},
        "motors": log.duty,
    }
    assert log.voltage is not None
    table = np.column_stack([log.time, log.voltage, *parts.values()])
    names = {name: [f"{name}{k}" for k in range(part.shape[1])] for name, part in parts.items()}
    head = ["time", "voltage", *(one for group in names.values() for one in group)]
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=",".join(head), comments="")
    lines = ['time = "time"', 'voltage = "voltage"', *(f"{key} = {names[key]}" for key in names)]
    mapping = path.with_suffix(".toml")
    mapping.write_text("\n".join(lines))
    return mapping


@pytest.fixture(scope="module")
def flight() -> identify.FlightLog:
    return simulated_flight(5.0)


@pytest.mark.parametrize("fault", ["position in mm", "vx and vy exchanged"])
def test_every_use_of_a_flight_refuses_the_fault(flight: identify.FlightLog, fault: str) -> None:
    change, message = CORRECTABLE[fault]
    wrong = _wrong(flight, change)
    for use in (
        lambda: identify.predict("crazyflie", wrong),
        lambda: identify.fit_vehicle(wrong, "crazyflie", noise=NOISE),
        lambda: identify.calibrate("crazyflie", wrong, 2.0),
        lambda: identify.hold_out(wrong, "crazyflie"),
    ):
        with pytest.raises(ValueError, match=message):
            use()


def test_files_and_commands_refuse_and_correct_the_fault(
    flight: identify.FlightLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, message = CORRECTABLE["position in mm"]
    wrong, file = _wrong(flight, change), tmp_path / "log.csv"
    columns = _write(file, wrong)
    mapping = identify.Columns.from_toml(columns)
    with pytest.raises(ValueError, match=rf"log\.csv: .*{message}"):
        logs.read_log(file, mapping)
    with pytest.warns(UserWarning, match="position in mm: corrected"):
        read = logs.read_log(file, mapping, correct=True)
    assert read.position == pytest.approx(flight.position, abs=1e-6)
    arguments = ["replay", str(file), "--columns", str(columns), "--out", str(tmp_path)]
    assert main(arguments) == 2
    assert "position in mm" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="position in mm: corrected"):
        assert not main([*arguments, "--correct"])
    with pytest.raises(TypeError, match="correct: expected True or False, got 1"):
        logs.read_log(file, mapping, correct=1)  # type: ignore[arg-type]


def test_topics_refuse_and_correct_the_fault(flight: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    wrong = _wrong(flight, CORRECTABLE["vx and vy exchanged"][0])
    path = write_ulog(tmp_path / "log.ulg", px4(wrong))
    with pytest.raises(ValueError, match=r"log\.ulg: .*axes in the order y, x, z"):
        logs.read_log(path)
    with pytest.warns(UserWarning, match="order y, x, z: corrected"):
        read = logs.read_log(path, correct=True)
    assert flight.velocity is not None
    assert read.velocity == pytest.approx(flight.velocity[: len(read.time)], abs=1e-4)


@pytest.mark.parametrize("source", ["simulated", *(path.stem for path in ON_BOARD)])
def test_torques_show_the_unit_of_body_rates(source: str) -> None:
    """Of logs without attitude."""
    if source == "simulated":
        log = replace(simulated_flight(6.0), position=None, velocity=None, attitude=None)
    else:
        log = logs.read_log(next(path for path in ON_BOARD if path.stem == source), stop=21.9)
    identify.predict("crazyflie", log)
    for factor, got in ((180.0 / np.pi, r"[4-6]\d"), (np.pi / 180.0, r"0\.01")):
        wrong = replace(log, body_rates=factor * log.body_rates)
        for use in (identify.predict, identify.calibrate):
            with pytest.raises(ValueError, match=rf"by the torques .*, got {got}.*body_rates: 1 d"):
                use("crazyflie", wrong)


def test_short_flights_and_wrong_units_have_different_messages(flight: identify.FlightLog) -> None:
    assert flight.position is not None
    assert flight.velocity is not None
    grounded = flight.time < 1.0
    duty = np.where(grounded[:, None], 0.0, flight.duty)
    height = np.where(grounded, 0.0, 1.0)
    log = replace(flight, duty=duty, position=flight.position + np.outer(height, [0.0, 0.0, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identify.predict("crazyflie", log)
    with pytest.raises(ValueError, match=r"set scale of motors, .* at most 0\.00[67]"):
        identify.predict("crazyflie", replace(log, duty=0.01 * duty))
    flat = [1.0, 1.0, 0.02]
    low = replace(log, position=flight.position * flat, velocity=flight.velocity * flat)
    with pytest.raises(
        ValueError, match=r"set scale of position, .*-\d.* to 0\.0\d+ m, in the air"
    ):
        identify.predict("crazyflie", low)
    with pytest.raises(ValueError, match=r"got 0\.\d+ s of .*; use a longer flight"):
        identify.predict("crazyflie", log.cut(stop=1.4))
