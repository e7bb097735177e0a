"""Fleets of cars: the bits of Car, resets, snapshots, parameters and refusals."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.fleet import CarFleet, CarFleetState

DT = 1.0 / 960.0
N = 37


def noisy_car() -> pw.CarParameters:
    """A car with noise along and across its heading."""
    car = pw.vehicles.load("car", pw.CarParameters)
    return car.replace(speed_min=-1.0, process_noise=(0.02, 0.01))


def commands(seed: int) -> pw.SpeedYawRate:
    random = np.random.default_rng(seed)
    return pw.SpeedYawRate(random.uniform(-1, 3, N), random.uniform(-1, 1, N))


def rows(fleet: CarFleet) -> np.ndarray[Any, Any]:
    """(n, 3): x, y, heading."""
    state = fleet.state
    return np.stack([state.x, state.y, state.heading], axis=1)


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_cars_of_a_fleet_are_bit_for_bit_those_of_car(integrator: Any) -> None:
    fleet = CarFleet(noisy_car(), N, "float64", integrator, DT, seed=4, first_id=2)
    single = CarFleet(noisy_car(), N, "float32", integrator, DT, seed=4, first_id=2)
    cars = [pw.Car(noisy_car(), integrator, seed=4, id=2 + i) for i in range(N)]
    for n in range(5):
        command = commands(n)
        fleet.step(command, substeps=7)
        single.step(command, substeps=7)
        for i, car in enumerate(cars):
            car.step(pw.SpeedYawRate(command.speed[i], command.yaw_rate[i]), DT, substeps=7)
    expected = np.array([(car.state.x, car.state.y, car.state.heading) for car in cars])
    assert np.array_equal(rows(fleet), expected)
    np.testing.assert_allclose(rows(single), expected, atol=1e-5)
    assert single.state.x.dtype == np.float32
    np.testing.assert_allclose(fleet.time, [car.time for car in cars])
    assert (len(fleet), fleet.steps, fleet.seed, fleet.dt) == (N, 35, 4, DT)


def test_threads_and_one_command_for_all() -> None:
    one, two = CarFleet(noisy_car(), 5000, threads=1), CarFleet(noisy_car(), 5000, threads=3)
    assert two.threads == 3
    for fleet in (one, two):
        fleet.step(pw.SpeedYawRate(2.0, np.full(5000, 0.3)), substeps=5)
        fleet.step(pw.SpeedYawRate(np.float32(1.0), 0.3))
    assert np.array_equal(rows(one), rows(two))


def test_resets_by_mask_and_by_seed() -> None:
    fleet = CarFleet(noisy_car(), N, "float64", seed=1)
    fleet.step(commands(0), substeps=4)
    before = rows(fleet)
    mask = np.arange(N) % 3 == 0
    fleet.reset(x=np.arange(mask.sum()), heading=0.5, mask=mask)
    assert np.array_equal(rows(fleet)[~mask], before[~mask])
    assert np.array_equal(fleet.state.x[mask], np.arange(mask.sum()))
    assert np.all(fleet.state.heading[mask] == 0.5)
    assert np.array_equal(fleet.time == 0.0, mask)
    fleet.set_state(y=2.0)
    assert np.all(fleet.state.y == 2.0)
    assert np.array_equal(fleet.state.heading[~mask], before[~mask, 2])
    fleet.reset(CarFleetState(before[:, 0], before[:, 1], before[:, 2]), seed=5)
    fresh = CarFleet(noisy_car(), N, "float64", seed=5)
    fresh.reset(pw.CarState(), x=before[:, 0], y=before[:, 1], heading=before[:, 2])
    for each in (fleet, fresh):
        each.step(commands(1), substeps=3)
    assert np.array_equal(rows(fleet), rows(fresh))
    assert fleet.steps == 3


def test_snapshots_and_copies_continue_identically() -> None:
    fleet = CarFleet(noisy_car(), N, seed=3)
    fleet.set_parameters([noisy_car().replace(speed_max=1.0 + i) for i in range(N)])
    fleet.step(commands(0), substeps=9)
    other = CarFleet(noisy_car(), N, seed=8)
    other.set_parameters([noisy_car().replace(speed_max=1.0 + i) for i in range(N)])
    other.restore(fleet.snapshot())
    copies = [other, copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))]
    fleet.step(commands(1), substeps=9)
    for each in copies:
        each.step(commands(1), substeps=9)
        assert np.array_equal(rows(each), rows(fleet))
        assert each.snapshot() == fleet.snapshot()
    assert repr(fleet).startswith("CarFleet('car', 37, dtype='float32'")


def test_each_car_has_its_parameters() -> None:
    fleet = CarFleet("car", 3, "float64", dt=0.1)
    car = fleet.vehicle.without_noise()
    fleet.set_parameters([car.replace(speed_max=limit) for limit in (1.0, 2.0, 3.0)])
    fleet.step(pw.SpeedYawRate(100.0, 0.0))
    np.testing.assert_allclose(fleet.state.x, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.step(pw.SpeedYawRate([1.0, 2.0], 0.0)), ValueError, "expected speed of shape"),
        (lambda f: f.step(pw.RateThrust([0, 0, 1], 1.0)), TypeError, "SpeedYawRate"),
        (lambda f: f.step(pw.SpeedYawRate(1.0, 0.0), substeps=0), ValueError, "substeps"),
        (lambda f: f.reset(x=[1.0, np.nan, 0.0, 0.0]), ValueError, "x"),
        (lambda f: f.reset(mask=[True]), ValueError, "mask: expected"),
        (lambda f: f.reset(mask=np.ones(4, bool), seed=1), ValueError, "seed: expected None"),
        (lambda f: f.set_state(), TypeError, "a CarFleetState"),
        (lambda f: f.set_state("here"), TypeError, "CarFleetState or a CarState"),
        (lambda f: f.restore(b"bytes"), ValueError, "snapshot: expected"),
        (lambda f: f.restore("bytes"), TypeError, r"snapshot: expected the bytes of snapshot\(\)"),
        (lambda f: f.restore(CarFleet("car", 5).snapshot()), ValueError, "snapshot: expected"),
        (lambda f: f.set_parameters([f.vehicle]), ValueError, "expected 4 CarParameters"),
        (lambda f: f.set_parameters([f.vehicle] * 3 + [1]), TypeError, r"parameters\[3\]"),
        (lambda _: CarFleet("car", 0), ValueError, "n"),
        (lambda _: CarFleet("car", dt=0.0), pw.ParameterError, "dt = 0: expected"),
        (lambda _: CarFleet("car", integrator="leapfrog"), ValueError, "integrator"),  # type: ignore[arg-type]
    ],
)
def test_refusals_change_nothing(
    call: Callable[[CarFleet], None], error: type[Exception], message: str
) -> None:
    fleet = CarFleet("car", 4)
    fleet.step(pw.SpeedYawRate(1.0, 0.2), substeps=3)
    before = fleet.snapshot()
    with pytest.raises(error, match=message):
        call(fleet)
    assert fleet.snapshot() == before
