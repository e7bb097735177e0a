"""What a Python call costs: many steps in one call against the same steps, each called for.

The loop of `steps=` is C++. Its own price for a step is that of one very long call; the call's
overhead is what a short one costs beyond it. Prints nanoseconds a step, medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import propwash as pw

REPETITIONS = 41


def seconds(work: Callable[[], None]) -> float:
    """Of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Prints the table, measured in turns so that the machine's clock concerns all rows alike."""
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
            taken = seconds(lambda steps=steps, calls=calls: fly(steps, calls))  # type: ignore[misc]
            measured[steps].append(1e9 * taken / (steps * calls))
    alone = statistics.median(measured[100_000])
    print("RK4 at 960 Hz under rate control, all noise on")
    for steps in cases:
        took = statistics.median(measured[steps])
        print(f"steps={steps:<7d} {took:7.1f} ns a step, {took / alone:.3f} of one long call")


if __name__ == "__main__":
    main()
