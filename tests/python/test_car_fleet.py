"""A fleet of cars: each drives as the Car of its number, in every arrangement; bad input."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import refused
from numpy.typing import NDArray

Numbers = NDArray[Any]
DT = 1.0 / 960.0


def lively(n: int, rows: int | None = None, dtype: str = "float64") -> pw.SpeedYawRate:
    """A command of its own for each vehicle, and for each row; some beyond the car's range."""
    rng = np.random.default_rng(5)
    shape = n if rows is None else (rows, n)
    return pw.SpeedYawRate(
        rng.uniform(-1.0, 6.0, shape).astype(dtype), rng.uniform(-1.5, 1.5, shape).astype(dtype)
    )


def state(fleet: pw.CarFleet) -> dict[str, Numbers]:
    """All that can be read of a fleet."""
    return {
        "position": fleet.position,
        "heading": fleet.heading,
        "time": fleet.time,
        "diverged": fleet.diverged,
    }


def same_bits(a: dict[str, Numbers], b: dict[str, Numbers]) -> None:
    """Demands equal bits of all parts."""
    for name, values in a.items():
        assert values.dtype == b[name].dtype
        assert values.tobytes() == b[name].tobytes(), name


def rows(parts: dict[str, Numbers], which: Any) -> dict[str, Numbers]:
    """The rows of some vehicles."""
    return {name: np.ascontiguousarray(values[which]) for name, values in parts.items()}


@contextmanager
def unchanged(fleet: pw.CarFleet) -> Iterator[None]:
    """Demands that state and parameters stay, bit for bit."""
    before = fleet.snapshot(), {k: np.array(v) for k, v in fleet.parameters.items()}
    yield
    assert fleet.snapshot() == before[0]
    for name, values in fleet.parameters.items():
        assert np.array_equal(values, before[1][name]), name


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_each_drives_as_the_car_of_its_number(integrator: Any) -> None:
    n = 7
    fleet = pw.CarFleet("car", n, "float64", integrator, seed=3, first_id=40, threads=1)
    commands = lively(n, 20)
    log = fleet.rollout(commands, substeps=6)
    assert len(log) == 20
    for i in range(n):
        car = pw.Car("car", integrator, seed=3, id=40 + i)
        own = pw.SpeedYawRate(commands.speed[:, i], commands.yaw_rate[:, i])
        driven = car.rollout(own, DT, substeps=6)
        assert np.array_equal(log.position[:, i], np.stack([driven.x, driven.y], axis=1))
        assert np.array_equal(log.heading[:, i], driven.heading)
        assert np.allclose(log.time[:, i], driven.time, rtol=0, atol=1e-12)


