"""Rotations: matrices of unit quaternions, scalar first, and of directions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def rotation(q: ArrayLike) -> Array:
    """(…, 3, 3) matrices of unit quaternions (…, 4): from the body's axes to the world's."""
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def tilts(z: Array) -> Array:
    """(K, 3, 3): the least turns that take the vertical to unit vectors (K, 3)."""
    x, y, up = z.T
    share = 1.0 / np.maximum(1.0 + up, 1e-6)
    rows = [[1.0 - x * x * share, -x * y * share, x], [-x * y * share, 1.0 - y * y * share, y]]
    return np.moveaxis(np.array([*rows, [-x, -y, up]]), -1, 0)
