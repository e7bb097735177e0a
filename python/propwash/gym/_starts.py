"""Starts and goals that are free of obstacles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.gym._randomize import Draws

Array = NDArray[Any]
Rows = NDArray[np.intp]

_TRIES = 16
"""Drawn places among which a start is chosen."""
_GRID = 401
"""Places among which it is chosen if no drawn one is free."""
_FREE = 1.5
"""m, desired distance from the nearest obstacle."""


def free_places(
    ends: Array,
    length: float,
    draws: Draws,
    distance: Callable[[Array, Rows], Array],
    radius: float,
) -> tuple[Array, Array]:
    """Draws starts and goals on two horizontal lines across the flight.

    ends: (2, 3) m, start and goal in the middle of the lines. length: m, of the lines.
    distance: returns the distances (m, k) m from obstacles of points (m, k, 3) in environments.

    Returns the first starts and goals (2, m, 3) at least 1.5 m from obstacles, else those with the
    largest distance, and the smaller distance of each pair (m,), at most `radius` if none is free.
    """
    half, m = 0.5 * length, draws.size
    offsets = draws.uniform(-half, half, _TRIES) if half else np.zeros((m, 1))
    places, clearance = _best(ends, offsets, draws.rows, distance)
    stuck = clearance <= radius
    if stuck.any():
        grid = np.tile(np.linspace(-half, half, _GRID), (int(stuck.sum()), 1))
        places[:, stuck], clearance[stuck] = _best(ends, grid, draws.rows[stuck], distance)
    return places, clearance


def _best(
    ends: Array, offsets: Array, rows: Rows, distance: Callable[[Array, Rows], Array]
) -> tuple[Array, Array]:
    """The best starts and goals (2, m, 3) of the offsets (m, k) m, and their clearances (m,)."""
    x, y, _ = ends[1] - ends[0]
    side = np.array([-y, x, 0.0]) / max(float(np.hypot(x, y)), 1e-9)
    places = ends[:, None, None] + offsets[..., None] * side
    clearance = np.minimum(*(distance(each, rows) for each in places))
    every, chosen = np.arange(len(rows)), np.minimum(clearance, _FREE).argmax(axis=1)
    return places[:, every, chosen], clearance[every, chosen]
