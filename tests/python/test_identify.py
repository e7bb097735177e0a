"""Vehicles identified from simulated and recorded flights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from identify_flight import (
    NOISE,
    clean_flight,
    duty_at,
    noisy,
    simulated_flight,
    true_vehicle,
)
from msgspec import structs
from propwash import identify
from propwash.identify._parameters import FLOW, FORCES, catalogue, changed
from propwash.logs._observer import with_observed_motion
from propwash.vehicle.multicopter import Array
from scipy.stats import chi2

SIGMAS = 4.0
"""Bound of the errors; one of 17 normal errors exceeds it in one of a thousand flights."""


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


@pytest.mark.slow
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


def test_parameters_that_logs_do_not_identify_are_refused(simulated: identify.FlightLog) -> None:
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duty": np.zeros((2000, 0))}, r"the log has no duty, .* map its columns"),
        ({"duty": np.full((2000, 6), 0.7)}, r"the log has 6 motors, .* has 4 rotors"),
        (
            {"duty": np.full((2000, 4), 0.0)},
            r"at least 2 s in the air, .* set scale of motors.* is at most 0, ",
        ),
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
        (
            lambda f: {"specific_force": f.specific_force / 9.81},
            r"of about 1 g = 9\.80665 m/s\^2, got a median of .*, in g; set",
        ),
        (
            lambda f: {"specific_force": -f.specific_force},
            r"upwards, got -9\.\d+ m/s\^2 along world z; set down = true",
        ),
        (
            lambda f: {"body_rates": np.rad2deg(f.body_rates)},
            r"got body rates of 57\.\d+ times .* in degrees/s",
        ),
        (lambda f: {"body_rates": f.body_rates * [1, -1, -1]}, r"order x, -y, -z; .*down = true"),
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