def test_float32_follows_float64() -> None:
    n = 50
    fleets = [pw.CarFleet("car", n, dtype, seed=3) for dtype in ("float32", "float64")]
    for fleet in fleets:
        fleet.step(lively(n), substeps=960)
        assert fleet.position.dtype == fleet.heading.dtype == fleet.dtype
        assert fleet.time.dtype == np.float64
    # some 5 m, to which 960 steps are added: each rounds to half of 2**-21 m, at random
    assert np.abs(fleets[0].position - fleets[1].position).max() < 960 * 2.0**-22
    assert not np.array_equal(fleets[0].position, fleets[1].position)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halves_threads_and_substeps_change_no_bit(dtype: str) -> None:
    n, cut = 1003, 404
    command = lively(n, dtype=dtype)
    pool = pw.ThreadPool(2)
    fleets = [pw.CarFleet("car", n, dtype, seed=2, threads=t) for t in (1, 2, pool)]
    assert [fleet.threads for fleet in fleets] == [1, 2, 2]
    for fleet, each in zip(fleets, (24, 3, 8), strict=True):
        for _ in range(24 // each):
            fleet.step(command, substeps=each)
    whole = state(fleets[0])
    for other in fleets[1:]:
        same_bits(whole, state(other))
    for first, some in ((0, slice(0, cut)), (cut, slice(cut, n))):
        part = pw.CarFleet("car", len(range(n)[some]), dtype, seed=2, first_id=first, threads=pool)
        part.step(pw.SpeedYawRate(command.speed[some], command.yaw_rate[some]), substeps=24)
        same_bits(rows(whole, some), state(part))


def test_one_command_is_for_all_alike() -> None:
    n = 6
    fleets = [pw.CarFleet("car", n, seed=1) for _ in range(4)]
    fleets[0].step(pw.SpeedYawRate(2.0, 0.5), substeps=12)
    fleets[1].step(pw.SpeedYawRate(np.full(n, 2.0), 0.5), substeps=12)
    fleets[2].rollout(pw.SpeedYawRate(np.full((3, n), 2.0), np.full((3, 1), 0.5)), substeps=4)
    fleets[3].rollout(pw.SpeedYawRate(2.0, np.full(n, 0.5)), substeps=4, steps=3)
    for other in fleets[1:]:
        same_bits(state(fleets[0]), state(other))


def test_commands_of_a_fleet_are_not_for_a_car() -> None:
    car = pw.Car()
    before = car.snapshot()
    for command in (
        pw.SpeedYawRate(np.ones((2, 5)), 0.0),
        pw.SpeedYawRate(1.0, np.zeros((2, 5))),
    ):
        for act in (car.step, car.rollout):
            with pytest.raises(ValueError, match=r"command: expected.*\(2, 5\).*Fleet"):
                act(command)
    assert car.snapshot() == before


def test_reset_of_a_mask_touches_the_mask_alone() -> None:
    n = 9
    fleet = pw.CarFleet("car", n, "float64", seed=1)
    fleet.step(lively(n), substeps=20)
    before, mask = state(fleet), np.arange(n) % 3 == 0
    fleet.reset(position=[1.0, 2.0], heading=0.5, mask=mask)
    after = state(fleet)
    same_bits(rows(before, ~mask), rows(after, ~mask))
    assert np.all(after["position"][mask] == [1.0, 2.0])
    assert np.all(after["heading"][mask] == 0.5)
    assert np.all(after["time"][mask] == 0.0)
    fleet.reset(heading=[0.1, 0.2, 0.3], mask=mask)
    assert np.array_equal(fleet.heading[mask], [0.1, 0.2, 0.3])
    assert np.all(fleet.position[mask] == 0.0)
    time_before = fleet.time
    fleet.set_state(position=np.arange(18.0).reshape(n, 2))
    assert np.array_equal(fleet.position, np.arange(18.0).reshape(n, 2))
    assert np.array_equal(fleet.heading[mask], [0.1, 0.2, 0.3])
    assert np.array_equal(fleet.time, time_before)
    assert fleet.steps == 20


def test_noise_goes_on_over_a_reset_unless_a_seed_is_given() -> None:
    fleet = pw.CarFleet("car", 4, seed=1)

    def episode() -> bytes:
        fleet.step(pw.SpeedYawRate(1.0, 0.2), substeps=10)
        return fleet.position.tobytes()

    first = episode()
    fleet.reset()
    assert episode() != first
    fleet.reset(seed=1)
    assert (fleet.steps, fleet.seed) == (0, 1)
    assert episode() == first
    fleet.reset(seed=2)
    assert episode() != first


def test_snapshots_and_copies_continue_bit_for_bit() -> None:
    n = 8
    fleet = pw.CarFleet("car", n, seed=6, first_id=3, threads=2)
    fleet.parameters["speed_max"] = np.linspace(1.0, 5.0, n)
    fleet.step(lively(n), substeps=7)
    fleet.reset(mask=np.arange(n) < 3)
    fleet.step(lively(n), substeps=5)
    snapshot = fleet.snapshot()
    others = [copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))]
    fleet.step(lively(n), substeps=9)
    expected = state(fleet)
    fleet.restore(snapshot)
    for each in (fleet, *others):
        assert each.snapshot() == snapshot
        assert repr(each) == repr(fleet) or each is not fleet
        each.step(lively(n), substeps=9)
        same_bits(expected, state(each))
    assert repr(fleet).startswith("CarFleet('car', 8, dtype='float32'")


