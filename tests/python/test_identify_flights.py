"""Trims, battery and bias of single flights, and predictions of recorded ones."""

from __future__ import annotations

from dataclasses import fields, replace
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
from propwash import identify, logs
from propwash.identify._bias import fit_bias
from propwash.identify._estimates import estimate_named
from propwash.identify._parameters import catalogue, changed
from propwash.identify._problem import gridded

pytest.importorskip("scipy")

SIGMAS = 4.0


@pytest.fixture(scope="module")
def simulated() -> identify.FlightLog:
    return simulated_flight(8.0)


def _recorded(pattern: str) -> list[Path]:
    folders = [folder for folder in logs.flight_folders() if folder.is_dir()]
    files = sorted(file for folder in folders[:1] for file in folder.glob(pattern))
    if not files:
        pytest.skip("neither $PROPWASH_FLIGHTS nor ../shared/flights has a recorded flight")
    return files


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


def test_calibration_up_to_a_time_finds_the_trims_of_then() -> None:
    """A flight whose trims change after 4 s."""
    truth = true_vehicle()
    first = simulated_flight(4.0, 11, truth)
    then = simulated_flight(4.0, 12, _trimmed(truth))
    then = replace(then, time=then.time + 4.0)
    joined: dict[str, Any] = {
        item.name: np.concatenate([getattr(first, item.name), getattr(then, item.name)])
        for item in fields(first)
        if isinstance(getattr(first, item.name), np.ndarray)
    }
    log = replace(first, **joined)
    for stop, expected in ((None, 0.0), (3.9, 0.0), (7.9, 0.02)):
        found = identify.calibrate(truth, log, 3.0, stop=stop, noise=NOISE, threads=1)
        assert found.seconds[1] - found.seconds[0] == pytest.approx(3.0, abs=0.01)
        if stop is not None:
            assert stop - 0.01 < found.seconds[1] <= stop
        roll = estimate_named(found.trims, "balance_roll")
        assert abs(roll.value - expected) < SIGMAS * roll.standard_error, stop
        assert roll.standard_error < 0.005


def test_calibration_up_to_a_time_refuses_too_little(simulated: identify.FlightLog) -> None:
    for stop in (-1.0, 2.0):
        with pytest.raises(ValueError, match=rf"in the air up to {stop:g} s, got 3"):
            identify.calibrate("crazyflie", simulated, 3.0, stop=stop)
    wrong: Any
    for wrong in ("2", float("nan"), [2.0]):
        with pytest.raises((TypeError, ValueError), match="stop: expected a time of the log"):
            identify.calibrate("crazyflie", simulated, 3.0, stop=wrong)


def test_a_trim_at_its_limit_is_reported() -> None:
    """Of a flight with a body frame that is rotated by 0.04 rad."""
    truth = true_vehicle()
    rotated = changed(truth, [replace(catalogue(truth)["tilt_x"], spread=1.0)], [0.04])
    log = simulated_flight(4.0, 5, rotated)
    found = identify.calibrate(truth, log, 3.0, noise=NOISE, threads=1)
    assert any("tilt_x" in note and "prior deviations" in note for note in found.notes)
    assert all(note in found.table() for note in found.notes)
    loose = identify.Scatter(tilt=0.05)
    found = identify.calibrate(truth, log, 3.0, noise=NOISE, scatter=loose, threads=1)
    assert not any("tilt_x" in note for note in found.notes)


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


@pytest.mark.slow
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
