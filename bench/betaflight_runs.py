"""Repeats a scripted flight of Betaflight's simulator build: how many arm, fly and land.

    python bench/betaflight_runs.py obj/main/betaflight_SITL.elf [--runs 20] [--busy 4]

Betaflight is started anew for each flight, which has its own seed. --busy starts processes that
load the processor with an endless loop. Other arguments go to `python -m propwash autopilot
betaflight`, such as --vehicle blackbird, --clock wall.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from propwash.cli import _autopilot_betaflight
from propwash.cli._options import parsed_options
from propwash.cli.main import make_parser

PARTS = ("answers", "armed", "took off", "held", "roll", "pitch", "yaw", "landed")


def busy() -> None:
    """Loads one core for ever."""
    while True:
        pass


def row(number: int, arguments: list[str]) -> tuple[str, bool]:
    """Flies once; returns a row of the table and whether all checks passed."""
    parsed = make_parser().parse_args(["autopilot", "betaflight", *arguments])
    options = parsed_options(_autopilot_betaflight.OPTIONS, parsed)
    begun = time.monotonic()
    try:
        flown = _autopilot_betaflight.fly(options)
    except OSError as error:
        return f"| {number} | {error} |", False
    wall = time.monotonic() - begun
    script, counts = flown.script, flown.statistics
    assert script is not None
    results = {check.name.removesuffix(" stick"): check.passed for check in script.checks}
    cells = ["-" if part not in results else ("yes" if results[part] else "NO") for part in PARTS]
    numbers = (
        f"{flown.starts} | {counts.steps} | {counts.answered} | {counts.lost} | "
        f"{counts.skipped:.1f} | {wall:.0f} | {os.getloadavg()[0]:.1f}"
    )
    return f"| {number} | {' | '.join(cells)} | {numbers} |", script.passed


def main() -> None:
    """Prints a table with a row for each flight."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--busy", type=int, default=0, help="processes with an endless loop")
    options, rest = parser.parse_known_args()
    columns = (*PARTS, "starts", "steps", "answered", "lost", "late s", "wall s", "load")
    print(f"| run | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}", flush=True)
    loads = [multiprocessing.Process(target=busy, daemon=True) for _ in range(options.busy)]
    for load in loads:
        load.start()
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        flight = ["--program", str(options.program), "--folder", folder, "--script", "sticks"]
        for number in range(1, options.runs + 1):
            text, good = row(number, [*flight, "--seed", str(number), *rest])
            passed += good
            print(text, flush=True)
    for load in loads:
        load.terminate()
    print(f"\n{passed} of {options.runs} flights passed all checks")


if __name__ == "__main__":
    main()
