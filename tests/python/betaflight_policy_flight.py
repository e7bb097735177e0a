"""Flights of the real Betaflight by a policy, with examples/firmware/betaflight_msp.py."""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from policy_library import compiled
from propwash.autopilot import Sample, ScriptedFlight
from propwash.autopilot._script import StickPositions
from propwash.cli import _autopilot_betaflight
from propwash.cli._autopilot_betaflight import BetaflightOptions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "firmware"))
betaflight_msp: Any = importlib.import_module("betaflight_msp")

RATE = 96.0  # Hz, of the policy
HOLD = 7.0  # s
_MSP = "127.0.0.1", 5761
_SETTLE = 3.0  # s


@dataclass
class _Sticks(StickPositions):
    override: bool = False

    def channels(self) -> tuple[int, ...]:
        return (*super().channels(), 2000 if self.override else 1000)


class PolicySticks(ScriptedFlight):
    """The scripted flight, in which a policy holds the vehicle after its own hold, and moves it."""

    library: Path
    step: float = 0.0
    """m, along x, after half of the time."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sticks = self._switched = _Sticks()
        self.held = list[Sample]()
        self.sent = 0

    def _follow(self) -> Iterator[float]:
        with socket.create_connection(_MSP, 10.0) as port:
            port.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pilot = betaflight_msp.PolicyPilot(self.library, port.sendall)
            self._switched.angle, self._switched.override = False, True
            for t in self._for(_SETTLE + HOLD):
                while t >= self.sent / RATE:
                    pilot.answer(_state(self._sample))
                    self.sent += 1
                if self.step and t >= _SETTLE and not self.held:
                    x, y, z = pilot.goal
                    pilot.goal = (x + self.step, y, z)
                if t >= _SETTLE:
                    self.held.append(self._sample)
                yield t
        self._switched.override = False
        for t in self._for(4.0):
            self._steer(self._height)
            yield t


def _state(sample: Sample) -> list[float]:
    parts = sample.position, sample.velocity, sample.attitude, sample.body_rates
    return [float(number) for part in parts for number in part]


def fly(program: Path, vehicle: str, policy: str, folder: Path, step: float = 0.0) -> PolicySticks:
    """Arms, takes off, holds, is held by the policy for HOLD seconds, and lands."""
    PolicySticks.library, PolicySticks.step = compiled(policy, folder / "c"), step
    settings = _autopilot_betaflight._settings

    def with_override(*arguments: Any) -> str:
        return f"{settings(*arguments)}{betaflight_msp.SETTINGS}"

    options = BetaflightOptions(
        vehicle=vehicle, program=program, folder=folder / "b", script="sticks", speed=0.5
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_autopilot_betaflight, "_settings", with_override)
        patch.setattr(_autopilot_betaflight, "ScriptedFlight", PolicySticks)
        script = _autopilot_betaflight.fly(options).script
    assert isinstance(script, PolicySticks)
    return script
