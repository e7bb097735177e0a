"""Vehicles identified from simulated and recorded flights."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, clean_flight, noisy, simulated_flight, true_vehicle
from propwash import identify, logs
from propwash.cli import identify as _identify_command
from propwash.identify._parameters import FORCES, catalogue, changed
from propwash.logs._observer import with_observed_motion
from propwash.vehicle.multicopter import Array
from scipy.stats import chi2

SIGMAS = 4.0
"""Bound of the errors; one of 17 normal errors exceeds it in one of a thousand flights."""


def _recorded(pattern: str) -> list[Path]:
    folders = [folder for folder in logs.flight_folders() if folder.is_dir()]
    files = sorted(file for folder in folders[:1] for file in folder.glob(pattern))
    if not files:
        pytest.skip("neither $PROPWASH_FLIGHTS nor ../shared/flights has a recorded flight")
    return files


@pytest.fixture(scope="module")
def simulated() -> identify.FlightLog:
    return simulated_flight(8.0)


@pytest.fixture(scope="module")
def found(simulated: identify.FlightLog) -> identify.Identified:
    return identify.fit_vehicle(simulated, "crazyflie", noise=NOISE, threads=1)


def test_parameters_of_a_simulated_flight_are_recovered(found: identify.Identified) -> None:
    truth = true_vehicle()
    known = catalogue(pw.vehicles.load("crazyflie"))
    assert {e.name for e in found.estimates} == set(known)
    for estimate in found.estimates:
        expected = known[estimate.name].read(truth)
        assert abs(estimate.value - expected) < SIGMAS * estimate.standard_error, estimate
        assert estimate.identified, estimate
        if abs(estimate.guess - expected) > 1e-3 * abs(expected):
            # the flight contains more information than the initial guess
            assert abs(estimate.value - expected) < 0.3 * abs(estimate.guess - expected), estimate


def test_residuals_are_white_with_the_variance_of_the_noise(found: identify.Identified) -> None:
    assert {w.kind for w in found.whiteness} == {"forces", "rates"}
    for white in found.whiteness:
        assert white.rms == pytest.approx(1.0, abs=0.1)
        assert abs(white.autocorrelation) < SIGMAS / 1.96 * white.bound


def test_errors_agree_with_the_standard_errors() -> None:
    """Also for short flights, where a sandwich estimate from few windows would be too small."""
    flight = clean_flight(4.0, np.random.default_rng(1))
    truth = true_vehicle()
    free = [catalogue(truth)[name] for name in ("thrust", "drag_x", "drag_z")]
    guess = changed(truth, free, [0.1, 0.1, 0.1])
    distance = []
    for seed in range(20):
        log = replace(noisy(flight, np.random.default_rng(seed)), synchronous=False)
        names = [parameter.name for parameter in free]
        fit = identify.fit_vehicle(log, guess, parameters=names, noise=NOISE, threads=1)
        for estimate, parameter in zip(fit.estimates, free, strict=True):
            distance.append((estimate.value - parameter.read(truth)) / estimate.standard_error)
    squares = float(np.sum(np.square(distance)))
    assert chi2.ppf(1e-6, len(distance)) < squares < chi2.ppf(0.999, len(distance))


@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie"])
def test_nonnegative_parameters_may_be_zero(name: str) -> None:
    """Drag is not identifiable in hover; an estimate of 0 is not an error."""
    vehicle = pw.vehicles.load(name)
    hover = (
        float(np.mean(pw.Multicopter(vehicle).trim().rotor_speeds))
        / vehicle.motor_values("speed_max")[0]
    )
    time: Array = np.linspace(0.0, 3.99, 400)
    rng = np.random.default_rng(4)
    log = identify.FlightLog(
        path=Path("hover"),
        time=time,
        duty=np.full((400, 4), 1.01 * hover),
        body_rates=np.zeros((400, 3)),
        specific_force=np.tile([0.0, 0.0, 9.81], (400, 1)),
        voltage=np.full(400, vehicle.battery.nominal_voltage),
        position=1e-3 * rng.standard_normal((400, 3)) + [0.0, 0.0, 1.0],
        velocity=1e-3 * rng.standard_normal((400, 3)),
        attitude=np.tile([1.0, 0.0, 0.0, 0.0], (400, 1)),
        synchronous=False,
    )
    fit = identify.fit_vehicle(log, name, threads=1)
    assert min(fit.vehicle.rotor_drag.linear) >= 0.0
    assert fit.estimate("thrust").value == pytest.approx(
        fit.estimate("thrust").guess / 1.01**2, rel=5e-3
    )
    assert not any(fit.estimate(f"drag_{axis}").identified for axis in "xy")


def test_residuals_of_a_wrong_model_are_not_white(simulated: identify.FlightLog) -> None:
    short = simulated.cut(stop=5.0)
    fit = identify.fit_vehicle(
        short, "crazyflie", noise=NOISE, parameters=["thrust", "delay"], threads=1
    )
    for white in fit.whiteness:
        assert not white.is_white
        assert white.autocorrelation > 10.0 * white.bound


def test_the_vehicle_file_can_be_read_and_contains_standard_errors(
    found: identify.Identified, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    found.save(file)
    assert pw.vehicles.load(file) == found.vehicle
    assert "+-" in pw.vehicles.sources(file)["identified thrust"]
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]
    table = found.table()
    assert all(e.name in table for e in found.estimates)


def test_unidentifiable_parameters_keep_their_initial_values(simulated: identify.FlightLog) -> None:
    """Torques are not identifiable from commands on another clock."""
    unsynchronised = replace(simulated, synchronous=False)
    fit = identify.fit_vehicle(unsynchronised, "crazyflie", noise=NOISE, threads=1)
    assert {e.name for e in fit.estimates} == set(FORCES)
    guess = pw.vehicles.load("crazyflie")
    assert fit.vehicle.body == guess.body
    assert fit.vehicle.motor == guess.motor


def test_a_recorded_flight_predicts_another() -> None:
    logs = [
        identify.read_log(path)
        for path in _recorded("nanobench_B2_*.csv") + _recorded("*_B8_*.csv")
    ]
    scores = identify.leave_one_out([log.cut(4.0, 18.0) for log in logs], "crazyflie", threads=1)
    at = {(s.quantity.partition(",")[0], s.horizon): s.median for s in scores}
    assert at["position", 0.5] < 0.030
    assert at["position", 1.0] < 0.10
    assert at["velocity", 1.0] < 0.19
    assert at["vertical specific force", 0.5] < 0.36


def test_the_start_of_a_recorded_flight_predicts_the_rest() -> None:
    """The log has no voltage and no pose, so battery and velocity are estimated."""
    log = identify.read_log(_recorded("onboard_log15a.csv")[0]).cut(10.5, 25.5)
    scores = identify.hold_out([log], "crazyflie", threads=1)
    at = {(s.quantity, s.horizon): s.median for s in scores}
    assert at["body rates", 0.05] < 0.60
    assert at["body rates", 0.1] < 1.05
    assert at["vertical specific force", 0.1] < 0.36


def test_the_noise_of_a_recorded_imu_is_identified() -> None:
    noise = identify.fit_imu(identify.read_log(_recorded("onboard_log16a.csv")[0])).parameters()
    assert noise["gyroscope_noise_density"] == pytest.approx(1.5e-4, rel=0.2)
    assert noise["accelerometer_noise_density"] == pytest.approx(1.3e-3, rel=0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duty": np.zeros((2000, 0))}, r"the log has no duty, .* map its columns"),
        ({"duty": np.full((2000, 6), 0.7)}, r"the log has 6 motors, .* has 4 rotors"),
        ({"duty": np.full((2000, 4), 0.0)}, r"at least 2 s in the air .* use a longer flight"),
        ({"position": None, "synchronous": False}, r"expected position, velocity and attitude, or"),
    ],
)
def test_errors_explain_why_a_log_is_unusable(
    simulated: identify.FlightLog, change: dict[str, object], message: str
) -> None:
    log = replace(simulated, **change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        identify.fit_vehicle(log, "crazyflie")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: {"specific_force": f.specific_force / 9.81}, r"of 3 to 30 m/s\^2 .* 1 g is 9"),
        (lambda f: {"specific_force": -f.specific_force}, r"of 3 to 30 m/s\^2 .* down = true"),
        (lambda f: {"body_rates": np.rad2deg(f.body_rates)}, r"about x are 57\.\d times"),
        (lambda f: {"body_rates": f.body_rates * [1, -1, -1]}, r"about y are -.*down = true"),
        (lambda f: {"attitude": f.attitude * [1, -1, -1, -1]}, r"as w x y z, body to world"),
        (lambda f: {"attitude": np.roll(f.attitude, -1, axis=1)}, r"as w x y z, body to world"),
        (lambda f: {"voltage": 1e3 * f.voltage}, r"the 4\.45 V.* 4450 V; set scale of voltage"),
        (lambda f: {"voltage": 0.0 * f.voltage}, r"the 4\.45 V.* 0 V; .* omit it from the"),
        (lambda f: {"time": 100.0 * f.time}, r"steps of at most 0\.05 s, got 0\.4 s; set scale of"),
    ],
)
def test_logs_of_other_units_and_frames_are_refused(
    simulated: identify.FlightLog,
    change: Callable[[identify.FlightLog], dict[str, Array]],
    message: str,
) -> None:
    log = replace(simulated, **change(simulated))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        identify.fit_vehicle(log, "crazyflie")


def test_velocity_is_estimated_for_logs_without_it(simulated: identify.FlightLog) -> None:
    assert simulated.velocity is not None
    lateral = simulated.specific_force[:, :2].mean(axis=0)
    bias = (float(lateral[0]), float(lateral[1]))
    log = replace(simulated, position=None, velocity=None)
    observed = with_observed_motion(log, true_vehicle(), bias)
    assert observed.velocity is not None
    assert observed.attitude is simulated.attitude
    settled = simulated.time > 2.0
    error = (observed.velocity - simulated.velocity)[settled, :2]
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.std(simulated.velocity[settled, :2])


def test_invalid_arguments_are_refused(simulated: identify.FlightLog) -> None:
    with pytest.raises(ValueError, match="at least one"):
        identify.fit_vehicle([])
    with pytest.raises(TypeError, match=r"FlightLogs of identify\.read_log"):
        identify.fit_vehicle(["flight.csv"])  # type: ignore[list-item]
    broken = simulated.body_rates.copy()
    broken[700, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"simulated, row 701, at 2\.8 s: body_rates is not finite"
    ):
        identify.fit_vehicle(replace(simulated, body_rates=broken))
    with pytest.raises(ValueError, match="'thurst' is none of thrust"):
        identify.fit_vehicle(simulated, parameters=["thurst"])
    with pytest.raises(ValueError, match="fraction"):
        identify.fit_vehicle(simulated, fraction=0.0)
    for fraction in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match=r"fraction: expected a number from 0\.05"):
            identify.hold_out([simulated], fraction=fraction)
    with pytest.raises(ValueError, match=r"expected 1 s in the air for a window, got .* larger"):
        identify.fit_vehicle(simulated, fraction=0.05)
    with pytest.raises(ValueError, match="at least two"):
        identify.leave_one_out([simulated])
    with pytest.raises(ValueError, match="expected a log with position, velocity and attitude"):
        identify.leave_one_out([simulated, replace(simulated, attitude=None)])
    with pytest.raises(ValueError, match="expected commands and motion with one clock"):
        identify.hold_out([replace(simulated, synchronous=False)])
    for wrong in ({"position": 0.0}, {"twist": -1.0}, {"push": float("nan")}, {"velocity": "x"}):
        with pytest.raises(ValueError, match=rf"noise\.{next(iter(wrong))}: expected a finite"):
            identify.Noise(**wrong)


def test_the_figures_are_drawn(found: identify.Identified) -> None:
    pytest.importorskip("matplotlib")
    errors = (np.linspace(0.0, 1.0, 20),)
    score = identify.Score("body rates", "rad/s", 0.1, errors)
    assert len(identify.errors_figure([score], ["one"]).axes) == 1
    assert "body rates" in identify.score_table([score])
    assert score.median == pytest.approx(0.5)


def _run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    _identify_command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["identify", *arguments])
    options.run(options)


def test_the_command_identifies_a_segment_of_a_log(
    simulated: identify.FlightLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _write_log(tmp_path, simulated)
    out = tmp_path / "mine.toml"
    mapping = ["--columns", str(tmp_path / "columns.toml")]
    _run([f"{log}@:6", "--out", str(out), *mapping, "--parameters", "thrust", "--threads", "1"])
    text = capsys.readouterr().out
    assert "thrust" in text
    assert "std. error" in text
    truth = catalogue(true_vehicle())["thrust"].read(true_vehicle())
    read = pw.vehicles.load(out).rotors[0].thrust_coefficient
    assert read == pytest.approx(truth, rel=0.1)


def test_an_unusable_log_leaves_no_output_file(
    simulated: identify.FlightLog, tmp_path: Path
) -> None:
    log = _write_log(tmp_path, simulated.cut(stop=1.5))
    out = tmp_path / "mine.toml"
    out.write_text("kept")
    mapping = ["--columns", str(tmp_path / "columns.toml")]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="at least 2 s in the air"):
        _run([str(log), "--out", str(out), *mapping])
    with pytest.raises(ValueError, match=r"\.toml"):
        _run([str(log), "--out", str(tmp_path / "mine.png"), *mapping])
    assert sorted(tmp_path.iterdir()) == before
    assert out.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such.csv@1:2"], r"no flight log 'no_such\.csv'"),
        (["LOG@5"], r"expected LOG@FROM:TO, seconds from the first row of the log, got '5'"),
        (["LOG@.:3"], r"expected LOG@FROM:TO"),
        (["LOG@-1:3"], r"expected LOG@FROM:TO"),
        (["LOG@5:3"], r"LOG@FROM:TO with FROM below TO, got 5 and 3 s"),
        (["LOG@5:5"], r"LOG@FROM:TO with FROM below TO, got 5 and 5 s"),
        (["LOG@90:"], r"expected rows between 90 and inf s"),
        (["LOG", "--parameters", "thrust, thurst"], r"'thurst' is none of thrust"),
        (["LOG", "--out", "FOLDER/none/mine.toml"], r"expected a file in a folder that exists"),
        (["LOG", "--out", "FOLDER"], r"expected a file in a folder that exists"),
        (["LOG", "--imu", "--validate"], r"--imu: expected no --validate"),
        (["LOG", "--imu", "--parameters", "thrust"], r"--imu: expected no --para"),
        (["LOG", "--imu", "--vehicle", "hexacopter"], r"--imu: expected no --vehi"),
        (["LOG", "LOG", "--imu"], r"--imu: expected one log, got 2"),
        (["LOG", "--imu", "--out", "FOLDER/mine.toml"], r"expected the name of a plot, \.png"),
        (["LOG", "--columns", "FOLDER/none.toml"], r"none\.toml"),
    ],
)
def test_the_command_checks_arguments_before_the_fit(
    log_file: Path, arguments: list[str], message: str
) -> None:
    folder = log_file.parent
    before = sorted(folder.iterdir())
    known = [] if "--columns" in arguments else ["--columns", str(folder / "columns.toml")]
    named = [a.replace("LOG", str(log_file)).replace("FOLDER", str(folder)) for a in arguments]
    with pytest.raises((ValueError, OSError), match=message):
        _run([*named, *known])
    assert sorted(folder.iterdir()) == before


def test_invalid_validation_logs_are_refused_before_the_fit(
    simulated: identify.FlightLog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unsynchronised = replace(simulated, synchronous=False)
    monkeypatch.setattr("propwash.logs.read_log", lambda *_, **__: unsynchronised)
    with pytest.raises(
        ValueError, match="--validate: expected two logs with poses, or one with sync"
    ):
        _run(["one.csv", "--validate", "--out", str(tmp_path / "mine.toml")])
    assert not list(tmp_path.iterdir())


def test_validation_uses_the_selected_parameters(
    simulated: identify.FlightLog,
    found: identify.Identified,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    fitted: list[list[str]] = []

    def fit(*_: Any, parameters: list[str], **__: Any) -> identify.Identified:
        fitted.append(parameters)
        return found

    monkeypatch.setattr("propwash.logs.read_log", lambda *_, **__: simulated)
    monkeypatch.setattr(identify, "fit_vehicle", fit)
    monkeypatch.setattr(identify._fit, "fit_vehicle", fit)
    monkeypatch.setattr(_identify_command, "saved", lambda make, file: str(file))
    out = ["--out", str(tmp_path / "mine.toml")]
    _run(
        ["one.csv", "two.csv", "--validate", "--parameters", "thrust,delay", "--threads", "1", *out]
    )
    # all logs, without the first, without the second, and the starts of both
    assert fitted == [["thrust", "delay"]] * 4


@pytest.fixture(scope="module")
def log_file(simulated: identify.FlightLog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_log(tmp_path_factory.mktemp("logs"), simulated)


def _write_log(folder: Path, log: identify.FlightLog) -> Path:
    names = {
        "body_rates": ["p", "q", "r"],
        "specific_force": ["ax", "ay", "az"],
        "motors": ["m1", "m2", "m3", "m4"],
    }
    lines = ['time = "t"', *(f"{key} = {list(value)}" for key, value in names.items())]
    (folder / "columns.toml").write_text("\n".join(lines).replace("'", '"'))
    table = np.column_stack([log.time, log.body_rates, log.specific_force, log.duty])
    header = ",".join(["t", *(name for value in names.values() for name in value)])
    path = folder / "log.csv"
    np.savetxt(path, table, "%.9g", ",", header=header, comments="")
    return path
