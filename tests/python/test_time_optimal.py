"""Time-optimal paths: closed forms, constraints between nodes, the library's integration."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array
from propwash import _rotation, integrate
from propwash import trajectories as tj
from propwash.trajectories._gates import violation
from propwash.trajectories._time_optimal import Level

pytest.importorskip("casadi")
pytest.importorskip("scipy")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "time_optimal.py"
VEHICLE = pw.vehicles.load("flightgoggles")
WITHOUT_DRAG = VEHICLE.replace(drag={"translational": 0.0})
BRISK = replace(tj.ROTOR_LIMITS, rates=(12.0, 12.0, 3.0))
FREE = tj.Boundary(velocity=None, attitude=None, body_rates=None)
TRACK: list[Any] = [
    (0.0, 0.0, 2.0),
    tj.Ball((5.0, 2.0, 3.0), 0.3),
    tj.Rectangle((8.0, -2.0, 2.0), (math.cos(-0.6), 0.0, 0.0, math.sin(-0.6)), 1.2, 0.8),
    tj.Disc((4.0, -4.0, 2.5), (-1.0, 0.1, 0.0), 0.5),
    (0.0, -2.0, 2.0),
]


def unit(parts: list[Array]) -> list[Array]:
    """The parts of a state with a unit quaternion, which the stages of an integrator lack."""
    parts[2] = parts[2] / np.linalg.norm(parts[2])
    return parts


class Rotors:
    """The rigid body of a vehicle whose rotors have the commanded speeds."""

    def __init__(self, vehicle: pw.VehicleParameters) -> None:
        self.vehicle = pw.Multicopter(vehicle)

    def derivative(self, state: Array, command: Array) -> Array:
        moving = pw.MulticopterState(*unit([*np.split(state, [3, 6, 10]), command]))
        rates = self.vehicle.derivative(moving, pw.RotorSpeeds(command))
        return np.concatenate([*vars(rates).values()])[:13]


class LaggingRotors(Rotors):
    """The same with the motors' lag."""

    def derivative(self, state: Array, command: Array) -> Array:
        moving = pw.MulticopterState(*unit(np.split(state, [3, 6, 10, 13])))
        rates = self.vehicle.derivative(moving, pw.RotorSpeeds(command))
        return np.concatenate([*vars(rates).values()])


def body(path: tj.TimeOptimal) -> Array:
    """(n + 1, 13 + N) the states at the nodes."""
    return np.concatenate([*vars(path.states).values()], axis=1)


def reached(path: tj.TimeOptimal, system: Any, size: int, steps: int, stop: float = 1.0) -> Array:
    """(n, size) states at a fraction of each interval, integrated from its node in `steps`."""
    states, lengths = body(path)[:, :size], np.diff(path.time)
    rows = zip(states[:-1], path.commands, lengths, strict=True)
    return np.array([integrate.step(system, x, u, stop * h / steps, steps) for x, u, h in rows])


@pytest.fixture(scope="module")
def plans() -> dict[str, tj.TimeOptimal]:
    """The track at both levels."""
    found: list[tj.TimeOptimal] = []
    tj.time_optimal(TRACK, VEHICLE, limits=BRISK, progress=found.append)
    return dict(zip(("fast", "exact"), found, strict=True))


LEVELS = pytest.mark.parametrize("level", ["fast", "exact"])


# the shortest time


@pytest.mark.parametrize("thrust", [0.5, 1.0])
@pytest.mark.parametrize("height", [10.0, -20.0])
def test_the_time_of_a_vertical_flight_is_the_closed_form(thrust: float, height: float) -> None:
    """Full thrust upwards and free fall, once each: v = a t, and h = v^2 (1/a + 1/g) / 2."""
    limits = replace(BRISK, thrust=thrust, tilt=0.5)  # without turning over to fall faster
    ends = [(0.0, 0.0, 30.0), (0.0, 0.0, 30.0 + height)]
    path = tj.time_optimal(ends, WITHOUT_DRAG, limits=limits)
    gravity = WITHOUT_DRAG.weight / WITHOUT_DRAG.body.mass
    up = thrust * WITHOUT_DRAG.max_thrust / WITHOUT_DRAG.body.mass - gravity
    exact = math.sqrt(2.0 * abs(height) * (1.0 / up + 1.0 / gravity))
    assert path.duration == pytest.approx(exact, rel=2e-3)


