"""Sensors of a fleet in unusual cases: changes in flight, extreme rates, corrupt snapshots."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import propwash as pw
import pytest
from helpers import ChangingSensor
from propwash.world import Plane, Scene

WORLD = Scene([Plane(name="ground", position=(0.0, 0.0, -2.0))])
HOVER = pw.RateThrust([0.0, 0.0, 0.5], 9.81)


def fleet_of(n: int = 4) -> pw.Fleet:
    return pw.Fleet("flightgoggles", n, seed=5, threads=1)


@pytest.mark.parametrize("latency", [1e15, 1e17, 1e300])
def test_a_reading_with_very_long_latency_never_arrives(latency: float) -> None:
    fleet = fleet_of()
    handle = fleet.attach(pw.RangeFinder(WORLD), 50.0, latency=latency)
    fleet.step(HOVER, substeps=100)
    assert np.isnan(handle.time).all()
    snapshot = fleet.snapshot()
    fleet.restore(snapshot)
    assert fleet.snapshot() == snapshot


@pytest.mark.parametrize("rate", [1e-6, 1e-16, 1e-300])
def test_a_very_low_rate_takes_only_the_first_sample(rate: float) -> None:
    fleet = fleet_of()
    handle = fleet.attach(pw.Barometer(), rate)
    fleet.step(HOVER, substeps=100)
    assert handle.samples == 1
    np.testing.assert_array_equal(handle.time, 0.0)


def test_resetting_a_sensor_keeps_the_noise_of_the_fleet() -> None:
    sensors = [pw.RangeFinder(WORLD), pw.RangeFinder(WORLD)]
    fleets = [fleet_of(), fleet_of()]
    handles = [fleet.attach(s, 50.0) for fleet, s in zip(fleets, sensors, strict=True)]
    sensors[0].reset(seed=9)
    sensors[0].measure([0, 0, 1], [1, 0, 0, 0])
    for fleet in fleets:
        fleet.step(HOVER, substeps=100)
    first, second = (handle.reading.range for handle in handles)
    np.testing.assert_array_equal(first, second)
    fleets[1].restore(fleets[0].snapshot())


@pytest.mark.parametrize("method", ["step", "rollout", "reset"])
def test_a_mounting_of_the_wrong_size_is_refused_before_the_step(method: str) -> None:
    fleet = fleet_of()
    beacons = pw.Beacons(WORLD, markers={"a": [5.0, 0.0, 0.0]})
    handle = fleet.attach(beacons, 60.0)
    fleet.step(HOVER, substeps=40)
    before = fleet.snapshot()
    camera = beacons.camera
    beacons.camera = camera.mounted(attitude=np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)))
    calls: dict[str, Callable[[], object]] = {
        "step": lambda: fleet.step(HOVER, substeps=96),
        "rollout": lambda: fleet.rollout(HOVER, substeps=96, steps=2),
        "reset": lambda: fleet.reset(seed=3),
    }
    with pytest.raises(ValueError, match="camera: expected poses of 3 bodies"):
        calls[method]()
    assert fleet.snapshot() == before
    beacons.camera = camera
    fleet.step(HOVER, substeps=24)
    assert handle.samples == 1 + 64 * 60 // 960


CORRUPT: list[tuple[tuple[Any, ...], Any]] = [
    (("first_id",), -1),
    (("first_id",), 2**40),
    (("contact",), "text"),
    (("states", 0, 0), 1.5),
    (("states", 0, 0), 2**63),
    (("states", 0, 1), 2**63),
    (("states", 0, 2), "a" * 96),
    (("states", 0, 2), np.full(12, np.nan).tobytes()),
    (("states", 0, 3), []),
    (("states", 0, 3, 0, 0), 2**63),
    (("states", 0, 3, 0, 1), "a" * 32),
    (("states", 0, 3, 0, 2, 0), "a" * 48),
    (("states", 0, 3, 0, 2), []),
    (("states", 0, 4), -2),
    (("states", 0, 4), "a"),
]


@pytest.mark.parametrize(("keys", "value"), CORRUPT)
def test_a_corrupt_snapshot_is_refused_and_nothing_changes(
    keys: tuple[Any, ...], value: object
) -> None:
    fleet = fleet_of()
    fleet.attach(pw.Gnss(), 50.0, latency=0.05)
    fleet.step(HOVER, substeps=100)
    snapshot = fleet.snapshot()
    content = msgspec.msgpack.decode(snapshot[8:])
    part = content
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    fleet.step(HOVER, substeps=100)
    before = fleet.snapshot()
    with pytest.raises(ValueError, match="truncated or modified"):
        fleet.restore(snapshot[:8] + msgspec.msgpack.encode(content))
    assert fleet.snapshot() == before
    fleet.step(HOVER, substeps=100)


def test_a_failing_sensor_stops_the_call_at_its_sample() -> None:
    class Failing(pw.Barometer):
        fails = False

        def _read(self, *arguments: Any) -> Any:
            if self.fails:
                raise OSError("no pressure")
            return super()._read(*arguments)

    fleet, plain = fleet_of(), fleet_of()
    sensor = Failing()
    handle = fleet.attach(sensor, 100.0)
    fleet.step(HOVER, substeps=25)
    sensor.fails = True
    for _ in range(2):  # the next call reads the same sample again
        with pytest.raises(OSError, match="no pressure"):
            fleet.step(HOVER, substeps=100)
    assert (fleet.steps, handle.samples) == (30, 3)
    sensor.fails = False
    fleet.step(HOVER, substeps=100)
    plain.step(HOVER, substeps=130)
    assert handle.samples == 4 + (130 - 30) * 100 // 960
    assert np.array_equal(fleet.position, plain.position)


@pytest.mark.parametrize(
    "change",
    [
        lambda fleet: fleet.attach(pw.Gnss(), 50.0),
        lambda fleet: fleet.step(HOVER, substeps=3),
        lambda fleet: fleet.set_parameters(mass=1.1),
        lambda fleet: fleet.set_rotor_effectiveness(np.zeros(4)),
        lambda fleet: fleet.reset(),
    ],
)
def test_a_sensor_must_not_change_its_fleet(change: Any) -> None:
    fleet, plain = fleet_of(), fleet_of()
    sensor = ChangingSensor(lambda: change(fleet))
    fleet.attach(sensor, 100.0)
    sensor.is_active = True
    fleet.step(HOVER, substeps=100)
    plain.step(HOVER, substeps=100)
    assert sensor.refused == 10
    assert len(fleet.sensors) == 1
    assert np.array_equal(fleet.position, plain.position)


def test_a_fleet_with_sensors_is_freed_with_its_last_reference() -> None:
    fleet = fleet_of()
    fleet.attach(pw.Gnss(), 50.0)
    fleet.step(HOVER, substeps=100)
    core = weakref.ref(fleet._core)
    del fleet
    assert core() is None
