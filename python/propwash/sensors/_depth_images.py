"""Depth images of many bodies in many scenes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _world
from propwash.fleet.threads import ThreadPool, pool_of
from propwash.sampling.sensor import NoiseKey
from propwash.sensors._camera import Camera
from propwash.world import Scene

_CLOSE = 1e-3
"""m, reach of the search for items that contain a camera; their distances are negative."""


def depth_images(
    scenes: Scene | Sequence[Scene],
    camera: Camera,
    position: ArrayLike,
    attitude: ArrayLike | None = None,
    scene_of: ArrayLike | None = None,
    max_depth: float = 100.0,
    *,
    threads: int | ThreadPool = 1,
) -> NDArray[Any]:
    """Renders depth images (…, height, width) m, without noise, of several scenes in one call.

    scenes: moving items are where they are at time 0; scene.at(time) is a scene at another time.
    camera: its size, field of view and mounting on the bodies.
    position, attitude: of the bodies, (…, 3) m and (…, 4), level by default. If the positions are
        float32, so are the images.
    scene_of: (…,) index in `scenes` of the scene of each body; None: the one scene, or as many
        scenes as bodies, in the same order.
    max_depth: m, the depth where nothing is nearer. threads: as for a Fleet.

    A body whose position is not finite has images of NaN. Raises ValueError or TypeError for
    invalid arguments, and ValueError for a camera inside an item.
    """
    if not isinstance(camera, Camera) or camera.core.count > 1:
        raise TypeError(f"camera: expected a Camera with one mounting, got {camera!r:.100}")
    lead, places, attitudes = _checks.poses(position, attitude)
    n, reach, pool = len(places), _checks.positive("max_depth", max_depth, "m"), pool_of(threads)
    groups = _checks.rows_of(scenes, Scene, scene_of, n, "body")
    images = np.empty((n, camera.height, camera.width), places.dtype)
    centres = camera.core.poses(places.astype(np.float64), attitudes.astype(np.float64))[0]
    perfect, silent = _world.StereoModel(), NoiseKey(0, 0).white(0)
    for scene, rows in groups:
        poses = places[rows], attitudes[rows]
        _refuse_inside(scene, centres[rows], rows)
        core, lens = scene.core, camera.core
        images[rows] = _world.measure_depth(core, lens, reach, 0.0, perfect, *poses, silent, pool)
    return images.reshape(*lead, camera.height, camera.width)


def _refuse_inside(scene: Scene, centres: NDArray[Any], rows: NDArray[np.intp]) -> None:
    """Raises ValueError for a camera inside an item. centres: (k, 3) m, of bodies `rows`."""
    found = scene.nearest(centres, reach=_CLOSE)
    inside = np.flatnonzero(found.distance < 0.0)
    if len(inside):
        first = inside[0]
        raise ValueError(
            f"position: expected cameras outside all items, that of body {rows[first]} at "
            f"{tuple(np.round(centres[first], 3).tolist())} m is inside "
            f"{scene.names[found.id[first]]!r}; move the body"
        )
