"""Trajectory controllers on all shipped multicopters, and commands of one vehicle."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import propwash as pw
import pytest
from helpers import slow_if
from numpy.typing import NDArray
from propwash.control import OuterLoops, PositionCommand, TrajectoryCommand
from propwash.trajectories import (
    Controller,
    Limits,
    Reference,
    flatness,
    minimum_snap,
    stack,
)

Array = NDArray[np.float64]
CONTROLLERS: tuple[Controller, ...] = get_args(Controller)
BENCH = Path(__file__).resolve().parents[2] / "bench"
MULTICOPTERS = ("flightgoggles", "penguin", "blackbird", "crazyflie", "hexacopter")
INTERVAL = 4
WAYPOINTS = [(0, 0, 1), (3, 1, 2), (4, 4, 1), (0, 5, 1.5)]


def planned(vehicle: str, **options: Any) -> Reference:
    """A path within the default limits, sampled at the rate of the controllers."""
    path = minimum_snap(WAYPOINTS, vehicle, **options)
    return path.sample(period=INTERVAL * pw.DEFAULT_DT)


def length(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program bench/tracking.py."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("tracking")


EACH = [pytest.param(name, marks=slow_if(name != "crazyflie")) for name in MULTICOPTERS]


@pytest.mark.parametrize("vehicle", EACH)
def test_every_controller_tracks_the_planned_paths_under_noise(bench: Any, vehicle: str) -> None:
    """The RMS of the position error is at most 0.15 m, also in dives and on random paths."""
    flown = {}
    for name, reference in bench.references(vehicle, 8):
        for controller in CONTROLLERS:
            error = bench.errors(pw.Fleet(vehicle, 6, seed=3), reference, controller)
            flown[name, controller] = float(np.sqrt(np.mean(error**2)))
    assert {"climb, dive", "hill", "random 7"} <= {name for name, _ in flown}
    worst = max(flown, key=lambda key: flown[key])
    assert flown[worst] <= 0.15, worst


@pytest.mark.parametrize("vehicle", EACH)
def test_the_minimum_thrusts_of_paths_leave_a_margin_for_control(bench: Any, vehicle: str) -> None:
    """Above the minimum thrusts of the outer loops and of the motors, with drag."""
    parameters = pw.vehicles.load(vehicle)
    mass = parameters.body.mass
    weight = mass * 9.81
    assert Limits().vertical_thrust_min * weight > OuterLoops.of(vehicle).thrust_min + 0.09 * weight
    lowest, lowest_rotor = np.inf, np.inf
    for _, reference in bench.references(vehicle, 4):
        required = flatness(reference, parameters)
        up = 1.0 - 2.0 * (required.attitude[:, 1] ** 2 + required.attitude[:, 2] ** 2)
        speed, rise = length(reference.velocity), reference.velocity[:, 2]
        drag = parameters.drag.translational * speed * rise
        drag += mass * parameters.rotor_drag.linear[0] * rise
        commanded = mass * reference.acceleration[:, 2] + weight + drag  # (O16)
        lowest = min(lowest, float(np.minimum(required.thrust * up, commanded).min() / weight))
        hover = weight / len(parameters.rotors)
        lowest_rotor = min(lowest_rotor, float((required.rotor_thrusts / hover).min()))
    assert 0.3 <= lowest < 0.31  # reached by some path
    assert lowest_rotor >= 0.15


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie", "hexacopter"])
def test_minimum_thrusts_are_respected(vehicle: str) -> None:
    """The duration increases with the minimum thrust; durations that violate it are refused."""
    durations = []
    for minimum in (-np.inf, 0.2, 0.4, 0.6):
        limits = Limits(vertical_thrust_min=minimum, rotor_thrust_min=0.0)
        path = minimum_snap([(0, 0, 1), (0, 0, 6), (3, 0, 1)], vehicle, limits=limits)
        durations.append(path.duration)
    assert durations == sorted(durations)
    assert durations[-1] > 1.1 * durations[0]
    for limits in (Limits(rotor_thrust_min=0.5), Limits(vertical_thrust_min=0.5)):
        quick = 0.9 * minimum_snap([(0, 0, 6), (0, 0, 1)], vehicle, limits=limits).duration
        with pytest.raises(ValueError, match=r"not met in .* s: fall of .* below"):
            minimum_snap([(0, 0, 6), (0, 0, 1)], vehicle, limits=limits, duration=quick)


@pytest.mark.parametrize("value", [1.0, np.nan, np.inf])
def test_minimum_thrusts_of_hover_and_above_are_refused(value: float) -> None:
    with pytest.raises(pw.ParameterError, match=r"vertical_thrust_min: expected a fraction"):
        Limits(vertical_thrust_min=value)
    for invalid in (value, -0.1):
        with pytest.raises(pw.ParameterError, match=r"rotor_thrust_min: expected a fraction"):
            Limits(rotor_thrust_min=invalid)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_command_of_one_vehicle_may_have_an_axis_of_vehicles(controller: Controller) -> None:
    """(T, 1, …) gives the same flight as (T, …), in rollouts and in steps."""
    reference = planned("crazyflie")[:120]
    rows = {name: array for name, array in vars(reference).items() if name != "time"}
    plain = pw.Multicopter("crazyflie", seed=1)
    flown = plain.rollout(TrajectoryCommand(**rows, controller=controller), substeps=INTERVAL)
    command = reference.command(controller)
    assert command.position.shape == (120, 1, 3)
    for each in (command, stack([reference]).command(controller)):
        one = pw.Multicopter("crazyflie", seed=1)
        np.testing.assert_array_equal(one.rollout(each, substeps=INTERVAL).position, flown.position)
    for rows_of in (reference, stack([reference])):  # rows of shape (3,) and (1, 3)
        stepped = pw.Multicopter("crazyflie", seed=1)
        for row in range(120):
            stepped.step(rows_of[row].command(controller), substeps=INTERVAL)
        np.testing.assert_array_equal(stepped.position, flown.position[-1])


def test_other_commands_of_one_vehicle_may_have_an_axis_of_vehicles() -> None:
    """Rates and thrust, rotor speeds and outer loops, also with parts for all rows."""
    rng = np.random.default_rng(0)
    rates, thrust = rng.uniform(-1.0, 1.0, (5, 3)), rng.uniform(8.0, 11.0, 5)
    speeds = rng.uniform(900.0, 1200.0, (5, 4))
    pairs: list[tuple[Any, Any]] = [
        (pw.RateThrust(rates, thrust), pw.RateThrust(rates[:, None], thrust[:, None])),
        (pw.RateThrust(rates, 9.81), pw.RateThrust(rates[:, None], 9.81)),
        (pw.RateThrust(rates, 9.81), pw.RateThrust(rates[:, None], [9.81])),
        (pw.RotorSpeeds(speeds), pw.RotorSpeeds(speeds[:, None])),
        (pw.RotorSpeeds(speeds), pw.RotorSpeeds(speeds[:, None].astype(np.float64))),
        (PositionCommand(rates, yaw=0.3), PositionCommand(rates[:, None], yaw=[0.3])),
    ]
    for plain, with_axis in pairs:
        flown = [pw.Multicopter().rollout(each, substeps=3) for each in (plain, with_axis)]
        np.testing.assert_array_equal(flown[0].position, flown[1].position)
    uav, same = pw.Multicopter(), pw.Multicopter()
    uav.step(pw.RateThrust(rates[0], thrust[0]))
    same.step(pw.RateThrust(rates[:1], thrust[:1]))
    np.testing.assert_array_equal(uav.body_rates, same.body_rates)
    drive = pw.SpeedYawRate(np.full((4, 1), 2.0), np.full((4, 1), 0.5))
    driven = pw.Car().rollout(drive, substeps=2)
    np.testing.assert_array_equal(
        driven.x, pw.Car().rollout(pw.SpeedYawRate([2.0] * 4, [0.5] * 4), substeps=2).x
    )


def test_one_vehicle_refuses_commands_of_several_vehicles_or_rows() -> None:
    uav = pw.Multicopter()
    for command in (
        pw.RateThrust(np.zeros((5, 2, 3)), 9.81),
        pw.RateThrust(np.zeros((5, 1, 3)), np.full(5, 9.81)),  # a thrust for each of 5 vehicles
        pw.RotorSpeeds(np.zeros((5, 2, 4))),
        PositionCommand(np.zeros((5, 2, 3))),
        PositionCommand(np.zeros((5, 1, 3)), yaw=np.zeros(2)),
    ):
        with pytest.raises(ValueError, match="vehicles of a Fleet"):
            uav.rollout(command)
    for rows in (np.zeros((2, 1, 3)), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"one command for step\(\), got 2 rows"):
            uav.step(PositionCommand(rows))
    assert uav.steps == 0


def test_the_motor_time_constant_shortens_the_lag_of_slow_motors() -> None:
    """Rotors of a Crazyflie follow a thrust step with this time constant, 54 ms at most."""
    vehicle = pw.vehicles.load("crazyflie")
    default = OuterLoops.of(vehicle)
    assert default.motor_time_constant == pytest.approx(0.02)
    assert OuterLoops.of("hexacopter").motor_time_constant == pytest.approx(0.0125)
    for constant, expected in ((0.02, 0.02), (0.03, 0.03), (1.0, vehicle.motor.time_constant_up)):
        fleet = pw.Fleet(
            vehicle,
            1,
            "float64",
            noise=False,
            threads=1,
            outer_loops=replace(default, motor_time_constant=constant),
        )
        hover = float(fleet.rotor_speeds[0, 0])
        command = TrajectoryCommand([0, 0, 0], acceleration=[0, 0, 1.0])
        speeds = [hover]
        for _ in range(24):  # 25 ms, in which the position hardly changes
            fleet.step(command, substeps=1)
            speeds.append(float(fleet.rotor_speeds[0].mean()))
        increase = np.array(speeds) - hover
        delay = vehicle.motor.command_delay
        time = np.arange(25) * pw.DEFAULT_DT - delay
        goal = hover * (np.sqrt(1.0 + 1.0 / 9.81) - 1.0)
        # the tolerance covers the interval of four steps and the command delay
        assert increase[-1] == pytest.approx(goal * (1.0 - np.exp(-time[-1] / expected)), rel=0.25)


def test_a_tilt_limit_bounds_the_tilt_of_a_path() -> None:
    """The tilt from flatness is within the limit, and the duration increases."""
    durations = []
    for tilt in (0.4, 0.6, 3.0):
        limits = Limits(tilt=tilt)
        path = minimum_snap(WAYPOINTS, limits=limits)
        attitude = flatness(path.sample(period=0.002)).attitude
        angle = 2.0 * np.arcsin(np.linalg.norm(attitude[:, 1:3], axis=1))
        assert angle.max() <= tilt * 1.001
        durations.append(path.duration)
    assert durations[0] > durations[1] > durations[2]
    with pytest.raises(pw.ParameterError, match=r"limits\.tilt"):
        Limits(tilt=0.0)


def test_the_benchmark_prints_all_controllers_and_vehicles(
    bench: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["tracking.py", "--vehicles", "1", "--random", "1"])
    monkeypatch.setattr(bench, "MULTICOPTERS", ("hexacopter",))
    bench.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].count("|") == lines[2].count("|") == 8
    assert lines[2].startswith("| hexacopter | all |")
    assert lines[3].startswith("worst: 0.0")
