"""The parts of the extension: the first suffices to fly, the others are imported at first use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FLIGHT = """
import propwash as pw
vehicle = pw.Multicopter("flightgoggles")
vehicle.step(pw.RateThrust([0.0, 0.0, 0.1], thrust=9.8), substeps=10)
fleet = pw.Fleet("flightgoggles", 4)
fleet.step(pw.RateThrust([0.0, 0.0, 0.1], thrust=9.8), substeps=10)
"""
HOVER = """
import gymnasium as gym
import numpy as np
envs = gym.make_vec("propwash.gym:propwash/Hover-v0", num_envs=4)
envs.reset(seed=1)
envs.step(np.zeros((4, 4), dtype=np.float32))
"""
PARTS = {
    "derivatives": 'pw.linearize("flightgoggles")',
    "float64": 'pw.Fleet("flightgoggles", 4, dtype="float64")',
    "learn": "import propwash.gym; propwash.gym.make(propwash.gym.Track)",
    "models": 'pw.Fleet("hexacopter", 4)',
    "render": "import propwash.render",
    "world": "pw.Scene([])",
}
"""A statement that needs a part, by its name."""

WITHOUT = """
import importlib.abc, sys
class Hiding(importlib.abc.MetaPathFinder):
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.startswith("propwash._") and name[10:] in {parts}:
            return None
        return self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""
"""Hides extension modules, as if they had not been built."""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in another process."""
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)


def test_vehicles_and_fleets_need_only_the_first_part() -> None:
    done = run(WITHOUT.format(parts=set(PARTS)) + FLIGHT)
    assert done.returncode == 0, done.stderr


def test_the_task_hover_needs_only_the_first_part() -> None:
    pytest.importorskip("gymnasium")
    done = run(WITHOUT.format(parts=set(PARTS)) + HOVER)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_policy_hover_is_drawn_with_only_the_first_part(tmp_path: Path) -> None:
    for module in ("gymnasium", "onnxruntime", "matplotlib"):
        pytest.importorskip(module)
    file = tmp_path / "hover.png"
    arguments = ["fly", "--policy", "hover", "--episodes", "2", "--out", str(file)]
    code = f"from propwash.cli.main import main\nassert main({arguments}) == 0"
    done = run(WITHOUT.format(parts=set(PARTS)) + code)
    assert done.returncode == 0, done.stderr
    assert file.exists(), done.stdout


def test_the_demonstration_needs_only_the_first_part(tmp_path: Path) -> None:
    """`make demo` builds no other."""
    file = tmp_path / "demo.png"
    code = f"from propwash.cli.main import main\nassert main(['demo', '--out', {str(file)!r}]) == 0"
    done = run(WITHOUT.format(parts=set(PARTS)) + code)
    assert done.returncode == 0, done.stderr
    assert "steps/s" in done.stdout


@pytest.mark.parametrize("parts", [set(PARTS), {"render"}], ids=["all", "render"])
def test_the_names_of_a_build_without_parts_can_be_imported(parts: set[str]) -> None:
    code = "from propwash import *\nimport propwash\nprint(propwash.__all__)\nhelp(propwash)"
    done = run(WITHOUT.format(parts=parts) + code)
    assert done.returncode == 0, done.stderr
    names = ast.literal_eval(done.stdout.splitlines()[0])
    assert "Multicopter" in names
    assert not {"arcade", "datasets", "render", "ros"} & set(names)
    assert ("estimate" in names) == ("world" not in parts)
    assert ("RateController" in names) == ("models" not in parts)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_was_not_built_is_named(part: str) -> None:
    if part == "learn":
        pytest.importorskip("gymnasium")
    done = run(WITHOUT.format(parts={part}) + f"import propwash as pw\n{PARTS[part]}")
    assert done.returncode == 1
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("ImportError")]
    assert f'the part "{part}" of propwash was not built' in message
    assert "PROPWASH_PARTS" in message


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_imported_at_first_use(part: str) -> None:
    if part == "learn":
        pytest.importorskip("gymnasium")
    code = f"""
import sys
{FLIGHT}
assert "propwash._{part}" not in sys.modules
{PARTS[part]}
assert "propwash._{part}" in sys.modules
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
