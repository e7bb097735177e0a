"""Vehicles identified from simulated and recorded flights."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import propwash as pw
import pytest
from identify_flight import (
    NOISE,
    PERIOD,
    clean_flight,
    duty_at,
    noisy,
    simulated_flight,
    speeds_at,
    true_vehicle,
)
from msgspec import structs
from propwash import identify, logs
from propwash.cli import identify as _identify_command
from propwash.identify._bias import fit_bias
from propwash.identify._parameters import FLOW, FORCES, catalogue, changed
from propwash.identify._problem import gridded
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
    assert {e.name for e in found.estimates} == set(known) - set(FLOW)
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
    alike = identify.Scatter(*[1e-6] * 6)  # flights of one vehicle without trims
    for seed in range(20):
        log = replace(noisy(flight, np.random.default_rng(seed)), synchronous=False)
        names = [parameter.name for parameter in free]
        fit = identify.fit_vehicle(
            log, guess, parameters=names, noise=NOISE, scatter=alike, threads=1
        )
        for estimate, parameter in zip(fit.estimates, free, strict=True):
            distance.append((estimate.value - parameter.read(truth)) / estimate.standard_error)
    squares = float(np.sum(np.square(distance)))
    assert chi2.ppf(1e-6, len(distance)) < squares < chi2.ppf(0.999, len(distance))


@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie"])
def test_nonnegative_parameters_may_be_zero(name: str) -> None:
    """Drag is not identifiable in hover; an estimate of 0 is not an error."""
    vehicle = pw.vehicles.load(name)
    hover = np.asarray(pw.Multicopter(vehicle).trim().rotor_speeds)
    duty = duty_at(vehicle, 1.01 * hover)
    time: Array = np.linspace(0.0, 3.99, 400)
    rng = np.random.default_rng(4)
    log = identify.FlightLog(
        path=Path("hover"),
        time=time,
        duty=np.tile(duty, (400, 1)),
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
        assert white.autocorrelation > 5.0 * white.bound


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


def test_parameters_that_a_log_cannot_tell_are_refused(simulated: identify.FlightLog) -> None:
    """Torques are not identifiable from commands on another clock; by default they are not free."""
    unsynchronised = replace(simulated, synchronous=False)
    fit = identify.fit_vehicle(unsynchronised, "crazyflie", noise=NOISE, threads=1)
    balances = {f"balance_{axis}" for axis in ("roll", "pitch", "yaw")}
    assert {e.name for e in fit.estimates} == {*FORCES, *balances, "blow_back"}
    guess = pw.vehicles.load("crazyflie")
    assert fit.vehicle.body == guess.body
    assert fit.vehicle.motor.time_constant_up == guess.motor.time_constant_up
    without_pose = replace(simulated, position=None, attitude=None)
    massless = guess.replace(
        rotors=tuple(structs.replace(rotor, inertia=0.0) for rotor in guess.rotors)
    )
    for log, vehicle, name, reason in (
        (unsynchronised, guess, "inertia_x", "commands and body rates of one clock at 80 Hz"),
        (unsynchronised, guess, "delay", "commands and body rates of one clock at 80 Hz"),
        (without_pose, guess, "drag_z", "a log with position, velocity and attitude"),
        (
            without_pose,
            guess.replace(rotor_drag={"linear": (0.0, 0.0, 0.0)}),
            "blow_back",
            "a log with velocity, or a guess",
        ),
        (simulated, guess, "ground_effect", r"a guess with ground_effect\.radius > 0"),
        (without_pose, guess, "inflow_axial", "a log with position, velocity and attitude"),
        (
            simulated,
            massless,
            "rotor_inertia",
            r"a factor of the guess, whose rotors\.inertia is 0",
        ),
    ):
        with pytest.raises(
            pw.ParameterError, match=f"'{name}' cannot be identified from.*{reason}"
        ):
            identify.fit_vehicle(log, vehicle, parameters=["thrust", name], threads=1)


def test_standard_errors_include_the_scatter_between_flights(
    simulated: identify.FlightLog,
) -> None:
    """The tilt of a vehicle is known to the scatter over the root of the number of flights."""
    log = replace(simulated.cut(stop=5.0), synchronous=False)
    wide = identify.Scatter(tilt=0.01)
    prior = catalogue(true_vehicle())["tilt_x"].spread
    for count in (1, 4):
        flights = [replace(log, time=log.time + 100.0 * k) for k in range(count)]
        tilt = identify.fit_vehicle(
            flights, true_vehicle(), parameters=["tilt_x"], scatter=wide, threads=1
        ).estimate("tilt_x")
        expected = (prior**-2 + count / 0.01**2) ** -0.5
        assert tilt.standard_error == pytest.approx(expected, rel=0.1)


def _trimmed(vehicle: pw.VehicleParameters) -> pw.VehicleParameters:
    catalogued = catalogue(vehicle)
    names = ("balance_roll", "balance_pitch", "tilt_x", "tilt_y")
    trims = [replace(catalogued[name], spread=1.0) for name in names]
    return changed(vehicle, trims, [0.02, -0.03, 0.004, -0.003])


@pytest.mark.parametrize("synchronous", [True, False])
def test_calibration_finds_the_trims_of_a_flight(synchronous: bool) -> None:
    """Of a flight of a vehicle with other trims; the prediction of its rest gets better."""
    truth = true_vehicle()
    flown = clean_flight(9.0, np.random.default_rng(5), _trimmed(truth))
    assert flown.voltage is not None
    flown = replace(flown, voltage=flown.voltage / 1.005, synchronous=synchronous)
    log = noisy(flown, np.random.default_rng(6))
    found = identify.calibrate(truth, log, 5.0, noise=NOISE, threads=1)
    trims = {trim.name: trim for trim in found.trims}
    for name, expected in (
        ("balance_roll", 0.02),
        ("balance_pitch", -0.03),
        ("tilt_x", 0.004),
        ("tilt_y", -0.003),
    ):
        assert abs(trims[name].value - expected) < SIGMAS * trims[name].standard_error, name
        assert trims[name].standard_error < 0.5 * abs(expected), name
    assert found.battery is not None
    assert found.battery.offset == pytest.approx(0.005, abs=0.002)
    assert all(trim.name in found.table() for trim in found.trims)
    starts = np.arange(found.seconds[1], 7.5, 0.1)
    for quantity, horizon in (("position", 1.0), ("attitude", 0.25)):
        attitude: Literal["measured"] | None = "measured" if quantity == "position" else None
        before, after = (
            np.median(
                identify.predict(vehicle, log, starts, horizon, attitude).error(quantity, horizon)
            )
            for vehicle in (truth, found)
        )
        assert after < 0.4 * before, quantity


def test_the_battery_is_carried_beyond_the_calibration() -> None:
    """A log without voltage, whose battery is at 94 % and loses 1 % in 10 s at first."""
    truth = true_vehicle()
    flown = clean_flight(9.0, np.random.default_rng(7))
    assert flown.voltage is not None
    nominal = truth.battery.nominal_voltage
    battery = identify.Battery(nominal, 0.0, 0.06, -0.01)
    effective = battery.voltage(replace(flown, voltage=None), PERIOD, 0.5)[0]
    # the duty cycles that give the same speeds at the lower voltage
    duty = duty_at(truth, speeds_at(truth, flown.duty) * (nominal / effective)[:, np.newaxis])
    log = noisy(replace(flown, duty=duty, voltage=None), np.random.default_rng(8))
    found = identify.calibrate(truth, log, 5.0, noise=NOISE, threads=1)
    assert found.battery is not None
    expected = effective / nominal
    carried = found.battery.voltage(log, PERIOD, found.seconds[0])[0] / nominal
    assert np.abs(carried - expected)[log.time > 5.0].max() < 0.01


def test_the_bias_of_the_accelerometer_is_estimated(simulated: identify.FlightLog) -> None:
    """From a log with poses to the scatter of mountings; without, from a prior of the velocity."""
    bias = np.array([0.2, -0.1, 0.05])
    log = replace(simulated, specific_force=simulated.specific_force + bias)
    grid = gridded(log, true_vehicle())
    found = fit_bias([(grid.flight, grid.rows)], true_vehicle())
    assert np.all(np.abs(found.value - bias) < 2.0 * found.standard_error)
    assert np.all(found.standard_error < 0.06)
    blind = replace(grid.flight, position=None, velocity=None, attitude=None)
    guessed = fit_bias([(blind, grid.rows)], true_vehicle())
    assert np.all(np.abs(guessed.value - bias) < 2.0 * guessed.standard_error)
    assert guessed.value[2] == 0.0
    assert guessed.standard_error[2] == pytest.approx(0.3)


def test_recorded_flights_predict_others() -> None:
    logs = [
        identify.read_log(path)
        for path in _recorded("nanobench_B2_*.csv") + _recorded("*_B8_*.csv")
    ]
    messages: list[str] = []
    scores = identify.leave_one_out(
        [log.cut(2.0, 18.0) for log in logs], "crazyflie", threads=1, progress=messages.append
    )
    assert len(messages) == 2
    at = {(s.model, s.quantity, s.horizon): s.median for s in scores}
    for model in ("fitted", "calibrated"):
        assert at[model, "position, measured attitude", 0.5] < 0.030
        assert at[model, "position, measured attitude", 1.0] < 0.12
        assert at[model, "velocity, measured attitude", 1.0] < 0.19
        assert at[model, "vertical specific force, measured attitude", 0.5] < 0.36
    position = {m: at[m, "position, measured attitude", 1.0] for m in ("fitted", "papers' model")}
    assert position["fitted"] < position["papers' model"]
    assert position["fitted"] < 0.3 * at["constant velocity", "position, measured attitude", 1.0]
    assert at["calibrated", "attitude", 0.25] < 14.0


def test_the_start_of_a_recorded_flight_predicts_the_rest() -> None:
    """The log has no voltage and no pose, so battery and velocity are estimated."""
    log = identify.read_log(_recorded("onboard_log15a.csv")[0]).cut(10.5, 25.5)
    scores = identify.hold_out([log], "crazyflie", threads=1, horizons=(0.05, 0.1))
    at = {(s.quantity, s.horizon): s.median for s in scores if s.model == "fitted"}
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
        (lambda f: {"duty": f.duty[:, [1, 0, 2, 3]]}, r"shows that they drive rotors 2, 1, 3, 4"),
        (lambda f: {"duty": f.duty[:, [3, 0, 1, 2]]}, r"shows that they drive rotors 4, 1, 2, 3"),
        (lambda f: {"voltage": 1e3 * f.voltage}, r"the 4\.54 V.* 4540 V; set scale of voltage"),
        (lambda f: {"voltage": 0.0 * f.voltage}, r"the 4\.54 V.* 0 V; .* omit it from the"),
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
    copies = [simulated.cut(0.0, 4.0), simulated.cut(3.0)]
    for function in (identify.fit_vehicle, identify.leave_one_out):
        with pytest.raises(ValueError, match=r"each row once, got simulated twice from 3 to 4 s"):
            function(copies)
    with pytest.raises(TypeError, match=r"scatter: expected identify\.Scatter, got 0\.1"):
        identify.fit_vehicle(simulated, scatter=0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"scatter\.tilt: expected a number from 1e-6 to 1"):
        identify.Scatter(tilt=-1)
    for seconds in (0.5, 99.0, float("nan")):
        with pytest.raises(ValueError, match=r"seconds: expected 1\.2 s to the 7\.\d+ s of"):
            identify.calibrate("crazyflie", simulated, seconds)
    for wrong in ({"position": 0.0}, {"twist": -1.0}, {"push": float("nan")}, {"velocity": "x"}):
        with pytest.raises(ValueError, match=rf"noise\.{next(iter(wrong))}: expected a finite"):
            identify.Noise(**wrong)


def test_validation_of_short_logs_is_refused_before_a_fit(simulated: identify.FlightLog) -> None:
    short = replace(simulated.cut(stop=2.9), path=Path("short"))
    expected = r"short: expected more than 1 s in the air after the part that is fitted, got"
    messages: list[str] = []
    with pytest.raises(ValueError, match=expected):
        identify.leave_one_out([simulated.cut(3.5), short], progress=messages.append)
    with pytest.raises(ValueError, match=expected):
        identify.hold_out(short)
    with pytest.raises(ValueError, match="horizons: expected at least one"):
        identify.hold_out(simulated, horizons=())
    assert not messages


def test_scores_are_shown(found: identify.Identified) -> None:
    pytest.importorskip("matplotlib")
    errors = {"one": np.linspace(0.0, 1.0, 20)}
    score = identify.Score("fitted", "body rates", "rad/s", 0.1, errors)
    assert len(identify.errors_figure([score]).axes) == 1
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


@pytest.mark.parametrize(("logs", "fits"), [(["one.csv"], 2), (["one.csv", "two.csv"], 5)])
def test_validation_uses_the_selected_parameters(
    simulated: identify.FlightLog,
    found: identify.Identified,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    logs: list[str],
    fits: int,
) -> None:
    fitted: list[list[str]] = []

    def fit(*_: Any, parameters: list[str], **__: Any) -> identify.Identified:
        fitted.append(parameters)
        return found

    def read(path: str, *_: Any, **__: Any) -> identify.FlightLog:
        rates = simulated.body_rates + 1e-9 * (path == "two.csv")
        return replace(simulated, body_rates=rates)

    monkeypatch.setattr("propwash.logs.read_log", read)
    monkeypatch.setattr(identify, "fit_vehicle", fit)
    monkeypatch.setattr(identify._fit, "fit_vehicle", fit)
    monkeypatch.setattr(_identify_command, "saved", lambda make, file: str(file))
    out = ["--out", str(tmp_path / "mine.toml")]
    _run([*logs, "--validate", "--parameters", "thrust,delay", "--threads", "1", *out])
    assert len(fitted) == fits
    papers = [names for names in fitted if "torque" in names]
    assert len(papers) == (2 if len(logs) > 1 else 0)
    assert [names for names in fitted if names not in papers] == [["thrust", "delay"]] * (
        fits - len(papers)
    )


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
