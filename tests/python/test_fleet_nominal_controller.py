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
"""Of the first size that is no multiple of the lanes."""
GAINS = ("proportional", "integral", "derivative")


def fleet_of(vehicle: str, nominal: bool, **options: Any) -> pw.Fleet:
    """Only the controllers differ: no noise, and no gyroscopic term (linear in inertia)."""
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
    turn = [[2.0, -1.0, 0.5], [0.0, 0.5, -0.2], [0.0, 0.0, 0.0]]
    rates = np.repeat(turn, 8, axis=0)[:, np.newaxis]
    path = fleet.rollout(pw.RateThrust(rates=rates, thrust=np.full((24, 1), thrust)), substeps=10)
    return np.asarray(path.body_rates), np.asarray(path.position)


def scale(fleet: pw.Fleet, name: str, factors: Any) -> None:
    fleet.set_parameters({name: fleet.parameters[name] * factors})


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie"])
def test_unknown_inertia_scales_the_controller_gain(vehicle: str) -> None:
    """J0 (K e) on inertia k J0 equals k J0 (K/k e): the same flight, for both inertia forms."""
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
    """Nominal: equal speeds for all, with c times the commanded thrust; else individual speeds."""
    asked = pw.Allocation("flightgoggles").allocate([0, 0, 0], 5.0)
    for nominal, expected in ((True, np.ones_like(SPREAD)), (False, SPREAD**-0.5)):
        fleet = fleet_of("flightgoggles", nominal)
        scale(fleet, "rotors.thrust_coefficient", SPREAD[:, np.newaxis])
        fleet.step(pw.RateThrust([0, 0, 0], thrust=5.0), substeps=960)
        np.testing.assert_allclose(fleet.rotor_speeds, np.outer(expected, asked), rtol=1e-9)


def test_each_motor_keeps_its_own_range() -> None:
    """A speed within the nominal range does not exceed the limit of a slower motor."""
    highest = {"nominal": 0.0, "own": 0.0}
    for name, nominal in (("nominal", True), ("own", False)):
        fleet = fleet_of("flightgoggles", nominal)
        scale(fleet, "motor.speed_max", 0.6)
        fleet.step(pw.RateThrust([0, 0, 0], thrust=100.0), substeps=10)
        assert np.all(fleet.rotor_command <= fleet.parameters["motor.speed_max"][:, np.newaxis])
        highest[name] = float(fleet.rotor_speeds.max())
    assert highest["nominal"] == pytest.approx(highest["own"], rel=1e-12)


def test_a_fleet_whose_vehicle_cannot_be_controlled_is_refused() -> None:
    """For any vehicles, because the controllers depend only on the nominal one."""
    vehicle = pw.vehicles.load("flightgoggles")
    alike = tuple(replace(rotor, spin=1.0, torque_coefficient=1e-12) for rotor in vehicle.rotors)
    spins = [rotor.spin for rotor in vehicle.rotors]
    for nominal in (True, False):
        fleet = pw.Fleet(vehicle.replace(rotors=alike), 2, nominal_controller=nominal)
        fleet.set_parameters({"rotors.spin": np.array(spins)})
        if not nominal:
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))
            continue
        with pytest.raises(ParameterError, match="rank"):
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))


def test_nominal_controller_changes_nothing_for_identical_vehicles() -> None:
    nominal, own = fleet_of("flightgoggles", True), fleet_of("flightgoggles", False)
    assert np.array_equal(flown(nominal, 9.81)[1], flown(own, 9.81)[1])


def test_nominal_controller_applies_to_assigned_vehicles_and_copies() -> None:
    whole, some = fleet_of("flightgoggles", True), fleet_of("flightgoggles", True)
    inertia = np.array(whole.parameters["body.inertia"]) * SPREAD[:, np.newaxis, np.newaxis]
    whole.set_parameters({"body.inertia": inertia})
    scale(some, "body.inertia", 1.0 + 1e-9)  # all have individual parameters
    some.set_parameters({"body.inertia": inertia}, mask=np.ones(len(SPREAD), dtype=bool))
    copy = pickle.loads(pickle.dumps(whole))
    rates = flown(whole, 9.81)[0]
    assert np.array_equal(flown(some, 9.81)[0], rates)
    assert np.array_equal(flown(copy, 9.81)[0], rates)


def test_environments_pass_the_option_on() -> None:
    for nominal in (False, True):
        options = {"mass": 0.1}
        engine = Engine(Hover(), 2, Settings(randomize=options, nominal_controller=nominal))
        assert engine.fleet._options["nominal_controller"] is nominal


def test_anything_but_a_flag_is_refused() -> None:
    options: Any = {"nominal_controller": "yes"}
    with pytest.raises(TypeError, match="nominal_controller"):
        pw.Fleet("flightgoggles", 1, **options)
    with pytest.raises(TypeError, match="nominal_controller"):
        Settings(**options)
