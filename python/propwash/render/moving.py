"""Moving items of a scene as objects of the render protocol."""

from __future__ import annotations

import math

import numpy as np

from propwash.render.cameras import RenderObject
from propwash.world import Box, Capsule, Cylinder, Gate, Item, Mesh, Scene, Sphere


def moving_objects(scene: Scene) -> list[RenderObject]:
    """The moving items of a scene as objects at their poses, for a client or Offscreen.

    The built-in renderer draws an object whose `prefab` is the name of a moving item of its scene
    with the shape and colour of the item; another renderer needs a prefab of this name. The size is
    that of the item along its axes. Items that are absent are omitted. Raises ValueError for
    planes, which are infinite.

    >>> client = Client("yard.toml", objects=moving_objects(scene))
    >>> now = {o.name: (o.position, o.attitude) for o in moving_objects(scene.at(time))}
    >>> client.request_vehicle(time_ns, position, attitude, objects=now)
    """
    return [
        RenderObject(item.name, item.name, _extent(item), item.position, item.attitude)
        for item in scene.moving
        if all(map(math.isfinite, (*item.position, *item.attitude)))
    ]


def _extent(item: Item) -> tuple[float, float, float]:
    """m, edges of the box around an item, along its axes."""
    if isinstance(item, Box):
        return item.size
    if isinstance(item, Sphere | Cylinder | Capsule):
        width = 2.0 * item.radius
        height = item.height if isinstance(item, Cylinder) else width
        return (width, width, height + item.length if isinstance(item, Capsule) else height)
    if isinstance(item, Gate):
        bars = 2.0 * item.border
        return (item.depth, item.width + bars, item.height + bars)
    if isinstance(item, Mesh):
        x, y, z = np.maximum(2.0 * np.abs(item.vertices).max(axis=0), 1e-6).tolist()
        return (x, y, z)
    raise ValueError(f"item {item.name!r}: expected a finite shape, got a {item.shape}")