def test_a_horizontal_flight_takes_longer_than_that_of_a_point_mass() -> None:
    path = tj.time_optimal([(0, 0, 5), (12, 0, 5)], WITHOUT_DRAG, limits=BRISK)
    gravity = WITHOUT_DRAG.weight / WITHOUT_DRAG.body.mass
    strongest = WITHOUT_DRAG.max_thrust / WITHOUT_DRAG.body.mass
    shortest = 2.0 * math.sqrt(12.0 / math.sqrt(strongest**2 - gravity**2))
    assert shortest < path.duration < 1.3 * shortest


def test_the_exact_level_is_not_slower_than_the_fast_one(plans: dict[str, tj.TimeOptimal]) -> None:
    assert plans["exact"].duration <= plans["fast"].duration * (1.0 + 1e-4)
    assert plans["exact"].duration > 0.95 * plans["fast"].duration
    assert len(plans["exact"].time) > 2 * len(plans["fast"].time)


def test_the_fast_level_is_the_first_plan_of_the_exact_one(
    plans: dict[str, tj.TimeOptimal],
) -> None:
    path = tj.time_optimal(TRACK, VEHICLE, limits=BRISK, level="fast")
    assert path.duration == plans["fast"].duration


def test_freedom_saves_time(plans: dict[str, tj.TimeOptimal]) -> None:
    def time(**options: Any) -> float:
        options = {"limits": BRISK, "level": "fast", **options}
        return tj.time_optimal(TRACK, VEHICLE, **options).duration

    bound = plans["fast"].duration
    assert time(end=FREE) < 0.97 * bound
    assert time(start=tj.Boundary(velocity=(4.0, 2.0, 0.0))) < 0.97 * bound
    assert time(limits=replace(BRISK, thrust=0.7)) > 1.03 * bound
    assert time(limits=replace(BRISK, speed=5.0)) > 1.03 * bound
    assert time(limits=replace(BRISK, rates=(3.0, 3.0, 3.0))) > 1.03 * bound
    assert time(region=[(-9.0, -9.0, 1.9), (9.0, 9.0, 3.0)]) >= bound * (1.0 - 1e-3)


def test_wind_along_a_flight_saves_time() -> None:
    times = {
        wind: tj.time_optimal(
            [(0, 0, 5), (20, 0, 5)], limits=BRISK, level="fast", wind=(wind, 0.0, 0.0)
        ).duration
        for wind in (-5.0, 0.0, 5.0)
    }
    assert times[5.0] < times[0.0] < times[-5.0]


# constraints


@LEVELS
def test_gates_are_passed_in_order(plans: dict[str, tj.TimeOptimal], level: Level) -> None:
    path = plans[level]
    now = path.sample(path.knots)
    for number, gate in enumerate(TRACK):
        place = gate if isinstance(gate, tj.Ball | tj.Disc | tj.Rectangle) else tj.Ball(gate)
        assert violation(place, now.position[number], now.velocity[number]) < 2e-4, number


