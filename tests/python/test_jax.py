"""The example for JAX: its derivatives, under jax.jit too, are those of central differences.

It runs in another process, because JAX warns of every later fork of a process that imported it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jax_gradients.py"

pytestmark = [
    pytest.mark.skipif(not EXAMPLE.is_file(), reason="examples are missing"),
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
]

SCRIPT = """
import jax
import jax_gradients  # enables numbers of 64 bits
import numpy as np
import propwash as pw
from jax.test_util import check_grads

rng = np.random.default_rng(1)
n, count = 3, 4
fleet = pw.Fleet("flightgoggles", n, dtype="float64", noise=False, threads=1)
attitude = np.array([1, 0, 0, 0]) + 0.1 * rng.normal(size=(n, 4))
start = {
    "position": rng.normal(size=(n, 3)),
    "velocity": rng.normal(size=(n, 3)),
    "attitude": attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
    "body_rates": 0.1 * rng.normal(size=(n, 3)),
    "rotor_speeds": fleet.rotor_speeds * (1 + 0.02 * rng.normal(size=(n, 4))),
}
mass = np.array([1.0, 1.1, 0.9])
thrust = 9.81 * mass * (1 + 0.05 * rng.normal(size=(count, n)))
commands = {"rates": 0.1 * rng.normal(size=(count, n, 3)), "thrust": thrust}
variables = {"commands": commands, "start": start, "parameters": {"mass": mass}}
rollout = jax_gradients.rollout_of(fleet, pw.RateThrust, 5)

states = rollout(variables)
fleet.set_parameters(mass=mass)
fleet.reset(**start)
expected = fleet.rollout(pw.RateThrust(**commands), substeps=5)
for name in ("position", "velocity", "attitude", "body_rates", "rotor_speeds"):
    assert np.array_equal(states[name], getattr(expected, name)), name

for f in (rollout, jax.jit(rollout)):
    check_grads(f, (variables,), order=1, modes=["rev"], atol=1e-5, rtol=1e-5, eps=1e-5)

def height(variables):
    return rollout(variables)["position"][-1, :, 2].sum()

lift = jax.grad(height)(variables)["commands"]["thrust"]
assert (lift > 0).all()  # every command lifts its vehicle
bare = {"commands": commands, "start": {}, "parameters": {}}
assert jax.grad(height)(bare)["start"] == {}
print("derivatives agree")
"""


@pytest.mark.slow
def test_derivatives_in_jax() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        cwd=EXAMPLE.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "derivatives agree" in ran.stdout
