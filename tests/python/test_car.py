"""The car: circles, limits, noise and state."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array

DT = 1.0 / 960.0


def rows(trajectory: pw.CarTrajectory) -> Array:
    """(T, 4): time, x, y, heading."""
    return np.stack([trajectory.time, trajectory.x, trajectory.y, trajectory.heading], axis=1)


def state_of(car: pw.Car) -> tuple[float, float, float]:
    """x, y and heading."""
    return (car.state.x, car.state.y, car.state.heading)


def test_rollout_equals_a_loop_of_steps() -> None:
    a, b, c = (pw.Car(seed=4) for _ in range(3))
    speeds, yaw_rates = np.linspace(0.0, 4.0, 50), np.linspace(-1.0, 1.0, 50)
    driven = a.rollout(pw.SpeedYawRate(speeds, yaw_rates), DT, substeps=3)
    assert len(driven) == 50
    for i, (speed, yaw_rate) in enumerate(zip(speeds, yaw_rates, strict=True)):
        b.step(pw.SpeedYawRate(speed, yaw_rate), DT, substeps=3)
        for _ in range(3):
            c.step(pw.SpeedYawRate(speed, yaw_rate), DT)
        assert (b.time, *state_of(b)) == tuple(rows(driven)[i])
    assert a.snapshot() == b.snapshot() == c.snapshot()
    assert a.steps == 150


def test_copies_continue_identically() -> None:
    car = pw.Car(seed=6, id=2)
    car.step(pw.SpeedYawRate(3.0, 0.5), DT, substeps=77)
    fresh = pw.Car(seed=6, id=2)
    fresh.restore(car.snapshot())
    others = [copy.deepcopy(car), pickle.loads(pickle.dumps(car)), fresh]
    expected = rows(car.rollout(pw.SpeedYawRate(2.0, -0.3), DT, steps=30))
    for other in others:
        assert np.array_equal(
            rows(other.rollout(pw.SpeedYawRate(2.0, -0.3), DT, steps=30)), expected
        )


def test_reset_and_state_assignment() -> None:
    car = pw.Car(seed=1)
    command = pw.SpeedYawRate(2.0, -0.3)
    first = rows(car.rollout(command, DT, steps=20))
    car.set_state(pw.CarState(1.0, 2.0, 3.0))
    assert state_of(car) == (1.0, 2.0, 3.0)
    assert car.steps == 20
    car.set_state(heading=0.5)
    assert state_of(car) == (1.0, 2.0, 0.5)
    car.reset()
    assert (car.time, car.steps, car.state) == (0.0, 20, pw.CarState())
    assert not np.array_equal(rows(car.rollout(command, DT, steps=20))[:, 1:], first[:, 1:])
    car.reset(seed=1)
    assert (car.time, car.steps, car.seed) == (0.0, 0, 1)
    assert np.array_equal(rows(car.rollout(command, DT, steps=20)), first)
    car.reset(pw.CarState(x=4.0), y=1.0)
    assert state_of(car) == (4.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("speed_min", 6.0),
        ("speed_min", math.nan),
        ("speed_max", math.inf),
        ("yaw_rate_limit", 0.0),
        ("yaw_rate_limit", -1.0),
        ("process_noise", (-1e-3, 0.0)),
        ("process_noise", (0.0, math.nan)),
    ],
)
def test_invalid_cars_are_refused(field: str, value: Any) -> None:
    vehicle = pw.vehicles.load("car", pw.CarParameters).replace(**{field: value})
    for make in (pw.Car, pw.validate):
        with pytest.raises(pw.ParameterError, match=field):
            make(vehicle)
