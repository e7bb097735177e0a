"""Figures inside the shipped scenes, and the scene and approaches of the window."""

from __future__ import annotations

import numpy as np
from propwash.trajectories import Lemniscate, Path, Polynomial, minimum_snap

from vio.rig import Array, VioError


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
