"""The scene: ray casts, lines of sight, collisions and markers of its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core
from propwash._checks import ParameterError, nearest
from propwash.fleet.threads import ThreadPool, pool_of
from propwash.world import _files as _scene_files
from propwash.world import _mesh_rays
from propwash.world._items import Gate, Item, Marker, Start

Meshes = Literal["auto", "builtin", "embree"]


class RayHits(NamedTuple):
    """The first hits of rays; the leading axes are those of the rays."""

    distance: NDArray[Any]
    """(…,) m; infinity for a ray that hits nothing"""
    id: NDArray[np.int32]
    """(…,) index of the item in `scene.items`; -1 for a ray that hits nothing"""
    normal: NDArray[Any] | None
    """(…, 3) unit, world frame, towards the origin; zero without a hit; None: not requested"""


class Collisions(NamedTuple):
    """Contacts of bodies; the leading axes are those of the positions."""

    collided: NDArray[np.bool_]
    """(…,)"""
    id: NDArray[np.int32]
    """(…,) the smallest id of the touched items; -1: none"""


class SphereHits(NamedTuple):
    """First contacts of moving spheres; the leading axes are those of the paths."""

    fraction: NDArray[np.float64]
    """(…,) of the path from start to end at the first contact; 1 without contact"""
    id: NDArray[np.int32]
    """(…,) index of the item in `scene.items`; -1 without contact"""


class Markers(NamedTuple):
    """Infrared beacons."""

    names: tuple[str, ...]
    """(m,) names."""
    positions: NDArray[np.float64]
    """(m, 3) m, world frame"""
    gates: tuple[str, ...]
    """(m,) name of the gate to which it belongs; empty: none"""
    corners: NDArray[np.int32]
    """(m,) corner of its gate, seen along +x: 0 upper left, 1 upper right, 2 lower right, 3 lower
    left; -1 without a gate"""


class Scene:
    """The static items of a world. A scene is immutable; threads may share it.

    items: Plane, Box, Sphere, Cylinder, Gate or Mesh; the id of an item is its index.
    markers: Marker objects, in addition to the four of each gate.
    start: the initial pose of a vehicle, a Start or None.
    meshes: the implementation of raycast() and visible() for meshes of more than 500 triangles:
        "embree" (package embreex, extra [mesh]), "builtin", or "auto": Embree if installed.

    Raises ParameterError for invalid items and duplicate names.

    >>> scene = Scene([Plane(name="ground"), Box(name="crate", size=(1, 1, 1))])
    """

    def __init__(
        self,
        items: Iterable[Item] = (),
        *,
        name: str = "scene",
        markers: Iterable[Marker] = (),
        start: Start | None = None,
        meshes: Meshes = "auto",
    ) -> None:
        self._items = tuple(items)
        self._own_markers = tuple(markers)
        for item in self._items:
            if not isinstance(item, Item) or not item.shape:
                raise ParameterError(f"items: expected shapes of propwash.world, got {item!r:.100}")
        for marker in self._own_markers:
            if not isinstance(marker, Marker):
                raise ParameterError(f"markers: expected Marker, got {marker!r:.100}")
        if start is not None and not isinstance(start, Start):
            raise ParameterError(f"start: expected a Start or None, got {start!r:.100}")
        self._name = str(name)
        self._start = start
        try:
            self._core = _core.SceneIndex(self._items, self._own_markers)
        except ValueError as error:
            raise ParameterError(str(error)) from None
        self._meshes: Meshes = meshes
        self._mesh_rays: _mesh_rays.MeshRays | None = None
        if _mesh_rays.uses_embree(self._items, meshes):
            self._mesh_rays = _mesh_rays.MeshRays(self._items, self._own_markers)
        marker_names, positions, gates, corners = self._core.markers()
        positions.setflags(write=False)
        corners.setflags(write=False)
        self._markers = Markers(tuple(marker_names), positions, tuple(gates), corners)

    @classmethod
    def load(
        cls, scene: str | PathLike[str], seed: int | None = None, *, meshes: Meshes = "auto"
    ) -> Self:
        """Loads a scene by its name (`scene_names()`) or the path of a TOML file.

        seed: of a procedural scene (None: 0) and of the perturbation of items: None leaves them at
        their nominal poses, a number moves them within their bounds, `item.perturbation`.

        Raises ParameterError, which names the file.
        """
        if seed is not None:
            seed = _checks.seed(seed)
        path = _scene_files.find(scene)
        found = _scene_files.read(path, seed)
        try:
            return cls(
                found.items,
                name=found.name,
                markers=found.markers,
                start=found.start,
                meshes=meshes,
            )
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a scene file: items at their present poses, with their bounds of perturbation."""
        parts = _scene_files.SceneFile(
            self._name, list(self._items), list(self._own_markers), self._start
        )
        Path(path).write_text(_scene_files.to_toml(parts), encoding="utf-8")

    @property
    def name(self) -> str:
        """The scene's name."""
        return self._name

    @property
    def items(self) -> tuple[Item, ...]:
        """All items; the id of an item is its index."""
        return self._items

    @property
    def names(self) -> tuple[str, ...]:
        """The items' names."""
        return tuple(item.name for item in self._items)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates in the order of the items, which is the order of a course."""
        return tuple(item for item in self._items if isinstance(item, Gate))

    @property
    def markers(self) -> Markers:
        """All beacons: "<gate>_1" to "<gate>_4" of each gate, and those of `markers`."""
        return self._markers

    @property
    def start(self) -> Start | None:
        """The initial pose of a vehicle; None if the scene has none."""
        return self._start

    @property
    def core(self) -> _core.SceneIndex:
        """The scene of the extension module."""
        return self._core

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __getitem__(self, item: int | str) -> Item:
        """An item by its id or name. Raises IndexError or KeyError."""
        return self._items[self.id_of(item) if isinstance(item, str) else item]

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self._items

    def id_of(self, name: str) -> int:
        """The id of the item of this name. Raises KeyError."""
        if name not in self.names:
            raise KeyError(f"no item {name!r}{nearest(name, self.names)}")
        return self.names.index(name)

    def __repr__(self) -> str:
        return f"<Scene {self._name!r}: {len(self)} items, {len(self._markers.names)} markers>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {
            "name": self._name,
            "markers": self._own_markers,
            "start": self._start,
            "meshes": self._meshes,
        }
        return partial(type(self), **options), (self._items,)

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_range: float = np.inf,
        *,
        normals: bool = True,
        threads: int | ThreadPool = 1,
    ) -> RayHits:
        """Casts rays and returns their first hits.

        origins, directions: (…, 3) m and of any non-zero length, world frame, broadcast against
            each other. If both are float32, all computations are, at twice the speed.
        max_range: m. normals: whether to compute normals. threads: as for a Fleet.

        A ray that is not finite hits nothing. Bodies are hollow to rays: a ray that starts inside
        hits the surface from within. Raises ValueError or TypeError for invalid arguments.
        """
        shape, rows = _checks.vector_pairs("origins", origins, "directions", directions)
        reach = _checks.positive("max_range", max_range, "m", infinite=True)
        pool = pool_of(threads)
        if self._mesh_rays is not None:
            distance, ids, normal = self._mesh_rays.raycast(rows, reach, normals, pool)
        else:
            single = rows[0].dtype == np.float32
            call = self._core.raycast_float32 if single else self._core.raycast_float64
            distance, ids, normal = call(*rows, reach, normals, pool)
        return RayHits(
            distance.reshape(shape),
            ids.reshape(shape),
            None if normal is None else normal.reshape((*shape, 3)),
        )

    def visible(
        self, start: ArrayLike, end: ArrayLike, *, threads: int | ThreadPool = 1
    ) -> NDArray[np.bool_]:
        """(…,) whether the lines between points are unobstructed.

        start, end: (…, 3) m, world frame, broadcast against each other. Contacts within 0.1 mm (far
        from the origin: a few rounding errors) of the ends are ignored; a line that is not finite
        is not visible. Raises ValueError or TypeError for invalid arguments.
        """
        shape, rows = _checks.vector_pairs("start", start, "end", end)
        free: NDArray[np.bool_]
        if self._mesh_rays is not None:
            free = self._mesh_rays.visible(rows, pool_of(threads))
        else:
            single = rows[0].dtype == np.float32
            call = self._core.visible_float32 if single else self._core.visible_float64
            free = call(*rows, pool_of(threads))
        return free.reshape(shape)

    def collides(
        self,
        position: ArrayLike,
        attitude: ArrayLike | None = None,
        radius: float | None = None,
        size: ArrayLike | None = None,
    ) -> Collisions:
        """Tests vehicles for contact with items.

        position: (…, 3) m, world frame. A vehicle is a sphere of `radius` [m], or a box with edges
        `size` [m] along its body axes, whose attitude is (…, 4), (w, x, y, z) from body to world,
        level by default. Items are solid, planes below, meshes are surfaces. A position that is not
        finite touches nothing. Raises ValueError or TypeError for invalid arguments.
        """
        if (radius is None) == (size is None):
            raise ValueError("expected a radius (sphere) or a size (box), one of the two")
        if size is None:
            shape, rows = _checks.flattened("position", position, 3)
            places = np.ascontiguousarray(rows, dtype=np.float64)
            sphere = _checks.positive("radius", radius, "m")
            ids = self._core.collide(places, None, sphere, (0.0, 0.0, 0.0))
        else:
            shape, places, attitudes = _checks.poses(position, attitude, np.dtype(np.float64))
            edges = _checks.shaped("size", size, (3,), unit="m")
            _checks.refuse_where(edges <= 0.0, "size", edges, 1, "3 finite numbers > 0 [m]")
            ids = self._core.collide(places, attitudes, 0.0, tuple(edges.tolist()))
        ids = ids.reshape(shape)
        return Collisions(ids >= 0, ids)

    def spherecast(self, start: ArrayLike, end: ArrayLike, radius: float) -> SphereHits:
        """Moves spheres straight from `start` to `end` and returns their first contacts.

        start, end: (…, 3) m, world frame, broadcast against each other. radius: m, > 0. Items are
        solid, planes below, meshes are surfaces; a sphere in contact at its start has the fraction
        0. A path that is not finite touches nothing. Raises ValueError or TypeError for invalid
        arguments.
        """
        shape, rows = _checks.vector_pairs("start", start, "end", end)
        a, b = (np.asarray(each, dtype=np.float64) for each in rows)
        fraction, ids = self._core.spherecast(a, b, _checks.positive("radius", radius, "m"))
        return SphereHits(fraction.reshape(shape), ids.reshape(shape))


def scene_names() -> list[str]:
    """The names of the shipped scenes."""
    return _scene_files.names()


def scene_json_schema() -> dict[str, Any]:
    """The JSON Schema of a scene file, for editors and other tools."""
    return _scene_files.json_schema()
