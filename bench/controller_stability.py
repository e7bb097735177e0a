"""Convergence of each outer loop from 1000 random starts, with all noise.

Position within 3 m and velocity within 3 m/s of the target on each axis, body rates within 4 rad/s
on each axis, any attitude (for backstepping, which uses Euler angles, tilts up to 60 degrees).
Prints the table of docs/control/outer-loops.md.

    python bench/controller_stability.py [--vehicle flightgoggles] [--starts 1000] [--seconds 15]
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash.control import AttitudeThrust, PositionCommand, TrajectoryCommand, VelocityCommand

Array = NDArray[np.float64]
PERIOD = 48  # steps between samples, 0.05 s
BOUNDS = {"tilt": (0.15, "rad"), "velocity": (0.3, "m/s"), "position": (0.25, "m")}


def attitudes(rng: np.random.Generator, n: int, tilt: float) -> Array:
    """(n, 4): thrust axes within `tilt` rad of the vertical, with any heading."""
    cosine = rng.uniform(np.cos(tilt), 1.0, n)
    around, heading = rng.uniform(-np.pi, np.pi, (2, n))
    half, half_heading = 0.5 * np.arccos(cosine), 0.5 * heading
    lean = [np.cos(half), np.sin(half) * np.cos(around), np.sin(half) * np.sin(around)]
    # product of the tilt and the heading quaternion
    w, x, y = lean
    c, s = np.cos(half_heading), np.sin(half_heading)
    return np.stack([w * c, x * c + y * s, y * c - x * s, w * s], axis=1)


def tilt_of(fleet: pw.Fleet) -> Array:
    """rad, (n,)."""
    q = fleet.attitude.astype(np.float64)
    return np.asarray(2.0 * np.arcsin(np.clip(np.hypot(q[:, 1], q[:, 2]), 0.0, 1.0)))


def length(values: Array) -> Array:
    """(n,)."""
    return np.asarray(np.linalg.norm(values, axis=1))


def loops(vehicle: pw.VehicleParameters) -> dict[str, tuple[Any, str, float]]:
    """For each loop: the command, the error to measure, and the largest tilt at the start."""
    weight = vehicle.body.mass * float(np.linalg.norm(vehicle.body.gravity))
    found: dict[str, tuple[Any, str, float]] = {
        "attitude": (AttitudeThrust([1, 0, 0, 0], weight), "tilt", np.pi),
        "velocity": (VelocityCommand([0, 0, 0], yaw=0.0), "velocity", np.pi),
        "position": (PositionCommand([0, 0, 0], yaw=0.0), "position", np.pi),
    }
    for controller in ("geometric", "backstepping", "indi"):
        tilt = np.pi / 3 if controller == "backstepping" else np.pi
        command = TrajectoryCommand([0, 0, 0], controller=controller)
        found[controller] = (command, "position", tilt)
    return found


MEASURES: dict[str, Callable[[pw.Fleet], Array]] = {
    "tilt": tilt_of,
    "velocity": lambda fleet: length(fleet.velocity),
    "position": lambda fleet: length(fleet.position),
}


def errors(
    vehicle: pw.VehicleParameters, loop: tuple[Any, str, float], n: int, seconds: float
) -> Array:
    """The errors at every sample, (T, n)."""
    command, measure, tilt = loop
    fleet = pw.Fleet(vehicle, n, seed=1)
    rng = np.random.default_rng(2)
    fleet.reset(
        position=rng.uniform(-3, 3, (n, 3)),
        velocity=rng.uniform(-3, 3, (n, 3)),
        body_rates=rng.uniform(-4, 4, (n, 3)),
        attitude=attitudes(rng, n, tilt),
    )
    samples = []
    for _ in range(round(seconds / (PERIOD * fleet.dt))):
        fleet.step(command, substeps=PERIOD)
        samples.append(MEASURES[measure](fleet))
    return np.array(samples)


def main() -> None:
    """Simulates all loops and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vehicle", default="flightgoggles")
    parser.add_argument("--starts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15.0)
    chosen = parser.parse_args()
    vehicle = pw.vehicles.load(chosen.vehicle)
    print("| loop | converged | vehicles | median s | 95 % s | last s | rms in the last 2 s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, loop in loops(vehicle).items():
        distances = errors(vehicle, loop, chosen.starts, chosen.seconds)
        measure = loop[1]
        bound, unit = BOUNDS[measure]
        outside = ~(distances < bound)  # NaN is outside
        converged = ~outside[-round(2.0 * 960 / PERIOD) :].any(axis=0)
        times = (len(distances) - np.argmax(outside[::-1], axis=0)) * PERIOD / 960
        times = np.where(outside.any(axis=0), times, 0.0)[converged]
        rms = np.sqrt(np.mean(distances[-round(2.0 * 960 / PERIOD) :] ** 2))
        median, percentile_95, last = (
            np.percentile(times, [50, 95, 100]) if converged.any() else (np.nan,) * 3
        )
        print(
            f"| {name} | {measure} < {bound:g} {unit} | {converged.sum()} of {chosen.starts} | "
            f"{median:.1f} | {percentile_95:.1f} | {last:.1f} | {rms:.3f} {unit} |"
        )


if __name__ == "__main__":
    main()
