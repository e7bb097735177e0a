"""Sensors attached to a fleet: sample times, latency, resets, snapshots, reproducibility."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray
from propwash.world import Box, Plane, Scene

DT = 1 / 960
HOVER = pw.RateThrust([0.0, 0.0, 0.5], 9.81)
WORLD = Scene(
    [
        Plane(name="ground", position=(0.0, 0.0, -2.0)),
        Box(name="box", position=(3.0, 0, 0), size=(1, 1, 1)),
    ]
)
STEREO = pw.StereoError(dropout_rate=0.2)
MARKERS = {"a": [5.0, 2.0, 0.0], "b": [5.0, 0.0, 0.0], "c": [4.0, -1.5, 1.0]}


def fleet_of(n: int = 4, **options: Any) -> pw.Fleet:
    return pw.Fleet("flightgoggles", n, seed=options.pop("seed", 5), threads=1, **options)


def equip(fleet: pw.Fleet) -> list[pw.FleetSensor[Any]]:
    """One sensor of each type, at rates that do not divide the step rate."""
    return [
        fleet.attach(pw.RangeFinder(WORLD), 50.0, latency=0.03),
        fleet.attach(pw.Beacons(WORLD, markers=MARKERS, deviation=0.5), 60.0),
        fleet.attach(pw.Gnss(bias_time=3.0), 7.0, latency=0.2),
        fleet.attach(pw.Barometer(), 333.3, latency=0.001),
        fleet.attach(pw.Magnetometer(bias=1e-6), 75.0),
        fleet.attach(pw.CollisionSensor(WORLD), 100.0),
        fleet.attach(pw.DepthCamera(WORLD, pw.Camera(4, 3), deviation=0.01, stereo=STEREO), 11.0),
    ]


def contents(handle: pw.FleetSensor[Any]) -> dict[str, bytes]:
    arrays = {"time": handle.time, **vars(handle.reading)}
    return {name: array.tobytes() for name, array in arrays.items()}


def commands(rows: int, n: int) -> pw.RateThrust:
    rng = np.random.default_rng(2)
    return pw.RateThrust(rng.normal(size=(rows, n, 3)), rng.uniform(8, 11, (rows, n)))


@pytest.mark.parametrize("rate", [Fraction(50), Fraction(7), Fraction(3333, 10), Fraction(960)])
def test_sensors_sample_at_the_first_step_at_or_after_the_sample_time(rate: Fraction) -> None:
    fleet = fleet_of(2)
    fleet.step(HOVER, substeps=13)  # sensors may be attached at any time
    handle = fleet.attach(pw.Barometer(), float(rate))
    due = {13 + ceil(Fraction(k) * 960 / rate): k for k in range(400)}
    last = 13
    for step in range(13, 400):
        if step in due:
            last = step
            assert handle.samples == due[step] + 1
        np.testing.assert_allclose(handle.time, last * DT, rtol=1e-12)
        fleet.step(HOVER)


def test_grouping_of_steps_does_not_change_readings_or_flight() -> None:
    plain, whole, parts = (fleet_of(floor=-0.3) for _ in range(3))
    whole_sensors, part_sensors = equip(whole), equip(parts)
    low = pw.RateThrust([0.0, 0.0, 0.5], 7.0)
    plain.step(low, substeps=701)
    whole.step(low, substeps=701)
    for substeps in (1, 2, 19, 20, 300, 359):
        parts.step(low, substeps=substeps)
    for a, b in zip(whole_sensors, part_sensors, strict=True):
        assert contents(a) == contents(b)
    assert plain.contact.all()
    for fleet in (plain, whole):  # only the first steps are in contact with the floor
        fleet.step(pw.RateThrust([0.0, 0.0, 0.5], 14.0), substeps=200)
    assert plain.contact.all()
    assert (plain.position[:, 2] > -0.25).all()
    for name in ("position", "attitude", "body_rates", "rotor_speeds", "gyroscope_bias", "contact"):
        assert getattr(whole, name).tobytes() == getattr(plain, name).tobytes(), name
    assert whole.imu.angular_rate.tobytes() == plain.imu.angular_rate.tobytes()
    for handle in whole_sensors:
        whole.detach(handle)
    whole.step(HOVER)
    plain.step(HOVER)
    assert whole.snapshot() == plain.snapshot()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_readings_of_a_fleet_in_parts_are_bitwise_equal(dtype: str) -> None:
    whole = fleet_of(9, dtype=dtype, first_id=100)
    parts = [fleet_of(n, dtype=dtype, first_id=100 + first) for n, first in ((4, 0), (5, 4))]
    start = np.random.default_rng(3).normal(size=(9, 3)) * 0.3
    for fleet, rows in zip((whole, *parts), (slice(0, 9), slice(0, 4), slice(4, 9)), strict=True):
        fleet.reset(position=start[rows])
    handles = [equip(fleet) for fleet in (whole, *parts)]
    for fleet in (whole, *parts):
        fleet.step(HOVER, substeps=250)
    for combined, first, second in zip(*handles, strict=True):
        for name, array in vars(combined.reading).items():
            both = (vars(handle.reading)[name] for handle in (first, second))
            assert np.array_equal(array, np.concatenate(list(both)), equal_nan=True), name


def test_readings_arrive_after_the_latency_with_the_sampled_state() -> None:
    fleet = fleet_of(3, dtype="float64")
    fleet.reset(position=[[0.0, 0.0, z] for z in (0.0, 1.0, 2.0)])
    exact = pw.RangeFinder(WORLD, variance=0.0)
    handle = fleet.attach(exact, 50.0, latency=0.025)  # 24 steps
    delay = 24
    history = []
    received = []
    for step in range(200):
        history.append(exact.measure(fleet.position, fleet.attitude).range)
        received.append((handle.time, handle.reading.range))
        fleet.step(HOVER)
        sampled = [ceil(k * 19.2) for k in range(20) if ceil(k * 19.2) + delay <= step]
        if not sampled:
            assert np.isnan(received[step][0]).all()
            assert np.isnan(received[step][1]).all()
            continue
        np.testing.assert_allclose(received[step][0], sampled[-1] * DT, rtol=1e-12)
        assert np.array_equal(received[step][1], history[sampled[-1]])


def test_noise_of_attached_sensors_depends_on_both_seeds() -> None:
    readings = []
    for seed, sensor_seed in ((5, 0), (5, 0), (6, 0), (5, 1)):
        fleet = fleet_of(3, seed=seed, noise=False)
        fleet.reset()
        first = fleet.attach(pw.RangeFinder(WORLD, seed=sensor_seed), 50.0)
        second = fleet.attach(pw.RangeFinder(WORLD, seed=sensor_seed), 50.0)
        assert not np.any(first.reading.range == second.reading.range)
        readings.append(first.reading.range)
    assert np.array_equal(readings[0], readings[1])
    assert not np.any(readings[0] == readings[2])
    assert not np.any(readings[0] == readings[3])


def test_a_separate_sensor_equals_that_of_a_fleet_with_seed_0() -> None:
    sensor = pw.RangeFinder(WORLD, [[0, 0, -1], [0, 0, -2], [1, 0, 0]], seed=9)
    fleet = fleet_of(seed=0)
    handle = fleet.attach(sensor, 100.0)
    for _ in range(5):
        alone = sensor.measure(fleet.position, fleet.attitude)
        assert alone.range.tobytes() == handle.reading.range.tobytes()
        fleet.step(HOVER, substeps=ceil(9.6 * handle.samples) - fleet.steps)


def test_reset_clears_only_the_readings_of_reset_vehicles() -> None:
    fleet, other = fleet_of(), fleet_of()
    handles, others = equip(fleet), equip(other)
    for each in (fleet, other):
        each.step(HOVER, substeps=300)
    mask = np.array([True, False, False, True])
    fleet.reset(mask=mask)
    for handle, unchanged in zip(handles, others, strict=True):
        assert np.isnan(handle.time[mask]).all()
        assert np.array_equal(handle.time[~mask], unchanged.time[~mask])
        for name, array in vars(handle.reading).items():
            is_empty = np.isnan(array[mask]) if array.dtype.kind == "f" else array[mask] <= 0
            assert is_empty.all()
            expected = vars(unchanged.reading)[name][~mask]
            assert np.array_equal(array[~mask], expected, equal_nan=True)
    for each in (fleet, other):
        each.step(HOVER, substeps=400)
    for handle, unchanged in zip(handles, others, strict=True):
        assert np.isfinite(handle.time).all()
        # readings pending at the reset never arrive
        assert (handle.time[mask] <= 400 * DT + 1e-12).all()
        for name, array in vars(handle.reading).items():
            expected = vars(unchanged.reading)[name][~mask]
            assert np.array_equal(array[~mask], expected, equal_nan=True)


def test_reset_draws_new_biases_and_a_seed_restarts_the_noise() -> None:
    fleet = fleet_of(noise=False)
    constant = pw.Gnss((0, 0), (0, 0), bias=(3.0, 3.0), bias_time=np.inf)
    handle = fleet.attach(constant, 960.0)
    before = handle.reading.position - fleet.position
    fleet.step(HOVER, substeps=5)
    np.testing.assert_allclose(handle.reading.position - fleet.position, before, atol=1e-5)
    fleet.reset(mask=np.array([True, True, False, False]))
    fleet.step(HOVER, substeps=5)
    after = handle.reading.position - fleet.position
    assert np.all(np.abs(after - before)[:2] > 1e-4)
    np.testing.assert_allclose(after[2:], before[2:], atol=1e-5)

    used, fresh = fleet_of(seed=5), fleet_of(seed=8)
    of_used, of_fresh = equip(used), equip(fresh)
    used.step(HOVER, substeps=123)
    used.reset(seed=8)
    fresh.reset(seed=8)
    for each in (used, fresh):
        each.step(HOVER, substeps=300)
    assert [contents(handle) for handle in of_used] == [contents(handle) for handle in of_fresh]


@pytest.mark.parametrize("copy", ["snapshot", "pickle"])
def test_snapshots_contain_delayed_readings(copy: str) -> None:
    fleet, other = fleet_of(), fleet_of(seed=77)
    handles, others = equip(fleet), equip(other)
    fleet.step(HOVER, substeps=217)
    fleet.reset(mask=np.array([False, True, False, False]))
    fleet.step(HOVER, substeps=3)
    snapshot = fleet.snapshot()
    if copy == "snapshot":
        other.step(HOVER, substeps=50)
        other.restore(snapshot)
    else:
        other = pickle.loads(pickle.dumps(fleet))
        others = list(other.sensors.values())
        assert list(other.sensors) == list(fleet.sensors)
    assert other.snapshot() == snapshot
    for _ in range(40):  # delayed readings arrive during these steps
        for a, b in zip(handles, others, strict=True):
            assert contents(a) == contents(b)
        fleet.step(HOVER, substeps=7)
        other.step(HOVER, substeps=7)
    assert other.snapshot() == fleet.snapshot()
    fleet.restore(snapshot)
    assert fleet.snapshot() == snapshot


def test_snapshots_of_other_sensors_are_refused() -> None:
    bare, fleet = fleet_of(), fleet_of()
    equip(fleet)
    plain, equipped = bare.snapshot(), fleet.snapshot()
    with pytest.raises(ValueError, match="without sensors, got one with sensors"):
        bare.restore(equipped)
    bare.attach(pw.RangeFinder(WORLD), 50.0, latency=0.03)
    snapshot_before = bare.snapshot()
    for snapshot in (
        plain,
        equipped,
        snapshot_before[:-5],
        snapshot_before[:20],
        snapshot_before + b"x",
        b"",
        b"pwsense1",
    ):
        with pytest.raises(ValueError, match="snapshot: expected the snapshot of a fleet with"):
            bare.restore(snapshot)
    different: list[Any] = [
        lambda f: f.attach(pw.RangeFinder(WORLD), 51.0, latency=0.03),
        lambda f: f.attach(pw.RangeFinder(WORLD), 50.0),
        lambda f: f.attach(pw.RangeFinder(WORLD, [[0, 0, 1], [0, 0, -1]]), 50.0, latency=0.03),
        lambda f: f.attach(pw.RangeFinder(WORLD), 50.0, latency=0.03, name="lidar"),
    ]
    for attach in different:
        fleet = fleet_of()
        attach(fleet)
        with pytest.raises(ValueError, match="must agree"):
            bare.restore(fleet.snapshot())
    assert bare.snapshot() == snapshot_before
    larger = fleet_of(5)
    larger.attach(pw.RangeFinder(WORLD), 50.0, latency=0.03)
    with pytest.raises(ValueError, match="snapshot"):
        bare.restore(larger.snapshot())
    assert bare.snapshot() == snapshot_before


def test_a_fleet_uses_the_plain_core_after_detaching_its_sensors() -> None:
    fleet, plain = fleet_of(), fleet_of()
    bound = type(fleet._core)
    handle = fleet.attach(pw.Barometer(), 50.0)
    fleet.step(HOVER, substeps=30)
    plain.step(HOVER, substeps=30)
    last = contents(handle)
    fleet.detach(handle)
    assert type(fleet._core) is bound
    assert fleet.snapshot() == plain.snapshot()
    assert dict(fleet.sensors) == {}
    fleet.step(HOVER, substeps=30)
    assert contents(handle) == last


def test_rollouts_record_the_readings_of_steps() -> None:
    n, rows = 3, 25
    flown, stepped = (fleet_of(n, floor=-0.2, noise=False) for _ in range(2))
    equip(flown), equip(stepped)
    command = commands(rows, n)
    all_fields = list(pw.FleetTrajectory.__dataclass_fields__)
    log = flown.rollout(command, substeps=31, record=all_fields)
    assert len(log) == rows
    assert list(log.readings) == list(stepped.sensors)
    for t in range(rows):
        stepped.step(pw.RateThrust(command.rates[t], command.thrust[t]), substeps=31)
        for name, handle in stepped.sensors.items():
            record = log.readings[name]
            assert record.time[t].tobytes() == handle.time.tobytes()
            for field, array in vars(handle.reading).items():
                assert vars(record.reading)[field][t].tobytes() == array.tobytes(), (name, field)
        for name in set(all_fields) - {"readings", "specific_force", "angular_rate"}:
            assert getattr(log, name)[t].tobytes() == getattr(stepped, name).tobytes(), name
        assert log.angular_rate is not None
        assert log.angular_rate[t].tobytes() == stepped.imu.angular_rate.tobytes()
    assert flown.snapshot() == stepped.snapshot()


def test_sensors_do_not_change_rollouts() -> None:
    n = 3
    cases: list[tuple[Any, dict[str, Any]]] = [
        (commands(5, n), {"substeps": 9}),
        (commands(5, 1), {}),
        (pw.RateThrust(np.zeros((5, n, 3)), 9.0), {"steps": 5}),
        (pw.RateThrust([0.0, 0.1, 0.0], np.full((5, 1), 9.0)), {}),
        (HOVER, {"steps": 4, "substeps": 30}),
        (pw.RotorSpeeds(np.full((5, n, 4), 1100.0)), {}),
        (pw.RotorSpeeds(np.full(4, 1100.0)), {"steps": 3}),
        (pw.RotorSpeeds(np.zeros((0, n, 4))), {}),
        (HOVER, {"steps": 0}),
    ]
    equipped, plain = fleet_of(n), fleet_of(n)
    equipped.attach(pw.Barometer(), 100.0)
    for command, options in cases:
        logs = [fleet.rollout(command, **options) for fleet in (equipped, plain)]
        assert len(logs[0]) == len(logs[1])
        for name in ("time", "position", "rotor_speeds"):
            assert getattr(logs[0], name).tobytes() == getattr(logs[1], name).tobytes()
        assert list(logs[0].readings) == ["barometer"]
        assert dict(logs[1].readings) == {}
    assert equipped.rollout(HOVER, steps=2, record=["position"]).readings == {}


def test_diverged_vehicles_read_nan_and_others_are_unaffected() -> None:
    fleet, other = fleet_of(), fleet_of()
    handles, others = equip(fleet), equip(other)
    rates = np.zeros((4, 3), dtype=np.float32)
    rates[2] = 3e38  # drives the state out of the range of float32
    for _ in range(3):
        fleet.step(pw.RateThrust(rates, 9.81), substeps=200)
        other.step(pw.RateThrust(np.zeros((4, 3)), 9.81), substeps=200)
    lost = fleet.diverged
    assert lost.tolist() == [False, False, True, False]
    for handle, valid in zip(handles, others, strict=True):
        for name, array in vars(handle.reading).items():
            is_empty = np.isnan(array[2]) if array.dtype.kind == "f" else array[2] <= 0
            assert np.all(is_empty), (handle, name)
            expected = vars(valid.reading)[name]
            assert np.array_equal(array[~lost], expected[~lost], equal_nan=True)
    fleet.reset(mask=lost)
    fleet.step(HOVER, substeps=400)
    assert np.isfinite(handles[0].reading.range).all()


def test_attaching_and_detaching_by_name() -> None:
    fleet = fleet_of()
    first = fleet.attach(pw.Barometer(), 50.0)
    second = fleet.attach(pw.Barometer(), 50.0)
    third = fleet.attach(pw.Barometer(), 50.0, name="nose")
    assert list(fleet.sensors) == ["barometer", "barometer_2", "nose"]
    assert (first.rate, first.latency, third.name) == (50.0, 0.0, "nose")
    fleet.detach("barometer")
    again = fleet.attach(pw.Barometer(), 50.0)
    assert list(fleet.sensors) == ["barometer_2", "nose", "barometer"]
    assert not np.any(again.reading.pressure == second.reading.pressure)
    with pytest.raises(ValueError, match="handle: expected a sensor of this fleet"):
        fleet.detach(first)
    with pytest.raises(ValueError, match="handle: expected a sensor of this fleet"):
        fleet_of().detach(second)
    with pytest.raises(ValueError, match="read-only"):
        second.reading.pressure[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("range", 50.0), "sensor: expected a sensor"),
        ((pw.Barometer(), 0.0), "rate: expected a finite number > 0"),
        ((pw.Barometer(), 961.0), "rate: expected at most one sample per step"),
        ((pw.Barometer(), np.nan), "rate: expected a finite number"),
        ((pw.Barometer(), 50.0, -0.1), "latency: expected a finite number >= 0"),
        ((pw.Beacons(WORLD, pw.Camera(position=np.zeros((3, 3)))), 50.0), "poses of 3 bodies"),
    ],
)
def test_invalid_attachments_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    fleet = fleet_of()
    before = fleet.snapshot()
    with pytest.raises((ValueError, TypeError), match=message):
        fleet.attach(*arguments)
    assert dict(fleet.sensors) == {}
    assert fleet.snapshot() == before
    fleet.attach(pw.Barometer(), 50.0)
    with pytest.raises(ValueError, match="name: expected a name that is not in use"):
        fleet.attach(pw.Barometer(), 50.0, name="barometer")


def test_a_gimbal_rotates_in_flight() -> None:
    fleet = fleet_of(2, noise=False)
    beacons = pw.Beacons(WORLD, pw.Camera(64, 48), markers={"a": [-9.0, 0.0, 0.0]})
    handle = fleet.attach(beacons, 960.0)
    assert not handle.reading.visible.any()
    rotations: NDArray[np.float64] = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]])
    beacons.camera = beacons.camera.mounted(attitude=rotations)
    fleet.step(HOVER)
    assert handle.reading.visible[:, 0].tolist() == [True, False]


def test_python_threads_can_share_a_fleet_with_sensors() -> None:
    fleet, alone = fleet_of(), fleet_of()
    handles, others = equip(fleet), equip(alone)

    def fly(_: int) -> None:
        fleet.step(HOVER, substeps=20)
        assert len(handles[0].reading.range) == 4

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fly, range(20)))
    alone.step(HOVER, substeps=400)
    assert [contents(handle) for handle in handles] == [contents(handle) for handle in others]
