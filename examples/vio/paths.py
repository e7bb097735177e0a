"""Figures inside the shipped scenes, and the scene and approaches of the window."""

from __future__ import annotations

import numpy as np
from propwash import Scene
from propwash.trajectories import Lemniscate, Path, Polynomial, minimum_snap
from propwash.world import Box, Plane


def figure(scene: str, duration: float, speed: float) -> Path:
    """A figure eight of at least `duration` [s] and a maximum speed [m/s] of about `speed`.

    "room": a lemniscate of 6 m. "warehouse": through the three aisles in the middle, turning left
    at their ends, then right. Other scenes: the lemniscate of the room at their centre.
    """
    if scene == "warehouse":
        return aisles(duration, speed)
    lap = 2.0 * np.pi * np.sqrt(2.0) * 3.0 / speed
    return Lemniscate(
        3.0,
        speed,
        centre=(0.0, 0.0, 2.0),
        angle=np.pi / 2.0,
        laps=np.ceil(duration / lap),
        ramp=3.0,
        yaw="along",
    )


def aisles(duration: float, speed: float) -> Polynomial:
    """Ovals to the left and to the right of the middle aisle of the warehouse."""
    half, across = 15.0, 4.4
    turn = np.pi / 2.0 - np.linspace(0.0, np.pi, 7)
    end = np.stack([half + 2.0 + 0.5 * across * np.cos(turn), 0.5 * across * (1 - np.sin(turn))], 1)
    straight = np.linspace(-half, half, 7)
    left = np.concatenate(
        [
            np.stack([straight, 0.0 * straight], 1),
            end,
            np.stack([straight[::-1], across + 0.0 * straight], 1),
            np.stack([-end[:, 0], across - end[:, 1]], 1),
        ]
    )
    loop = np.concatenate([left, left * [1.0, -1.0]])
    length = np.linalg.norm(np.diff(loop, axis=0, append=loop[:1]), axis=1)
    laps = int(np.ceil(duration * speed / length.sum()))
    points = np.concatenate([loop] * laps)[3:]
    height = 2.0 + 0.0 * points[:, :1]
    points = np.concatenate([points, height], axis=1)
    times = np.linalg.norm(np.diff(points, axis=0), axis=1) / (0.97 * speed)
    ends = np.cumsum(times)
    count = int(np.searchsorted(ends, duration)) + 2
    points, times = points[: count + 1], times[:count].copy()
    times[0] += 2.0
    times[-1] += 2.0
    return minimum_snap(points, "blackbird", times=times, yaw="along")


OPENING = (0.9, 0.6)
"""m, width and height of the window."""
_HEIGHT = 1.5  # m, of its centre


def window_scene() -> Scene:
    """A hall of 16 m x 8 m x 4 m, divided at x = 0 by a wall with a window."""
    width, height = OPENING
    bottom, top = _HEIGHT - height / 2.0, _HEIGHT + height / 2.0

    def box(name: str, low: tuple[float, ...], high: tuple[float, ...], category: str) -> Box:
        corners = np.array([low, high])
        position, size = corners.mean(axis=0), corners[1] - corners[0]
        grey = {"wall": 0.8, "ceiling": 0.9}[category]
        return Box(
            name=name,
            category=category,
            colour=(grey, grey, grey),
            position=tuple(position.tolist()),
            size=tuple(size.tolist()),
        )

    walls = [
        box("left_of_window", (-0.05, width / 2.0, 0.0), (0.05, 4.0, 4.0), "wall"),
        box("right_of_window", (-0.05, -4.0, 0.0), (0.05, -width / 2.0, 4.0), "wall"),
        box("below_window", (-0.05, -width / 2.0, 0.0), (0.05, width / 2.0, bottom), "wall"),
        box("above_window", (-0.05, -width / 2.0, top), (0.05, width / 2.0, 4.0), "wall"),
        box("east", (8.0, -4.2, 0.0), (8.2, 4.2, 4.0), "wall"),
        box("west", (-8.2, -4.2, 0.0), (-8.0, 4.2, 4.0), "wall"),
        box("north", (-8.2, 4.0, 0.0), (8.2, 4.2, 4.0), "wall"),
        box("south", (-8.2, -4.2, 0.0), (8.2, -4.0, 4.0), "wall"),
        box("ceiling", (-8.2, -4.2, 4.0), (8.2, 4.2, 4.2), "ceiling"),
    ]
    floor = Plane(name="floor", category="floor", colour=(0.45, 0.47, 0.5))
    return Scene([floor, *walls], name="window")


def approach(seed: int, speed: float) -> Polynomial:
    """From rest at a random point, round a loop of some 15 m and through the window to rest."""
    random = np.random.default_rng(seed)
    start = random.uniform([-3.5, -1.5, 1.0], [-2.5, 1.5, 2.0])
    side = random.choice([-1.0, 1.0])
    angle = np.linspace(0.5 * np.pi, 1.5 * np.pi, 5)
    loop = np.stack(
        [
            -5.0 + 1.6 * np.cos(angle),
            1.9 * side * np.sin(angle),
            np.linspace(start[2], _HEIGHT, len(angle)) + random.uniform(-0.2, 0.2),
        ],
        axis=1,
    )
    ahead = [[x, 0.0, _HEIGHT] for x in (-1.8, 0.0, 1.8)]
    points = np.concatenate(
        [[start], loop, [[-3.6, -1.2 * side, _HEIGHT], *ahead], [[5.0, 0, 1.5]]]
    )
    times = np.linalg.norm(np.diff(points, axis=0), axis=1) / speed
    times[0] += 1.0
    times[-1] += 1.0
    return minimum_snap(points, "blackbird", times=times, yaw="along")