def test_each_drives_within_its_own_parameters() -> None:
    n = 5
    fleet = pw.CarFleet("car", n, "float64", seed=2)
    assert fleet.parameters.names() == ["speed_min", "speed_max", "yaw_rate_limit", "process_noise"]
    most, limit = np.linspace(1.0, 3.0, n), np.linspace(0.2, 1.0, n)
    noise = np.linspace(0.0, 0.01, 2 * n).reshape(n, 2)
    fleet.parameters.update(speed_max=most, process_noise=noise)
    fleet.parameters["yaw_rate_limit"] = limit
    fleet.step(pw.SpeedYawRate(4.0, -2.0), substeps=96)
    for i in range(n):
        own = fleet.vehicle.replace(
            speed_max=most[i], yaw_rate_limit=limit[i], process_noise=tuple(noise[i])
        )
        car = pw.Car(own, seed=2, id=i)
        car.step(pw.SpeedYawRate(4.0, -2.0), DT, substeps=96)
        assert (*fleet.position[i], fleet.heading[i]) == (
            car.state.x,
            car.state.y,
            car.state.heading,
        )
    fleet.parameters["speed_max"] *= 2.0
    assert np.array_equal(fleet.parameters["speed_max"], 2.0 * most)
    assert np.array_equal(fleet.parameters["process_noise"], noise)
    assert fleet.bytes_per_vehicle < 450.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("speed_max", [5.0, 5.0, -1.0, 5.0, -1.0], r"vehicle 2.*speed_max = -1"),
        ("speed_max", math.inf, r"vehicle 0.*speed_max = inf"),
        ("yaw_rate_limit", [1.0, 0.0, 1.0, 1.0, 1.0], r"vehicle 1.*yaw_rate_limit = 0"),
        ("process_noise", [0.0, math.nan], r"vehicle 0.*process_noise\[1\] = nan"),
        ("process_noise", np.ones((5, 3)), r"process_noise: expected.*\(5, 2\).*\(5, 3\)"),
        ("speed_max", "fast", r"speed_max: expected.*'fast'"),
        ("speed_mx", 1.0, r"speed_mx.*did you mean 'speed_max'"),
    ],
)
def test_parameters_that_cannot_be_are_refused(name: str, value: Any, message: str) -> None:
    fleet = pw.CarFleet("car", 5)
    fleet.step(lively(5), substeps=3)
    with unchanged(fleet), pytest.raises((ValueError, TypeError), match=message):
        fleet.parameters.update({"speed_min": -0.5, name: value})


def test_bad_commands_are_refused() -> None:
    n = 4
    fleet = pw.CarFleet("car", n)
    fleet.step(lively(n), substeps=3)
    bad: list[Any] = [pw.RateThrust([0.0, 0.0, 0.0], 1.0), None, (1.0, 0.0), "ahead"]
    for value in bad:
        for act in (fleet.step, fleet.rollout):
            with unchanged(fleet), refused("command", value, TypeError):
                act(value)
    for command, text in [
        (pw.SpeedYawRate(np.ones(n + 1), 0.0), r"command: expected speed.*\(4,\).*got \(5,\)"),
        (pw.SpeedYawRate(1.0, np.zeros(3)), r"command: expected yaw_rate.*\(4,\).*got \(3,\)"),
        (pw.SpeedYawRate(np.ones((2, n)), 0.0), r"command: expected one command for step.*2 rows"),
    ]:
        with unchanged(fleet), pytest.raises(ValueError, match=text):
            fleet.step(command)
    with unchanged(fleet), pytest.raises(ValueError, match=r"command: expected speed.*\(2, 3\)"):
        fleet.rollout(pw.SpeedYawRate(np.ones((2, 3)), 0.0))
    with unchanged(fleet), pytest.raises(ValueError, match=r"steps: expected.*None"):
        fleet.rollout(pw.SpeedYawRate(1.0, 0.0))
    with pytest.raises(
        ValueError, match=r"yaw_rate.*\(2, 5\).*got \(2, 4\)|yaw_rate.*shape \(2, 5\)"
    ):
        pw.SpeedYawRate(np.ones((2, 5)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"speed: expected.*finite"):
        pw.SpeedYawRate(np.array([[1.0, math.nan]]), 0.0)
    with unchanged(fleet), pytest.raises(ValueError, match="float32"):
        fleet.step(pw.SpeedYawRate(np.array([1.0, 1e300, 1.0, 1.0]), 0.0))
    for count in (0, -1, 1.5, None, "2", 2**40):
        with unchanged(fleet), refused("substeps", count):
            fleet.step(lively(n), substeps=count)  # type: ignore[arg-type]
        with unchanged(fleet), refused("substeps", count):
            fleet.rollout(lively(n, 2), substeps=count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("n", value) for value in (0, -1, 1.5, "8", None)),
        *(("dtype", value) for value in ("float16", None, int)),
        *(("integrator", value) for value in ("symplectic_euler", "RK4", None)),
        *(("dt", value) for value in (0.0, -0.1, math.nan, math.inf, "1", None)),
        *(("seed", value) for value in (-1, 1.5, 2**64, None)),
        *(("first_id", value) for value in (-1, 2**32, None)),
        *(("threads", value) for value in (-1, 1.5, "2", None)),
        *(("noise", value) for value in ("yes", None)),
        *(("vehicle", value) for value in (5, None, b"car")),
    ],
)
def test_fleets_that_cannot_be_are_refused(argument: str, value: Any) -> None:
    with refused(argument, value):
        pw.CarFleet(**{"vehicle": "car", "n": 2, "threads": 1, argument: value})


