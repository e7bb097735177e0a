"""Measured rotor speeds instead of the motor model, and noise of the inputs of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, PERIOD, clean_flight, noisy, simulated_flight, true_vehicle
from log_files import px4, px4_geometry, write_blackbox, write_ulog
from propwash import identify, logs
from propwash.identify._input_noise import expected
from propwash.identify._parameters import LAG, catalogue
from propwash.identify._problem import free_names
from propwash.logs._px4_motors import speeds as px4_speeds
from propwash.vehicle.multicopter import Array
from scipy.signal import lfilter

SIGMAS = 4.0
SPEED_NOISE = 40.0
"""rad/s, 2 % of the speed in hover."""
ESC = {"esc_report": "float esc_rpm;uint8_t actuator_function"}


@pytest.fixture(scope="module")
def exact() -> identify.FlightLog:
    """Exact rotor speeds, and noise on all other signals."""
    rng = np.random.default_rng(1)
    return noisy(clean_flight(8.0, rng, measured=True), rng)


@pytest.fixture(scope="module")
def measured(exact: identify.FlightLog) -> identify.FlightLog:
    assert exact.rotor_speeds is not None
    rng = np.random.default_rng(2)
    noise = SPEED_NOISE * rng.standard_normal(exact.rotor_speeds.shape)
    return replace(exact, rotor_speeds=exact.rotor_speeds + noise)


def _distance(found: identify.Identified, name: str) -> float:
    """Error in standard errors."""
    truth, estimate = true_vehicle(), found.estimate(name)
    return (estimate.value - catalogue(truth)[name].read(truth)) / estimate.standard_error


def test_measured_speeds_replace_the_motor_model(exact: identify.FlightLog) -> None:
    """The parameters are recovered from a guess whose motors are wrong."""
    guess = pw.vehicles.load("crazyflie").replace(
        motor={"time_constant_up": 1e-3, "time_constant_down": 0.3, "command_delay": 0.05}
    )
    found = identify.fit_vehicle(exact, guess, noise=NOISE, threads=1)
    names = {estimate.name for estimate in found.estimates}
    on_request = {
        name for name in catalogue(guess) if name.startswith(("inflow_", "ground_effect"))
    }
    assert names == set(catalogue(guess)) - {*LAG, "speed_offset"} - on_request
    for name in names:
        assert abs(_distance(found, name)) < SIGMAS, name
    for white in found.whiteness:
        assert white.rms == pytest.approx(1.0, abs=0.1)
        assert abs(white.autocorrelation) < SIGMAS / 1.96 * white.bound
    assert found.vehicle.motor == guess.motor
    assert found.battery is None
    assert "battery" not in {trim.name for trim in found.logs[0].trims}
    with pytest.raises(pw.ParameterError, match=r"'delay' cannot be .*: the rotor speeds are meas"):
        identify.fit_vehicle(exact, guess, parameters=["delay"])
    # a log with commands only identifies them
    commanded = replace(exact, rotor_speeds=None)
    assert {*LAG, "speed_offset"} <= set(free_names([exact, commanded], guess))


@pytest.mark.slow
def test_noise_of_the_speeds_does_not_bias_the_estimates(measured: identify.FlightLog) -> None:
    found = identify.fit_vehicle(measured, "crazyflie", noise=NOISE, threads=1)
    for estimate in found.estimates:
        assert abs(_distance(found, estimate.name)) < SIGMAS, estimate.name
    ignored = replace(NOISE, rotor_speeds=0.0)
    biased = identify.fit_vehicle(measured, "crazyflie", noise=ignored, threads=1)
    assert _distance(biased, "rotor_inertia") < -3.0 * SIGMAS
    errors = [
        _distance(biased, name) * biased.estimate(name).standard_error
        for name in ("inertia_x", "inertia_y")
    ]
    assert min(errors) > 0.0, "moments of inertia grow"


@pytest.mark.slow
def test_noise_of_commands_does_not_bias_the_estimates(exact: identify.FlightLog) -> None:
    deviation = 0.1
    rng = np.random.default_rng(3)
    duty = exact.duty + deviation * rng.standard_normal(exact.duty.shape)
    log = replace(exact, duty=duty, rotor_speeds=None)
    names = ["thrust", "rotor_inertia", "inertia_x", "inertia_y"]
    fits = [
        identify.fit_vehicle(
            log, true_vehicle(), parameters=names, noise=replace(NOISE, commands=one), threads=1
        )
        for one in (0.0, deviation)
    ]
    biased, found = ([abs(_distance(fit, name)) for name in names] for fit in fits)
    assert max(found) < SIGMAS
    assert max(biased) > SIGMAS


def test_predictions_with_measured_speeds_have_no_motors(exact: identify.FlightLog) -> None:
    truth = true_vehicle()
    slow = truth.replace(motor={"time_constant_up": 0.5, "command_delay": 0.1})
    results = [
        identify.predict(vehicle, log, None, [0.1])
        for vehicle, log in (
            (truth, exact),
            (slow, exact),
            (truth, replace(exact, duty=np.zeros((len(exact.time), 0)), voltage=None)),
            (truth, replace(exact, rotor_speeds=None)),
        )
    ]
    first, *others, commanded = (result.error("body rates", 0.1) for result in results)
    for errors in others:
        np.testing.assert_array_equal(errors, first)
    assert np.median(first) < 1.1 * np.median(commanded)
    calibrated = identify.calibrate(truth, exact, 4.0, noise=NOISE, threads=1)
    assert calibrated.battery is None
    assert {trim.name for trim in calibrated.trims} >= {"thrust", "balance_roll"}
    again = identify.predict(calibrated, calibrated.flight, None, [0.1])
    assert np.median(again.error("body rates", 0.1)) < 1.2 * np.median(first)


@pytest.mark.parametrize("deviation", [None, SPEED_NOISE])
def test_expected_inputs_are_calibrated(deviation: float | None) -> None:
    """The slope of the truth over them is 1, in each sum and difference of the rotors."""
    rng = np.random.default_rng(0)
    lag = np.polymul([1.0, -np.exp(-PERIOD / 0.05)], [1.0, -0.6])
    white = rng.standard_normal((8000, 4)) * [24.0, 8.0, 5.0, 4.0]
    modes = lfilter([1.0], lag, white, axis=0)
    signs = 0.5 * np.array([[1, 1, 1, 1], [1, -1, -1, 1], [1, -1, 1, -1], [1, 1, -1, -1]])
    truth = 2000.0 + modes @ signs
    noisy_speeds = truth + SPEED_NOISE * rng.standard_normal(truth.shape)
    found = expected(noisy_speeds, slice(0, 8000), deviation)
    for k, row in enumerate(signs):
        signal, raw, calibrated = ((x - 2000.0) @ row for x in (truth, noisy_speeds, found))
        assert signal @ raw / (raw @ raw) < 0.95
        assert signal @ calibrated / (calibrated @ calibrated) == pytest.approx(1.0, abs=0.06), k
        assert np.std(calibrated - signal) < 0.9 * SPEED_NOISE


def test_inputs_without_noise_are_kept() -> None:
    time = PERIOD * np.arange(2000)
    smooth = 2000.0 + 300.0 * np.sin(np.outer(time, [7.0, 11.0, 13.0, 17.0]))
    np.testing.assert_allclose(expected(smooth, slice(0, 2000)), smooth, rtol=1e-3)
    short = smooth[:100]
    assert expected(short, slice(0, 100)) is short
    assert expected(smooth, slice(0, 2000), 0.0) is smooth


def _mapping(**changes: object) -> identify.Columns:
    names = {
        "body_rates": ["p", "q", "r"],
        "specific_force": ["ax", "ay", "az"],
        "rotor_speeds": ["n1", "n2", "n3", "n4"],
    }
    return identify.Columns(time="t", **(names | changes))  # type: ignore[arg-type]


def _write(path: Path, log: identify.FlightLog, factor: float) -> Path:
    """A CSV file with speeds times a factor; every second rotor turns in reverse."""
    assert log.rotor_speeds is not None
    speeds = factor * log.rotor_speeds * [1, -1, 1, -1]
    table = np.column_stack([log.time, log.body_rates, log.specific_force, speeds])
    head = "t,p,q,r,ax,ay,az,n1,n2,n3,n4"
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=head, comments="")
    return path


@pytest.mark.parametrize(
    ("unit", "pairs", "factor"),
    [("rad/s", 0, 1.0), ("rpm", 0, 30.0 / np.pi), ("erpm", 7, 210.0 / np.pi)],
)
def test_columns_of_rotor_speeds_are_mapped(
    exact: identify.FlightLog, tmp_path: Path, unit: str, pairs: int, factor: float
) -> None:
    path = _write(tmp_path / "log.csv", exact, factor)
    log = logs.read_log(path, _mapping(rotor_speed_unit=unit, pole_pairs=pairs))
    assert log.rotor_speeds == pytest.approx(exact.rotor_speeds, rel=1e-6)
    assert log.motors == 4
    assert log.duty.shape == (len(log.time), 0)
    identify.predict("crazyflie", log)
    if unit == "rad/s":
        return
    wrong = logs.read_log(path, _mapping())
    uses: list[Callable[[], object]] = [
        lambda: identify.predict("crazyflie", wrong),
        lambda: identify.fit_vehicle(wrong, "crazyflie"),
        lambda: identify.calibrate("crazyflie", wrong, 2.0),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=r"thrust is about the weight .* set rotor_speed_unit"):
            use()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotor_speed_unit": "Hz"}, r"rotor_speed_unit: expected one of rad/s, rpm, erpm, got 'H"),
        ({"rotor_speed_unit": "erpm"}, r"pole_pairs: expected a whole number > 0 .* got 0"),
        ({"pole_pairs": 7}, r"pole_pairs: .* none for other units, got 7"),
        ({"rotor_speed_unit": "erpm", "pole_pairs": 7.5}, r"pole_pairs: .*, got 7\.5"),
        ({"rotor_speeds": 4}, r"rotor_speeds: expected a list of names, got 4"),
    ],
)
def test_invalid_mappings_of_rotor_speeds_are_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"columns\.{message}"):
        _mapping(**changes)


def test_a_log_of_fewer_motors_is_refused(exact: identify.FlightLog) -> None:
    assert exact.rotor_speeds is not None
    with pytest.raises(ValueError, match=r"the log has 3 motors, .* has 4 rotors"):
        identify.predict("crazyflie", replace(exact, rotor_speeds=exact.rotor_speeds[:, :3]))


def test_betaflight_records_electrical_revolutions(
    exact: identify.FlightLog, tmp_path: Path
) -> None:
    path = write_blackbox(tmp_path / "log.csv", exact)
    log = logs.read_log(path, vehicle="crazyflie")
    assert log.rotor_speeds == pytest.approx(exact.rotor_speeds, rel=1e-6)
    assert log.duty == pytest.approx(exact.duty, abs=1e-5)
    path.with_suffix(".headers.csv").unlink()
    with pytest.warns(UserWarning, match="eRPM is omitted, as the poles .* --save-headers"):
        assert logs.read_log(path).rotor_speeds is None
    assert exact.rotor_speeds is not None
    write_blackbox(path, replace(exact, rotor_speeds=0.0 * exact.rotor_speeds))
    assert logs.read_log(path).rotor_speeds is None  # no telemetry


def _esc(log: identify.FlightLog, order: list[int], every: int = 1) -> tuple[str, Array, Array]:
    """The topic of ESCs that drive the motors in this order."""
    assert log.rotor_speeds is not None
    rows = log.rotor_speeds[::every] * 30.0 / np.pi
    parts = [column for k in order for column in (rows[:, k], np.full(len(rows), 101.0 + k))]
    return "esc_report[4] esc", log.time[::every], np.stack(parts, axis=-1)


def test_px4_records_revolutions_of_its_motors(exact: identify.FlightLog, tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    vehicle = pw.vehicles.load("crazyflie")
    order = [1, 3, 2, 0]
    motors = replace(exact, duty=exact.duty[:, order], rotor_speeds=exact.rotor_speeds[:, order])  # type: ignore[index]
    topics = {**px4(motors), "esc_status": _esc(motors, [2, 0, 3, 1])}
    path = write_ulog(tmp_path / "log.ulg", topics, px4_geometry(vehicle, order), nested=ESC)
    log = logs.read_log(path, vehicle=vehicle)
    assert log.synchronous
    rows = len(log.time)
    assert log.rotor_speeds == pytest.approx(exact.rotor_speeds[:rows], rel=1e-4)  # type: ignore[index]
    assert log.duty == pytest.approx(exact.duty[:rows], abs=1e-4)
    topics["esc_status"] = _esc(motors, [0, 1, 2, 3], every=10)
    write_ulog(path, topics, nested=ESC)
    with pytest.warns(
        UserWarning, match="rotor speeds are omitted, as esc_status has less than 80"
    ):
        assert logs.read_log(path).rotor_speeds is None


def test_escs_without_functions_are_in_the_order_of_the_motors() -> None:
    topic = {f"esc[{k}].esc_rpm": np.full(3, 100.0 + k) for k in range(4)}
    assert px4_speeds({"esc_status": topic}, 4) == [
        f"esc_status:esc[{k}].esc_rpm" for k in range(4)
    ]
    assert px4_speeds({"esc_status": topic}, 6) == []  # two motors have none
    slots = {f"esc[{k}].esc_rpm": np.full(3, 100.0 + k) for k in range(6)}
    functions = dict(zip(slots, [104, 101, 102, 0, 103, 0], strict=True))
    scattered = {
        n.replace("esc_rpm", "actuator_function"): np.full(3, f) for n, f in functions.items()
    }
    assert px4_speeds({"esc_status": {**slots, **scattered}}, 4) == [
        f"esc_status:esc[{k}].esc_rpm" for k in (1, 2, 4, 0)
    ]
    assert px4_speeds({"esc_status": {**topic, "esc[2].esc_rpm": np.zeros(3)}}, 4) == []
    assert px4_speeds({}, 4) == []


def test_an_estimate_at_a_bound_is_not_saved(tmp_path: Path) -> None:
    vehicle = true_vehicle()
    far = vehicle.replace(rotor_drag={"linear": (3.0, 0.3, 0.2), "blow_back": 0.0})
    log = simulated_flight(4.0, vehicle=far)
    found = identify.fit_vehicle(log, vehicle, parameters=["drag_x", "drag_y"], noise=NOISE)
    assert [e.name for e in found.estimates if e.is_beyond_search] == ["drag_x"]
    assert "at a bound" in found.table()
    file = tmp_path / "never.toml"
    with pytest.raises(ValueError, match=r"drag_x = 1\.4 1/s: expected estimates within .* guess;"):
        found.save(file)
    assert not file.exists()
