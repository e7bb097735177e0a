"""Depth images per second of processor time of one core in a forest of 1100 trees; nearest trees.

python bench/depth_images.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import propwash as pw
from propwash.sensors import depth_images

SIZES = ((16, 12), (32, 24), (64, 48))
ROUNDS = 5


def main() -> None:
    """Prints a line for each, the best of some rounds of about 2000 images or points."""
    side = (1100 / 0.05) ** 0.5
    plain: dict[str, Any] = {"spacing": 0.0, "clearing": 0.0, "crown_radius": (0.0, 0.0)}
    forest = pw.Scene.load(
        "forest", 1, size=(side, side), density=0.05, trunk_radius=(0.15, 0.4), **plain
    )
    random, n = np.random.default_rng(0), 2000
    position = np.full((n, 3), 2.0, np.float32)
    position[:, :2] = random.uniform(-60.0, 60.0, (n, 2))
    position = position[forest.nearest(position).distance > 0.3]
    half_yaw = random.uniform(-0.5 * np.pi, 0.5 * np.pi, len(position))
    attitude = np.zeros((len(position), 4), np.float32)
    attitude[:, 0], attitude[:, 3] = np.cos(half_yaw), np.sin(half_yaw)
    print(f"{len(forest) - 1} trees, instruction set {pw.build_info()['isa']}")
    for width, height in SIZES:
        camera = pw.Camera(width, height, 60.0)
        best = least(
            lambda k, c=camera: depth_images(forest, c, position, attitude, max_depth=20.0)
        )
        print(f"{width} x {height}: {len(position) / best:9,.0f} images/s")
    best = least(lambda k: forest.nearest(position))
    print(f"nearest tree: {1e9 * best / len(position):,.0f} ns")
    sizes: dict[str, Any] = {**plain, "trunk_radius": (0.15, 0.4)}
    best = least(lambda k: [pw.Scene.load("forest", 50 * k + i, **sizes) for i in range(50)])
    print(f"180 trees: {50.0 / best:,.0f} forests/s")


def least(call: Callable[[int], object]) -> float:
    """Returns the least processor time [s] of some calls, with the number of the call."""
    times = []
    for k in range(ROUNDS):
        began = time.process_time()
        call(k)
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    main()
