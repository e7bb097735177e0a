"""Converters of frames: known cases, round trips, and SciPy rotation matrices."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import propwash as pw
import pytest
from helpers import Array
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

NED_FROM_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FROM_FLU = np.diag([1.0, -1.0, -1.0])

Converter = Callable[[Array], Array]
PAIRS: list[tuple[Converter, Converter, int]] = [
    (pw.frames.ned_to_enu, pw.frames.enu_to_ned, 3),
    (pw.frames.frd_to_flu, pw.frames.flu_to_frd, 3),
    (pw.frames.xyzw_to_wxyz, pw.frames.wxyz_to_xyzw, 4),
    (
        pw.frames.quaternion_ned_frd_to_enu_flu,
        pw.frames.quaternion_enu_flu_to_ned_frd,
        4,
    ),
]


def quaternions(count: int) -> Array:
    """Random unit quaternions (count, 4), scalar first."""
    q = np.random.default_rng(1).normal(size=(count, 4))
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def matrix(quaternion: Array) -> Array:
    """The SciPy rotation matrices of quaternions, scalar first."""
    return np.asarray(Rotation.from_quat(pw.frames.wxyz_to_xyzw(quaternion)).as_matrix())


def test_known_vectors() -> None:
    assert pw.frames.ned_to_enu([1.0, 2.0, 3.0]).tolist() == [2.0, 1.0, -3.0]
    assert pw.frames.enu_to_ned([1.0, 2.0, 3.0]).tolist() == [2.0, 1.0, -3.0]
    assert pw.frames.frd_to_flu([1.0, 2.0, 3.0]).tolist() == [1.0, -2.0, -3.0]
    assert pw.frames.flu_to_frd([1.0, 2.0, 3.0]).tolist() == [1.0, -2.0, -3.0]
    assert pw.frames.xyzw_to_wxyz([1.0, 2.0, 3.0, 4.0]).tolist() == [4.0, 1.0, 2.0, 3.0]
    assert pw.frames.wxyz_to_xyzw([1.0, 2.0, 3.0, 4.0]).tolist() == [2.0, 3.0, 4.0, 1.0]


def test_known_attitudes() -> None:
    """Level flight to the north is the identity in NED and a yaw of 90 degrees in ENU."""
    half = np.sqrt(0.5)
    north = pw.frames.quaternion_ned_frd_to_enu_flu([1.0, 0.0, 0.0, 0.0])
    assert np.allclose(matrix(north), matrix(np.array([half, 0.0, 0.0, half])), atol=1e-15)
    east = pw.frames.quaternion_enu_flu_to_ned_frd([1.0, 0.0, 0.0, 0.0])
    assert np.allclose(matrix(east), matrix(np.array([half, 0.0, 0.0, half])), atol=1e-15)


def test_vectors_are_converted_like_their_frames() -> None:
    v = np.random.default_rng(2).normal(size=(20, 3))
    assert np.array_equal(pw.frames.enu_to_ned(v), v @ NED_FROM_ENU.T)
    assert np.array_equal(pw.frames.flu_to_frd(v), v @ FRD_FROM_FLU.T)
    assert np.linalg.det(NED_FROM_ENU) == 1.0


@pytest.mark.parametrize(("convert", "invert", "size"), PAIRS)
def test_round_trips_and_shapes(convert: Converter, invert: Converter, size: int) -> None:
    for shape in ((size,), (5, size), (2, 3, size), (0, size)):
        values = np.random.default_rng(3).normal(size=shape)
        original = values.copy()
        converted = convert(values)
        assert converted.shape == shape
        assert converted.dtype == np.float64
        assert np.allclose(invert(converted), values, rtol=0, atol=1e-15) or np.allclose(
            invert(converted), -values, rtol=0, atol=1e-15
        )
        converted[...] = 0.0
        assert np.array_equal(values, original)


@given(
    values=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4).map(lambda s: (*s, 3)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_round_trips_of_vectors_are_exact(values: Array) -> None:
    assert np.array_equal(pw.frames.ned_to_enu(pw.frames.enu_to_ned(values)), values)
    assert np.array_equal(pw.frames.frd_to_flu(pw.frames.flu_to_frd(values)), values)


@pytest.mark.parametrize(("convert", "invert", "size"), PAIRS)
@pytest.mark.parametrize(
    "value", [np.zeros(5), np.zeros((3, 2)), 1.0, "abc", None, {}, [[1], [2, 3]]]
)
def test_invalid_shapes_are_refused(
    convert: Converter, invert: Converter, size: int, value: Any
) -> None:
    for function in (convert, invert):
        with pytest.raises((ValueError, TypeError)):
            function(value)
        with pytest.raises(
            ValueError, match=rf"expected .* {size}\), got an array of shape \(2,\)"
        ):
            function(np.zeros(2))


Flat = dict[str, tuple[float, ...]]


def numbers_of(name: str, value: Any) -> Flat:
    """The numbers of parameters, states and readings by dotted name."""
    if isinstance(value, pw.parameters.ParameterSet):
        found: Flat = {}
        for field in value.__struct_fields__:
            found |= numbers_of(f"{name}.{field}" if name else field, getattr(value, field))
        return found
    if isinstance(value, tuple) and value and isinstance(value[0], pw.RotorParameters):
        return numbers_of(name, value[0])
    if isinstance(value, pw.MulticopterState | pw.ImuReading):
        found = {}
        for item in fields(value):
            found |= numbers_of(f"{name}.{item.name}", getattr(value, item.name))
        return found
    if isinstance(value, str | bool):
        return {}
    return {name: tuple(float(x) for x in np.ravel(value))}


def numbered_vehicle() -> pw.VehicleParameters:
    """A fictitious vehicle with different numbers in all vectors."""
    count = iter(range(1, 1000))

    def vector(size: int) -> tuple[float, ...]:
        return tuple(float(next(count)) for _ in range(size))

    def matrix() -> list[tuple[float, ...]]:
        return [vector(3) for _ in range(3)]

    base = pw.vehicles.load("crazyflie")
    return base.replace(
        body={"inertia": matrix(), "gravity": vector(3)},
        rotors=[base.rotors[0].replace(position=vector(3), axis=vector(3))],
        drag={"rotational": matrix()},
        rotor_drag={"linear": vector(3)},
        ground_effect={"height": vector(1)[0]},
        contact={"height": vector(1)[0]},
        residual={
            name: vector(len(numbers)) if isinstance(numbers, tuple) else vector(1)[0]
            for name, numbers in msgspec.structs.asdict(base.residual).items()
        },
        imu={
            "position": vector(3),
            "attitude": vector(4),
            "accelerometer_scale": vector(3),
            "gyroscope_scale": vector(3),
        },
        rate_controller={"proportional": vector(3), "integral": vector(3)},
    )


def test_vehicles_states_and_readings_are_converted_by_the_table() -> None:
    table = Path(__file__).resolve().parents[1] / "data" / "frames.csv"
    with table.open() as lines:
        rows = list(csv.DictReader(lines))
    changes = {
        (row["field"], int(row["component"])): (int(row["source"]), float(row["sign"]))
        for row in rows
    }
    vehicle = numbered_vehicle()
    state = pw.MulticopterState(
        np.array([1.0, 2, 3]),
        np.array([4.0, 5, 6]),
        np.array([0.5, -0.5, 0.5, 0.5]),
        np.array([7.0, 8, 9]),
        np.array([10.0, 11, 12, 13]),
    )
    reading = pw.ImuReading(np.array([1.0, 2, 3]), np.array([4.0, 5, 6]), 7.0)
    convert, invert = pw.frames.vehicle_ned_frd_to_enu_flu, pw.frames.vehicle_enu_flu_to_ned_frd
    pairs = [
        ("", vehicle, convert(vehicle)),
        ("state", state, pw.frames.state_ned_frd_to_enu_flu(state)),
        ("reading", reading, pw.frames.reading_frd_to_flu(reading)),
    ]
    used = 0
    for name, before, after in pairs:
        new = numbers_of(name, after)
        for field, numbers in numbers_of(name, before).items():
            if field == "state.attitude":
                continue
            for i, number in enumerate(numbers):
                source, sign = changes.get((field, i), (i, 1.0))
                assert new[field][i] == sign * numbers[source], (field, i, number)
                used += (field, i) in changes
    assert used == len(changes)
    assert invert(convert(vehicle)) == vehicle
    assert np.array_equal(
        pw.frames.state_ned_frd_to_enu_flu(state).attitude,
        pw.frames.quaternion_ned_frd_to_enu_flu(state.attitude),
    )
    again = pw.frames.reading_flu_to_frd(pw.frames.reading_frd_to_flu(reading))
    assert np.array_equal(again.specific_force, reading.specific_force)


def test_vehicles_in_ned_are_refused_unless_converted() -> None:
    vehicle_ned = pw.frames.vehicle_enu_flu_to_ned_frd(pw.vehicles.load("penguin").without_noise())
    assert vehicle_ned.body.gravity == (0.0, 0.0, 9.81)
    assert vehicle_ned.rotors[0].axis == (0.0, 0.0, -1.0)
    expected = r"thrust along body z .* = -.*vehicle_ned_frd_to_enu_flu"
    with pytest.raises(pw.ParameterError, match=expected):
        pw.Multicopter(vehicle_ned)
    uav = pw.Multicopter(pw.frames.vehicle_ned_frd_to_enu_flu(vehicle_ned))
    start = pw.frames.state_enu_flu_to_ned_frd(uav.trim())
    start.position = np.array([3.0, 4.0, -10.0])
    uav.reset(pw.frames.state_ned_frd_to_enu_flu(start))
    uav.step(pw.RotorSpeeds(start.rotor_speeds), substeps=960)
    end = pw.frames.state_enu_flu_to_ned_frd(uav.state)
    assert np.allclose(end.position, start.position, rtol=0, atol=1e-9)
    force = pw.frames.reading_flu_to_frd(uav.imu).specific_force
    assert np.allclose(force, [0.0, 0.0, -9.81], rtol=0, atol=1e-9)
