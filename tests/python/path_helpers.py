"""Paths of every type, for the tests of trajectories and flatness."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import trajectories as tj

Array = NDArray[np.float64]

WAYPOINTS = np.array([(0, 0, 1), (3, 1, 2), (4, 4, 1), (0, 5, 1.5), (-2, 2, 1)], dtype=np.float64)
TIMES = [1.2, 0.8, 1.0, 1.4]
PATHS: dict[str, tj.Path] = {
    "open": tj.minimum_snap(WAYPOINTS, times=TIMES, yaw="along"),
    "closed": tj.minimum_snap(WAYPOINTS, times=[*TIMES, 1.1], closed=True, yaw="along"),
    "headed": tj.minimum_snap(WAYPOINTS, times=TIMES, yaw=[0.0, 1.0, -1.0, 3.0, 4.0]),
    "passing": tj.minimum_snap(WAYPOINTS, times=TIMES, velocities={0: (1, 0, 0), 2: (0, 3, 0)}),
    "circle": tj.Circle(2.0, 4.0, centre=(1, 2, 3), angle=0.3, yaw="along"),
    "clockwise": tj.Circle(1.5, 3.0, ramp=0.8, yaw="along", clockwise=True),
    "lemniscate": tj.Lemniscate(3.0, 7.0, ramp=1.5, laps=2.0, yaw="along"),
    "line": tj.Line((0, 0, 1), (3, 2, 2), 3.0, ramp=0.7, yaw="along"),
}
ALL = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())


def sample_times(path: tj.Path, count: int = 60) -> Array:
    """Random times within a path."""
    return np.random.default_rng(5).uniform(0.01, path.duration - 0.01, count)


def away_from_knots(path: tj.Path, time: Array, step: float) -> Array:
    """The times whose neighbourhood contains no knot of position or yaw."""
    if not isinstance(path, tj.Polynomial):
        return time
    knots = np.concatenate([np.linspace(a, b, 7) for a, b in pairwise(path.knots)])
    is_far = np.abs(time[:, None] - knots).min(axis=1) > 2.0 * step
    return np.asarray(time[is_far])
