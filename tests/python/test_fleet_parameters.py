"""Parameters of a fleet: by name, each vehicle's own, refused where a vehicle cannot be."""

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


def new(dtype: str = "float64", n: int = N) -> pw.Fleet:
    """A small fleet."""
    return pw.Fleet("flightgoggles", n, dtype, seed=1, threads=1)


@contextmanager
def unchanged(fleet: pw.Fleet) -> Iterator[pw.Fleet]:
    """Demands that state and parameters stay, bit for bit."""
    before = fleet.snapshot(), {k: np.array(v) for k, v in fleet.parameters.items()}
    yield fleet
    assert fleet.snapshot() == before[0]
    for name, values in fleet.parameters.items():
        assert np.array_equal(values, before[1][name], equal_nan=True), name


def test_every_number_of_the_vehicle_is_there() -> None:
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
    parameters = new().parameters
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
        parameters["masss"] = 1.0
    with pytest.raises(KeyError, match=r"'body\.mas'.*did you mean 'body\.mass'"):
        parameters["body.mas"]
    with pytest.raises(KeyError, match=r"'zzz'.*there are body\.mass"):
        parameters["zzz"]
    with pytest.raises(pw.ParameterError, match="key"):
        parameters[3]  # type: ignore[index]
    assert "inertia" not in parameters
    assert not parameters.__contains__(3)
    with pytest.raises(TypeError, match="cannot be taken"):
        del parameters["mass"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_each_vehicle_flies_with_its_own(dtype: str) -> None:
    fleet, rng = new(dtype), np.random.default_rng(3)
    vehicle = fleet.vehicle
    mass = rng.uniform(0.8, 1.2, N)
    thrust = vehicle.rotors[0].thrust_coefficient * rng.uniform(0.9, 1.1, (N, 4))
    gains = rng.uniform(5.0, 12.0, (N, 3))
    fleet.parameters["mass"] = mass
    fleet.parameters.update({"thrust_coefficient": thrust}, proportional=gains)
    rates = rng.uniform(-2.0, 2.0, (N, 3)).astype(dtype)
    fleet.step(pw.RateThrust(rates, 10.0), substeps=60)
    tolerance = 1e-12 if dtype == "float64" else 3e-5
    for i in range(N):
        own = vehicle.replace(
            body={"mass": mass[i]},
            rate_controller={"proportional": gains[i]},
            rotors=tuple(
                rotor.replace(thrust_coefficient=k)
                for rotor, k in zip(vehicle.rotors, thrust[i], strict=True)
            ),
        )
        single = pw.Multicopter(own, seed=1, id=i)
        # setting parameters leaves the state, so the rotors turn as in the hover of the others
        single.set_state(pw.Multicopter("flightgoggles").state)
        single.step(pw.RateThrust(rates[i], 10.0), 1 / 960, substeps=60)
        for name in ("position", "velocity", "attitude", "body_rates"):
            expected = getattr(single.state, name)
            scale = max(1.0, float(np.abs(expected).max()))
            assert np.abs(getattr(fleet, name)[i] - expected).max() < tolerance * scale, name


def test_own_parameters_that_are_all_alike_change_nothing() -> None:
    fleet, other = new(), new()
    other.parameters["mass"] = other.parameters["mass"]
    for each in (fleet, other):
        each.step(pw.RateThrust([1.0, 2.0, 0.0], 10.0), substeps=50)
    for name in ("position", "attitude", "rotor_speeds"):
        assert np.array_equal(getattr(fleet, name), getattr(other, name))


def test_shapes_are_broadcast() -> None:
    parameters = new().parameters
    pairs: list[tuple[Any, Any]] = [
        (1.1, np.full(N, 1.1)),
        (np.linspace(1, 2, N), np.linspace(1, 2, N)),
        ([1] * N, np.ones(N)),
    ]
    for value, expected in pairs:
        parameters["mass"] = value
        assert np.array_equal(parameters["mass"], expected)
    base = np.array(parameters["thrust_coefficient"])
    scale = np.linspace(1.0, 1.2, N)
    for value in (base * scale[:, None], (base[0, 0] * scale)[:, None], base[0, 0] * scale):
        parameters["thrust_coefficient"] = value
        assert np.allclose(parameters["thrust_coefficient"], base * scale[:, None], rtol=1e-15)
    parameters["gravity"] = [0.0, 0.0, -3.7]
    assert np.array_equal(parameters["gravity"], np.tile([0.0, 0.0, -3.7], (N, 1)))


def test_items_write_through_and_nothing_is_lost_in_silence() -> None:
    parameters = new().parameters
    parameters["mass"][2] = 1.25
    parameters["mass"][np.arange(N) > 4] = [1.5, 1.75]
    assert parameters["mass"].tolist() == [1.0, 1.0, 1.25, 1.0, 1.0, 1.5, 1.75]
    parameters["body.inertia"][:, 2, 2] *= 1.1
    assert np.allclose(parameters["body.inertia"][:, 2, 2], 0.0069 * 1.1)
    held = parameters["mass"]
    parameters["mass"] += 0.25
    held[0] = 1.125  # writes to what the fleet has now, not to what it had
    assert parameters["mass"].tolist() == [1.125, 1.25, 1.5, 1.25, 1.25, 1.75, 2.0]
    assert held.tolist() == parameters["mass"].tolist()
    with pytest.raises(ValueError, match="read-only"):
        parameters["body.inertia"][3][2, 2] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        held.fill(3.0)
    plain = held * 2.0
    assert type(plain) is np.ndarray
    plain[0] = 7.0
    assert parameters["mass"][0] == 1.125


def test_the_out_of_a_function_writes_through() -> None:
    parameters = new().parameters
    mass = np.linspace(0.9, 1.1, N)
    parameters["mass"] = mass
    given = np.multiply(parameters["mass"], 1.1, out=parameters["mass"])
    assert np.array_equal(parameters["mass"], mass * 1.1)
    assert np.array_equal(given, mass * 1.1)
    odd = np.arange(N) % 2 == 1
    np.add(parameters["mass"], 0.25, out=parameters["mass"], where=odd)
    assert np.array_equal(parameters["mass"], np.where(odd, mass * 1.1 + 0.25, mass * 1.1))
    before = np.array(parameters["mass"])
    np.add.at(parameters["mass"], [2, 2], 0.125)
    assert np.array_equal(parameters["mass"] - before, 0.25 * (np.arange(N) == 2))
    elsewhere = np.empty(N)
    np.add(parameters["mass"], 1.0, out=elsewhere)
    assert np.array_equal(elsewhere, parameters["mass"] + 1.0)
    own = parameters["mass"]
    own *= 3.0  # of a name of one's own, which is then a plain array
    assert type(own) is np.ndarray
    assert np.array_equal(own, parameters["mass"] * 3.0)


def test_what_cannot_be_written_through_is_refused() -> None:
    fleet = new()
    with unchanged(fleet) as same:
        with pytest.raises(ValueError, match=r"vehicle 0:.*body\.mass = -1"):
            np.negative(same.parameters["mass"], out=same.parameters["mass"])
        row = same.parameters["body.inertia"][3]
        with pytest.raises(ValueError, match="read-only"):
            np.multiply(row, 2.0, out=row)


def test_a_fleet_takes_the_parameters_of_another() -> None:
    fleet, other = new(), new()
    other.parameters["mass"] = np.linspace(0.9, 1.1, N)
    fleet.parameters = {"mass": other.parameters["mass"], "blow_back": 0.001}
    assert np.array_equal(fleet.parameters["mass"], other.parameters["mass"])
    assert set(fleet.parameters.own()) == {"body.mass", "rotor_drag.blow_back"}


def test_fuller_matrices_take_the_general_kernels_with_the_state() -> None:
    """Noise off: a coupling that is all but zero changes the path by as little."""
    fleet, plain = (pw.Fleet("flightgoggles", N, "float64", noise=False) for _ in range(2))
    command = pw.RateThrust([0.5, 0.3, -0.2], 10.0)
    for each in (fleet, plain):
        each.step(command, substeps=30)
    inertia = np.array(fleet.parameters["body.inertia"])
    inertia[3, 0, 1] = inertia[3, 1, 0] = 1e-12
    fleet.parameters["body.inertia"] = inertia
    for each in (fleet, plain):
        each.step(command, substeps=30)
    for name in ("position", "attitude", "body_rates", "time"):
        assert np.allclose(getattr(fleet, name), getattr(plain, name), rtol=0, atol=1e-9)


BAD: list[tuple[str, Any, str]] = [
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
    ("imu.rate", 100.0, r"imu\.rate: is the same for all vehicles"),
    ("command_delay", 0.0, r"motor\.command_delay: is the same"),
    ("nominal_voltage", 4.0, r"battery\.nominal_voltage: is the same"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_parameters_that_cannot_be_are_refused(name: str, value: Any, message: str) -> None:
    fleet = new()
    fleet.step(pw.RateThrust([0.0, 0.0, 1.0], 10.0), substeps=5)
    with unchanged(fleet), pytest.raises((ValueError, TypeError), match=message):
        fleet.parameters[name] = value
    fleet.parameters["mass"] = np.linspace(0.9, 1.1, N)
    with unchanged(fleet), pytest.raises((ValueError, TypeError), match=message):
        fleet.parameters.update({"speed_max": 2300.0, name: value})


def test_parameters_stay_after_a_reset_and_hover_follows_them() -> None:
    fleet = pw.Fleet("flightgoggles", N, "float64", noise=False)
    mass = np.linspace(0.8, 1.2, N)
    fleet.parameters["mass"] = mass
    fleet.reset()
    assert np.array_equal(fleet.parameters["mass"], mass)
    fleet.step(pw.RotorSpeeds(fleet.rotor_speeds), substeps=480)
    assert np.abs(fleet.velocity).max() < 1e-9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_some_vehicles_alone_are_assigned_as_all_are(dtype: str) -> None:
    n = 21  # more than a block of lanes, and the last one with lanes to spare
    one, other = new(dtype, n), new(dtype, n)
    dice = np.random.default_rng(3)
    turned = np.diag([0.0049, 0.0049, 0.0069])
    turned[0, 1] = turned[1, 0] = 1e-4
    for round_ in range(6):
        # the first parameters of its own, some more, the last vehicle, and general kernels
        mask = dice.random(n) < 0.4
        mask[-1] = round_ % 2 == 0
        count = int(mask.sum())
        values: dict[str, Any] = {"mass": dice.uniform(0.9, 1.1, count)}
        if round_ > 1:
            values["thrust_coefficient"] = dice.uniform(1.8e-6, 2.0e-6, (count, 4))
        if round_ > 3:
            values["body.inertia"] = np.broadcast_to(turned, (count, 3, 3))
        whole = {name: np.array(other.parameters[name]) for name in values}
        for name, rows in values.items():
            whole[name][mask] = rows
        one.parameters.assign(values, mask)
        other.parameters.update(whole)
        for name in values:
            assert np.array_equal(one.parameters[name], other.parameters[name])
        command = pw.RateThrust(np.zeros(3), 9.0 + round_)
        for fleet in (one, other):
            fleet.reset(mask=mask)
            fleet.step(command, substeps=7)
        assert np.array_equal(one.position, other.position)
        assert np.array_equal(one.body_rates, other.body_rates)


def test_assigning_some_changes_all_of_them_or_none() -> None:
    fleet = new()
    mask = np.arange(N) % 2 == 0
    count = int(mask.sum())
    for own in (False, True):
        if own:
            fleet.parameters["mass"] = np.linspace(0.9, 1.1, N)
        with unchanged(fleet):
            masses = np.full(count, 1.2)
            masses[-1] = -1.0
            with pytest.raises(pw.ParameterError, match=f"vehicle {N - 1}: .*mass"):
                fleet.parameters.assign({"mass": masses}, mask)
            with pytest.raises(ValueError, match=r"mass: expected numbers of shape \(4,\)"):
                fleet.parameters.assign({"mass": np.ones(N)}, mask)
            with pytest.raises(KeyError, match="masss"):
                fleet.parameters.assign({"masss": 1.0}, mask)
            with pytest.raises(ValueError, match="mask"):
                fleet.parameters.assign({"mass": 1.0}, mask[:-1])
            fleet.parameters.assign({"mass": 1.2}, np.zeros(N, dtype=bool))


def test_bits_hear_of_the_parameters_and_not_of_what_they_were() -> None:
    """Through general kernels and further terms, and back."""
    changes: list[tuple[str, Any]] = [
        ("motor.time_constant_up", 0.03),
        ("rotor_drag.linear", [0.1, 0.1, 0.0]),
        ("body.inertia", [[0.0049, 1e-4, 0.0], [1e-4, 0.0049, 0.0], [0.0, 0.0, 0.0069]]),
    ]
    mask = np.arange(N) % 3 == 0
    for name, value in changes:
        fleet = new()
        usual = np.array(fleet.parameters[name])
        fleet.parameters[name] = usual
        fleet.parameters.assign({name: np.broadcast_to(value, usual[mask].shape)}, mask)
        fleet.parameters.assign({name: usual[mask]}, mask)
        other = pickle.loads(pickle.dumps(fleet))
        for each in (fleet, other):
            each.step(pw.RateThrust([0.5, 0.3, -0.2], 10.0), substeps=40)
        assert fleet.snapshot() == other.snapshot(), name
