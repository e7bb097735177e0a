"""Thousands of quadcopters hold their attitude for a minute, with all noise.

An attitude loop at 96 Hz commands body rates to the rate controller, which runs at 960 Hz on noisy
gyroscopes. One thread, two threads and two half fleets give bit-identical results.

    python examples/fleet_hover.py [--vehicles 4096] [--seconds 60]
"""

import argparse
import time
from hashlib import sha256

import numpy as np
import propwash as pw
from numpy.typing import NDArray

SUBSTEPS = 10
BANDWIDTH = 6.0  # 1/s, of the attitude loop


def tilt(attitude: NDArray[np.floating]) -> NDArray[np.floating]:
    """The rotation angle from level and north, rad: (n,)."""
    return 2.0 * np.arccos(np.clip(np.abs(attitude[:, 0]), 0.0, 1.0))


def fly(size: int, seconds: float, threads: int, first_id: int = 0) -> tuple[str, pw.Fleet]:
    """Simulates a fleet; returns a digest of its state, and the fleet."""
    fleet = pw.Fleet(
        "flightgoggles", size, dtype="float32", seed=11, first_id=first_id, threads=threads
    )
    # the initial roll angle depends on the vehicle's id
    angle = 0.5 * np.cos(np.arange(first_id, first_id + size))
    start = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    fleet.reset(attitude=start)
    weight = np.full(size, 9.81, dtype=np.float32)
    for _ in range(round(seconds * 960 / SUBSTEPS)):
        q = fleet.attitude
        error = 2.0 * np.sign(q[:, :1]) * q[:, 1:]
        fleet.step(pw.RateThrust(-np.float32(BANDWIDTH) * error, weight), substeps=SUBSTEPS)
    return sha256(fleet.snapshot()).hexdigest()[:16], fleet


def main() -> None:
    """Simulates the fleet and prints the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vehicles", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    n, seconds = arguments.vehicles, arguments.seconds

    started = time.perf_counter()
    digest, fleet = fly(n, seconds, threads=1)
    elapsed = time.perf_counter() - started
    error = np.degrees(tilt(fleet.attitude))
    rates = np.degrees(np.linalg.norm(fleet.body_rates, axis=1))
    print(f"{n} vehicles, {seconds:g} s, closed loop with all noise: {elapsed:.1f} s on one thread")
    print(f"diverged: {int(fleet.diverged.sum())}")
    for name, values, unit in (("attitude error", error, "deg"), ("body rate", rates, "deg/s")):
        low, middle, high = np.percentile(values, [5, 50, 95])
        print(f"{name}: rms {np.sqrt(np.mean(values**2)):.2f} {unit}, ", end="")
        print(f"5 % {low:.2f}, median {middle:.2f}, 95 % {high:.2f}, max {values.max():.2f}")

    two, _ = fly(n, seconds, threads=2)
    print("identical on two threads:", two == digest)
    half = n // 2
    parts = [fly(half, seconds, 1)[1], fly(n - half, seconds, 1, first_id=half)[1]]
    whole = np.concatenate([part.attitude for part in parts])
    print("identical in two halves:", np.array_equal(whole, fleet.attitude))


if __name__ == "__main__":
    main()
