"""The companions of examples/firmware refuse what they cannot fly."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

from betaflight_policy_flight import betaflight_msp
from policy_library import compiled
from propwash import vehicles
from propwash.gym.export_c import export_c
from propwash.gym.policy import Policy

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="a C compiler is missing")
STATE = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6]


def test_an_invalid_first_state_is_not_the_goal(tmp_path: Path) -> None:
    sent: list[bytes] = []
    pilot = betaflight_msp.PolicyPilot(compiled("hover", tmp_path), sent.append)
    vehicle = vehicles.load("flightgoggles")
    assert pilot.code.hover_fraction == pytest.approx(vehicle.weight / vehicle.max_thrust)
    pilot.answer([math.nan, *STATE[1:]])
    assert not sent
    pilot.answer(STATE)
    assert len(sent) == 1
    assert pilot.goal == STATE[:3]


def test_a_goal_of_another_task_gives_no_command(tmp_path: Path) -> None:
    code: Any = betaflight_msp.PolicyCode(compiled("track", tmp_path))
    assert code.command(STATE, STATE[:3]) is None
    assert code.command(STATE, [*STATE[:3], 0.0, 0.0, 0.0, *3 * STATE[:3]]) is not None


@pytest.mark.parametrize("action", ["attitude_thrust", "velocity"])
def test_other_commands_are_refused(action: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(Policy.load("hover").model)
    entry = next(each for each in model.metadata_props if each.key == "propwash")
    entry.value = entry.value.replace("rate_thrust", action)
    onnx.save(model, tmp_path / "own.onnx")
    library = compiled(str(tmp_path / "own.onnx"), tmp_path)
    with pytest.raises(ValueError, match="expected commands of body rates and thrust"):
        betaflight_msp.PolicyCode(library)


def test_a_library_without_the_functions_is_refused(tmp_path: Path) -> None:
    export_c("hover", tmp_path)
    library = tmp_path / "hover.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", tmp_path / "hover.c", "-lm", "-o", library], check=True
    )
    with pytest.raises(ValueError, match=r"expected policy\.c .* found no policy_self_test"):
        betaflight_msp.PolicyCode(library)


@pytest.mark.parametrize("name", ["px4_offboard", "betaflight_msp"])
def test_a_missing_library_is_reported(name: str, tmp_path: Path) -> None:
    if name == "px4_offboard":
        pytest.importorskip("pymavlink")
    script = Path(betaflight_msp.__file__).with_name(f"{name}.py")
    device = [tmp_path / "tty"] if name == "betaflight_msp" else []
    command: list[str | Path] = [sys.executable, script, tmp_path / "policy.so", *device]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "policy.so: expected a shared library of a policy" in done.stderr
