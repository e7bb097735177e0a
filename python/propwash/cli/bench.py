"""Measures vehicle-steps per second of a fleet, and the peak rate of multiply-adds of one core.

A row is one way of calling `Fleet.step`: work per step, type, integrator, threads, number of
vehicles and steps per call. Rows and peak are measured alternately, as clock rates drift; their
ratio is comparable between runs. Both are medians.
"""

from __future__ import annotations

import gc
import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product, starmap
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash._checks import available_threads
from propwash._core import RateThrust, RotorSpeeds
from propwash.fleet import Fleet
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Work = Literal["physics", "noise", "closed_loop"]
Dtype = Literal["float32", "float64"]
Method = Literal["euler", "rk4"]

WORKS: dict[Work, str] = {
    "physics": "rotor speeds commanded; motor lag and limits, thrust, rotor and gyroscopic "
    "torques, body drag, rigid body, attitude kept a unit quaternion",
    "noise": "physics + a random force and torque, six normals drawn for every step",
    "closed_loop": "noise + body rates and thrust commanded; in every step IMU noise and the walk "
    "of its biases, low-pass, PID, allocation, limits",
}
"""Description of the work of a step."""

DTYPES: tuple[Dtype, ...] = ("float32", "float64")
INTEGRATORS: tuple[Method, ...] = ("euler", "rk4")
BATCHES = (1, 64, 1024, 16_384, 262_144, 1_048_576)
SUBSTEPS = (1, 10)
QUICK_BATCH = 4096
MAX_THREADS = 4096
THREADS_EXPECTED = f"expected whole numbers from 1 to {MAX_THREADS}, separated by commas"
DT = 1.0 / 960.0
"""Time step [s]."""
MAX_STEPS = 10_000
"""Steps after which a flight restarts."""


@dataclass(frozen=True)
class Case:
    """One way of calling a fleet."""

    work: Work = "physics"
    dtype: Dtype = "float32"
    integrator: Method = "rk4"
    threads: int = 1
    batch: int = QUICK_BATCH
    substeps: int = 10


@dataclass(frozen=True, kw_only=True)
class Row(Case):
    """A measured case; `peak_gflops` is the peak of one core in the case's type."""

    isa: str
    steps_per_s: float
    peak_gflops: float


@dataclass(frozen=True)
class Timing:
    """Duration of the measurements."""

    repeats: int = 5
    """Number of repeats of a median."""
    seconds: float = 0.04
    """Duration of a repeat [s], at least one call."""


def full(threads: Sequence[int] = (1, 2)) -> list[Case]:
    """All combinations of the table."""
    checked = checked_threads(threads)
    return list(starmap(Case, product(WORKS, DTYPES, INTEGRATORS, checked, BATCHES, SUBSTEPS)))


def quick(threads: Sequence[int] = (1,)) -> list[Case]:
    """RK4 of 4096 vehicles."""
    checked = checked_threads(threads)
    table = product(WORKS, DTYPES, ("rk4",), checked, (QUICK_BATCH,), SUBSTEPS)
    return [Case(*each) for each in table]  # type: ignore[arg-type]


def checked_threads(threads: Sequence[int]) -> tuple[int, ...]:
    """Removes repeated numbers of threads. Raises ValueError for invalid ones."""
    if not threads or not all(1 <= count <= MAX_THREADS for count in threads):
        got = ",".join(str(count) for count in threads)
        raise ValueError(f"threads: {THREADS_EXPECTED}, got {got!r}")
    return tuple(dict.fromkeys(threads))


