"""The time of one sample of a fleet's sensors, on one core.

Vehicles hover within a few metres of the gates of the alphapilot course, at any heading, so that
each sees some beacons. Prints the minimum and the median in milliseconds per sample.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
from propwash.world import Scene

VEHICLES = 4096
REPETITIONS = 21


def fleet_at_gates(scene: Scene, n: int) -> pw.Fleet:
    """A fleet of float32 on one thread."""
    rng = np.random.default_rng(1)
    centres = np.array([gate.position for gate in scene.gates])
    position = centres[rng.integers(0, len(centres), n)] + rng.normal(0.0, 4.0, (n, 3))
    position[:, 2] = np.abs(position[:, 2]) + 0.3
    attitude = rng.normal(size=(n, 4)) * [1.0, 0.2, 0.2, 1.0]
    attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
    fleet = pw.Fleet("flightgoggles", n, threads=1)
    fleet.reset(position=position, attitude=attitude)
    return fleet


def milliseconds(work: Callable[[], object]) -> list[float]:
    """The times of several calls, after one for warm-up."""
    work()
    times = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - began))
    return times


def sampler(fleet: pw.Fleet, *sensors: pw.Sensor[Any]) -> Callable[[], object]:
    """Takes one sample of the sensors, as a step does when it is due."""
    handles = [fleet.attach(sensor, rate=50.0) for sensor in sensors]
    return lambda: [handle.sample(fleet.steps) for handle in handles]


def main() -> None:
    """Prints the table."""
    scene = Scene.load("alphapilot")
    around = [[np.cos(a), np.sin(a), 0.0] for a in np.linspace(0.0, 2.0 * np.pi, 32, False)]
    range_finder, beacons = pw.RangeFinder(scene), pw.Beacons(scene, deviation=1.0)
    cases: list[tuple[str, int, tuple[pw.Sensor[Any], ...]]] = [
        ("range finder", VEHICLES, (range_finder,)),
        (f"{len(beacons.ids)} beacons, occlusion, noise", VEHICLES, (beacons,)),
        ("both", VEHICLES, (range_finder, beacons)),
        ("range finder of 32 rays", VEHICLES, (pw.RangeFinder(scene, around),)),
        ("collision sensor", VEHICLES, (pw.CollisionSensor(scene),)),
        ("depth image, 64 x 48", 1024, (pw.DepthCamera(scene),)),
        ("GNSS", VEHICLES, (pw.Gnss(),)),
        ("barometer", VEHICLES, (pw.Barometer(),)),
        ("magnetometer", VEHICLES, (pw.Magnetometer(),)),
    ]
    info = pw.build_info()
    print(f"one core, float32, {info['isa']}, scene alphapilot")
    for name, n, sensors in cases:
        times = milliseconds(sampler(fleet_at_gates(scene, n), *sensors))
        median = statistics.median(times)
        print(f"{name:<34s} {n:5d} vehicles {min(times):8.2f} ms, median {median:8.2f} ms")


if __name__ == "__main__":
    main()
