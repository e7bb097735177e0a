"""Timing of a peer, and the report of its model."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

DT = 1.0 / 960.0
"""s, step of every peer that allows it."""

REPEATS = 5
SECONDS = 0.3


@dataclass(frozen=True)
class Result:
    """One way of calling one simulator."""

    name: str
    version: str
    method: str
    """Integrator and step."""
    vehicles: int
    """In one call."""
    steps_per_s: float
    """Vehicle-steps per second."""
    includes: str
    leaves_out: str


def steps_per_second(call: Callable[[], None], steps: int) -> float:
    """The median over repeats, after a warm-up; `steps`: vehicle-steps in a call."""
    call()
    began = time.perf_counter()
    call()
    calls = max(1, round(SECONDS / (time.perf_counter() - began)))
    rates = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        rates.append(steps * calls / (time.perf_counter() - began))
    return statistics.median(rates)


def report(result: Result) -> None:
    """One line for run.py."""
    json.dump(asdict(result), sys.stdout)
    print(flush=True)
