"""Betaflight's blackbox as CSV: units, scale and order of the motors, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import simulated_flight
from log_files import write_blackbox
from propwash import logs


@pytest.fixture(scope="module")
def flown() -> logs.Flight:
    """Begins with idling motors, as logs of Betaflight do."""
    flight = simulated_flight(2.0)
    flight.duty[:25] = 0.055
    return flight


def _same(log: logs.Flight, flown: logs.Flight) -> None:
    for name in ("time", "body_rates", "specific_force", "duty"):
        assert getattr(log, name) == pytest.approx(getattr(flown, name), abs=1e-5), name


@pytest.mark.parametrize(
    "units",
    [
        {},
        {"rate": "rad/s", "force": "m/s/s", "time": "s"},
        {"time": "ms", "motors": "pwm"},
        {"rate": "raw", "force": "raw"},
    ],
)
def test_a_flight_is_the_same_in_all_units(
    flown: logs.Flight, tmp_path: Path, units: dict[str, str]
) -> None:
    path = write_blackbox(tmp_path / "LOG00001.01.csv", flown, **units)  # type: ignore[arg-type]
    log = logs.read_log(path, vehicle="crazyflie")
    _same(log, flown)
    assert log.synchronous
    assert logs.read_log(path).duty == pytest.approx(flown.duty[:, [1, 0, 2, 3]], abs=1e-5)
    piece = logs.read_log(path, vehicle="crazyflie", start=0.5, stop=1.5)
    assert piece.duty == pytest.approx(flown.cut(0.5, 1.5).duty, abs=1e-5)


def test_the_range_of_the_motors_is_not_assumed(flown: logs.Flight, tmp_path: Path) -> None:
    """Commands above 1000 only are those of DShot from half power, or pulses."""
    flight = flown.cut(0.2)
    path = write_blackbox(tmp_path / "log.csv", replace(flight, duty=0.5 + 0.4 * flight.duty))
    with pytest.raises(ValueError, match=r"motors that idle below 900 .* decode with --save-head"):
        logs.read_log(path)
    (tmp_path / "log.headers.csv").write_text('motorOutput,"158,2047"\n')
    log = logs.read_log(path, vehicle="crazyflie")
    assert log.duty == pytest.approx(0.5 + 0.4 * flight.duty, abs=1e-5)


def test_spins_do_not_matter_for_the_order(flown: logs.Flight, tmp_path: Path) -> None:
    """They are a setting of the vehicle, which the log does not contain."""
    path = write_blackbox(tmp_path / "log.csv", flown)
    vehicle = pw.vehicles.load("crazyflie")
    reversed_spins = tuple(rotor.replace(spin=-rotor.spin) for rotor in vehicle.rotors)
    log = logs.read_log(path, vehicle=vehicle.replace(rotors=reversed_spins))
    assert log.duty == pytest.approx(flown.duty, abs=1e-5)
    with pytest.raises(ValueError, match=r"match .* spin unknown at"):
        logs.read_log(path, vehicle="hexacopter")


def test_a_stopped_motor_has_no_duty(flown: logs.Flight, tmp_path: Path) -> None:
    duty = flown.duty.copy()
    duty[:30] = -48.0 / 1999.0  # DShot's command 0
    path = write_blackbox(tmp_path / "log.csv", replace(flown, duty=duty))
    log = logs.read_log(path, vehicle="crazyflie")
    assert np.all(log.duty[:30] == 0.0)
    assert log.duty[30:] == pytest.approx(flown.duty[30:], abs=1e-5)


@pytest.mark.parametrize(
    ("column", "value", "warning"),
    [
        ("vbatLatest (V)", 15.9, ""),
        ("vbatLatest (mV)", 15900.0, ""),
        ("vbatLatest (V)", 159.0, "divided by ten, as no battery has more than 75 V"),
        ("vbatLatest", 1590.0, "vbatLatest is omitted, as it has no unit"),
    ],
)
def test_the_voltage_is_in_volts(
    flown: logs.Flight,
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
    column: str,
    value: float,
    warning: str,
) -> None:
    path = write_blackbox(tmp_path / "log.csv", flown, voltage={column: value})
    if warning:
        with pytest.warns(UserWarning, match=warning):
            log = logs.read_log(path)
    else:
        log = logs.read_log(path)
    if "omitted" in warning:
        assert log.voltage is None
    else:
        assert log.voltage == pytest.approx(np.full(len(log.time), 15.9))


def _edited(path: Path, edit: dict[str, Any]) -> Path:
    text = path.read_text()
    for old, new in edit.items():
        text = text.replace(old, new)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"gyroADC[0] (deg/s)": "gyroADC[0]"}, r"expected gyroADC\[0\] with a unit \(deg/s or rad"),
        ({"accSmooth[0] (g)": "accSmooth[0]"}, r"accSmooth\[0\] with .* --unit-acceleration g"),
        ({"accSmooth[1]": "debug[1]"}, r"missing columns accSmooth\[1\] of Betaflight.*GYRO and"),
        ({"flightModeFlags (flags)": "navState"}, r"found INAV's \(navState\)"),
    ],
)
def test_what_a_log_does_not_say_is_not_assumed(
    flown: logs.Flight, tmp_path: Path, edit: dict[str, str], message: str
) -> None:
    path = _edited(write_blackbox(tmp_path / "log.csv", flown), edit)
    with pytest.raises(ValueError, match=message):
        logs.read_log(path)


@pytest.mark.parametrize("edit", [{'"2048"': '"0"'}, {"0x": "zero"}, {"158,": ""}])
def test_damaged_headers_are_refused(
    flown: logs.Flight, tmp_path: Path, edit: dict[str, str]
) -> None:
    path = write_blackbox(tmp_path / "log.csv", flown, rate="raw", force="raw")
    _edited(path.with_suffix(".headers.csv"), edit)
    with pytest.raises(ValueError, match=r"headers\.csv: expected numbers in gyro_scale"):
        logs.read_log(path)
