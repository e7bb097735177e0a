"""Exceptions: ParameterError for invalid parameters, ValueError and TypeError for arguments.

One row for each entry of docs/errors.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import sensors, trajectories, tune, world
from propwash.control import LowPass, OuterLoops, Pid, RateController, TrajectoryCommand
from propwash.vehicle.parameters import ParameterError

VEHICLE = pw.vehicles.load("flightgoggles")
LOOPS = OuterLoops.of(VEHICLE)
NUMBER: Any = 3
TEXT: Any = "x"
HALF: Any = 1.5
PAIR: Any = (1.0, 2.0)
untyped: Any = pw
ROOM = pw.Scene.load("room")
CIRCLE = trajectories.Circle().sample(period=0.1)
FLAT = VEHICLE.replace(rotors=[r.replace(position=(r.position[0], 0, 0)) for r in VEHICLE.rotors])


def assign(name: Any, value: Any) -> None:
    """Sets a parameter of a fleet."""
    pw.Fleet(VEHICLE, 2, threads=1).set_parameters({name: value})


def set_loops(loops: Any) -> None:
    """Sets the gains of a fleet and of one vehicle."""
    with pytest.raises(ParameterError):
        pw.Fleet(VEHICLE, 2, threads=1, outer_loops=loops)
    pw.Multicopter(VEHICLE).outer_loops = loops


def vehicle(**fields: Any) -> pw.VehicleParameters:
    """A vehicle from the constructor, by default with the fields of VEHICLE."""
    defaults = {"body": VEHICLE.body, "rotors": VEHICLE.rotors, "motor": VEHICLE.motor}
    return pw.VehicleParameters(**{**defaults, **fields})


PARAMETERS: dict[str, tuple[Callable[[], Any], str]] = {
    "no fields": (untyped.VehicleParameters, "expected body and rotors and motor as well"),
    "a missing field": (lambda: untyped.BodyParameters(mass=1.0), "expected inertia as well"),
    "a field of files only": (
        lambda: vehicle(motor={"time_constant": 0.02, "speed_max": 2e3}),
        "no field 'time_constant'; did you mean time_constant_up and time_constant_down",
    ),
    "one number for a list": (
        lambda: assign("motor.time_constant_up", np.full((2, 4), 0.03)),
        "first set a list in the vehicle, with one number for each rotor",
    ),
    "an unknown field": (lambda: vehicle(bdy=1), "no field 'bdy'; did you mean 'body'"),
    "a group of another class": (lambda: vehicle(body=3), "body = 3: expected BodyParameters"),
    "a dict with an unknown field": (lambda: vehicle(body={"mas": 1.0}), "no field 'mas'"),
    "a dict that lacks a field": (lambda: vehicle(body={"mass": 1.0}), "expected inertia as well"),
    "a dict of other keys": (lambda: vehicle(body={1: 2}), "or a dict of its fields"),
    "a rotor that lacks fields": (lambda: vehicle(rotors=[{}]), r"rotors\[0\]: .*position"),
    "a rotor of another class": (lambda: vehicle(rotors=[3]), r"rotors\[0\] = 3: expected"),
    "rotors that are not a list": (lambda: vehicle(rotors=3), "expected a list of RotorParameters"),
    "a text for a number": (lambda: VEHICLE.replace(body={"mass": "x"}), "expected a number in kg"),
    "an unknown field to replace": (lambda: VEHICLE.replace(mass=1), "has no field 'mass'"),
    "a car without limits": (untyped.CarParameters, "speed_max and yaw_rate_limit"),
    "an unknown vehicle": (lambda: pw.vehicles.load("nope"), "no vehicle 'nope'"),
    "an invalid vehicle name": (lambda: pw.Multicopter(NUMBER), "vehicle = 3: expected a name"),
    "a car for a multicopter": (lambda: pw.Multicopter("car"), "expected a multicopter"),
    "a mass out of range": (
        lambda: pw.Fleet(VEHICLE.replace(body={"mass": -1.0}), 2),
        "body.mass = -1",
    ),
    "an invalid vehicle": (lambda: pw.validate(NUMBER), "expected VehicleParameters"),
    "a text for a fleet": (lambda: assign("mass", "x"), "body.mass: expected numbers"),
    "a wrong shape for a fleet": (
        lambda: assign("mass", [1.0, 2.0, 3.0]),
        "expected numbers of shape",
    ),
    "a mass out of range for a fleet": (
        lambda: assign("mass", -1.0),
        "vehicle 0: .*body.mass = -1",
    ),
    "an unknown parameter": (lambda: assign("masss", 1.0), "did you mean 'mass'"),
    "an invalid parameter name": (lambda: assign(3, 1.0), "key: expected the name"),
    "invalid gains": (lambda: set_loops(3), "expected an OuterLoops"),
    "gains out of range": (lambda: set_loops(replace(LOOPS, tilt=-1.0)), "tilt = -1"),
    "a text for a gain": (lambda: set_loops(replace(LOOPS, tilt=TEXT)), "tilt: expected"),
    "a fractional interval": (
        lambda: set_loops(replace(LOOPS, interval=HALF)),
        "interval: expected",
    ),
    "two gains": (lambda: set_loops(replace(LOOPS, position=PAIR)), "expected 3 finite"),
    "an invalid flag": (
        lambda: set_loops(replace(LOOPS, prioritised=NUMBER)),
        "expected True or False",
    ),
    "a cut-off": (lambda: LowPass(-1.0), "cutoff: expected a finite number > 0"),
    "a stiffness": (lambda: LowPass(stiffness=-1.0, damping=1.0), "stiffness: expected"),
    "no filter": (LowPass, "expected cutoff"),
    "a gain": (lambda: Pid(-1.0, 0.0, 0.0, 0.0, 0.01), "proportional: expected"),
    "a text for a PID": (lambda: Pid("x", 0.0, 0.0, 0.0, 0.01), "proportional: expected"),
    "a control period": (lambda: RateController(VEHICLE, 0.0), "dt: expected"),
    "no scene": (lambda: sensors.RangeFinder(NUMBER), "scene: expected a Scene"),
    "a variance": (lambda: sensors.RangeFinder(ROOM, variance=-1.0), "variance: expected"),
    "a deviation": (lambda: sensors.Beacons(ROOM, deviation=-1.0), "deviation: expected"),
    "no camera": (lambda: sensors.DepthCamera(ROOM, camera=NUMBER), "camera: expected a Camera"),
    "a radius": (lambda: sensors.CollisionSensor(ROOM, radius=-1.0), "radius: expected"),
    "a latitude": (lambda: sensors.Gnss(latitude_deg=100.0), "latitude_deg: expected"),
    "a drift": (lambda: sensors.Barometer(drift=TEXT), "drift: expected"),
    "a bias": (lambda: sensors.Magnetometer(bias=-1.0), "bias: expected"),
    "an image size": (lambda: pw.Camera(width=0), "width: expected"),
    "a field of view": (lambda: pw.Camera(vertical_fov_deg=TEXT), "vertical_fov_deg: expected"),
    "no item": (lambda: pw.Scene([NUMBER]), "items: expected shapes"),
    "an item's size": (lambda: pw.Scene([world.Sphere(name="a", radius=-1.0)]), "radius"),
    "an item without a size": (lambda: untyped.world.Box(name="a"), "Box: expected size as well"),
    "a gust": (lambda: pw.Dryden(-1.0, 10.0, 1.0), "wind_speed_6m: expected"),
    "no turbulence": (lambda: pw.Fleet(VEHICLE, 2, turbulence=NUMBER), "expected a Dryden"),
    "a limit": (lambda: trajectories.Limits(thrust=2.0), "limits.thrust: expected"),
    "limits of rates": (lambda: trajectories.Limits(rates=TEXT), "limits.rates: expected"),
    "no limits": (
        lambda: trajectories.minimum_snap([(0, 0, 1), (1, 0, 1)], limits=NUMBER),
        "Limits",
    ),
    "rotors on a line": (lambda: trajectories.flatness(CIRCLE, FLAT), "torque on three axes"),
    "no vehicle to tune": (lambda: tune.autotune(NUMBER), "vehicle = 3: expected"),
    "no vehicle to linearise": (lambda: pw.linearize("nope"), "no vehicle 'nope'"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_an_invalid_parameter_raises_parameter_error(case: str) -> None:
    make, message = PARAMETERS[case]
    with pytest.raises(ParameterError, match=message):
        make()


ARGUMENTS: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "a command's numbers": (ValueError, lambda: pw.RateThrust([0, 0, np.nan], 9.81)),
    "a command's shape": (ValueError, lambda: TrajectoryCommand([0, 0])),
    "no command": (TypeError, lambda: pw.Multicopter().step(NUMBER)),
    "a state": (TypeError, lambda: pw.Multicopter().reset(NUMBER)),
    "a state's numbers": (ValueError, lambda: pw.Multicopter().reset(position=[0, 0, np.inf])),
    "a count": (ValueError, lambda: pw.Fleet(VEHICLE, 0)),
    "a snapshot": (ValueError, lambda: pw.Multicopter().restore(b"x")),
    "a positional field": (TypeError, lambda: untyped.BodyParameters(1.0)),
    "a margin": (ValueError, lambda: tune.autotune(VEHICLE, phase_margin=120.0)),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_other_invalid_arguments_raise_value_error_or_type_error(case: str) -> None:
    kind, make = ARGUMENTS[case]
    with pytest.raises(kind) as caught:
        make()
    assert not isinstance(caught.value, ParameterError)
