"""The overhead of a Python call: many steps in one call, compared with one call per step.

The loop over `steps=` runs in C++. A very long call gives the time of a step; a short one adds the
overhead of the call. Prints medians in nanoseconds per step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import propwash as pw

REPETITIONS = 41


def seconds(work: Callable[[], None]) -> float:
    """The time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Measures the rows in turn, so that changes of the clock affect all, and prints the table."""
    command = pw.RateThrust([0.1, -0.2, 0.3], thrust=9.81)
    uav = pw.Multicopter("flightgoggles", seed=7)
    start = uav.snapshot()
    cases = {100_000: 1, 1000: 100, 100: 1000, 1: 10_000}

    def fly(steps: int, calls: int) -> None:
        for _ in range(calls):
            uav.step(command, substeps=steps)

    measured: dict[int, list[float]] = {steps: [] for steps in cases}
    for _ in range(REPETITIONS):
        for steps, calls in cases.items():
            uav.restore(start)
            elapsed = seconds(lambda steps=steps, calls=calls: fly(steps, calls))  # type: ignore[misc]
            measured[steps].append(1e9 * elapsed / (steps * calls))
    alone = statistics.median(measured[100_000])
    print("RK4 at 960 Hz with rate control, all noise on")
    for steps in cases:
        took = statistics.median(measured[steps])
        print(f"steps={steps:<7d} {took:7.1f} ns per step, {took / alone:.3f} of one long call")


if __name__ == "__main__":
    main()
