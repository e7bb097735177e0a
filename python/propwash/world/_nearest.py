"""Distances to the items of several scenes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks
from propwash.fleet.threads import ThreadPool
from propwash.world._results import NearestItems
from propwash.world._scene import Scene


def nearest_items(
    scenes: Scene | Sequence[Scene],
    points: ArrayLike,
    scene_of: ArrayLike | None = None,
    reach: float = np.inf,
    *,
    threads: int | ThreadPool = 1,
) -> NearestItems:
    """Returns Scene.nearest() of points (…, 3) m in several scenes.

    scenes: moving items are where they are at time 0; scene.at(time) is a scene at another time.
    scene_of: (…,) index in `scenes` of the scene of each point; None: the one scene, or as many
        scenes as points, in the same order.
    reach, threads: those of Scene.nearest().

    Raises ValueError or TypeError for invalid arguments.
    """
    shape, rows = _checks.flattened("points", points, 3)
    places, n = np.asarray(rows, dtype=np.float64), len(rows)
    distance, ids, normal = np.empty(n), np.empty(n, dtype=np.int32), np.empty((n, 3))
    for scene, chosen in _checks.rows_of(scenes, Scene, scene_of, n, "point"):
        found = scene.nearest(places[chosen], reach, threads=threads)
        distance[chosen], ids[chosen], normal[chosen] = found
    return NearestItems(distance.reshape(shape), ids.reshape(shape), normal.reshape((*shape, 3)))
