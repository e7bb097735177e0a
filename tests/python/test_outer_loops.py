"""The outer loops from Python: commands, gains, snapshots, flights, and refused arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from msgspec.structs import replace as changed
from propwash import _core
from propwash.control import (
    AttitudeThrust,
    OuterLoops,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)
from propwash.vehicle.parameters import ParameterError

N = 6
LEVEL = np.tile([1.0, 0.0, 0.0, 0.0], (N, 1))
COMMANDS: dict[str, Callable[[], Any]] = {
    "attitude": lambda: AttitudeThrust(LEVEL, np.full(N, 9.81)),
    "attitude yaw rate": lambda: AttitudeThrust(LEVEL, 9.81, yaw_rate=np.full(N, 0.5)),
    "velocity": lambda: VelocityCommand(np.linspace(-1, 1, 3 * N).reshape(N, 3), yaw=0.3),
    "velocity yaw rate": lambda: VelocityCommand([0.5, 0.0, 0.0], yaw_rate=np.linspace(-1, 1, N)),
    "position": lambda: PositionCommand(np.linspace(-1, 1, 3 * N).reshape(N, 3)),
    "geometric": lambda: TrajectoryCommand(np.full((N, 3), 0.2), velocity=[0.1, 0.0, 0.0]),
    "backstepping": lambda: TrajectoryCommand([0.1, 0.2, 0.3], controller="backstepping"),
    "indi": lambda: TrajectoryCommand([0.1, 0.2, 0.3], yaw=0.4, controller="indi"),
}


def make_fleet(seed: int = 3, dtype: str = "float64", **options: Any) -> pw.Fleet:
    """A fleet on one thread."""
    return pw.Fleet("flightgoggles", N, dtype=dtype, seed=seed, threads=1, **options)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_keep_their_arguments(name: str) -> None:
    """Parts are read-only copies of the arguments; omitted parts are None."""
    command = COMMANDS[name]()
    again = pickle.loads(pickle.dumps(command))
    assert repr(again) == repr(command)
    assert type(again) is type(command)
    assert isinstance(command, _core.Command)
    for part in ("attitude", "velocity", "position"):
        array = getattr(command, part, None)
        if array is not None:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_single_vehicle_equals_one_of_a_fleet(name: str) -> None:
    """With all noise, from the same row of the command."""
    command = COMMANDS[name]()
    fleet = make_fleet()
    fleet.step(command, substeps=200)
    parts = {}
    for part in ("attitude", "thrust", "position", "velocity", "yaw", "yaw_rate"):
        value = getattr(command, part, None)
        if value is not None:
            tail = part in ("attitude", "position", "velocity")
            parts[part] = value[4] if value.ndim > tail else value
    if isinstance(command, TrajectoryCommand):
        parts["controller"] = command.controller
    uav = pw.Multicopter("flightgoggles", seed=3, id=4)
    uav.step(type(command)(**parts), substeps=200)
    np.testing.assert_allclose(fleet.position[4], uav.position, atol=1e-10)
    np.testing.assert_allclose(fleet.body_rates[4], uav.body_rates, atol=1e-9)
    again = pickle.loads(pickle.dumps(uav))
    for each in (uav, again):
        each.step(type(command)(**parts), substeps=9)
    np.testing.assert_array_equal(uav.position, again.position)


def test_a_rollout_applies_its_rows_in_order() -> None:
    """For one vehicle and for many; some parts apply to all vehicles."""
    rng = np.random.default_rng(0)
    velocity = rng.uniform(-1, 1, (5, N, 3))
    fleet, other = make_fleet(), make_fleet()
    flown = fleet.rollout(VelocityCommand(velocity, yaw=np.zeros((5, 1))), substeps=6)
    for row in velocity:
        other.step(VelocityCommand(row, yaw=0.0), substeps=6)
    assert flown.position is not None
    np.testing.assert_array_equal(flown.position[-1], other.position)
    one, single = pw.Multicopter(), pw.Multicopter()
    flight = one.rollout(TrajectoryCommand(velocity[:, 0], controller="indi"), substeps=6)
    for row in velocity[:, 0]:
        single.step(TrajectoryCommand(row, controller="indi"), substeps=6)
    np.testing.assert_array_equal(flight.position[-1], single.position)


def test_gains_follow_from_the_vehicle_and_may_be_set() -> None:
    """In a fleet, in one vehicle, at construction; pickles contain them, snapshots do not."""
    loops = OuterLoops.of("flightgoggles")
    assert make_fleet().outer_loops == loops
    assert pw.Multicopter().outer_loops == loops
    assert OuterLoops.of("crazyflie").tilt < loops.tilt  # its motors are slower
    slow = replace(loops, interval=8, position=(0.5, 0.5, 0.5))
    fleet, uav = make_fleet(outer_loops=slow), pw.Multicopter()
    uav.outer_loops = slow
    for each in (fleet, uav):
        assert each.outer_loops == slow
        assert pickle.loads(pickle.dumps(each)).outer_loops == slow
    for interval in (1, 3, 8):
        other = make_fleet(outer_loops=replace(loops, interval=interval))
        other.step(PositionCommand([1.0, 0.0, 0.0]), substeps=960 * 5)
        np.testing.assert_allclose(other.position[:, 0], 1.0, atol=0.15)
    for item in fields(OuterLoops):
        invalid = replace(loops, **{item.name: -1})  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=item.name):
            fleet.outer_loops = invalid
    assert fleet.outer_loops == slow
    with pytest.raises(ParameterError, match="outer_loops: expected an OuterLoops, got 3"):
        fleet.outer_loops = 3  # type: ignore[assignment]


def refused_for(message: str, make: Callable[[], Any]) -> None:
    """Requires a ValueError with a matching message."""
    with pytest.raises(ValueError, match=message):
        make()


def test_invalid_commands_are_refused() -> None:
    """Shapes, non-finite numbers, invalid quaternions, names."""
    nan = float("nan")
    refused_for("unit quaternions", lambda: AttitudeThrust([0, 0, 0, 0], 9.81))
    refused_for(r"from \[1, 0\]", lambda: AttitudeThrust([[1, 0, 0, 0], [1, 1, 0, 0]], [9.0, 9.0]))
    refused_for("thrust: expected a finite", lambda: AttitudeThrust([1, 0, 0, 0], None))
    refused_for("attitude: expected 4", lambda: AttitudeThrust([1, 0, 0], 9.81))
    refused_for("thrust: expected a shape", lambda: AttitudeThrust(LEVEL, np.ones(N + 1)))
    refused_for("velocity: .* all finite", lambda: VelocityCommand([nan, 0, 0]))
    refused_for("velocity: expected 3", lambda: VelocityCommand([0, 0]))
    refused_for("yaw: expected a finite", lambda: VelocityCommand([0, 0, 0], yaw=nan))
    refused_for(
        "pass either yaw or yaw_rate", lambda: VelocityCommand([0, 0, 0], yaw=1, yaw_rate=1)
    )
    refused_for("yaw: expected a shape", lambda: PositionCommand(np.zeros((N, 3)), yaw=np.zeros(2)))
    refused_for("snap: expected 3", lambda: TrajectoryCommand([0, 0, 0], snap=[0]))
    refused_for("'indi', got 'lqr'", lambda: TrajectoryCommand([0, 0, 0], controller="lqr"))
    fleet = make_fleet()
    before = fleet.snapshot()
    refused_for("shape", lambda: fleet.step(VelocityCommand(np.zeros((N + 1, 3)))))
    refused_for("one command for step", lambda: fleet.step(VelocityCommand(np.zeros((2, N, 3)))))
    refused_for("substeps", lambda: fleet.step(VelocityCommand([0, 0, 0]), substeps=0))
    with pytest.raises(TypeError, match="AttitudeThrust"):
        fleet.step([0, 0, 0])  # type: ignore[arg-type]
    assert fleet.snapshot() == before
    refused_for(
        "vehicles of a Fleet", lambda: pw.Multicopter().step(VelocityCommand(np.zeros((2, 3, 3))))
    )


def test_invalid_vehicles_and_snapshots_are_refused() -> None:
    """A damaged snapshot, a vehicle without control of roll, without weight, without rate gains."""
    fleet = make_fleet()
    fleet.step(VelocityCommand([0, 0, 0]), substeps=3)
    snapshot = fleet.snapshot()
    with pytest.raises(ValueError, match="snapshot"):
        make_fleet().restore(snapshot[:-8])
    vehicle = pw.vehicles.load("flightgoggles")
    weightless = changed(vehicle, body=changed(vehicle.body, gravity=(0.0, 0.0, 0.0)))
    for each in (pw.Fleet(weightless, 2), pw.Multicopter(weightless)):
        with pytest.raises(ParameterError, match=r"body\.gravity"):
            each.step(PositionCommand([0, 0, 0]))
    with pytest.raises(ParameterError, match=r"body\.gravity"):
        OuterLoops.of(weightless)


def test_parts_of_a_command_have_equal_numbers_of_rows() -> None:
    single = np.zeros(3)
    for make in (
        lambda: AttitudeThrust([1, 0, 0, 0], np.zeros(5), yaw_rate=np.zeros(7)),
        lambda: TrajectoryCommand(single, velocity=np.zeros((5, 3)), acceleration=np.zeros((7, 3))),
        lambda: TrajectoryCommand(
            single, velocity=np.zeros((2, 3, 3)), acceleration=np.zeros((9, 3, 3))
        ),
    ):
        refused_for("expected a shape compatible with", make)


def test_outer_loops_require_one_gravity_for_a_fleet() -> None:
    fleet = make_fleet(dtype="float32")
    gravity = np.array(fleet.parameters["body.gravity"])
    gravity[0] = [0.0, 0.0, -3.7]
    fleet.set_parameters({"body.gravity": gravity})
    with pytest.raises(ParameterError, match=r"body\.gravity: expected that of the fleet"):
        fleet.step(PositionCommand([0, 0, 0]))
    gravity[0] = gravity[1]
    fleet.set_parameters({"body.gravity": gravity})
    fleet.step(PositionCommand([0, 0, 0]))


@pytest.mark.parametrize(
    "wrong", [{"interval": 0}, {"interval": 20_000}, {"tilt": float("nan")}, {"tilt": 1e39}]
)
def test_gains_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    fleet = make_fleet(dtype="float32")
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        fleet.outer_loops = replace(fleet.outer_loops, **wrong)


def test_gains_require_a_valid_time_step() -> None:
    for dt in (-1.0, 0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="dt"):
            OuterLoops.of("flightgoggles", dt)
    loops = OuterLoops.of("flightgoggles", 1e-7)
    assert loops.interval == 10_000
