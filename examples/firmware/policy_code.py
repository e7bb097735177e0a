"""The C code of an exported policy, compiled as a shared library, for the companions beside it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LARGEST_GOAL = 256  # numbers of policy_goal


@dataclass(frozen=True)
class Command:
    """Body rates and thrust."""

    rates: tuple[float, float, float]
    """rad/s, body frame: x forward, y left, z up."""
    thrust_fraction: float
    """Thrust over the maximum thrust of the vehicle, 0 to 1."""


class PolicyCode:
    """An export with the name `policy` and the action of body rates and thrust.

    library: the shared library, with policy_test.c. Raises RuntimeError if its self-test fails,
    ValueError for a library of something else.
    """

    def __init__(self, library: Path) -> None:
        self._code = ctypes.CDLL(str(library.resolve()))
        for function in ("policy_self_test", "policy_reset", "policy_step", "policy_convert"):
            if not hasattr(self._code, function):
                raise ValueError(
                    f"{library}: expected policy.c and policy_test.c of `propwash export --name "
                    f"policy`, for states, found no {function}()"
                )
        self._code.policy_self_test.restype = ctypes.c_float
        if not self._code.policy_self_test() <= 1e-5:
            raise RuntimeError(f"{library}: expected actions as in the training, got others")
        self._memory = (ctypes.c_float * 65536)()  # more than any policy has
        self._command = (ctypes.c_float * 64)()  # rates (3), thrust, fraction, duty cycle
        self._code.policy_convert((ctypes.c_float * 64)(), self._command)
        # of an action of zeros: the thrust of hover, of the vehicle of the training
        *rates, _, self.hover_fraction = self._command[:5]
        if any(rates) or not 0.0 < self.hover_fraction < 1.0:
            raise ValueError(f"{library}: expected commands of body rates and thrust, got others")
        self._code.policy_reset(self._memory)

    def command(self, state: Sequence[float], goal: Sequence[float]) -> Command | None:
        """The command for a state estimate; None if an input is not finite, or the goal too short.

        state: position (3), velocity (3), attitude w x y z, body rates (3). goal: the numbers of
        policy_goal, in its order. The world's z axis points up.
        """
        padded = [*goal, *[math.nan] * (_LARGEST_GOAL - len(goal))]
        inputs = ((ctypes.c_float * len(part))(*part) for part in (state, padded))
        if self._code.policy_step(self._memory, *inputs, self._command) != 0:
            return None
        roll, pitch, yaw, _, fraction = self._command[:5]
        return Command((roll, pitch, yaw), fraction)
