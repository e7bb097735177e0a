"""The cost of derivatives: CPU time of vjp and pullback over that of the plain rollout, in turns.

python bench/bench_gradients.py [vehicles]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import propwash as pw

ROUNDS, STEPS, SUBSTEPS = 7, 32, 10
STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")


def cpu_seconds(f: Callable[[], object]) -> float:
    """The CPU time of a call."""
    start = time.process_time()
    f()
    return time.process_time() - start


def measure(fleet: pw.Fleet, command: pw.Command) -> tuple[float, float, float]:
    """Medians: ns per vehicle and step of the rollout; factors of vjp without and with pullback."""

    def plain() -> None:
        fleet.rollout(command, substeps=SUBSTEPS, record=STATE)

    def forward() -> Callable[..., object]:
        return fleet.vjp(command, substeps=SUBSTEPS)[1]

    def both() -> None:
        forward()(position=1.0, velocity=1.0)

    rows = []
    for _ in range(ROUNDS + 1):
        times = []
        for f in (plain, forward, both):
            fleet.reset()
            times.append(cpu_seconds(f))
        rows.append((times[0], times[1] / times[0], times[2] / times[0]))
    seconds, vjp, pullback = (statistics.median(column) for column in zip(*rows[1:], strict=True))
    return seconds * 1e9 / (len(fleet) * STEPS * SUBSTEPS), vjp, pullback


def main() -> None:
    """Prints a row for each kind of command."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    shape = (STEPS, n)
    commands: dict[str, pw.Command] = {
        "RotorSpeeds": pw.RotorSpeeds(np.full((*shape, 4), 900.0)),
        "RateThrust": pw.RateThrust(rates=np.full((*shape, 3), 0.1), thrust=np.full(shape, 9.81)),
        "VelocityCommand": pw.VelocityCommand(np.full((*shape, 3), 0.5)),
    }
    print(f"{n} vehicles, {STEPS} commands of {SUBSTEPS} steps, one thread, float64")
    print(f"{'command':16} {'rollout ns':>10} {'vjp':>6} {'with pullback':>14}")
    for name, command in commands.items():
        fleet = pw.Fleet("flightgoggles", n, dtype="float64", noise=False, threads=1)
        rollout, vjp, pullback = measure(fleet, command)
        print(f"{name:16} {rollout:10.1f} {vjp:6.1f} {pullback:14.1f}")


if __name__ == "__main__":
    main()
