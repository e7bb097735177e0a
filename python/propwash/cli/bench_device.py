"""Measures vehicle-steps per second of a fleet on a GPU, with commands that are on it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast

from propwash.cli.bench import (
    DTYPES,
    QUICK_BATCH,
    SUBSTEPS,
    WORKS,
    BenchFlight,
    Case,
    Timing,
    machine,
)

BATCHES = tuple(2**exponent for exponent in range(10, 23, 2))


class DeviceFlight(BenchFlight):
    """A fleet on a device."""

    def __init__(self, case: Case, device: str) -> None:
        super().__init__(case, device=device)
        self._core = cast(Any, self.fleet._core)  # its upload() and synchronize()
        self._command: dict[str, Any] = {"speeds": self._core.upload(self._speeds)}
        if case.work == "closed_loop":
            rates, thrust = self._core.upload(self._rates), self._core.upload(self._thrust)
            self._command = {"rates": rates, "thrust": thrust}

    def step(self) -> None:
        """Makes one call."""
        self.fleet.step(self._command, substeps=self.case.substeps)

    def _restart(self) -> None:
        super()._restart()
        self.step()  # copies the state to the device
        self._core.synchronize()

    def _seconds(self, calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            self.step()
        self._core.synchronize()
        return time.perf_counter() - began


def table(
    device: str,
    quick: bool = False,
    progress: Callable[[float], None] = lambda done: None,
    timing: Timing | None = None,
) -> str:
    """Measures RK4 and formats billions of vehicle-steps per second as Markdown.

    quick: 4096 vehicles only. Raises ImportError or OSError where no fleet can be made.
    """
    batches = (QUICK_BATCH,) if quick else BATCHES
    cases = [Case(work, dtype, batch=n) for work, dtype, n in product(WORKS, DTYPES, batches)]
    timing = timing or Timing()
    rates: dict[Case, float] = {}
    isa = ""
    for done, case in enumerate(cases):
        progress(done / len(cases))
        flight = DeviceFlight(case, device)
        isa = flight.fleet.isa
        for substeps in SUBSTEPS:
            flight.case = replace(case, substeps=substeps)
            flight.step()  # compiles
            calls = flight.calls(timing.seconds)
            repeats = [flight.rate(calls) for _ in range(timing.repeats)]
            rates[flight.case] = statistics.median(repeats)
        if flight.fleet.diverged.any():
            raise RuntimeError(f"{case}: expected a flight of finite states, got diverged vehicles")
        del flight
        gc.collect()  # frees a fleet of millions before the next one
    progress(1.0)
    return _formatted(rates, batches, device, isa)


def _formatted(rates: dict[Case, float], batches: Sequence[int], device: str, isa: str) -> str:
    header = ["type", "substeps", *(f"n = {n:,}" for n in batches)]
    lines = [
        f"propwash {machine()['version']} on {device} ({isa}), RK4, commands on the device.",
        "A cell: 10^9 vehicle-steps/s, median.",
    ]
    for work, includes in WORKS.items():
        lines += ["", f"**{work}**: {includes}", "", _row(header), _row(["---"] * len(header))]
        for dtype, substeps in product(DTYPES, SUBSTEPS):
            found = [rates[Case(work, dtype, batch=n, substeps=substeps)] for n in batches]
            lines.append(_row([dtype, str(substeps), *(f"{rate * 1e-9:.3g}" for rate in found)]))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
