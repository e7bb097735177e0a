"""The shipped policies as C code fly in propwash, in MuJoCo, and with scattered parameters."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

from policy_transfer import POLICIES, MujocoBody, Simulator, successes
from propwash import Fleet, RateThrust, vehicles

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="a C compiler is missing"
)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["propwash", "MuJoCo", "scattered"])
@pytest.mark.parametrize("name", POLICIES)
def test_shipped_policies_succeed(name: str, simulator: Simulator, tmp_path: Path) -> None:
    if simulator == "MuJoCo":
        pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco")
    found = successes(name, simulator, 3, tmp_path)
    assert sum(found) >= (2 if simulator == "scattered" else 3)


def test_mujoco_s_body_moves_under_the_force_and_the_torque_of_the_rotors() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco")
    vehicle = vehicles.load("flightgoggles")
    command = RateThrust(np.array([[1.0, -0.5, 0.3]]), np.array([1.2 * vehicle.weight]))
    fleets = [Fleet(vehicle, 1, noise=False) for _ in range(2)]
    body = MujocoBody(vehicle, fleets[0].dt)
    for _ in range(480):
        body.step(fleets[0], fleets[0]._core, command)
        fleets[1].step(command)
    moved, expected = (fleet.state for fleet in fleets)
    assert np.linalg.norm(expected.position) > 0.2
    np.testing.assert_allclose(moved.position, expected.position, atol=0.01)
    np.testing.assert_allclose(moved.body_rates, expected.body_rates, atol=0.02)
