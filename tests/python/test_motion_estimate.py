"""Outer loops that compute on an estimate instead of the true state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.control import (
    AttitudeThrust,
    PositionCommand,
    TrajectoryCommand,
    VelocityCommand,
)

N = 5
COMMANDS: dict[str, Any] = {
    "attitude": AttitudeThrust([1, 0, 0, 0], 9.81),
    "velocity": VelocityCommand([0.5, -0.2, 0.1], yaw=0.3),
    "position": PositionCommand([0.3, 0.2, 0.1], yaw=0.2),
    "geometric": TrajectoryCommand([0.2, 0.1, 0.0], velocity=[0.1, 0.0, 0.0]),
    "backstepping": TrajectoryCommand([0.1, 0.2, 0.3], controller="backstepping"),
    "indi": TrajectoryCommand([0.1, 0.2, 0.3], yaw=0.4, controller="indi"),
}


def about_z(angle: float) -> np.ndarray[Any, Any]:
    """The rotation about z, (w, x, y, z)."""
    return np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])


def make_fleet(dtype: str = "float64", **options: Any) -> pw.Fleet:
    """A fleet with noise on one thread."""
    return pw.Fleet("flightgoggles", N, dtype=dtype, seed=3, threads=1, **options)


def test_an_estimate_holds_arrays() -> None:
    parts: Any = ([0, 0, 1], (0.0, 1.0, 0.0), [1, 0, 0, 0])
    estimate = pw.MotionEstimate(*parts)
    assert estimate.position.shape == (3,)
    assert estimate.attitude.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_true_state_gives_identical_results(name: str) -> None:
    plain, estimated = pw.Multicopter(seed=5), pw.Multicopter(seed=5)
    for _ in range(60):
        plain.step(COMMANDS[name])
        state = estimated.state
        estimated.step(
            COMMANDS[name], state=pw.MotionEstimate(state.position, state.velocity, state.attitude)
        )
    assert estimated.snapshot() == plain.snapshot()
    for dtype in ("float32", "float64"):
        one, other = make_fleet(dtype), make_fleet(dtype)
        for _ in range(30):
            one.step(COMMANDS[name])
            other.step(COMMANDS[name], state=other.state)
        assert one.snapshot() == other.snapshot()


def test_an_error_of_heading_turns_the_vehicle_back() -> None:
    """With the estimate rotated by psi in the world, everything is rotated by -psi."""
    psi, target = 0.7, np.array([1.0, 0.5, 0.2])
    c, s = np.cos(psi), np.sin(psi)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turn = about_z(psi)
    command = PositionCommand(target, yaw=0.3)
    estimated, reference = pw.Multicopter(noise=False), pw.Multicopter(noise=False)
    reference.reset(attitude=turn)
    for _ in range(480):
        state = estimated.state
        w, x, y, z = state.attitude
        attitude = np.array(
            [
                turn[0] * w - turn[3] * z,
                turn[0] * x - turn[3] * y,
                turn[0] * y + turn[3] * x,
                turn[0] * z + turn[3] * w,
            ]
        )
        estimate = pw.MotionEstimate(rotation @ state.position, rotation @ state.velocity, attitude)
        estimated.step(command, substeps=2, state=estimate)
        reference.step(command, substeps=2)
        np.testing.assert_allclose(rotation @ estimated.position, reference.position, atol=1e-9)
    assert np.linalg.norm(reference.position) > 0.1


def test_an_estimate_is_held_during_the_substeps() -> None:
    """One call of k substeps equals k calls with the same estimate."""
    estimate = estimate_with(position=[0.1, 0.0, 0.2], attitude=about_z(0.1))
    for make in (lambda: pw.Multicopter(seed=2), make_fleet):
        whole, split = make(), make()
        whole.step(COMMANDS["geometric"], substeps=12, state=estimate)
        for _ in range(12):
            split.step(COMMANDS["geometric"], state=estimate)
        assert whole.snapshot() == split.snapshot()


def estimate_with(**parts: Any) -> pw.MotionEstimate:
    """A motion at rest with other parts."""
    rest: dict[str, Any] = {"position": [0, 0, 0], "velocity": [0, 0, 0], "attitude": [1, 0, 0, 0]}
    return pw.MotionEstimate(**(rest | parts))


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (estimate_with(position=[0.0, 0.0]), r"state.position: expected .*3"),
        (estimate_with(velocity=[0.0, np.nan, 0.0]), r"state.velocity: expected .*finite"),
        (estimate_with(attitude=[0.0, 0.0, 0.0, 0.0]), r"state.attitude: expected .*unit"),
        (estimate_with(attitude=[1.0, 0.0, 0.0]), r"state.attitude: expected"),
        (estimate_with(position="here"), r"state.position: expected"),
        ([0.0, 0.0, 0.0], "state: expected a MotionEstimate"),
        (SimpleNamespace(position=[0, 0, 0]), "state: expected a MotionEstimate"),
    ],
)
def test_invalid_estimates_are_refused(estimate: Any, message: str) -> None:
    for make in (lambda: pw.Multicopter(seed=2), make_fleet):
        vehicle = make()
        before = vehicle.snapshot()
        with pytest.raises((ValueError, TypeError), match=message):
            vehicle.step(COMMANDS["position"], state=estimate)
        assert vehicle.snapshot() == before


def test_rows_for_another_number_of_vehicles_are_refused() -> None:
    fleet = make_fleet()
    with pytest.raises(ValueError, match=r"state.position: expected .*\(5, 3\)"):
        fleet.step(COMMANDS["position"], state=estimate_with(position=np.zeros((4, 3))))


@pytest.mark.parametrize("command", [pw.RateThrust([0, 0, 0], 9.81), pw.RotorSpeeds([900.0] * 4)])
def test_commands_without_outer_loop_refuse_an_estimate(command: Any) -> None:
    for make in (lambda: pw.Multicopter(seed=2), make_fleet):
        vehicle = make()
        before = vehicle.snapshot()
        with pytest.raises(ValueError, match="state: expected None with a RateThrust"):
            vehicle.step(command, state=estimate_with())
        assert vehicle.snapshot() == before
