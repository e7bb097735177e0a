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

    Raises ValueError or TypeError for invalid arguments.
    """
    known = [scenes] if isinstance(scenes, Scene) else list(scenes)
    lead, places, attitudes = _checks.poses(position, attitude)
    n, reach, pool = len(places), _checks.positive("max_depth", max_depth, "m"), pool_of(threads)
    default = np.zeros(n, int) if len(known) == 1 else np.arange(len(known))
    numbers = default if scene_of is None else np.asarray(scene_of)
    if numbers.dtype.kind not in "iu" or numbers.size != n:
        raise ValueError(
            f"scene_of: expected {n} whole numbers, one for each body, got "
            f"{_checks.described(default if scene_of is None else scene_of)}"
        )
    numbers = numbers.reshape(n)
    if ((numbers < 0) | (numbers >= len(known))).any():
        raise ValueError(f"scene_of: expected indices of {len(known)} scenes, got {numbers}")
    images = np.empty((n, camera.height, camera.width), places.dtype)
    perfect, silent = _world.StereoModel(), NoiseKey(0, 0).white(0)
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        poses = places[rows], attitudes[rows]
        core, lens = known[number].core, camera.core
        images[rows] = _world.measure_depth(core, lens, reach, 0.0, perfect, *poses, silent, pool)
    return images.reshape(*lead, camera.height, camera.width)
