"""A clock for Betaflight that follows the simulated time, whatever the machine does."""

from __future__ import annotations

import mmap
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

_SOURCE = Path(__file__).with_name("simulated_clock.c")
_LIMIT, _LAST_LIMIT, _SENT, _NOW, _PROCESSED = range(5)  # numbers in the file
_START = 1.0  # s, of the program's clock before the simulation starts
_EPOCH = 1000.0  # s, of its monotonic clock at its start


def compiler() -> list[str]:
    """The command of the C compiler that builds the clock, CC or cc; empty if there is none."""
    command = shlex.split(os.environ.get("CC") or "cc")  # CC may have arguments
    return command if command and shutil.which(command[0]) else []


class SimulatedClock:
    """The monotonic clock of a program that is started with `environment`.

    folder: gets the library, compiled from simulated_clock.c, and the file of the clock.

    Raises ImportError without Linux or a C compiler, OSError if it fails.
    """

    def __init__(self, folder: Path) -> None:
        if not sys.platform.startswith("linux"):
            raise ImportError("the simulated clock needs Linux; pass --clock wall")
        program = compiler()
        if not program:
            raise ImportError(
                "the simulated clock needs a C compiler, expected cc or the one that CC names; "
                "install gcc, or pass --clock wall"
            )
        library, file = folder.resolve() / "simulated_clock.so", folder.resolve() / "clock"
        command = [*program, "-O2", "-fPIC", "-shared", "-o", str(library), str(_SOURCE), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{' '.join(command)}: expected success, got {done.stderr[-300:]}")
        file.write_bytes(bytes(mmap.PAGESIZE))
        with file.open("r+b") as opened:
            page = mmap.mmap(opened.fileno(), mmap.PAGESIZE)
        # stores of an element are whole: the program never reads a part of a number
        self._numbers = np.frombuffer(page, dtype=np.uint64, count=5)
        self.environment = {"LD_PRELOAD": str(library), "PROPWASH_CLOCK": str(file)}
        """Variables of the program's environment."""
        self.restart()

    def restart(self) -> None:
        """Lets a program that starts now run for the time of its initialization."""
        self._numbers[:] = 0
        self._numbers[_NOW] = round(_EPOCH * 1e9)
        self.allow(0.0)
        self._numbers[_SENT] = 0

    def allow(self, seconds: float, packets: int = 1) -> None:
        """Lets the program run until a simulated time [s], once it has processed further packets.

        packets: Number of state and stick packets that are sent after this call.
        """
        limit = round((_EPOCH + _START + seconds) * 1e9)
        self._numbers[_LAST_LIMIT] = min(int(self._numbers[_LIMIT]), limit)
        self._numbers[_SENT] += packets
        self._numbers[_LIMIT] = limit  # last: the program may run from here on

    @property
    def now(self) -> float:
        """s, the simulated time that the program has reached."""
        return (int(self._numbers[_NOW]) - round((_EPOCH + _START) * 1e9)) * 1e-9
