"""The residual: every machine, its file, and its fit to simulated flights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from gradient_helpers import STATE, Numbers, check_parameter_slopes, make_fleet
from helpers import some_residual
from identify_flight import clean_flight, noisy, true_vehicle
from plain_model import PlainModel
from propwash import identify

pytest.importorskip("scipy")

NAMES = ["residual.force_x", "residual.torque_y", "residual.velocity", "residual.thrust_centre"]
QUANTITIES = {"force": ("force_x", "force_y", "force_z"), "torque": ("torque_x", "torque_z")}


def with_residual(force: float = 0.2) -> pw.VehicleParameters:
    return pw.vehicles.load("flightgoggles").replace(residual=some_residual(force))


def test_a_fleet_has_the_bits_of_its_vehicles() -> None:
    vehicle = with_residual()
    fleet = make_fleet(vehicle, 5)
    alone = pw.Multicopter(vehicle, noise=False)
    speeds = np.array([850.0, 860.0, 840.0, 855.0])
    velocity = np.array([3.0, -2.0, 1.0])
    fleet.set_state(velocity=np.tile(velocity, (5, 1)))
    alone.set_state(replace(alone.state, velocity=velocity))
    fleet.step(pw.RotorSpeeds(speeds), substeps=200)
    alone.step(pw.RotorSpeeds(speeds), dt=1e-3, substeps=200)
    for name in STATE:
        rows = np.asarray(getattr(fleet, name))
        assert np.array_equal(rows[0], getattr(alone.state, name))
        assert np.array_equal(rows, np.tile(rows[0], (5, 1)))


def test_vehicles_of_a_fleet_may_have_their_own() -> None:
    """Also those without coefficients, which then have the bits of a vehicle without the table."""
    fleet = make_fleet("crazyflie", 3)
    plain = make_fleet("crazyflie", 3)
    domain = pw.vehicles.load("crazyflie").replace(residual=some_residual(1e-3, 1e-6)).residual
    changes: dict[str, Any] = {
        f"residual.{name}": np.zeros((3, len(values))) if isinstance(values, tuple) else values
        for name, values in ((n, getattr(domain, n)) for n in domain.__struct_fields__)
    }
    for name in ("velocity", "velocity_centre", "rates", "torque"):
        changes[f"residual.{name}"] = np.tile(getattr(domain, name), (3, 1))
    for name in ("thrust", "thrust_centre"):
        changes[f"residual.{name}"] = np.full(3, getattr(domain, name))
    changes["residual.force_z"][1, 0] = 0.01
    fleet.set_parameters(changes)
    for each in (fleet, plain):
        each.step(pw.RotorSpeeds(np.full(4, 1500.0)), substeps=50)
    assert np.array_equal(fleet.position[[0, 2]], plain.position[[0, 2]])
    assert fleet.position[1, 2] > plain.position[1, 2]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_equal_central_differences(name: str) -> None:
    check_parameter_slopes(make_fleet(with_residual()), name)


def test_it_survives_writing_and_reading(tmp_path: Path) -> None:
    vehicle = with_residual()
    file = tmp_path / "mine.toml"
    file.write_text(vehicle.to_toml())
    assert pw.vehicles.load(file) == vehicle
    with pytest.raises(pw.ParameterError, match=r"residual\.force_y.*expected 17 numbers in N"):
        vehicle.replace(residual={"force_y": [0.0] * 22})
    with pytest.raises(pw.ParameterError, match=r"residual\.thrust = 0: expected a value > 0 N"):
        pw.Multicopter(vehicle.replace(residual={"thrust": 0.0}))


def residual_at(vehicle: pw.VehicleParameters, log: identify.FlightLog) -> dict[str, Numbers]:
    """Force and torque (K, 3) at the rows of a flight with measured rotor speeds."""
    model = PlainModel(vehicle)
    parts = (log.position, log.velocity, log.attitude, log.body_rates, log.rotor_speeds)
    states = np.hstack([part for part in parts if part is not None])
    force, torque = zip(*(model.residual(x) for x in states), strict=True)
    return {"force": np.array(force), "torque": np.array(torque)}


@pytest.fixture(scope="module")
def truth() -> pw.VehicleParameters:
    """A Crazyflie, with a residual in the domain of its flights."""
    base = true_vehicle().replace(motor={"speed_offset": 0.0})
    residual = some_residual(0.02, 1e-4)
    return base.replace(
        residual=residual.replace(
            velocity=(4.0, 4.0, 4.0),
            velocity_centre=(0.0, 0.0, 0.0),
            rates=(9.0, 9.0, 9.0),
            thrust=0.6,
            thrust_centre=0.3,
            torque=(6e-3, 6e-3, 3e-3),
        )
    )


@pytest.fixture(scope="module")
def log(truth: pw.VehicleParameters) -> identify.FlightLog:
    rng = np.random.default_rng(3)
    return noisy(clean_flight(16.0, rng, truth, measured=True), rng)


@pytest.fixture(scope="module")
def fitted(truth: pw.VehicleParameters, log: identify.FlightLog) -> identify.FittedResidual:
    return identify.fit_residual(log, truth, ridge=0.01, threads=1)


@pytest.mark.parametrize("quantity", ["force", "torque"])
def test_a_known_residual_is_recovered(
    truth: pw.VehicleParameters,
    log: identify.FlightLog,
    fitted: identify.FittedResidual,
    quantity: str,
) -> None:
    assert fitted.improves(quantity)
    true, found = (residual_at(each, log)[quantity] for each in (truth, fitted.vehicle))
    error = np.sqrt(np.mean((found - true) ** 2))
    assert error < 0.15 * np.sqrt(np.mean(true**2))


def test_the_fitted_vehicle_predicts_better(
    truth: pw.VehicleParameters, log: identify.FlightLog, fitted: identify.FittedResidual
) -> None:
    plain = truth.replace(residual=pw.ResidualParameters())
    for quantity in ("velocity", "body rates"):
        errors = [
            identify.predict(vehicle, log, horizons=[0.1], threads=1).error(quantity, 0.1)
            for vehicle in (plain, fitted.vehicle)
        ]
        assert np.median(errors[1]) < 0.6 * np.median(errors[0])


def test_a_residual_that_does_not_help_is_left_out(truth: pw.VehicleParameters) -> None:
    plain = truth.replace(residual=pw.ResidualParameters())
    rng = np.random.default_rng(4)
    log = noisy(clean_flight(6.0, rng, plain, measured=True), rng)
    fitted = identify.fit_residual(log, plain, ridge=1e-6, threads=1)
    for quantity, names in QUANTITIES.items():
        has = any(any(getattr(fitted.vehicle.residual, name)) for name in names)
        assert has == fitted.improves(quantity)
    assert not fitted.improves("force")
    assert "force: not reduced" in fitted.table()


def test_sections_of_a_log_have_their_own_trims(truth: pw.VehicleParameters) -> None:
    plain = truth.replace(residual=pw.ResidualParameters())
    strong = plain.replace(
        rotors=[
            each.replace(thrust_coefficient=1.2 * each.thrust_coefficient) for each in plain.rotors
        ]
    )
    bias = identify.AccelerometerBias(np.zeros(3), np.zeros(3))
    logs, estimates = [], []
    for vehicle, start in ((plain, 0.0), (strong, 20.0)):
        flight = clean_flight(5.0, np.random.default_rng(5), vehicle, measured=True)
        logs.append(replace(flight, time=flight.time + start))
        seconds = (start, start + 5.0)
        estimates.append(identify.LogEstimate(logs[-1], vehicle, None, bias, (), seconds))
    missing: Any = None
    found = identify.Identified(plain, (), (), tuple(estimates), bias, None, 0.0, 0, missing)
    fitted = identify.fit_residual(logs, found, threads=1)
    left = [score.without for score in fitted.held_out if score.quantity == "force"]
    assert np.all(np.array(left) < 0.02 * plain.weight)


def test_wrong_arguments_are_refused(
    truth: pw.VehicleParameters, log: identify.FlightLog, fitted: identify.FittedResidual
) -> None:
    with pytest.raises(ValueError, match="expected a log with position, velocity and attitude"):
        identify.fit_residual(replace(log, position=None), truth)
    wrong: Any
    for wrong in (0.0, np.inf, "a", None):
        with pytest.raises(
            (TypeError, ValueError), match="ridge: expected a finite number > 0, got"
        ):
            identify.fit_residual(log, truth, ridge=wrong)
    for wrong in (-1, 0.5, "a", None):
        with pytest.raises((TypeError, ValueError), match="threads: expected a whole number"):
            identify.fit_residual(log, truth, threads=wrong)
    with pytest.raises(ValueError, match="quantity: expected 'force' or 'torque', got 'forces'"):
        fitted.improves("forces")
