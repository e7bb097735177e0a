"""Commands: accepted and refused arguments, and immutability."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import refused
from propwash import _core


def test_commands_accept_numbers_lists_and_arrays() -> None:
    for rates in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], dtype=np.int16)):
        for thrust in (9, 9.0, np.float32(9.0), np.array(9.0)):
            command = pw.RateThrust(rates, thrust)
            assert command.rates.dtype == np.float64
            assert command.rates.tolist() == [1.0, 2.0, 3.0]
            assert float(command.thrust) == 9.0
    assert pw.RotorSpeeds(np.arange(8).reshape(4, 2).T[::-1]).speeds.tolist() == [
        [1.0, 3.0, 5.0, 7.0],
        [0.0, 2.0, 4.0, 6.0],
    ]
    assert pw.SpeedYawRate(speed=[1, 2], yaw_rate=0.5).speed.tolist() == [1.0, 2.0]


def test_commands_keep_a_read_only_copy() -> None:
    speeds = np.ones(4)
    command = pw.RotorSpeeds(speeds)
    speeds[0] = 77.0
    assert command.speeds.tolist() == [1.0] * 4
    both = pw.RateThrust(np.zeros((2, 3)), np.ones(2))
    car = pw.SpeedYawRate([1.0, 2.0], [3.0, 4.0])
    for array in (command.speeds, both.rates, both.thrust, car.speed, car.yaw_rate):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0


@pytest.mark.parametrize(
    "value",
    [
        [1.0, 2.0],
        [1.0, 2.0, math.nan],
        [[1.0, 2.0, math.inf]],
        np.zeros((2, 2, 2, 3)),
        np.zeros((3, 2)),
        [[1.0, 2.0], [3.0]],
        "abc",
        None,
        1.0,
        [True, False, True],
        [1j, 2, 3],
        {"x": 1.0},
        object(),
        [2**2000, 0, 0],
    ],
)
def test_invalid_rates_are_refused(value: Any) -> None:
    with refused("rates", value):
        pw.RateThrust(value, 1.0)


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, [[[1.0]]], "1", None, True, 1j, [1.0, math.nan], {}, object()]
)
def test_invalid_numbers_are_refused(value: Any) -> None:
    with refused("thrust", value):
        pw.RateThrust([0.0, 0.0, 0.0], value)
    with refused("speed", value):
        pw.SpeedYawRate(value, 0.0)
    with refused("yaw_rate", value):
        pw.SpeedYawRate(0.0, value)


@pytest.mark.parametrize(
    "value",
    [[], [[]], 3.0, None, "1234", [math.nan], np.zeros((1, 1, 1, 4)), [True], [[1.0], [1, 2]]],
)
def test_invalid_rotor_speeds_are_refused(value: Any) -> None:
    with refused("speeds", value):
        pw.RotorSpeeds(value)


def test_incompatible_shapes_of_parts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"thrust: expected as many rows as rates, 2, got 3"):
        pw.RateThrust(np.zeros((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match=r"yaw_rate: expected as many rows as speed, 2, got 1"):
        pw.SpeedYawRate([1.0, 2.0], [1.0])


def test_error_messages_shorten_long_values() -> None:
    with pytest.raises(ValueError, match=r"shape \(1000, 2\)") as caught:
        pw.RateThrust(np.zeros((1000, 2)), 1.0)
    assert len(str(caught.value)) < 400
    with pytest.raises(ValueError, match="rates") as caught:
        pw.RateThrust("x" * 100000, 1.0)
    assert len(str(caught.value)) < 400


def test_commands_can_be_copied_and_pickled() -> None:
    for command in (
        pw.RateThrust([[1.0, 2.0, 3.0]], [4.0]),
        pw.RotorSpeeds([1.0, 2.0]),
        pw.SpeedYawRate(1.0, [2.0, 3.0]),
    ):
        assert isinstance(command, _core.Command)
        for other in (copy.deepcopy(command), pickle.loads(pickle.dumps(command))):
            assert type(other) is type(command)
            assert repr(other) == repr(command)


def test_repr_shows_the_values() -> None:
    assert repr(pw.RateThrust([1, 2, 3], 4)) == "RateThrust(rates=array([1., 2., 3.]), thrust=4.0)"
    assert repr(pw.RotorSpeeds([1, 2])) == "RotorSpeeds(array([1., 2.]))"
    assert repr(pw.SpeedYawRate(1, 2)) == "SpeedYawRate(speed=1.0, yaw_rate=2.0)"


@pytest.mark.parametrize("kind", [pw.RateThrust, pw.RotorSpeeds, pw.PositionCommand])
def test_a_command_without_init_is_refused(kind: Any) -> None:
    uninitialised = kind.__new__(kind)
    for vehicle in (pw.Multicopter("flightgoggles"), pw.Fleet("flightgoggles", 3)):
        with pytest.raises(TypeError, match="command: expected"):
            vehicle.step(uninitialised)
