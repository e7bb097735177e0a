"""Results of the queries of a scene."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class RayHits(NamedTuple):
    """The first hits of rays; the leading axes are those of the rays."""

    distance: NDArray[Any]
    """(…,) m; infinity for a ray that hits nothing"""
    id: NDArray[np.int32]
    """(…,) index of the item in `scene.items`; -1 for a ray that hits nothing"""
    normal: NDArray[Any] | None
    """(…, 3) unit, world frame, towards the origin; zero without a hit; None: not requested"""


class Collisions(NamedTuple):
    """Contacts of bodies; the leading axes are those of the positions."""

    collided: NDArray[np.bool_]
    """(…,)"""
    id: NDArray[np.int32]
    """(…,) the smallest id of the touched items; -1: none"""


class SphereHits(NamedTuple):
    """First contacts of moving spheres; the leading axes are those of the paths."""

    fraction: NDArray[np.float64]
    """(…,) of the path from start to end at the first contact; 1 without contact"""
    id: NDArray[np.int32]
    """(…,) index of the item in `scene.items`; -1 without contact"""


class NearestItems(NamedTuple):
    """The nearest items of points; the leading axes are those of the points."""

    distance: NDArray[np.float64]
    """(…,) m, negative inside a body; infinity without an item within reach"""
    id: NDArray[np.int32]
    """(…,) index of the item in `scene.items`; -1 without one"""
    normal: NDArray[np.float64]
    """(…, 3) unit, world frame, away from the item: the derivative of `distance` by the point; 0
    without an item"""


class Markers(NamedTuple):
    """Infrared beacons."""

    names: tuple[str, ...]
    """(m,) names."""
    positions: NDArray[np.float64]
    """(m, 3) m, world frame"""
    gates: tuple[str, ...]
    """(m,) name of the gate to which it belongs; empty: none"""
    corners: NDArray[np.int32]
    """(m,) corner of its gate, seen along +x: 0 upper left, 1 upper right, 2 lower right, 3 lower
    left; -1 without a gate"""
