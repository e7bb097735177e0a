"""Commands: accepted and refused arguments, and immutability."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
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
