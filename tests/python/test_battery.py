"""Battery circuits: vehicles, fleets, files, endurance, and their identification from a flight."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash import identify

Array = NDArray[np.float64]

BATTERY = {
    "nominal_voltage": 14.8,
    "cells": 4,
    "capacity": 1.5,
    "full_voltage": 4.2,
    "resistance": 0.02,
    "polarisation_resistance": 0.01,
    "polarisation_time": 10.0,
    "efficiency": 0.7,
    "load": 5.0,
}


def powered(**changes: float) -> pw.VehicleParameters:
    return pw.vehicles.load("blackbird").replace(battery=BATTERY | changes)


def test_a_diverged_vehicle_leaves_a_snapshot_valid() -> None:
    fleet = pw.Fleet(powered(), 2, noise=False)
    fleet.set_state(velocity=[[1e30, 0.0, 0.0], [0.0, 0.0, 0.0]])
    command = pw.RotorSpeeds([1000.0] * 4)
    fleet.step(command, substeps=10)
    assert fleet.diverged.tolist() == [True, False]
    copy = pickle.loads(pickle.dumps(fleet))
    copy.reset(mask=[True, False])
    copy.step(command)
    assert np.isfinite(copy.battery_voltage).all()
    assert not copy.diverged.any()


def test_wrong_uses_are_refused() -> None:
    uav = pw.Multicopter(powered())
    with pytest.raises(ValueError, match=r"battery circuit computes it, as battery\.cells = 4"):
        uav.battery_voltage = 15.0
    with pytest.raises(ValueError, match=r"state_of_charge = 2: expected 0 to 1"):
        uav.state_of_charge = 2.0
    fleet = pw.Fleet(powered(), 2, noise=False)
    with pytest.raises(ValueError, match="battery circuit computes it"):
        fleet.set_battery_voltage(15.0)
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        fleet.set_state_of_charge([0.5, 1.5])
    with pytest.raises(pw.ParameterError, match=r"battery\.cells: is common"):
        fleet.set_parameters({"battery.cells": 3.0})
    with pytest.raises(ValueError, match=r"battery\.cells: expected 0 for derivatives"):
        fleet.vjp(pw.RotorSpeeds(np.full((2, 2, 4), 1000.0)))
    plain = pw.Multicopter("blackbird")
    assert (plain.state_of_charge, plain.battery_current) == (1.0, 0.0)
    with pytest.raises(ValueError, match=r"got battery\.cells = 0"):
        plain.state_of_charge = 0.5
    with pytest.raises(pw.ParameterError, match=r"battery\.capacity = 0: expected a value > 0 A h"):
        pw.Multicopter(powered(capacity=0.0))
    with pytest.raises(pw.ParameterError, match=r"battery\.cells = 3\.5: expected a whole number"):
        pw.Multicopter(powered(cells=3.5))


def test_file_contains_the_circuit(tmp_path: Path) -> None:
    path = tmp_path / "quad.toml"
    path.write_text(powered().to_toml())
    assert pw.vehicles.load(path).battery == powered().battery


# ---- identification ----


def recorded(vehicle: pw.VehicleParameters, charge: float, seconds: float) -> identify.FlightLog:
    """A log of 3 s at rest, then of varying thrust, with white noise of 5 mV on the voltage."""
    rng = np.random.default_rng(1)
    period = 0.01
    time: Array = np.arange(0.0, seconds, period)
    wave: Array = np.repeat(rng.uniform(0.45, 0.75, 1 + int(seconds)), round(1.0 / period))
    flying = time > 3.0
    duty = np.where(flying, wave[: len(time)], 0.0)[:, np.newaxis] * np.ones(4)
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(rotor_speeds=np.zeros(4))
    uav.state_of_charge = charge
    voltage = [uav.battery_voltage]
    top = np.asarray(vehicle.motor_values("speed_max"))
    for k in range(1, len(time)):
        mean = 0.5 * (duty[k - 1] + duty[k])
        uav.step(pw.RotorSpeeds(mean * top), dt=2.5e-3, substeps=4)
        voltage.append(uav.battery_voltage)
    zeros: Any = np.zeros((len(time), 3))
    force = np.tile([0.0, 0.0, 9.81], (len(time), 1))
    noisy = np.asarray(voltage) + 5e-3 * rng.standard_normal(len(time))
    return identify.FlightLog(Path("simulated"), time, duty, zeros, force, voltage=noisy)


def test_circuit_is_identified_from_a_simulated_flight() -> None:
    truth = powered(resistance=0.03, polarisation_resistance=0.02, polarisation_time=6.0)
    log = recorded(truth, 0.85, 60.0)
    found = identify.fit_battery(log, powered(capacity=1.6))
    exact = {"state_of_charge": 0.85, "capacity": 1.5}
    for name in ("resistance", "polarisation_resistance", "polarisation_time"):
        exact[name] = getattr(truth.battery, name)
    for name, value in exact.items():
        estimate = found.estimate(name)
        assert abs(estimate.value - value) < 4.0 * estimate.standard_error, name
    for name in ("resistance", "polarisation_resistance", "state_of_charge"):
        assert found.estimate(name).identified
        assert found.estimate(name).standard_error < 0.1 * exact[name]
    assert found.deviation < 2e-3  # of means of 50 samples
    assert found.vehicle.battery.resistance == found.estimate("resistance").value
    assert "resistance" in found.table()


def test_short_steady_flight_cannot_tell_the_circuit_apart() -> None:
    truth = powered(polarisation_time=200.0)
    found = identify.fit_battery(recorded(truth, 0.9, 12.0), powered(polarisation_time=200.0))
    assert not found.estimate("polarisation_time").identified
    assert "weakly identifiable" in found.table()


def test_unusable_logs_are_refused() -> None:
    log = recorded(powered(), 0.9, 12.0)
    assert log.voltage is not None
    cases: list[tuple[identify.FlightLog, str]] = [
        (replace(log, voltage=None), "expected a voltage, got none"),
        (replace(log, voltage=1e3 * log.voltage), r"0\.001 for a column in mV"),
        (log.cut(0.0, 5.0), "expected at least 10 s, got 5 s"),
        (replace(log, duty=log.duty[:, :2]), "motor commands of 4 rotors, got 2"),
    ]
    for bad, message in cases:
        with pytest.raises(ValueError, match=message):
            identify.fit_battery(bad, powered())
    with pytest.raises(pw.ParameterError, match=r"battery\.cells = 0"):
        identify.fit_battery(log, "blackbird")
    with pytest.raises(TypeError, match="expected a log"):
        identify.fit_battery("log.csv", powered())  # type: ignore[arg-type]
