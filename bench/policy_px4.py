r"""Policies for hover behind PX4's estimator and rate loop: deviations while they hold, a table.

python bench/policy_px4.py PX4-Autopilot/build/px4_sitl_default/bin/px4 hover smooth/policy.onnx \
  --plot px4_hover.png
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from policy_flight import PolicyFlight
from propwash.gym.policy import Policy

HOLD = 7.0  # s
Array = NDArray[np.float64]


def held(binary: Path, vehicle: str, policy: str | None) -> tuple[Array, Array, Array]:
    """Times (T,) [s], positions (T, 3) [m] and body rates (T, 3) [rad/s] while the vehicle holds.

    policy: None for PX4's own position control. The arrays are empty if PX4 does not take off.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        PolicyFlight("px4", binary, vehicle, Path(folder)) as flight,
    ):
        samples, start = [], 0.0
        if flight.arm() and flight.take_off():
            flight.wait(5.0)
            if policy is not None:
                flight.fly_by(policy)
            flight.wait(3.0)
            start = flight.time
            flight.wait(HOLD)
            samples = [sample for sample in list(flight.samples) if sample.time >= start]
    return (
        np.array([sample.time - start for sample in samples]),
        np.array([sample.position for sample in samples]).reshape(-1, 3),
        np.array([sample.body_rates for sample in samples]).reshape(-1, 3),
    )


def plot(flights: dict[str, tuple[Array, Array, Array]], file: Path) -> None:
    """Horizontal deviation from the mean position, and pitch rate, against time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, sharex=True, figsize=(7.0, 4.5), layout="constrained")
    for name, (times, positions, rates) in flights.items():
        offset = positions[:, :2] - positions[:, :2].mean(axis=0)
        axes[0].plot(times, np.linalg.norm(offset, axis=1), label=name)
        axes[1].plot(times, rates[:, 1], label=name, linewidth=1.0)
    axes[0].set_ylabel("distance from the mean, m")
    axes[1].set_ylabel("pitch rate, rad/s")
    axes[1].set_xlabel("time, s")
    axes[0].legend()
    figure.savefig(file, dpi=110)
    print(f"wrote {file}")


def main() -> None:
    """Prints a row for PX4's position control and for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("px4", type=Path)
    parser.add_argument("policies", nargs="+", help="name or file")
    parser.add_argument("--vehicle", default="flightgoggles")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="of the flights")
    options = parser.parse_args()
    print("| control | position, horizontal, m | pitch rate, rad/s |")
    print("| --- " * 3 + "|")
    flights = {}
    for policy in (None, *options.policies):
        name = "PX4's own" if policy is None else policy
        if policy is not None:
            for line in Policy.load(policy).differences(vehicle=options.vehicle):
                print(f"{policy}: {line}", file=sys.stderr)
        flights[name] = held(options.px4.resolve(), options.vehicle, policy)
        _, positions, rates = flights[name]
        if len(positions) == 0:
            print(f"| {name} | not flown | |", flush=True)
            continue
        deviation = float(np.sqrt(positions[:, :2].var(axis=0).sum()))
        print(f"| {name} | {deviation:.3f} | {rates[:, 1].std():.3f} |", flush=True)
    if options.plot is not None:
        plot({name: found for name, found in flights.items() if len(found[0])}, options.plot)


if __name__ == "__main__":
    main()
