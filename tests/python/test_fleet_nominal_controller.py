"""Rate controllers designed for the nominal vehicle of a fleet, not for each vehicle."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array
from msgspec.structs import replace
from propwash import ParameterError
from propwash.gym import Hover
from propwash.gym._engine import Engine
from propwash.gym._options import Settings

SPREAD = np.array([0.5, 0.8, 1.0, 1.7, 2.0])
"""Factors of a parameter; their number is not a multiple of the lanes."""
GAINS = ("proportional", "integral", "derivative")


def fleet_of(vehicle: str, nominal: bool, **options: Any) -> pw.Fleet:
    """A fleet without noise and without the gyroscopic term, which is linear in inertia."""
    parameters = pw.vehicles.load(vehicle).replace(rate_controller={"gyroscopic_term": False})
    return pw.Fleet(
        parameters,
        len(SPREAD),
        "float64",
        noise=False,
        threads=1,
        nominal_controller=nominal,
        **options,
    )


def flown(fleet: pw.Fleet, thrust: float) -> tuple[Array, Array]:
    """Body rates and position (T, n, 3) during a rotation about all axes and after it."""
    commands = [[2.0, -1.0, 0.5], [0.0, 0.5, -0.2], [0.0, 0.0, 0.0]]
    rates = np.repeat(commands, 8, axis=0)[:, np.newaxis]
    path = fleet.rollout(pw.RateThrust(rates=rates, thrust=np.full((24, 1), thrust)), substeps=10)
    return np.asarray(path.body_rates), np.asarray(path.position)


def scale(fleet: pw.Fleet, name: str, factors: Any) -> None:
    fleet.set_parameters({name: fleet.parameters[name] * factors})


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie"])
def test_unknown_inertia_scales_the_controller_gain(vehicle: str) -> None:
    """The torque J0 (K e) with inertia k J0 gives the same flight as k J0 (K/k e)."""
    weight = pw.vehicles.load(vehicle).body.mass * 9.81
    unknown, known = fleet_of(vehicle, True), fleet_of(vehicle, False)
    for fleet in (unknown, known):
        scale(fleet, "body.inertia", SPREAD[:, np.newaxis, np.newaxis])
    for gain in GAINS:
        scale(known, f"rate_controller.{gain}", 1.0 / SPREAD[:, np.newaxis])
    rates, position = flown(unknown, weight)
    expected = flown(known, weight)
    assert np.abs(rates).max() > 0.5
    np.testing.assert_allclose(rates, expected[0], atol=1e-9)
    np.testing.assert_allclose(position, expected[1], atol=1e-9)


def test_unknown_thrust_coefficients_are_not_compensated() -> None:
    """With nominal controllers the speeds of all vehicles are equal, otherwise the thrusts."""
    speeds = pw.Allocation("flightgoggles").allocate([0, 0, 0], 5.0)
    for nominal, expected in ((True, np.ones_like(SPREAD)), (False, SPREAD**-0.5)):
        fleet = fleet_of("flightgoggles", nominal)
        scale(fleet, "rotors.thrust_coefficient", SPREAD[:, np.newaxis])
        fleet.step(pw.RateThrust([0, 0, 0], thrust=5.0), substeps=960)
        np.testing.assert_allclose(fleet.rotor_speeds, np.outer(expected, speeds), rtol=1e-9)


def test_each_motor_keeps_its_limits() -> None:
    """A speed within the nominal range does not exceed the limit of a slower motor."""
    highest = {"nominal": 0.0, "individual": 0.0}
    for name, nominal in (("nominal", True), ("individual", False)):
        fleet = fleet_of("flightgoggles", nominal)
        scale(fleet, "motor.speed_max", 0.6)
        fleet.step(pw.RateThrust([0, 0, 0], thrust=100.0), substeps=10)
        assert np.all(fleet.rotor_command <= fleet.parameters["motor.speed_max"][:, np.newaxis])
        highest[name] = float(fleet.rotor_speeds.max())
    assert highest["nominal"] == pytest.approx(highest["individual"], rel=1e-12)


def test_an_uncontrollable_nominal_vehicle_is_refused() -> None:
    """Whatever the individual parameters, because nominal controllers do not use them."""
    vehicle = pw.vehicles.load("flightgoggles")
    rotors = tuple(replace(rotor, spin=1.0, torque_coefficient=1e-12) for rotor in vehicle.rotors)
    spins = [rotor.spin for rotor in vehicle.rotors]
    for nominal in (True, False):
        fleet = pw.Fleet(vehicle.replace(rotors=rotors), 2, nominal_controller=nominal)
        fleet.set_parameters({"rotors.spin": np.array(spins)})
        if not nominal:
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))
            continue
        with pytest.raises(ParameterError, match="rank"):
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))


def test_nominal_controller_changes_nothing_for_identical_vehicles() -> None:
    nominal, individual = fleet_of("flightgoggles", True), fleet_of("flightgoggles", False)
    assert np.array_equal(flown(nominal, 9.81)[1], flown(individual, 9.81)[1])


def test_nominal_controller_applies_to_assigned_vehicles_and_copies() -> None:
    fleet, masked = fleet_of("flightgoggles", True), fleet_of("flightgoggles", True)
    inertia = np.array(fleet.parameters["body.inertia"]) * SPREAD[:, np.newaxis, np.newaxis]
    fleet.set_parameters({"body.inertia": inertia})
    scale(masked, "body.inertia", 1.0 + 1e-9)  # all have individual parameters
    masked.set_parameters({"body.inertia": inertia}, mask=np.ones(len(SPREAD), dtype=bool))
    copy = pickle.loads(pickle.dumps(fleet))
    rates = flown(fleet, 9.81)[0]
    assert np.array_equal(flown(masked, 9.81)[0], rates)
    assert np.array_equal(flown(copy, 9.81)[0], rates)


def test_environments_forward_the_option() -> None:
    for nominal in (False, True):
        options = {"mass": 0.1}
        engine = Engine(Hover(), 2, Settings(randomize=options, nominal_controller=nominal))
        assert engine.fleet._options["nominal_controller"] is nominal


def test_options_other_than_booleans_are_refused() -> None:
    options: Any = {"nominal_controller": "yes"}
    with pytest.raises(TypeError, match="nominal_controller"):
        pw.Fleet("flightgoggles", 1, **options)
    with pytest.raises(TypeError, match="nominal_controller"):
        Settings(**options)
