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
from propwash.world._items import (
    Box,
    Capsule,
    Cylinder,
    Gate,
    Item,
    Marker,
    Mesh,
    Plane,
    Sphere,
    Start,
)
from propwash.world._motion import Motion, Pose, Waypoints
from propwash.world._nearest import nearest_items
from propwash.world._results import Collisions, Markers, NearestItems, RayHits, SphereHits
from propwash.world._scene import Scene, scene_json_schema, scene_names
from propwash.world._skeleton import Skeleton, person, poses_between
from propwash.world._surface import surface_points
from propwash.world._textures import texture_image, texture_names

__all__ = [
    "Box",
    "Capsule",
    "Collisions",
    "Cylinder",
    "Forest",
    "Gate",
    "Generator",
    "Item",
    "Marker",
    "Markers",
    "Mesh",
    "Motion",
    "NearestItems",
    "Plane",
    "Pose",
    "RayHits",
    "Scene",
    "Skeleton",
    "Sphere",
    "SphereHits",
    "Start",
    "Warehouse",
    "Waypoints",
    "nearest_items",
    "person",
    "poses_between",
    "scene_json_schema",
    "scene_names",
    "surface_points",
    "texture_image",
    "texture_names",
]
