"""Controllers that assume another vehicle than the one that they control."""

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


def fleet_of(vehicle: str, nominal: bool, **options: Any) -> pw.Fleet:
    """A fleet without noise and without the gyroscopic term, which is linear in inertia."""
    parameters = pw.vehicles.load(vehicle).replace(rate_controller={"gyroscopic_term": False})
    control = parameters if nominal else None
    options = {"noise": False, "threads": 1, "control_vehicle": control, **options}
    return pw.Fleet(parameters, len(SPREAD), "float64", **options)


def flown(fleet: pw.Fleet, thrust: float) -> tuple[Array, Array]:
    """Body rates and position (T, n, 3) during a rotation about all axes and after it."""
    commands = [[2.0, -1.0, 0.5], [0.0, 0.5, -0.2], [0.0, 0.0, 0.0]]
    rates = np.repeat(commands, 8, axis=0)[:, np.newaxis]
    path = fleet.rollout(pw.RateThrust(rates=rates, thrust=np.full((24, 1), thrust)), substeps=10)
    return np.asarray(path.body_rates), np.asarray(path.position)


def scale(fleet: pw.Fleet, name: str, factors: Any) -> None:
    fleet.set_parameters({name: fleet.parameters[name] * factors})


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
        weak = vehicle.replace(rotors=rotors)
        fleet = pw.Fleet(weak, 2, control_vehicle=weak if nominal else None)
        fleet.set_parameters({"rotors.spin": np.array(spins)})
        if not nominal:
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))
            continue
        with pytest.raises(ParameterError, match="rank"):
            fleet.step(pw.RateThrust([0, 0, 0], thrust=9.81))


def test_an_uncontrollable_vehicle_follows_a_controllable_nominal_one() -> None:
    """The same for one vehicle and for a fleet: only the rotors that controllers assume matter."""
    vehicle = pw.vehicles.load("flightgoggles")
    weak = vehicle.replace(
        rotors=tuple(replace(rotor, spin=1.0, torque_coefficient=1e-12) for rotor in vehicle.rotors)
    )
    command = pw.RateThrust([0.1, 0.2, 0.3], thrust=9.81)
    uav = pw.Multicopter(weak, noise=False, control_vehicle=vehicle)
    fleet = pw.Fleet(weak, 2, "float64", noise=False, threads=1, control_vehicle=vehicle)
    fleet.set_parameters({"body.mass": np.full(2, weak.body.mass)})
    for each in (uav, fleet):
        each.step(command, substeps=100)
    np.testing.assert_allclose(fleet.velocity[1], uav.state.velocity, rtol=1e-9)
    for make in (lambda: pw.Multicopter(weak), lambda: pw.Fleet(weak, 2)):
        with pytest.raises(ParameterError, match="rank"):
            make().step(command)


def test_the_control_vehicle_applies_to_assigned_vehicles_and_copies() -> None:
    fleet, masked = fleet_of("flightgoggles", True), fleet_of("flightgoggles", True)
    inertia = np.array(fleet.parameters["body.inertia"]) * SPREAD[:, np.newaxis, np.newaxis]
    fleet.set_parameters({"body.inertia": inertia})
    scale(masked, "body.inertia", 1.0 + 1e-9)  # all have individual parameters
    masked.set_parameters({"body.inertia": inertia}, mask=np.ones(len(SPREAD), dtype=bool))
    copy = pickle.loads(pickle.dumps(fleet))
    rates = flown(fleet, 9.81)[0]
    assert np.array_equal(flown(masked, 9.81)[0], rates)
    assert np.array_equal(flown(copy, 9.81)[0], rates)


def test_a_single_vehicle_equals_one_of_a_fleet_and_its_copies() -> None:
    true = pw.vehicles.load("blackbird").replace(body={"mass": 0.9})
    fleet = pw.Fleet(true, 1, "float64", seed=3, control_vehicle="blackbird")
    uav = pw.Multicopter(true, seed=3, control_vehicle="blackbird")
    assert uav.control_vehicle == fleet.control_vehicle == pw.vehicles.load("blackbird")
    copies = [pickle.loads(pickle.dumps(each)) for each in (fleet, uav)]
    for command in (
        pw.RateThrust([1.0, -0.5, 0.2], 8.0),
        pw.control.VelocityCommand([1.0, 0.0, 0.5]),
        pw.control.TrajectoryCommand([1.0, 0.0, 0.5], controller="indi"),
    ):
        for each in (fleet, uav, *copies):
            each.step(command, substeps=240)
        np.testing.assert_allclose(fleet.position[0], uav.state.position, atol=1e-9)
    np.testing.assert_array_equal(copies[0].position, fleet.position)
    np.testing.assert_array_equal(copies[1].state.position, uav.state.position)
    assert uav.outer_loops == pw.OuterLoops.of("blackbird")


def test_environments_fly_nominal_controllers_unless_told_otherwise() -> None:
    """In hover commanded by velocity, an unknown mass makes the vehicle sink at first."""
    drop = {}
    for control in ("nominal", None, "flightgoggles"):
        options: Any = {"randomize": {"mass": ("uniform", 1.2, 1.2)}, "control_vehicle": control}
        engine = Engine(Hover(), 2, Settings(action="velocity", noise=False, **options))
        engine.seed(0)
        engine.restart(np.ones(2, dtype=np.bool_), (np.zeros((2, 3)), *[None] * 4))
        engine.fleet.set_state(velocity=[0.0, 0.0, 0.0], attitude=[1.0, 0.0, 0.0, 0.0])
        for _ in range(20):
            engine.step(np.zeros(engine.action_shape, dtype=np.float32))
        drop[control] = -float(engine.fleet.velocity[:, 2].max())
    assert drop["nominal"] == drop["flightgoggles"] > 0.1
    assert abs(drop[None]) < 0.5 * drop["nominal"]
    assert Settings().control_vehicle == "nominal"


def test_invalid_control_vehicles_are_refused() -> None:
    for make in (pw.Fleet, pw.Multicopter):
        with pytest.raises(ParameterError, match="number of rotors = 6: expected 4"):
            make("flightgoggles", control_vehicle="hexacopter")
        with pytest.raises(ParameterError, match=r"^control_vehicle: .*did you mean"):
            make("flightgoggles", control_vehicle="flightgogles")
        with pytest.raises(ParameterError, match=r"^control_vehicle: car: expected a multicopter"):
            make("flightgoggles", control_vehicle="car")
        nominal = pw.vehicles.load("flightgoggles")
        invalid = nominal.replace(body=replace(nominal.body, mass=-1.0))
        with pytest.raises(ParameterError, match=r"^control_vehicle: .*body.mass"):
            make("flightgoggles", control_vehicle=invalid)
