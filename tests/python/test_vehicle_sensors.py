"""Sensors attached to one multicopter: readings as of a fleet of one, resets, snapshots, errors."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import ChangingSensor
from propwash.world import Box, Plane, Scene

DT = 1 / 960
GROUND = Scene([Plane(name="ground", position=(0.0, 0.0, -2.0))])
CALLS = (1, 7, 37, 160, 3, 96)
"""Substeps of calls, some with several samples and some with none."""


def command(row: int) -> pw.RateThrust:
    return pw.RateThrust([0.3 * math.sin(row), 0.2, 0.1 * row], 9.81 + 0.2 * row)


def equip(vehicle: Any) -> list[Any]:
    return [
        vehicle.attach(pw.RangeFinder(GROUND), 50.0, latency=0.03),
        vehicle.attach(pw.Gnss(bias_time=3.0), 7.0, latency=0.2),
        vehicle.attach(pw.Barometer(seed=4), 333.3, name="air"),
    ]


def vehicle_of(seed: int = 5) -> pw.Multicopter:
    return pw.Multicopter("flightgoggles", seed=seed)


def through_a_snapshot(uav: pw.Multicopter) -> pw.Multicopter:
    other = vehicle_of()
    equip(other)
    other.restore(uav.snapshot())
    return other


def contents(sensor: Any) -> list[bytes]:
    return [np.asarray(array).tobytes() for array in (sensor.time, *vars(sensor.reading).values())]


def test_readings_are_those_of_a_fleet_of_one() -> None:
    uav, fleet = vehicle_of(), pw.Fleet("flightgoggles", 1, "float64", seed=5, threads=1)
    pairs = list(zip(equip(uav), equip(fleet), strict=True))
    for row, substeps in enumerate(CALLS):
        uav.step(command(row), substeps=substeps)
        fleet.step(command(row), substeps=substeps)
        for own, of_fleet in pairs:
            assert own.samples == of_fleet.samples
            assert np.isclose(own.time, of_fleet.time[0], rtol=0.0, atol=1e-9, equal_nan=True)
            for name, value in vars(own.reading).items():
                reading = getattr(of_fleet.reading, name)
                assert np.allclose(value, reading[0], rtol=1e-12, atol=1e-9, equal_nan=True)
                assert np.shape(value) == reading.shape[1:]
    uav.reset(position=[0.0, 0.0, 1.0])
    fleet.reset(position=[0.0, 0.0, 1.0])
    for own, of_fleet in pairs:
        assert math.isnan(own.time)
        assert np.isnan(of_fleet.time).all()
        assert own.samples == of_fleet.samples


def test_sensors_do_not_change_the_flight() -> None:
    alone, equipped = vehicle_of(), vehicle_of()
    equip(equipped)
    for row, substeps in enumerate(CALLS):
        alone.step(command(row), substeps=substeps)
        equipped.step(command(row), substeps=substeps)
    names = [*pw.MulticopterState.__dataclass_fields__, "gyroscope_bias"]
    for name in names:
        assert np.array_equal(getattr(alone, name), getattr(equipped, name))


def test_a_rollout_takes_the_samples_of_its_steps() -> None:
    stepped, flown = vehicle_of(), vehicle_of()
    sensors = [equip(stepped), equip(flown)]
    stepped.step(command(1), substeps=200)
    flown.rollout(command(1), steps=20, substeps=10)
    for one, other in zip(*sensors, strict=True):
        assert contents(one) == contents(other)


def test_a_reading_is_taken_once() -> None:
    uav = vehicle_of()
    ground = uav.attach(pw.RangeFinder(GROUND), 96.0, latency=2.0 * DT)
    assert ground.take() is None  # it is still to come
    arrivals = []
    for step in range(1, 31):
        uav.step(command(0))
        if ground.take() is not None:
            arrivals.append(step)
            assert ground.take() is None
    assert arrivals == [2, 12, 22]


@pytest.mark.parametrize(
    "copied",
    [through_a_snapshot, copy.deepcopy, lambda uav: uav.restore(uav.snapshot()) or uav],
    ids=["snapshot", "deepcopy", "restored"],
)
def test_a_copy_does_not_repeat_a_reading_that_was_taken(
    copied: Callable[[pw.Multicopter], pw.Multicopter],
) -> None:
    uav = vehicle_of()
    equip(uav)
    uav.step(command(0), substeps=100)
    before = uav.snapshot()
    assert uav.sensors["air"].take() is not None
    other = copied(uav)
    assert other.sensors["air"].take() is None
    assert other.sensors["range_finder"].take() is not None
    other.step(command(0), substeps=10)
    assert other.sensors["air"].take() is not None
    other.restore(before)
    assert other.sensors["air"].take() is not None  # it was not yet taken then


def test_a_reset_with_a_seed_lets_readings_of_the_same_step_be_taken() -> None:
    uav = vehicle_of()
    air = uav.attach(pw.Barometer(), 96.0)
    for _ in range(2):
        assert air.take() is not None
        uav.reset(seed=3)


@pytest.mark.parametrize("seed", [None, 9])
def test_a_reset_with_a_seed_restarts_the_sensors(seed: int | None) -> None:
    uav, fresh = vehicle_of(), vehicle_of(9)
    sensors = equip(uav)
    uav.step(command(0), substeps=100)
    uav.reset(seed=seed)
    expected = equip(fresh)
    for each in (uav, fresh):
        each.step(command(0), substeps=300)
    same = [contents(a) == contents(b) for a, b in zip(sensors, expected, strict=True)]
    assert all(same) == (seed is not None)


@pytest.mark.parametrize(
    "copied",
    [through_a_snapshot, copy.deepcopy, lambda uav: pickle.loads(pickle.dumps(uav))],
    ids=["snapshot", "deepcopy", "pickle"],
)
def test_a_copy_continues_with_the_same_readings(
    copied: Callable[[pw.Multicopter], pw.Multicopter],
) -> None:
    uav = vehicle_of()
    equip(uav)
    uav.step(command(0), substeps=100)
    other = copied(uav)
    assert list(other.sensors) == ["range_finder", "gnss", "air"]
    for each in (uav, other):
        each.step(command(1), substeps=250)
    for name, sensor in uav.sensors.items():
        assert contents(sensor) == contents(other.sensors[name])


def test_moving_items_are_seen_at_the_time_of_the_vehicle() -> None:
    def sinking(time: float) -> Any:
        return (0.0, 0.0, -2.0 - time), (1.0, 0.0, 0.0, 0.0)

    sensor = pw.RangeFinder(
        Scene([Box(name="lift", size=(50.0, 50.0, 1.0), motion=sinking)]), variance=0.0
    )
    uav = vehicle_of()
    uav.step(command(0), dt=1 / 480, substeps=240)
    ground = uav.attach(sensor, 96.0)
    for _ in range(3):
        seen = sensor.measure(uav.position, uav.attitude, time=uav.time)
        assert ground.time == uav.time
        assert ground.reading.range == pytest.approx(seen.range, rel=1e-12)
        uav.step(command(0), substeps=10)


def test_a_snapshot_of_another_dt_is_refused() -> None:
    uav, other = vehicle_of(), vehicle_of()
    uav.attach(pw.Barometer(), 50.0)
    other.attach(pw.Barometer(), 50.0, dt=1 / 480)
    before = uav.snapshot()
    with pytest.raises(ValueError, match=r"latency, dt, seed and the shapes .* must agree"):
        uav.restore(other.snapshot())
    assert uav.snapshot() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda uav: uav.step(command(0)),
        lambda uav: uav.rollout(command(0), steps=2),
        lambda uav: uav.set_state(position=[0.0, 0.0, 1.0]),
        lambda uav: uav.reset(),
        lambda uav: uav.restore(uav.snapshot()),
        lambda uav: setattr(uav, "wind", [1.0, 0.0, 0.0]),
        lambda uav: setattr(uav, "rotor_effectiveness", [0.0] * 4),
        lambda uav: setattr(uav, "outer_loops", uav.outer_loops),
        lambda uav: setattr(uav, "battery_voltage", 12.0),
        lambda uav: setattr(uav, "state_of_charge", 0.5),
        lambda uav: uav.set_external_wrench([1.0, 0.0, 0.0]),
        lambda uav: uav.attach(pw.Barometer(), 50.0),
        lambda uav: uav.detach("barometer"),
    ],
)
def test_a_sensor_must_not_change_its_vehicle(change: Callable[[pw.Multicopter], Any]) -> None:
    uav, plain = vehicle_of(), vehicle_of()
    sensor = ChangingSensor(lambda: change(uav))
    uav.attach(sensor, 96.0)
    sensor.is_active = True
    uav.step(command(0), substeps=50)
    uav.rollout(command(0), steps=50)
    plain.step(command(0), substeps=100)
    assert sensor.refused == 10
    assert list(uav.sensors) == ["barometer"]
    uav.detach("barometer")
    assert uav.snapshot() == plain.snapshot()


def test_a_sensor_is_detached() -> None:
    uav = vehicle_of()
    ground, *_ = equip(uav)
    uav.detach("range_finder")
    uav.step(command(0), substeps=200)
    assert ground.samples == 1
    assert list(uav.sensors) == ["gnss", "air"]
    with pytest.raises(ValueError, match="handle: expected a sensor of this vehicle"):
        uav.detach(ground)
    for name in list(uav.sensors):
        uav.detach(name)
    uav.step(command(0), dt=0.002)  # free again


def test_a_rejected_sensor_leaves_the_step_of_the_sensors() -> None:
    uav = vehicle_of()
    with pytest.raises(TypeError, match="sensor: expected a sensor"):
        uav.attach(None, 20.0, dt=1 / 480)  # type: ignore[arg-type]
    assert pickle.dumps(uav) == pickle.dumps(vehicle_of())


def test_invalid_arguments_change_nothing() -> None:
    uav = vehicle_of()
    sensor = pw.RangeFinder(GROUND)
    with pytest.raises(ValueError, match="rate: expected at most one sample per step, 500 Hz"):
        uav.attach(sensor, 501.0, dt=0.002)
    with pytest.raises(TypeError, match="sensor: expected a sensor"):
        uav.attach(3, 50.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dt = 1e-300: expected a finite value >= 1e-09 s"):
        uav.attach(sensor, 50.0, dt=1e-300)
    plain = uav.snapshot()
    uav.attach(sensor, 50.0)
    with pytest.raises(ValueError, match=r"dt: expected 0.00104167 s.*detach them first"):
        uav.attach(sensor, 50.0, dt=0.002)
    before = uav.snapshot()
    with pytest.raises(ValueError, match=r"dt: expected 0.00104166667 s, the dt of attach"):
        uav.step(command(0), dt=0.002)
    with pytest.raises(ValueError, match="snapshot of a vehicle with the sensors range_finder"):
        uav.restore(plain)
    with pytest.raises(ValueError, match="that of a vehicle without sensors"):
        vehicle_of().restore(before)
    assert uav.snapshot() == before
    assert list(uav.sensors) == ["range_finder"]


class Failing(pw.RangeFinder):
    """Fails after a number of samples."""

    left = 2

    def _read(self, *arguments: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("no reading")
        return super()._read(*arguments)


def test_an_error_of_a_sensor_ends_the_call_at_its_sample() -> None:
    uav = vehicle_of()
    uav.attach(Failing(GROUND), 96.0)
    other = uav.attach(pw.Barometer(), 96.0)
    with pytest.raises(RuntimeError, match="no reading"):
        uav.step(command(0), substeps=100)
    assert uav.steps == 20
    assert other.samples == 3
