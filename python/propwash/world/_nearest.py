"""Distances to the items of several scenes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    for scene, chosen in rows_of(scenes, scene_of, n, "point"):
        found = scene.nearest(places[chosen], reach, threads=threads)
        distance[chosen], ids[chosen], normal[chosen] = found
    return NearestItems(distance.reshape(shape), ids.reshape(shape), normal.reshape((*shape, 3)))


def rows_of(
    scenes: Scene | Sequence[Scene], scene_of: ArrayLike | None, n: int, what: str
) -> list[tuple[Scene, NDArray[np.intp]]]:
    """Returns scenes and the rows of n points or bodies in them. Raises ValueError or TypeError.

    scene_of: n indices in `scenes`; None: the one scene, or n scenes. what: Name of a row.
    """
    known = [scenes] if isinstance(scenes, Scene) else list(scenes)
    if not known or not all(isinstance(each, Scene) for each in known):
        raise TypeError(
            f"scenes: expected a Scene or a sequence of one or more, got {_checks.shown(scenes)}"
        )
    if scene_of is None and len(known) not in (1, n):
        raise ValueError(
            f"scene_of: expected {n} indices, one for each {what}, for {len(known)} scenes, got "
            "None"
        )
    default = np.zeros(n, int) if len(known) == 1 else np.arange(n)
    numbers: NDArray[Any] = default if scene_of is None else np.asarray(scene_of)
    if numbers.dtype.kind not in "iu" or numbers.size != n:
        raise ValueError(
            f"scene_of: expected {n} whole numbers, one for each {what}, got "
            f"{_checks.described(scene_of)}"
        )
    numbers = numbers.reshape(n)
    if ((numbers < 0) | (numbers >= len(known))).any():
        raise ValueError(f"scene_of: expected indices of {len(known)} scenes, got {numbers!s:.100}")
    return [(known[number], np.flatnonzero(numbers == number)) for number in np.unique(numbers)]
