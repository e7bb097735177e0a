"""Items that only pictures of environments show: grid, landing pad, path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propwash.world import Cylinder, Plane, Scene

Array = NDArray[np.float64]

EMPTY = Scene(name="nothing")
"""A world without anything in it."""
GRID = Plane(name="ground", category="grid", colour=(0.42, 0.45, 0.47))
"""Ground in squares of a metre."""
YELLOW = (0.95, 0.62, 0.08)

MARKINGS = ("pad", "path")
"""Categories of what is only drawn."""

_DASH, _MOST_DASHES = 0.4, 300
"""m, from the beginning of a dash to that of the next; how many there may be."""


def pad(radius: float) -> Cylinder:
    """A disc on the origin of the ground."""
    return Cylinder(name="pad", category="pad", colour=YELLOW, radius=radius, height=0.01)


def dashes(points: Array, length: float) -> list[Cylinder]:
    """Rods along a closed path, with gaps as long as they are.

    points: (k, 3) m, at even distances. length: m, of the path.
    """
    count = min(_MOST_DASHES, max(8, round(length / _DASH)))
    ends = np.linspace(0, len(points), 2 * count, endpoint=False).astype(int)
    return [rod(f"dash{k}", points[ends[2 * k]], points[ends[2 * k + 1]]) for k in range(count)]


def rod(name: str, start: Array, end: Array, radius: float = 0.012) -> Cylinder:
    """A cylinder from one point to another."""
    way = end - start
    length = float(np.linalg.norm(way))
    x, y, z = way / length
    # the shortest rotation from z to the way
    turn = np.array([1.0 + z, -y, x, 0.0]) if z > -0.999999 else np.array([0.0, 1.0, 0.0, 0.0])
    return Cylinder(
        name=name,
        category="path",
        colour=YELLOW,
        radius=radius,
        height=length,
        position=tuple((0.5 * (start + end)).tolist()),
        attitude=tuple((turn / np.linalg.norm(turn)).tolist()),
    )
