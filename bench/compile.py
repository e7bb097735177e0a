"""The compile time of including and building propwash, relative to `<Eigen/Dense>`.

    python bench/compile.py [--wheel] [--demo] [--runs 5] [--compiler g++]

User CPU time of a compiler that writes an object file: medians of interleaved runs, each divided by
the median of a file that only includes `<Eigen/Dense>`, at -O0. The ratio depends little on the
machine. `--wheel` adds a build of the wheel in an empty directory, `--demo` a `make demo` in a new
clone of the last commit; both without ccache, and with the peak memory of their largest unit.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = sorted(path.name for path in (ROOT / "include" / "propwash").glob("*.hpp"))
REFERENCE = "#include <Eigen/Dense>"
STATIC = "-DPROPWASH_STATIC"
LAUNCHER = """#!{python}
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open({log!r}, "a") as log:
    log.write(f"{{peak}}\\n")
sys.exit(status)
"""
"""Runs a compiler and writes its peak memory [kB]."""


class Cost(NamedTuple):
    """User CPU time [s] and peak memory [GB] of the largest unit, 0 if not measured."""

    seconds: float
    peak: float = 0.0


def first_program() -> str:
    """The ten lines of C++ in README.md."""
    program = re.search(r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    if program is None:
        raise SystemExit("README.md: expected a block of C++; restore the ten lines")
    return program[1]


def cases() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> source text and flags; the first is the reference."""
    program = first_program()
    alone = {
        f"`propwash/{name}`": (f"#include <propwash/{name}>", ("-O0",))
        for name in ENTRIES
        if name not in ("fwd.hpp", "version.hpp")
    }
    dynamic = program.replace("Multicopter<4>", "Multicopter<>", 1)
    return {
        "`<Eigen/Dense>`": (REFERENCE, ("-O0",)),
        "README's ten lines": (program, ("-O0",)),
        "README's ten lines, `-O2`": (program, ("-O2",)),
        "the same with `Multicopter<>`": (dynamic, ("-O0",)),
        "the same with `Multicopter<>`, `-O2`": (dynamic, ("-O2",)),
        "README's ten lines, `propwash::static`": (program, ("-O0", STATIC)),
        "README's ten lines, `propwash::static`, `-O2`": (program, ("-O2", STATIC)),
        **alone,
    }


def eigen() -> Path:
    """The directory that holds `Eigen/Dense`."""
    places = [
        Path(sysconfig.get_path("purelib"), "cmeel.prefix", "include", "eigen3"),
        *(Path(prefix, "include", "eigen3") for prefix in ("/usr", "/usr/local", "/opt/homebrew")),
    ]
    for place in places:
        if (place / "Eigen" / "Dense").exists():
            return place
    raise SystemExit("Eigen's headers are missing (Debian: libeigen3-dev, pip: cmeel-eigen)")


def cpu_seconds(command: list[str], **options: object) -> float:
    """User CPU time of a command and its children; ends the program if the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure_units(compiler: str, runs: int, folder: Path) -> dict[str, float]:
    """Median seconds of each case."""
    command = [compiler, "-std=c++17", f"-I{ROOT / 'include'}", f"-I{eigen()}"]
    object_file = folder / "unit.o"
    units = {}
    for i, (name, (text, flags)) in enumerate(cases().items()):
        source = folder / f"unit{i}.cpp"
        source.write_text(text + "\n")
        units[name] = [*command, *flags, "-c", str(source), "-o", str(object_file)]
    seconds: dict[str, list[float]] = {name: [] for name in units}
    for _ in range(runs):
        for name, unit in units.items():
            seconds[name].append(cpu_seconds(unit))
    return {name: statistics.median(values) for name, values in seconds.items()}


def measure_build(folder: Path, command: list[str], cwd: Path) -> Cost:
    """Cost of a command that runs CMake, without ccache."""
    log, launcher = folder / "peaks.txt", folder / "launcher"
    launcher.write_text(LAUNCHER.format(python=sys.executable, log=str(log)))
    launcher.chmod(0o755)
    changed = {"CMAKE_CXX_COMPILER_LAUNCHER": str(launcher), "CCACHE_DISABLE": "1"}
    seconds = cpu_seconds(command, env=os.environ | changed, cwd=cwd)
    return Cost(seconds, max(map(int, log.read_text().split())) / 1e6)


def measure_wheel(folder: Path) -> Cost:
    """Cost of `pip wheel .`, with the build requirements that are installed."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    setting = f"--config-settings=build-dir={folder / 'build'}"
    return measure_build(folder, [*command, setting, "-w", str(folder), "."], ROOT)


def measure_demo(folder: Path) -> Cost:
    """Cost of `make demo` in a new clone, with the packages that pip installs."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return measure_build(folder, ["make", "demo"], clone)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", action="store_true", help="build the wheel too (minutes)")
    parser.add_argument("--demo", action="store_true", help="run `make demo` too (minutes)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each file (default: 5)")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        units = measure_units(options.compiler, options.runs, Path(name))
        costs = {what: Cost(seconds) for what, seconds in units.items()}
    builds = {"`pip wheel .`": measure_wheel, "`make demo`": measure_demo}
    for (what, measure), wanted in zip(builds.items(), (options.wheel, options.demo), strict=True):
        if wanted:
            with tempfile.TemporaryDirectory() as name:
                costs[what] = measure(Path(name))
    reference = next(iter(costs.values())).seconds
    print("| what is compiled | CPU s | relative | peak of a unit, GB |\n| --- | --- | --- | --- |")
    for what, cost in costs.items():
        peak = f"{cost.peak:.2f}" if cost.peak else ""
        print(f"| {what} | {cost.seconds:.2f} | {cost.seconds / reference:.2f} | {peak} |")


if __name__ == "__main__":
    main()
