"""Repeats the measurements of docs/performance.md and writes them there between its markers.

    make bench                                       # builds the programs, and propwash in .venv
    .venv/bin/python bench/performance_page.py [--quick] [--peers PYTHON]

Needs a machine without other load for about ten minutes. `--peers` names a Python with propwash and
the peers (bench/peers/README.md); without it that part is kept. `--quick` writes the short table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PROGRAMS = ROOT / "build" / "bench" / "bench"


def output_of(*command: str | Path) -> str:
    """The output of a command; its errors are shown."""
    print("performance_page:", *command, file=sys.stderr, flush=True)
    done = subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return done.stdout.strip()


def fill(page: str, name: str, text: str) -> str:
    """The page with new text between the markers of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"{PAGE}: expected one {begin} and one {end}")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def block(text: str) -> str:
    """A block of unformatted text."""
    return f"```\n{text}\n```"


def company() -> str:
    """The load of the machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < 0.3:
        return f"The machine, of {cores} cores, did nothing else."
    return (
        f"Beside the measurement {load:.1f} other programs were running on the machine's {cores} "
        "cores: rows of several threads are too low, and others may be."
    )


def main() -> int:
    """Writes the page after each part, so that a failure does not lose the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="the short table")
    parser.add_argument("--peers", help="a Python with propwash and the peers")
    options = parser.parse_args()
    length = ["--quick"] if options.quick else []
    program = PROGRAMS / "propwash_bench"
    parts: dict[str, Callable[[], str]] = {
        "company": company,
        "operations": lambda: block(output_of(PROGRAMS / "propwash_operations")),
        "table": lambda: output_of(
            sys.executable, "-m", "propwash", "bench", "--markdown", *length
        ),
        "ratios": lambda: block(output_of(sys.executable, "bench/ratios.py", program)),
    }
    if options.peers:
        parts["peers"] = lambda: output_of(options.peers, "bench/peers/run.py")
    for name, make in parts.items():
        text = make()
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
