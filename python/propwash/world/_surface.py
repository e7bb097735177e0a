"""Points on the surfaces of a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash._checks import ParameterError
from propwash.world._scene import Scene

Array = NDArray[np.float64]

_LINES = 4096
"""Random lines per batch."""
_MAX_BATCHES = 1000
_GAP = 1e-4
"""m, from a hit to the origin of the next ray of its line."""


def surface_points(
    scene: Scene,
    count: int,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    radius: float = 10.0,
    seed: int = 0,
) -> Array:
    """(count, 3) m: random points on the surfaces of a scene, uniform by area, within a sphere.

    They are the intersections of the surfaces with isotropic random lines, which meet every piece
    of surface in proportion to its area (Cauchy and Crofton). Surfaces inside other items and
    outer faces of walls are included.

    centre: (3,) m, of the sphere. radius: m. seed: of the points.

    Raises ValueError if there is no surface in the sphere, or for invalid arguments.
    """
    if not isinstance(scene, Scene):
        raise ParameterError(f"scene: expected a Scene, got {scene!r:.100}")
    count = _checks.whole_number("count", count, 1, 10_000_000)
    middle = _checks.shaped("centre", centre, (3,), unit="m")
    radius = _checks.positive("radius", radius, "m")
    random = np.random.default_rng(_checks.seed(seed))
    found: list[Array] = []
    total = 0
    for _ in range(_MAX_BATCHES):
        points = _on_lines(scene, middle, radius, random)
        found.append(points)
        total += len(points)
        if total >= count:
            break
    else:
        raise ValueError(
            f"radius = {radius:g}: expected surfaces within this distance of {middle.tolist()}, "
            f"got {total} points on {_MAX_BATCHES * _LINES} lines; move the centre or enlarge it"
        )
    return np.asarray(random.permutation(np.concatenate(found))[:count])


def _on_lines(scene: Scene, centre: Array, radius: float, random: np.random.Generator) -> Array:
    """The intersections of random lines through a sphere with the surfaces inside it."""
    along = random.normal(size=(_LINES, 3))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # a random point of the disc through the centre, normal to the line
    across = np.cross(along, random.normal(size=(_LINES, 3)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    distance = np.sqrt(random.uniform(size=_LINES))
    half = radius * np.sqrt(1.0 - distance**2)
    origins = centre + radius * distance[:, None] * across - half[:, None] * along
    left = 2.0 * half
    points: list[Array] = []
    while len(left):
        hit = scene.raycast(origins, along, normals=False).distance
        inside = hit < left
        origins, along, left, hit = (each[inside] for each in (origins, along, left, hit))
        points.append(origins + hit[:, None] * along)
        origins, left = origins + (hit + _GAP)[:, None] * along, left - hit - _GAP
    return np.concatenate(points)
