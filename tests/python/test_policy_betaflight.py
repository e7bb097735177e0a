"""An exported policy flies Betaflight by MSP: PROPWASH_BETAFLIGHT names its program."""

from __future__ import annotations

import math
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("onnxruntime")

from betaflight_policy_flight import betaflight_msp, fly
from propwash.autopilot._firmware import IDLE

Command = betaflight_msp.Command


@pytest.mark.parametrize(("axis", "channel", "sign"), [(0, 0, 1), (1, 1, 1), (2, 3, -1)])
def test_channels_are_rates(axis: int, channel: int, sign: int) -> None:
    """To the right, nose down, and yaw to the left by a stick to the left."""
    rates = np.zeros(3)
    rates[axis] = math.radians(0.5 * betaflight_msp.MAX_RATE)
    widths = betaflight_msp.channels(Command(tuple(rates), 0.3))
    assert widths[channel] == 1500 + sign * 250
    others = {0, 1, 3} - {channel}
    assert all(widths[each] == 1500 for each in others)
    beyond = betaflight_msp.channels(Command(tuple(9.0 * rates), 0.3))
    assert beyond[channel] == 1500 + sign * 500


def test_the_throttle_gives_the_thrust() -> None:
    assert betaflight_msp.IDLE == IDLE
    for fraction in (0.06, 0.265, 0.8, 1.0):
        width = betaflight_msp.channels(Command((0.0, 0.0, 0.0), fraction))[2]
        throttle = (width - 1050) / 950  # of Betaflight, min_check 1050
        assert IDLE + (1.0 - IDLE) * throttle == pytest.approx(fraction, abs=1e-3)
    assert betaflight_msp.channels(Command((0.0, 0.0, 0.0), 0.0))[2] == 1050


def test_a_message_is_one_of_msp() -> None:
    message = betaflight_msp.raw_rc((1500, 1501, 1050, 2000))
    assert message[:5] == b"$M<" + bytes([8, 200])
    assert struct.unpack("<4H", message[5:-1]) == (1500, 1501, 1050, 2000)
    assert np.bitwise_xor.reduce(np.frombuffer(message[3:], np.uint8)) == 0


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    script = [sys.executable, betaflight_msp.__file__]
    done = subprocess.run([*script, "--settings"], capture_output=True, text=True, check=True)
    assert "msp_override_channels_mask = 15" in done.stdout
    file = tmp_path / "file"
    file.touch()
    for arguments, message in (
        ((), "expected a library and a device"),
        (("nosuch.so", "/dev/null"), "nosuch.so: expected a shared library of a policy"),
        ((file, file), f"{file}: expected a serial device"),
    ):
        done = subprocess.run([*script, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    "PROPWASH_BETAFLIGHT" not in os.environ, reason="PROPWASH_BETAFLIGHT is not set"
)
@pytest.mark.skipif(not shutil.which("cc"), reason="a C compiler is missing")
def test_a_policy_holds_and_moves_the_vehicle(tmp_path: Path) -> None:
    """One that is trained with the delay: the shipped one oscillates."""
    pytest.importorskip("torch")
    options = (
        "action_delay=[10,50]", 'randomize={"mass":0.1}', "max_rates=[5,5,3]",
        'weights={"action_change":0.15,"body_rates":0.02}',
    )  # fmt: skip
    train = [sys.executable, "-m", "propwash", "train", "hover", "--steps", "1000000"]
    train += [word for option in options for word in ("--option", option)]
    subprocess.run([*train, "--out", tmp_path / "hover"], check=True, capture_output=True)
    program = Path(os.environ["PROPWASH_BETAFLIGHT"]).resolve()
    policy = str(tmp_path / "hover/policy.onnx")
    script = fly(program, "flightgoggles", policy, tmp_path, step=0.7)
    assert script.passed, script.checks
    moved = np.array([sample.position for sample in script.held])
    start, end = moved[0], moved[len(moved) // 2 :]
    assert np.abs(end.mean(axis=0) - start - (0.7, 0.0, 0.0)).max() < 0.15
    assert np.ptp(end, axis=0).max() < 0.1
    assert np.array([sample.body_rates for sample in script.held]).std(axis=0).max() < 0.5