@pytest.mark.parametrize(
    "limits",
    [
        BRISK,
        replace(BRISK, speed=6.0, thrust=0.7),
        tj.Limits(thrust=0.9, rates=(9.0, 9.0, 2.0), tilt=1.0),
    ],
    ids=["rotors", "speed", "tracking"],
)
def test_limits_hold_between_the_nodes(limits: tj.Limits) -> None:
    path = tj.time_optimal(TRACK, VEHICLE, limits=limits)
    low, high = np.array([0.0, limits.thrust]) * np.max(VEHICLE.motor.speed_max) ** 2
    squares = path.commands**2
    assert squares.min() >= low
    assert squares.max() <= high * (1.0 + 1e-6)
    for stop in (0.25, 0.5, 0.75, 1.0):
        x = reached(path, Rotors(VEHICLE), 13, 3, stop)
        assert np.linalg.norm(x[:, 3:6], axis=1).max() < limits.speed * 1.01
        assert (np.abs(x[:, 10:13]).max(axis=0) < np.array(limits.rates) * 1.01).all()
        cosine = 1.0 - 2.0 * np.sum(x[:, 7:9] ** 2, axis=1)
        assert np.arccos(cosine).max() < limits.tilt + 0.01
        thrust = VEHICLE.rotors[0].thrust_coefficient * squares.sum(axis=1) * cosine
        assert (thrust > (limits.vertical_thrust_min - 0.03) * VEHICLE.weight).all()


def test_the_librarys_integration_of_the_commands_reproduces_the_plan(
    plans: dict[str, tj.TimeOptimal],
) -> None:
    path = plans["exact"]
    error = np.abs(reached(path, Rotors(VEHICLE), 13, 16) - body(path)[1:, :13])
    assert error[:, :3].max() < 1e-4
    assert error.max() < 2e-2


def test_the_error_of_the_integration_is_of_fourth_order(plans: dict[str, tj.TimeOptimal]) -> None:
    system, path = Rotors(VEHICLE), plans["fast"]
    true = reached(path, system, 13, 16)[:, :6]
    one, two = (np.abs(reached(path, system, 13, steps)[:, :6] - true).max() for steps in (1, 2))
    assert 10.0 < one / two < 30.0
    fine = plans["exact"]
    error = np.abs(reached(fine, system, 13, 16)[:, :6] - body(fine)[1:, :6]).max()
    coarse = np.abs(true - body(path)[1:, :6]).max()
    assert error < 0.02 * coarse


def test_motor_lag_delays_the_rotors(plans: dict[str, tj.TimeOptimal]) -> None:
    limits = replace(BRISK, thrust=0.9)
    path = tj.time_optimal(TRACK, VEHICLE, limits=limits, motor_lag=True)
    speeds, most = path.states.rotor_speeds, float(np.max(VEHICLE.motor.speed_max))
    h = np.diff(path.time)[:, None]
    lagged = path.commands + (speeds[:-1] - path.commands) * np.exp(-h / 0.02)
    np.testing.assert_allclose(speeds[1:], lagged, atol=1e-3 * most)
    assert speeds.max() <= most * math.sqrt(0.9) * (1.0 + 1e-6)
    assert path.commands.max() > speeds.max()  # commands may exceed the limit of the thrust
    error = np.abs(reached(path, LaggingRotors(VEHICLE), 17, 40)[:, :6] - body(path)[1:, :6])
    assert error.max() < 2e-3


@pytest.mark.parametrize("name", ["hexacopter", "crazyflie"])
def test_vehicles_whose_motors_differ_in_direction_have_plans(name: str) -> None:
    assert tj.time_optimal([(0, 0, 2), (2, 0, 2)], name, level="fast").duration > 0.3


def test_samples_of_an_exact_plan_exceed_speed_and_region_by_the_documented_amounts() -> None:
    limits, low, high = replace(BRISK, speed=6.0), (-9.0, -9.0, 1.9), (9.0, 9.0, 3.0)
    path = tj.time_optimal(TRACK, VEHICLE, limits=limits, region=(low, high))
    rows = path.sample(np.linspace(0.0, path.duration, 5000))
    assert np.linalg.norm(rows.velocity, axis=1).max() < 6.0 * 1.005
    assert (rows.position > np.array(low) - 2e-3).all()
    assert (rows.position < np.array(high) + 2e-3).all()


@pytest.mark.slow
def test_a_long_segment_is_flown_at_the_speed_that_drag_permits() -> None:
    path = tj.time_optimal([(0, 0, 5), (400, 0, 5)], level="fast")
    assert 400.0 / path.duration > 10.0


