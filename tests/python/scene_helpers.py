"""Helpers for the tests of scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def box_mesh(size: tuple[float, float, float]) -> dict[str, Any]:
    """Vertices and triangles of a box."""
    corners = [[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)]
    triangles = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]]
    triangles += [[2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]
    return {"vertices": np.array(corners) * size, "triangles": np.array(triangles)}


def rays(n: int, seed: int, scale: float = 8.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Random origins in a cube, and directions of any length."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-scale, scale, (n, 3)), rng.normal(size=(n, 3))
