"""Policies for hover behind PX4's estimator and rate loop: deviations while they hold, a table.

python bench/policy_px4.py PX4-Autopilot/build/px4_sitl_default/bin/px4 hover smooth/policy.onnx
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

from policy_flight import PolicyFlight

HOLD = 7.0  # s


def deviations(binary: Path, vehicle: str, policy: str | None) -> tuple[float, float]:
    """Standard deviations of the horizontal position [m] and of the pitch rate [rad/s].

    policy: None for PX4's own position control.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        PolicyFlight("px4", binary, vehicle, Path(folder)) as flight,
    ):
        if not (flight.arm() and flight.take_off()):
            return float("nan"), float("nan")
        flight.wait(5.0)
        if policy is not None:
            flight.fly_by(policy)
        flight.wait(3.0)
        start = flight.time
        flight.wait(HOLD)
        held = [sample for sample in list(flight.samples) if sample.time >= start]
    places = np.array([sample.position[:2] for sample in held])
    pitch = np.array([sample.body_rates[1] for sample in held])
    return float(np.sqrt(places.var(axis=0).sum())), float(pitch.std())


def main() -> None:
    """Prints a row for PX4's position control and for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("px4", type=Path)
    parser.add_argument("policies", nargs="+", help="name or file")
    parser.add_argument("--vehicle", default="flightgoggles")
    options = parser.parse_args()
    print("| control | position, horizontal, m | pitch rate, rad/s |")
    print("| --- " * 3 + "|")
    for policy in (None, *options.policies):
        position, rate = deviations(options.px4.resolve(), options.vehicle, policy)
        name = "PX4's own" if policy is None else f"`{policy}`"
        print(f"| {name} | {position:.3f} | {rate:.3f} |", flush=True)


if __name__ == "__main__":
    main()