# the path


@LEVELS
def test_the_path_joins_the_nodes(plans: dict[str, tj.TimeOptimal], level: Level) -> None:
    path = plans[level]
    rows = path.sample(path.time)
    np.testing.assert_allclose(rows.position, path.states.position, atol=1e-9)
    np.testing.assert_allclose(rows.velocity, path.states.velocity, atol=1e-9)
    after = path.sample([-1.0, path.duration + 1.0])
    assert not np.abs(after.velocity).any()
    np.testing.assert_allclose(after.position, np.array([TRACK[0], TRACK[-1]]), atol=2e-3)


def test_flatness_of_the_path_gives_the_thrust_of_the_plan(
    plans: dict[str, tj.TimeOptimal],
) -> None:
    path = plans["exact"]
    middle = 0.5 * (path.time[1:] + path.time[:-1])
    x = reached(path, Rotors(VEHICLE), 13, 2, 0.5)
    required = tj.flatness(path.sample(middle), VEHICLE)
    known = np.isfinite(required.thrust)
    thrust = VEHICLE.rotors[0].thrust_coefficient * np.sum(path.commands**2, axis=1)
    is_firm = known & (thrust > 0.3 * VEHICLE.weight)
    assert is_firm.mean() > 0.8
    error = np.abs(required.thrust - thrust)[is_firm] / VEHICLE.weight
    assert np.quantile(error, 0.95) < 0.02
    z, planned = (_rotation.rotation(q)[is_firm, :, 2] for q in (required.attitude, x[:, 6:10]))
    assert np.quantile(np.linalg.norm(z - planned, axis=1), 0.95) < 0.02


def test_the_trajectory_controller_follows_the_path() -> None:
    path = tj.time_optimal(TRACK, VEHICLE)  # the default limits leave a margin
    fleet = pw.Fleet(VEHICLE, 1)
    fleet.reset(position=TRACK[0], attitude=path.states.attitude[0])
    reference = path.sample(np.arange(0.0, path.duration, 5 / 960) + 2.5 / 960)
    motion = fleet.rollout(reference, substeps=5, record=("position",))
    assert motion.position is not None
    error = np.linalg.norm(motion.position[:, 0] - reference.position, axis=1)
    assert error.max() < 0.35


# invalid requests


