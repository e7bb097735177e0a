"""Measures what docs/performance.md explains, and writes the tables of docs/performance/.

    make bench                                       # builds the programs, and propwash in .venv
    .venv/bin/python bench/performance_page.py [--quick] [--wheel] [--peers PYTHON]

Needs an idle machine for about ten minutes. `--peers` names a Python with propwash and the peers
(bench/peers/README.md); without it the table of peers does not change. `--wheel` also measures the
compile time, in ten more minutes. `--quick` measures fewer rows of the fleet.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "performance"
PROGRAMS = ROOT / "build" / "bench" / "bench"
PROGRAM = PROGRAMS / "propwash_bench"

MULTICOPTER = {
    "rk4": "the default quadcopter, rotor speed commands, noise off",
    "rk4_noise_imu": "the same with process noise and a reading of the IMU",
    "rk4_closed_loop": "the same, rate and thrust commands, noise off",
    "rk4_closed_loop_noise": "the same, rate and thrust commands, all noise on",
    "euler": "Euler instead of RK4, noise off",
    "rk4_float": "in `float`",
    "rk4_dynamic": "with the number of rotors known at run time",
    "rk4_all_terms": "the crazyflie: all terms",
    "rk4_hexacopter": "the hexacopter",
}
"""Benchmark -> description of its step, for one multicopter."""


def output_of(*command: str | Path) -> str:
    """The output of a command; its errors are shown."""
    print("performance_page:", *command, file=sys.stderr, flush=True)
    done = subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return done.stdout.strip()


def code(text: str) -> str:
    """A block of text as it was printed."""
    return f"```\n{text}\n```"


def multicopter() -> str:
    """The fastest of seven runs of each row."""
    rows = "|".join(MULTICOPTER)
    options = [f"--benchmark_filter=^({rows})$", "--benchmark_repetitions=7"]
    measured = json.loads(output_of(PROGRAM, *options, "--benchmark_format=json"))["benchmarks"]
    runs = [row for row in measured if row["run_type"] == "iteration"]
    lines = ["| a step of | benchmark | steps/s | ratio to `rk4` |", "| --- | --- | --- | --- |"]
    speed: dict[str, float] = {}
    for name, what in MULTICOPTER.items():
        speed[name] = max(run["items_per_second"] for run in runs if run["run_name"] == name)
        ratio = speed[name] / speed["rk4"]
        lines.append(f"| {what} | `{name}` | {speed[name] / 1e6:.1f} million | {ratio:.2f} |")
    return "\n".join(lines)


def write(name: str, title: str, text: str) -> None:
    """Writes a page with a table and the load of the machine."""
    page = (
        f"# {title}\n\nWritten by `bench/performance_page.py`; [performance.md](../performance.md) "
        f"explains it. The load of the machine was {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count() or 1} cores.\n\n{text}\n"
    )
    (PAGES / f"{name}.md").write_text(page, encoding="utf-8")


def main() -> int:
    """Writes each page as soon as it is measured; a later error does not lose it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows of the fleet")
    parser.add_argument("--wheel", action="store_true", help="the compile time too (ten minutes)")
    parser.add_argument("--peers", help="a Python that has propwash and the peers")
    options = parser.parse_args()
    python = sys.executable
    quick = ["--quick"] if options.quick else []
    write("operations", "Operations of a step", code(output_of(PROGRAMS / "propwash_operations")))
    write("multicopter", "One multicopter", multicopter())
    write("fleet", "Fleet", output_of(python, "-m", "propwash", "bench", "--markdown", *quick))
    write("ratios", "Ratios", code(output_of(python, "bench/ratios.py", PROGRAM)))
    if options.wheel:
        write("compile", "Compile time", output_of(python, "bench/compile.py", "--wheel", "--demo"))
    if options.peers:
        write("peers", "Peers", output_of(options.peers, "bench/peers/run.py"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
