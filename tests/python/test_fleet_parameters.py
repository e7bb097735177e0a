"""Parameters of a fleet: access by name, per-vehicle values, refusal of invalid ones."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import propwash as pw
import pytest

N = 7


def new_fleet(dtype: str = "float64", n: int = N) -> pw.Fleet:
    """A small fleet."""
    return pw.Fleet("flightgoggles", n, dtype, seed=1, threads=1)


@contextmanager
def unchanged(fleet: pw.Fleet) -> Iterator[pw.Fleet]:
    """Requires that state and parameters remain bitwise unchanged."""
    before = fleet.snapshot(), {k: np.array(v) for k, v in fleet.parameters.items()}
    yield fleet
    assert fleet.snapshot() == before[0]
    for name, values in fleet.parameters.items():
        assert np.array_equal(values, before[1][name], equal_nan=True), name


def test_every_vehicle_parameter_is_accessible() -> None:
    vehicle = pw.vehicles.load("crazyflie")
    fleet = pw.Fleet("crazyflie", 3)
    parameters = fleet.parameters
    assert len(parameters) == len(parameters.names()) == len(list(parameters))
    for name, values in parameters.items():
        assert values.dtype == np.float64
        assert len(values) == 3
        table, _, field = name.partition(".")
        if table == "rotors":
            expected: Any = [getattr(rotor, field) for rotor in vehicle.rotors]
        else:
            group = getattr(vehicle, table)
            for part in field.split("."):
                group = getattr(group, part)
            expected = group
        assert np.array_equal(values, np.broadcast_to(expected, values.shape)), name
    assert parameters["body.inertia"].shape == (3, 3, 3)
    assert parameters["thrust_coefficient"].shape == (3, 4)
    assert parameters["rotors.position"].shape == (3, 4, 3)


def test_a_unique_last_part_is_a_name() -> None:
    parameters = new_fleet().parameters
    for short, full in [
        ("mass", "body.mass"),
        ("thrust_coefficient", "rotors.thrust_coefficient"),
        ("speed_max", "motor.speed_max"),
        ("filter.stiffness", "rate_controller.filter.stiffness"),
        ("body.mass", "body.mass"),
    ]:
        assert parameters.full_name(short) == full
        assert short in parameters
    with pytest.raises(
        KeyError, match=r"'inertia': expected one of body\.inertia, rotors\.inertia"
    ):
        parameters["inertia"]
    with pytest.raises(ValueError, match=r"'masss'.*did you mean 'mass'"):
        new_fleet().set_parameters(masss=1.0)
    with pytest.raises(KeyError, match=r"'body\.mas'.*did you mean 'body\.mass'"):
        parameters["body.mas"]
    with pytest.raises(KeyError, match=r"'zzz'.*expected one of body\.mass"):
        parameters["zzz"]
    with pytest.raises(pw.ParameterError, match="key"):
        parameters[3]  # type: ignore[index]
    assert "inertia" not in parameters
    assert not parameters.__contains__(3)


def test_shapes_are_broadcast() -> None:
    fleet = new_fleet()
    pairs: list[tuple[Any, Any]] = [
        (1.1, np.full(N, 1.1)),
        (np.linspace(1, 2, N), np.linspace(1, 2, N)),
        ([1] * N, np.ones(N)),
    ]
    for value, expected in pairs:
        fleet.set_parameters(mass=value)
        assert np.array_equal(fleet.parameters["mass"], expected)
    base = np.array(fleet.parameters["thrust_coefficient"])
    scale = np.linspace(1.0, 1.2, N)
    for value in (base * scale[:, None], (base[0, 0] * scale)[:, None], base[0, 0] * scale):
        fleet.set_parameters(thrust_coefficient=value)
        expected = base * scale[:, None]
        assert np.allclose(fleet.parameters["thrust_coefficient"], expected, rtol=1e-15)
    fleet.set_parameters(gravity=[0.0, 0.0, -3.7])
    assert np.array_equal(fleet.parameters["gravity"], np.tile([0.0, 0.0, -3.7], (N, 1)))


def test_returned_parameters_are_read_only_copies() -> None:
    fleet = new_fleet()
    mass = fleet.parameters["mass"]
    assert type(mass) is np.ndarray
    with unchanged(fleet), pytest.raises(ValueError, match="read-only"):
        mass[2] = 1.25
    with unchanged(fleet), pytest.raises(ValueError, match="read-only"):
        mass *= 1.1
    with unchanged(fleet), pytest.raises(ValueError, match="read-only"):
        fleet.parameters["mass"] *= 1.1
    with unchanged(fleet), pytest.raises(ValueError, match="read-only"):
        np.multiply(mass, 1.1, out=mass)
    with unchanged(fleet), pytest.raises(TypeError, match="read-only; use set_parameters"):
        fleet.parameters["mass"] = mass
    with unchanged(fleet), pytest.raises(AttributeError, match="parameters"):
        fleet.parameters = {"mass": mass}  # type: ignore[misc, assignment]
    with unchanged(fleet), pytest.raises(TypeError, match="values: expected numbers by name"):
        fleet.set_parameters("mass")  # type: ignore[arg-type]
    fleet.set_parameters(mass=mass * np.linspace(1.0, 1.5, N))
    assert np.array_equal(fleet.parameters["mass"], np.linspace(1.0, 1.5, N))
    assert np.array_equal(mass, np.ones(N))  # the copy is unchanged


def test_a_fleet_accepts_the_parameters_of_another() -> None:
    fleet, other = new_fleet(), new_fleet()
    other.set_parameters(mass=np.linspace(0.9, 1.1, N))
    fleet.set_parameters({**other.parameters.own(), "blow_back": 0.001})
    assert np.array_equal(fleet.parameters["mass"], other.parameters["mass"])
    assert set(fleet.parameters.own()) == {"body.mass", "rotor_drag.blow_back"}


INVALID: list[tuple[str, Any, str]] = [
    ("mass", 0.0, r"vehicle 0: .*body\.mass = 0: expected a finite value > 0"),
    ("mass", [1.0, 1.0, -2.0, 1.0, -3.0, 1.0, 1.0], r"vehicle 2:.*body\.mass = -2"),
    ("mass", [1.0, 1.0, 1.0, math.nan, 1.0, 1.0, 1.0], r"vehicle 3:.*body\.mass = nan"),
    ("mass", [1.0] * 6 + [math.inf], r"vehicle 6:.*body\.mass = inf"),
    ("mass", [1.0, 1e3, 1.0, 1.0, 1.0, 1.0, 1.0], r"vehicle 1:.*thrust"),
    (
        "mass",
        [1.0, 2.0],
        r"body\.mass: expected numbers of shape \(7,\).*shape \(2,\)|\[1\.0, 2\.0\]",
    ),
    ("mass", np.ones((7, 2)), r"body\.mass: expected.*\(7,\).*\(7, 2\)"),
    ("mass", "heavy", r"body\.mass: expected.*'heavy'"),
    ("mass", None, r"body\.mass: expected.*None"),
    ("mass", np.ones(7, dtype=bool), r"body\.mass: expected.*bool"),
    ("thrust_coefficient", np.ones((7, 3)), r"rotors\.thrust_coefficient: expected.*\(7, 4\)"),
    ("thrust_coefficient", -1.0, r"(?s)vehicle 0:.*rotors\[0\]\.thrust_coefficient = -1"),
    ("imu.rate", 100.0, r"imu\.rate: is common to all vehicles"),
    ("command_delay", 0.0, r"motor\.command_delay: is common"),
    ("nominal_voltage", 4.0, r"battery\.nominal_voltage: is common"),
]


@pytest.mark.parametrize(("name", "value", "message"), INVALID)
def test_invalid_parameters_are_refused(name: str, value: Any, message: str) -> None:
    fleet = new_fleet()
    fleet.step(pw.RateThrust([0.0, 0.0, 1.0], 10.0), substeps=5)
    with unchanged(fleet), pytest.raises((ValueError, TypeError), match=message):
        fleet.set_parameters({name: value})
    fleet.set_parameters(mass=np.linspace(0.9, 1.1, N))
    with unchanged(fleet), pytest.raises((ValueError, TypeError), match=message):
        fleet.set_parameters({"speed_max": 2300.0, name: value})


def test_reset_keeps_parameters_and_hover_uses_them() -> None:
    fleet = pw.Fleet("flightgoggles", N, "float64", noise=False)
    mass = np.linspace(0.8, 1.2, N)
    fleet.set_parameters(mass=mass)
    fleet.reset()
    assert np.array_equal(fleet.parameters["mass"], mass)
    fleet.step(pw.RotorSpeeds(fleet.rotor_speeds), substeps=480)
    assert np.abs(fleet.velocity).max() < 1e-9


def test_partial_assignment_is_atomic() -> None:
    fleet = new_fleet()
    mask = np.arange(N) % 2 == 0
    count = int(mask.sum())
    for is_individual in (False, True):
        if is_individual:
            fleet.set_parameters(mass=np.linspace(0.9, 1.1, N))
        with unchanged(fleet):
            masses = np.full(count, 1.2)
            masses[-1] = -1.0
            with pytest.raises(pw.ParameterError, match=f"vehicle {N - 1}: .*mass"):
                fleet.set_parameters({"mass": masses}, mask=mask)
            with pytest.raises(ValueError, match=r"mass: expected numbers of shape \(4,\)"):
                fleet.set_parameters({"mass": np.ones(N)}, mask=mask)
            with pytest.raises(KeyError, match="masss"):
                fleet.set_parameters({"masss": 1.0}, mask=mask)
            with pytest.raises(ValueError, match="mask"):
                fleet.set_parameters({"mass": 1.0}, mask=mask[:-1])
            fleet.set_parameters({"mass": 1.2}, mask=np.zeros(N, dtype=bool))


def test_results_depend_on_current_parameters_only() -> None:
    """Also after a change to general kernels or further terms and back."""
    changes: list[tuple[str, Any]] = [
        ("motor.time_constant_up", 0.03),
        ("rotor_drag.linear", [0.1, 0.1, 0.0]),
        ("inflow.axial", 2e-4),
        ("ground_effect.radius", 0.1),
        ("contact.frequency", 15.0),
        ("residual.thrust_centre", 9.0),
        ("body.inertia", [[0.0049, 1e-4, 0.0], [1e-4, 0.0049, 0.0], [0.0, 0.0, 0.0069]]),
    ]
    mask = np.arange(N) % 3 == 0
    for name, value in changes:
        fleet = new_fleet()
        nominal = np.array(fleet.parameters[name])
        fleet.set_parameters({name: nominal})
        fleet.set_parameters({name: np.broadcast_to(value, nominal[mask].shape)}, mask=mask)
        fleet.set_parameters({name: nominal[mask]}, mask=mask)
        other = pickle.loads(pickle.dumps(fleet))
        for each in (fleet, other):
            each.step(pw.RateThrust([0.5, 0.3, -0.2], 10.0), substeps=40)
        assert fleet.snapshot() == other.snapshot(), name


def test_a_parameter_with_two_names_is_refused() -> None:
    fleet = pw.Fleet("flightgoggles", 3)
    with pytest.raises(pw.ParameterError, match=r"body.mass: expected one value"):
        fleet.set_parameters({"body.mass": 1.1}, mass=1.2)
    assert np.all(fleet.parameters["mass"] == fleet.vehicle.body.mass)
