"""Depth images per second of processor time of one core, in a forest of 1100 trees; forests too.

python bench/depth_images.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import propwash as pw
from propwash.sensors import depth_images

SIZES = ((16, 12), (32, 24), (64, 48))
ROUNDS = 5


def main() -> None:
    """Prints a line for each size, the best of some rounds of about 2000 images."""
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
        camera, best = pw.Camera(width, height, 60.0), np.inf
        for _ in range(ROUNDS):
            began = time.process_time()
            depth_images(forest, camera, position, attitude, max_depth=20.0)
            best = min(best, time.process_time() - began)
        print(f"{width} x {height}: {len(position) / best:9,.0f} images/s")
    best = np.inf
    for part in range(ROUNDS):
        began = time.process_time()
        for seed in range(50 * part, 50 * part + 50):
            pw.Scene.load("forest", seed, trunk_radius=(0.15, 0.4), **plain)
        best = min(best, (time.process_time() - began) / 50)
    print(f"180 trees: {1.0 / best:,.0f} forests/s")


if __name__ == "__main__":
    main()
