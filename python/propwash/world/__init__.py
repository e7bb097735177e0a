"""Scenes: the items of a world, with ray casts, lines of sight and collision tests.

    scene = pw.Scene.load("alphapilot", seed=3)
    hits = scene.raycast(origins, directions, max_range=20.0)
    scene.visible(start, end)
    scene.collides(position, radius=0.15)
    scene.spherecast(start, end, radius=0.15)

`docs/world.md` describes the frames, the file format and the approximations.
"""

from __future__ import annotations

from propwash.world._generators import Forest, Generator, Warehouse
from propwash.world._items import Box, Cylinder, Gate, Item, Marker, Mesh, Plane, Sphere, Start
from propwash.world._scene import (
    Collisions,
    Markers,
    RayHits,
    Scene,
    SphereHits,
    scene_json_schema,
    scene_names,
)
from propwash.world._textures import texture_image, texture_names

__all__ = [
    "Box",
    "Collisions",
    "Cylinder",
    "Forest",
    "Gate",
    "Generator",
    "Item",
    "Marker",
    "Markers",
    "Mesh",
    "Plane",
    "RayHits",
    "Scene",
    "Sphere",
    "SphereHits",
    "Start",
    "Warehouse",
    "scene_json_schema",
    "scene_names",
    "texture_image",
    "texture_names",
]
