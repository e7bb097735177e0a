"""Flights of the real PX4 by the C code of a policy, with examples/firmware/px4_offboard.py."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from autopilot_programs import Flight
from propwash.gym.export_c import export_c

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "firmware"))
px4_offboard: Any = importlib.import_module("px4_offboard")

RATE = 96.0  # Hz, of the policy


class PolicyFlight(Flight):
    """A flight whose commands are those of a policy, once there is one."""

    pilot: Any = None
    rate = 0.5  # messages take wall time, which the vehicle flies on for

    def receive(self, message: Any) -> None:
        """Answers ODOMETRY messages."""
        super().receive(message)
        if self.pilot is not None and message.get_type() == "ODOMETRY":
            self.pilot.answer(message)

    def fly_by(self, policy: str) -> None:
        """Gives control to a policy: the name of a shipped one, or a file."""
        folder = self._folder / "c"
        export_c(policy, folder, "policy")
        sources = [folder / name for name in ("policy.c", "policy_test.c")]
        library = folder / "policy.so"
        flags = "-O2", "-shared", "-fPIC"
        command: list[str | Path] = ["cc", *flags, *sources, "-lm", "-o", library]
        subprocess.run(command, check=True)
        px4_offboard.request(self.link, self.system, RATE)
        self.pilot, self.target = px4_offboard.PolicyPilot(library, self.link), None
