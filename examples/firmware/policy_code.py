"""The C code of an exported policy, compiled as a shared library, for the companions beside it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """Body rates and thrust."""

    rates: tuple[float, float, float]
    """rad/s, body frame: x forward, y left, z up."""
    thrust_fraction: float
    """Thrust over the maximum thrust of the vehicle, 0 to 1."""


class PolicyCode:
    """An export with the name `policy` and the action of body rates and thrust.

    library: the shared library, with policy_test.c. Raises RuntimeError if its self-test fails.
    """

    def __init__(self, library: Path) -> None:
        self._code = ctypes.CDLL(str(library.resolve()))
        self._code.policy_self_test.restype = ctypes.c_float
        if not self._code.policy_self_test() <= 1e-5:
            raise RuntimeError(f"{library}: expected actions as in the training, got others")
        self._memory = (ctypes.c_float * 1024)()
        self._command = (ctypes.c_float * 6)()  # rates (3), thrust, fraction, duty cycle
        self._code.policy_reset(self._memory)

    def command(self, state: Sequence[float], goal: Sequence[float]) -> Command | None:
        """The command for a state estimate; None if an input is not finite.

        state: position (3), velocity (3), attitude w x y z, body rates (3). goal: the numbers of
        policy_goal, in its order. The world's z axis points up.
        """
        inputs = ((ctypes.c_float * len(part))(*part) for part in (state, goal))
        if self._code.policy_step(self._memory, *inputs, self._command) != 0:
            return None
        roll, pitch, yaw, _, fraction, _ = self._command
        return Command((roll, pitch, yaw), fraction)