def test_a_multicopter_is_no_car() -> None:
    with pytest.raises(pw.ParameterError, match="expected a car, this is a multicopter"):
        pw.CarFleet("flightgoggles", 2)


def test_bad_parts_masks_and_snapshots_are_refused() -> None:
    n = 4
    fleet = pw.CarFleet("car", n)
    fleet.step(lively(n), substeps=3)
    parts: list[tuple[str, Any]] = [
        *(("position", v) for v in ([1.0], [1.0, math.nan], np.zeros((3, 2)), "here", 1.0)),
        *(("heading", v) for v in ([0.1, 0.2], math.inf, "north", np.zeros((4, 1)))),
        *(("mask", v) for v in (np.ones(3, dtype=bool), np.ones(n), True)),
    ]
    for name, value in parts:
        for act in (fleet.reset, fleet.set_state):
            with unchanged(fleet), refused(name, value):
                act(**{name: value})
    position = np.zeros((n, 2))
    position[2, 1] = math.nan
    with unchanged(fleet), pytest.raises(ValueError, match=r"position.*for vehicle 2"):
        fleet.reset(position=position)
    with unchanged(fleet), pytest.raises(ValueError, match=r"seed: expected None.*mask"):
        fleet.reset(seed=3, mask=np.ones(n, dtype=bool))
    with unchanged(fleet), refused("snapshot", 3, TypeError):
        fleet.restore(3)  # type: ignore[arg-type]
    good = fleet.snapshot()
    for other in (
        pw.CarFleet("car", n + 1).snapshot(),
        pw.CarFleet("car", n, "float64").snapshot(),
        pw.CarFleet("car", n, dt=0.01).snapshot(),
        pw.CarFleet("car", n, "float32", "euler").snapshot(),
        pw.Fleet("flightgoggles", n).snapshot(),
        b"",
        good[:-1],
        good + b"\0",
    ):
        with unchanged(fleet), pytest.raises(ValueError, match="snapshot: expected"):
            fleet.restore(other)


def test_one_that_diverges_leaves_its_neighbours_alone() -> None:
    n, bad = 9, 4
    fleet, calm = (pw.CarFleet("car", n, seed=1) for _ in range(2))
    mask = np.arange(n) == bad
    # no car within the ranges diverges: its x is put there through a snapshot
    snapshot, record = fleet.snapshot(), 8 + 3 * 4
    at = len(snapshot) - (n - bad) * record + 8
    fleet.restore(snapshot[:at] + np.float32(np.inf).tobytes() + snapshot[at + 4 :])
    speed = np.full(n, 2.0, dtype=np.float32)
    for each in (fleet, calm):
        each.step(pw.SpeedYawRate(speed, 0.1), substeps=2000)
    assert fleet.diverged.tolist() == mask.tolist()
    assert not calm.diverged.any()
    same_bits(rows(state(calm), ~mask), rows(state(fleet), ~mask))
    fleet.reset(mask=fleet.diverged)
    assert not fleet.diverged.any()


def test_python_goes_on_during_a_step_and_arrays_are_the_callers_own() -> None:
    fleet = pw.CarFleet("car", 2048, threads=1)
    fleet.position[:] = 7.0
    assert np.all(fleet.position == 0.0)
    done, counts = threading.Event(), []

    def count() -> None:
        while not done.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    fleet.step(pw.SpeedYawRate(2.0, 0.1), substeps=500)
    end = time.perf_counter()
    done.set()
    thread.join()
    # a thread that had to wait for the step would count once at most
    assert sum(start < t < end for t in counts) > 5, end - start