class BenchFlight:
    """A flying fleet and its commands."""

    def __init__(self, case: Case, **options: Any) -> None:
        vehicle = vehicle_for(case.work)
        self.fleet = Fleet(
            vehicle,
            case.batch,
            dtype=case.dtype,
            integrator=case.integrator,
            dt=DT,
            seed=7,
            threads=case.threads,
            noise=case.work != "physics",
            **options,
        )
        self.case = case
        self._started = 0
        rotors = len(vehicle.rotors)
        speeds = self.fleet.rotor_speeds * (
            1.0 + 0.01 * spread(case.batch * rotors).reshape(-1, rotors)
        )
        self._speeds = np.asarray(speeds, dtype=case.dtype)
        self._rates = (0.2 * spread(3 * case.batch)).reshape(-1, 3).astype(case.dtype)
        self._thrust = np.full(case.batch, 9.81 * vehicle.body.mass, dtype=case.dtype)

    def step(self) -> None:
        """Makes one call as a training loop does, including construction of the command."""
        if self.case.work == "closed_loop":
            self.fleet.step(RateThrust(self._rates, self._thrust), substeps=self.case.substeps)
        else:
            self.fleet.step(RotorSpeeds(self._speeds), substeps=self.case.substeps)

    def rate(self, calls: int) -> float:
        """Measures vehicle-steps per second over a number of calls."""
        if self.fleet.steps - self._started > MAX_STEPS:
            self._restart()
        return calls * self.case.batch * self.case.substeps / self._seconds(calls)

    def _restart(self) -> None:
        """Keeps the vehicles near the start."""
        self.fleet.reset()
        self._started = self.fleet.steps

    def _seconds(self, calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            self.step()
        return time.perf_counter() - began

    def calls(self, seconds: float) -> int:
        """Number of calls that take `seconds`; also warms up caches and clock."""
        calls = 1
        while (duration := self._seconds(calls)) <= 0.25 * seconds:
            calls *= 4
        return max(1, round(seconds * calls / duration))


def spread(count: int) -> NDArray[np.float64]:
    """Distinct numbers between -1 and 1."""
    values: NDArray[np.float64] = np.sin(np.arange(count) + 1.0)
    return values


def vehicle_for(work: Work) -> VehicleParameters:
    """Returns the default quadcopter, for `noise` without the random walk of the IMU biases.

    Commanded rotor speeds do not use the IMU, so only process noise is drawn then.
    """
    vehicle = vehicles.load("flightgoggles")
    if work == "noise":
        vehicle = vehicle.replace(imu={"accelerometer_bias_walk": 0.0, "gyroscope_bias_walk": 0.0})
    return vehicle


def measure(
    cases: Iterable[Case],
    timing: Timing = Timing(),
    progress: Callable[[int], None] = lambda rows: None,
) -> Iterator[Row]:
    """Measures cases; cases that differ only in substeps share a fleet and alternate."""
    groups: dict[Case, list[Case]] = {}
    for case in cases:
        groups.setdefault(replace(case, substeps=1), []).append(case)
    done = 0
    for group in groups.values():
        progress(done)
        yield from _measure_group(group, timing)
        done += len(group)
        gc.collect()  # frees a fleet of a million before the next one
    progress(done)


def _measure_group(group: list[Case], timing: Timing) -> list[Row]:
    flight = BenchFlight(group[0])
    calls: dict[Case, int] = {}
    for case in group:
        flight.case = case
        calls[case] = flight.calls(timing.seconds)
    rates: dict[Case, list[float]] = {case: [] for case in group}
    peaks = []
    for _ in range(timing.repeats):
        peaks.append(_core.fma_peak(group[0].dtype))
        for case in group:
            flight.case = case
            rates[case].append(flight.rate(calls[case]))
    if np.any(flight.fleet.diverged):
        raise RuntimeError(f"{group[0]}: expected a flight of finite states, got diverged vehicles")
    isa, peak = flight.fleet.isa, statistics.median(peaks)
    return [
        Row(**asdict(case), isa=isa, steps_per_s=statistics.median(rates[case]), peak_gflops=peak)
        for case in group
    ]


def isa_in_use() -> str:
    """The instruction set of the kernels."""
    return str(_core.build_info()["isa"])


def machine() -> dict[str, Any]:
    """Describes the machine, without anything that changes from run to run."""
    from propwash import __version__

    return {
        "cpu": _cpu_name(),
        "cores": available_threads(),
        "isa": isa_in_use(),
        "version": __version__,
        "python": platform.python_version(),
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def as_json(rows: Sequence[Row]) -> str:
    """{"machine": …, "rows": […]}."""
    return json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1)


def table(rows: Sequence[Row], markdown: bool = False) -> str:
    """Formats the rows: for each work a line per call and a column per batch.

    A cell has million vehicle-steps per second, and the same per GFLOP/s of one core's peak.
    """
    about = machine()
    bullet = "- " if markdown else ""
    lines = [
        f"{bullet}propwash {about['version']} on {about['cpu']}, {about['cores']} cores, "
        f"instruction set {about['isa']}, Python {about['python']}"
    ]
    for dtype in DTYPES:
        peaks = [row.peak_gflops for row in rows if row.dtype == dtype]
        if peaks:
            lines.append(
                f"{bullet}Peak of multiply-adds of one core, {dtype}: "
                f"{statistics.median(peaks):.1f} GFLOP/s (measured alternately with the rows, "
                f"{min(peaks):.1f} to {max(peaks):.1f})"
            )
    lines.append(f"{bullet}A cell: million vehicle-steps/s, and per GFLOP/s of that peak.")
    for work, includes in WORKS.items():
        chosen = [row for row in rows if row.work == work]
        if chosen:
            lines += ["", f"**{work}**: {includes}" if markdown else f"{work}: {includes}"]
            lines += ["", *_markdown(_grid(chosen))] if markdown else _text(_grid(chosen))
    return "\n".join(lines)


def _grid(rows: Sequence[Row]) -> list[list[str]]:
    """Header and lines, cells as text."""
    batches = sorted({row.batch for row in rows})
    header = ["type", "integrator", "threads", "substeps", *(f"n = {n:,}" for n in batches)]
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for row in rows:
        key = (row.dtype, row.integrator, str(row.threads), str(row.substeps))
        million = row.steps_per_s * 1e-6
        cell = f"{_significant(million)} / {_significant(million / row.peak_gflops)}"
        lines.setdefault(key, {})[row.batch] = cell
    return [header, *([*key, *(cells.get(n, "") for n in batches)] for key, cells in lines.items())]


def _significant(value: float) -> str:
    """Formats three significant digits."""
    digits = 2 - math.floor(math.log10(value))
    return f"{value:.{max(0, digits)}f}"


def _text(grid: list[list[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in grid
    ]


def _markdown(grid: list[list[str]]) -> list[str]:
    rule = ["---", "---", *(["---:"] * (len(grid[0]) - 2))]
    return ["| " + " | ".join(line) + " |" for line in [grid[0], rule, *grid[1:]]]
