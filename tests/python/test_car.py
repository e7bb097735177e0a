"""The car: circles, limits, noise and state."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any, Literal

import numpy as np
import propwash as pw
import pytest
from helpers import Array, refused, wrong
from scipy import stats

DT = 1.0 / 960.0


def rows(trajectory: pw.CarTrajectory) -> Array:
    """(T, 4): time, x, y, heading."""
    return np.stack([trajectory.time, trajectory.x, trajectory.y, trajectory.heading], axis=1)


def state_of(car: pw.Car) -> tuple[float, float, float]:
    """x, y and heading."""
    return (car.state.x, car.state.y, car.state.heading)


def circle(speed: float, yaw_rate: float, t: Array) -> Array:
    """(T, 3): (24) and (25) in closed form, from the origin."""
    radius = speed / yaw_rate
    angle = yaw_rate * t
    return np.stack([radius * np.sin(angle), radius * (1.0 - np.cos(angle)), angle], axis=1)


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1.0), ("rk4", 4.0)])
def test_circle_and_order_of_convergence(integrator: Literal["euler", "rk4"], order: float) -> None:
    errors = []
    counts = [20, 40, 80, 160]
    for count in counts:
        car = pw.Car(integrator=integrator, noise=False)
        driven = car.rollout(pw.SpeedYawRate(2.0, 0.8), 3.0 / count, steps=count)
        errors.append(np.abs(rows(driven)[:, 1:] - circle(2.0, 0.8, driven.time)).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.05 if order == 1.0 else 0.2)
    assert errors[-1] < (1e-1 if order == 1.0 else 1e-8)


def test_commands_are_limited() -> None:
    excessive, limited = pw.Car(noise=False), pw.Car(noise=False)
    limits = pw.vehicles.load("car", pw.CarParameters)
    excessive.step(pw.SpeedYawRate(1e9, -1e9), DT, substeps=100)
    limited.step(pw.SpeedYawRate(limits.speed_max, -limits.yaw_rate_limit), DT, substeps=100)
    assert excessive.state == limited.state
    excessive.step(pw.SpeedYawRate(-1e9, 0.0), DT, substeps=100)
    assert (excessive.state.x, excessive.state.y) == (limited.state.x, limited.state.y)


def test_noise_is_in_the_body_frame_and_independent_of_the_time_step() -> None:
    """(26): the displacements along and across have the variances W_v t; two-sided at 1e-4."""
    vehicle = pw.CarParameters(speed_max=1.0, yaw_rate_limit=1.0, process_noise=(4e-3, 1e-3))
    heading = 0.6
    along = np.array([math.cos(heading), math.sin(heading)])
    across = np.array([-along[1], along[0]])
    for dt in (1 / 960, 1 / 100):
        moved = []
        for number in range(300):
            car = pw.Car(vehicle, seed=2, id=number)
            car.reset(pw.CarState(heading=heading))
            car.step(pw.SpeedYawRate(0.0, 0.0), dt, substeps=round(0.5 / dt))
            moved.append([car.state.x, car.state.y])
        for direction, intensity in ((along, 4e-3), (across, 1e-3)):
            squares = np.sum((np.array(moved) @ direction) ** 2) / (intensity * 0.5)
            assert 0.5e-4 < stats.chi2.cdf(squares, 300) < 1.0 - 0.5e-4


def test_noise_depends_only_on_seed_and_id() -> None:
    command = pw.SpeedYawRate(np.linspace(0.0, 4.0, 50), np.linspace(-1.0, 1.0, 50))
    driven = [
        rows(pw.Car(seed=seed, id=number).rollout(command, DT, substeps=3))
        for seed, number in [(1, 0), (1, 0), (1, 1), (2, 0)]
    ]
    assert np.array_equal(driven[0], driven[1])
    assert not np.array_equal(driven[0], driven[2])
    assert not np.array_equal(driven[0], driven[3])


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


@pytest.mark.parametrize("value", [math.nan, math.inf, "a", None, [1.0, 2.0]])
def test_invalid_states_are_refused(value: Any) -> None:
    car = pw.Car(seed=1)
    before = car.snapshot()
    for argument in wrong("x", "y", "heading"):
        state = pw.CarState(**{argument: value})
        with refused(argument, value):
            car.set_state(state)
        with refused(argument, value):
            car.reset(state)
    assert car.snapshot() == before


@pytest.mark.parametrize("value", ["a", None, 3, (1.0, 2.0, 3.0)])
def test_invalid_state_values_are_refused(value: Any) -> None:
    car = pw.Car(seed=1)
    before = car.snapshot()
    with refused("state", value):
        car.set_state(value)
    if value is not None:
        with refused("state", value):
            car.reset(value)
    with refused("snapshot", value):
        car.restore(value)
    assert car.snapshot() == before


@pytest.mark.parametrize("dt", [0.0, -0.1, math.nan, math.inf, "1", None, [0.1], True])
def test_invalid_time_steps_are_refused(dt: Any) -> None:
    car = pw.Car(seed=1)
    before = car.snapshot()
    with refused("dt", dt):
        car.step(pw.SpeedYawRate(1.0, 0.0), dt)
    with refused("dt", dt):
        car.rollout(pw.SpeedYawRate(1.0, 0.0), dt, steps=2)
    assert car.snapshot() == before


@pytest.mark.parametrize("count", [-1, 1.5, math.nan, "1", [1], 10**30])
def test_invalid_counts_are_refused(count: Any) -> None:
    car = pw.Car(seed=1)
    before = car.snapshot()
    command = pw.SpeedYawRate(1.0, 0.0)
    with refused("steps", count):
        car.step(command, DT, substeps=count)
    with refused("steps", count):
        car.rollout(command, DT, steps=count)
    with refused("substeps", count):
        car.rollout(command, DT, steps=2, substeps=count)
    assert car.snapshot() == before


def test_invalid_commands_are_refused() -> None:
    car = pw.Car(seed=1)
    before = car.snapshot()
    other = pw.RateThrust([0.0, 0.0, 0.0], 1.0)
    for value in wrong(other, "ahead", None, (1.0, 0.0)):
        with refused("command", value, TypeError):
            car.step(value)
        with refused("command", value, TypeError):
            car.rollout(value, steps=3)
    many = pw.SpeedYawRate([1.0, 2.0], 0.0)
    with pytest.raises(ValueError, match=r"command: expected one command for step.*got 2 rows"):
        car.step(many)
    with pytest.raises(ValueError, match=r"steps: expected 2.*got 3"):
        car.rollout(many, steps=3)
    with pytest.raises(ValueError, match=r"steps: expected.*got None"):
        car.rollout(pw.SpeedYawRate(1.0, 0.0))
    assert car.snapshot() == before


def test_invalid_options_are_refused() -> None:
    for name in wrong("symplectic_euler", "heun", 3, None):
        with refused("integrator", name):
            pw.Car(integrator=name)
    for number in wrong(-1, 1.5, "1", None, 2**64):
        with refused("seed", number):
            pw.Car(seed=number)
        with refused("id", number):
            pw.Car(id=number)
    for noise in wrong("yes", None, math.nan, 2):
        with refused("noise", noise):
            pw.Car(noise=noise)
    with pytest.raises(pw.ParameterError, match="expected a car, this is a multicopter"):
        pw.Car("penguin")
    for vehicle in wrong(5, None, b"car"):
        with refused("vehicle", vehicle):
            pw.Car(vehicle)


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