def test_invalid_requests_name_the_constraint() -> None:
    ends = [(0.0, 0.0, 1.0), (5.0, 0.0, 1.0)]

    def plan(gates: Any = ends, **options: Any) -> None:
        tj.time_optimal(gates, VEHICLE, **{"level": "fast", **options})

    with pytest.raises(ValueError, match=r"limits.thrust = 0.2: expected more than 0.265, with"):
        plan(limits=tj.Limits(thrust=0.2))
    with pytest.raises(ValueError, match=r"wind: expected less than 16 m/s, at which drag in"):
        plan(wind=(0.0, 20.0, 0.0))
    with pytest.raises(ValueError, match=r"gates\[1\]: expected a place in the region"):
        plan(region=[(-1.0, -1.0, 0.5), (4.0, 1.0, 3.0)])
    with pytest.raises(ValueError, match=r"start.velocity: expected at most limits.speed = 3"):
        plan(start=tj.Boundary(velocity=(4.0, 0.0, 0.0)), limits=tj.Limits(speed=3.0))
    with pytest.raises(
        ValueError, match=r"meets all of them: .* violated by .*; relax the limits, or"
    ):
        plan(  # too fast to stop above the ground
            start=tj.Boundary(velocity=(0.0, 0.0, -15.0)),
            region=[(-9.0, -9.0, 0.5), (9.0, 9.0, 9.0)],
        )
    with pytest.raises(ValueError, match="gates: expected a distance of at most 300 intervals"):
        plan([(0.0, 0.0, 1.0), (1e5, 0.0, 1.0)])
    with pytest.raises(ValueError, match="gates: expected an end that differs from the start"):
        plan([ends[0], ends[0]])
    with pytest.raises(
        ValueError, match=r"start.attitude: .* at most limits.tilt = 1.2 rad, got 2"
    ):
        plan(start=tj.Boundary(attitude=(math.cos(1.0), math.sin(1.0), 0.0, 0.0)))
    weightless = VEHICLE.replace(body={"gravity": (0.0, 0.0, 0.0)})
    with pytest.raises(ValueError, match="vehicle: expected a weight > 0"):
        tj.time_optimal(ends, weightless, level="fast")
    with pytest.raises(ValueError, match="gates: expected at least 2"):
        plan(ends[:1])
    with pytest.raises(ValueError, match=r"gates\[1\]: expected .* of shape \(3,\)"):
        plan([(0.0, 0.0, 1.0), (5.0, 0.0)])
    with pytest.raises(ValueError, match="level: expected"):
        plan(level="best")
    with pytest.raises(ValueError, match="motor_lag: expected with level 'exact'"):
        plan(motor_lag=True)
    with pytest.raises(TypeError, match="end: expected a Boundary or None"):
        plan(end=(0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="attitude: expected"):
        tj.Boundary(attitude="upside down")
    with pytest.raises(ValueError, match="axis: expected a direction, not zero"):
        tj.Disc((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1.0)
    gate = pw.Scene.load("alphapilot").gates[0]
    with pytest.raises(ValueError, match="margin = 2 m: expected less than half of the opening"):
        tj.Rectangle.of(gate, 2.0)


# published tracks


PUBLISHED = {"split-s": 17.56}
"""s: CPC, from hours of computation, as reported with TOGT (Qin et al., ICRA 2024)."""


def test_a_path_is_planned_again_from_a_node_through_moved_gates(
    plans: dict[str, tj.TimeOptimal],
) -> None:
    path, node = plans["fast"], 4
    assert path.time[node] < path.knots[1]
    same = path.replanned(node, TRACK[1:])
    assert same.duration == pytest.approx(path.duration - path.time[node], rel=2e-3)
    moved = [tj.Ball((5.3, 2.4, 3.0), 0.3), *TRACK[2:]]
    again = path.replanned(node, moved, limits=replace(BRISK, thrust=0.8))
    for name, part in vars(again.states).items():
        if name != "rotor_speeds":
            assert part[0] == pytest.approx(getattr(path.states, name)[node], abs=1e-3)
    position, _ = again.evaluate(again.knots[1])
    assert violation(moved[0], position[0], position[1]) < 1e-2
    assert again.duration > same.duration
    start = pw.MulticopterState(*(part[node] for part in vars(path.states).values()))
    shifted = replace(start, position=start.position + np.array([0.0, 0.0, 0.2]))
    assert path.replanned(node, moved, motion=shifted).states.position[0] == pytest.approx(
        shifted.position
    )
    with pytest.raises(ValueError, match="gates: expected the 4 after node 4, got 3"):
        path.replanned(node, TRACK[2:])
    with pytest.raises(ValueError, match="node: expected a whole number"):
        path.replanned(len(path.time), TRACK[1:])


@pytest.mark.slow
def test_the_split_s_is_as_fast_as_the_published_optimum() -> None:
    example = runpy.run_path(str(EXAMPLE))
    found: list[tj.TimeOptimal] = []
    best = example["plan"]("split-s", progress=found.append)
    assert found[0].duration < 1.03 * PUBLISHED["split-s"]
    assert best.duration < 1.005 * PUBLISHED["split-s"]


@pytest.mark.slow
def test_ctrl_c_ends_a_plan() -> None:
    code = """
import os, signal, threading
import propwash as pw
from propwash import race
path = race.fastest_path  # imported before the signal
scene = pw.Scene.load("alphapilot", seed=3)
threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
path(scene)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "KeyboardInterrupt" in done.stderr.splitlines()[-1]
