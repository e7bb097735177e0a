"""Tracking errors of each trajectory controller on each shipped multicopter, with noise.

The paths are those of `trajectories.minimum_snap` within the default limits of the vehicle: through
five waypoints and around a square, with constant heading and with heading along the path; 10 m
straight; climbs and dives; and through seeded random waypoints. The controllers run at 240 Hz on
noisy IMU readings, the physics at 960 Hz. Prints the table of docs/control/outer-loops.md: the RMS
position error of the worst path, over all vehicles, and the maximum error of any vehicle on any
path; then the overall worst case.

    python bench/tracking.py [--vehicles 50] [--random 20] [--paths]
"""

import argparse
from collections.abc import Iterator

import numpy as np
import propwash as pw
from numpy.typing import ArrayLike, NDArray
from propwash.trajectories import Controller, Reference, minimum_snap

Array = NDArray[np.float64]
MULTICOPTERS = ("flightgoggles", "penguin", "blackbird", "crazyflie", "hexacopter")
CONTROLLERS: tuple[Controller, ...] = ("geometric", "indi", "backstepping")
INTERVAL = 4  # steps between points of the reference
FIVE = [(0, 0, 1), (3, 1, 2), (4, 4, 1), (0, 5, 1.5), (-2, 2, 1)]  # m
SQUARE = [(0, 0, 1), (5, 0, 1), (5, 5, 3), (0, 5, 2), (0, 0, 1)]
PATHS: dict[str, tuple[ArrayLike, float | str]] = {
    "five": (FIVE, 0.0),
    "five, along": (FIVE, "along"),
    "square": (SQUARE, 0.0),
    "square, along": (SQUARE, "along"),
    "dash": ([(0, 0, 2), (10, 0, 2)], 0.0),
    "climb, dive": ([(0, 0, 1), (0, 0, 12), (0, 0, 1)], 0.0),
    "descent": ([(0, 0, 6), (0, 0, 1)], 0.0),
    "climb, sideways": ([(0, 0, 1), (0, 0, 6), (3, 0, 1)], 0.0),
    "hill": ([(0, 0, 1), (1, 0, 6), (3, 0, 1), (0, 0, 1.5)], 0.0),
}


def random_paths(count: int) -> Iterator[tuple[str, tuple[Array, float | str]]]:
    """Two to six waypoints in a box of 0.4 to 20 m; every fourth path has its heading along it."""
    rng = np.random.default_rng(15)
    for number in range(count):
        size = np.exp(rng.uniform(np.log(0.2), np.log(10.0)))
        waypoints = size * rng.uniform(-1.0, 1.0, (rng.integers(2, 7), 3)) + (0.0, 0.0, 30.0)
        yield f"random {number}", (waypoints, "along" if number % 4 == 3 else 0.0)


def references(vehicle: str, count: int) -> Iterator[tuple[str, Reference]]:
    """The paths of a vehicle by name, with `count` random ones."""
    for name, (waypoints, yaw) in (*PATHS.items(), *random_paths(count)):
        path = minimum_snap(waypoints, vehicle, yaw=yaw)
        yield name, path.sample(period=INTERVAL * pw.DEFAULT_DT)


def errors(fleet: pw.Fleet, reference: Reference, controller: Controller) -> Array:
    """Position errors of a flight from the start of the reference, m: (T, n)."""
    half = 0.5 * reference.yaw[0]
    fleet.reset(position=reference.position[0], attitude=[np.cos(half), 0.0, 0.0, np.sin(half)])
    recorded = fleet.rollout(
        reference[:-1].command(controller), substeps=INTERVAL, record="position"
    )
    assert recorded.position is not None
    return np.asarray(np.linalg.norm(recorded.position - reference.position[1:, None], axis=2))


def main() -> None:
    """Simulates all paths and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vehicles", type=int, default=50, help="vehicles of each type")
    parser.add_argument("--random", type=int, default=20, help="paths through random waypoints")
    parser.add_argument("--paths", action="store_true", help="one line for each path")
    chosen = parser.parse_args()
    worst_rms = (0.0, "")
    print("| vehicle | path | max m/s | max m/s² | geometric m | INDI m | backstepping m |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for vehicle in MULTICOPTERS:
        rows: dict[str, tuple[float, float, list[tuple[float, float]]]] = {}
        for name, reference in references(vehicle, chosen.random):
            found = []
            for controller in CONTROLLERS:
                fleet = pw.Fleet(vehicle, chosen.vehicles, seed=3)
                error = errors(fleet, reference, controller)
                found.append((float(np.sqrt(np.mean(error**2))), float(error.max())))
                worst_rms = max(worst_rms, (found[-1][0], f"{vehicle}, {name}, {controller}"))
            rows[name] = (
                float(np.linalg.norm(reference.velocity, axis=1).max()),
                float(np.linalg.norm(reference.acceleration, axis=1).max()),
                found,
            )
        if not chosen.paths:
            speeds, accelerations, found = zip(*rows.values(), strict=True)
            worst = [tuple(map(max, zip(*each, strict=True))) for each in zip(*found, strict=True)]
            rows = {"all": (max(speeds), max(accelerations), worst)}
        for name, (speed, acceleration, found) in rows.items():
            cells = " | ".join(f"{rms:.3f} ({max_error:.2f})" for rms, max_error in found)
            print(
                f"| {vehicle} | {name} | {speed:.1f} | {acceleration:.1f} | {cells} |", flush=True
            )
    print(f"worst: {worst_rms[0]:.3f} m rms, {worst_rms[1]}")


if __name__ == "__main__":
    main()
