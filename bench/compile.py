"""The compile time of including and building propwash, relative to `<Eigen/Dense>`.

    python bench/compile.py [--wheel] [--runs 5] [--compiler g++]

User CPU time of a compiler at -O0 that writes an object file: medians of interleaved runs, each
divided by the median of a file that only includes `<Eigen/Dense>`. The ratio depends little on the
machine. `--wheel` adds a build of the wheel in an empty directory, without ccache.
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

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = sorted(path.name for path in (ROOT / "include" / "propwash").glob("*.hpp"))
REFERENCE = "#include <Eigen/Dense>"
STATIC = "-DPROPWASH_STATIC"


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
        f"`propwash/{name}`": (f"#include <propwash/{name}>", ())
        for name in ENTRIES
        if name not in ("fwd.hpp", "version.hpp")
    }
    return {
        "`<Eigen/Dense>`": (REFERENCE, ()),
        "README's ten lines": (program, ()),
        "README's ten lines, `propwash::static`": (program, (STATIC,)),
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
    command = [compiler, "-std=c++17", "-O0", f"-I{ROOT / 'include'}", f"-I{eigen()}"]
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


def measure_wheel(folder: Path) -> float:
    """Seconds of `pip wheel .`, with the build requirements that are installed."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    setting = f"--config-settings=build-dir={folder / 'build'}"
    environment = os.environ | {"CMAKE_CXX_COMPILER_LAUNCHER": "", "CCACHE_DISABLE": "1"}
    return cpu_seconds([*command, setting, "-w", str(folder), str(ROOT)], env=environment)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", action="store_true", help="build the wheel too (minutes)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each file (default: 5)")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = measure_units(options.compiler, options.runs, folder)
        if options.wheel:
            seconds["`pip wheel .`"] = measure_wheel(folder)
    reference = next(iter(seconds.values()))
    print("| what is compiled | CPU s | relative |\n| --- | --- | --- |")
    for what, value in seconds.items():
        print(f"| {what} | {value:.2f} | {value / reference:.2f} |")


if __name__ == "__main__":
    main()
