"""The scene: rays, lines of sight, collisions and markers of its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core
from propwash._checks import ParameterError, nearest
from propwash.fleet.threads import ThreadPool, pool_of
from propwash.world import _arguments as checked
from propwash.world import _files as _scene_files
from propwash.world import _mesh_rays
from propwash.world._items import Gate, Item, Marker, Start

Meshes = Literal["auto", "own", "embree"]


class RayHits(NamedTuple):
    """What rays meet first; the leading axes are those of the rays."""

    distance: NDArray[Any]
    """(…,) m; infinity where nothing is met"""
    id: NDArray[np.int32]
    """(…,) the item's place in `scene.items`; -1 where nothing is met"""
    normal: NDArray[Any] | None
    """(…, 3) unit, world frame, against the ray; zero where nothing is met; None if not asked"""


class Collisions(NamedTuple):
    """Which bodies touch something; the leading axes are those of the positions."""

    collided: NDArray[np.bool_]
    """(…,)"""
    id: NDArray[np.int32]
    """(…,) the least id of the items that are touched; -1 where none is"""


class SphereHits(NamedTuple):
    """What moving spheres touch first; the leading axes are those of the ways."""

    fraction: NDArray[np.float64]
    """(…,) of the way from start to end, at the first contact; 1 where nothing is touched"""
    id: NDArray[np.int32]
    """(…,) the item's place in `scene.items`; -1 where nothing is touched"""


class Markers(NamedTuple):
    """Infrared beacons."""

    names: tuple[str, ...]
    """(m,) names."""
    position: NDArray[np.float64]
    """(m, 3) m, world frame"""


class Scene:
    """What stands in the world. It does not change; threads may share it.

    items: Plane, Box, Sphere, Cylinder, Gate, Mesh of this module; the id of an item is its place.
    markers: Marker, beside the four of each gate. start: where a vehicle starts, a Start or None.
    meshes: who looks at meshes of more than 500 triangles in raycast() and visible(): "embree"
        through the package embreex (extra [mesh]), "own", or "auto": Embree where it is installed.

    Raises ParameterError for items that cannot be and for a name that is there twice.

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
        if _mesh_rays.wanted(self._items, meshes):
            self._mesh_rays = _mesh_rays.MeshRays(self._items, self._own_markers)
        marker_names, position = self._core.markers()
        position.setflags(write=False)
        self._markers = Markers(tuple(marker_names), position)

    @classmethod
    def load(
        cls, scene: str | PathLike[str], seed: int | None = None, *, meshes: Meshes = "auto"
    ) -> Self:
        """A scene by its name (`scene_names()`) or by the path of a TOML file.

        seed: of a procedural scene (None stands for 0), and of the perturbation of a course: None
        leaves every gate at its nominal place, any number moves it within the bounds of the file.

        Raises ParameterError, which names the file.
        """
        if seed is not None:
            seed = given.whole_number("seed", seed, 0, 2**64 - 1)
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
        """Writes a scene file, in which what a seed decides is decided."""
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
        """All items; an id is a place in it."""
        return self._items

    @property
    def names(self) -> tuple[str, ...]:
        """The items' names."""
        return tuple(item.name for item in self._items)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates in their order, which is that of the course where there is one."""
        return tuple(item for item in self._items if isinstance(item, Gate))

    @property
    def markers(self) -> Markers:
        """All beacons: those of gates and the scene's own. "<gate>_1" to "<gate>_4" for a gate."""
        return self._markers

    @property
    def start(self) -> Start | None:
        """Where a vehicle starts, if the scene says so."""
        return self._start

    @property
    def core(self) -> _core.SceneIndex:
        """The scene as the compiled part knows it."""
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
        parts = (self._items, self._name, self._own_markers, self._start, self._meshes)
        return _rebuilt, (type(self), *parts)

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_range: float = np.inf,
        *,
        normals: bool = True,
        threads: int | ThreadPool = 1,
    ) -> RayHits:
        """What rays meet first.

        origins, directions: (…, 3) m and of any length but zero, world frame, broadcast against
            each other. Where both are float32 so is all that is computed, at twice the speed.
        max_range: m. normals: False leaves them out. threads: as of a Fleet, for many rays.

        A ray whose numbers are not finite meets nothing. Bodies are hollow to rays: a ray that
        starts inside meets the surface on its way out. Raises ValueError for other shapes.
        """
        rows, shape, single = checked.two_rows("origins", origins, "directions", directions)
        most, pool = checked.reach(max_range), pool_of(threads)
        if self._mesh_rays is not None:
            distance, ids, normal = self._mesh_rays.raycast(rows, most, normals, pool)
        else:
            call = self._core.raycast_float32 if single else self._core.raycast_float64
            distance, ids, normal = call(*rows, most, normals, pool)
        return RayHits(
            distance.reshape(shape),
            ids.reshape(shape),
            None if normal is None else normal.reshape((*shape, 3)),
        )

    def visible(
        self, start: ArrayLike, end: ArrayLike, *, threads: int | ThreadPool = 1
    ) -> NDArray[np.bool_]:
        """(…,) whether the lines between points meet nothing.

        start, end: (…, 3) m, world frame, broadcast against each other. What touches a line within
        0.1 mm of its ends, or some roundings far from the origin, does not count; a line that is
        not of finite numbers is not free. Raises ValueError for other shapes.
        """
        rows, shape, single = checked.two_rows("start", start, "end", end)
        free: NDArray[np.bool_]
        if self._mesh_rays is not None:
            free = self._mesh_rays.visible(rows, pool_of(threads))
        else:
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
        """Which vehicles touch something.

        position: (…, 3) m, world frame. A vehicle is a sphere of `radius` [m], or a box of edges
        `size` [m] along its body axes, for which attitude is (…, 4), (w, x, y, z) from body to
        world, level where None. Bodies are solid, planes below, meshes are surfaces. A position
        that is not finite touches nothing. Raises ValueError for what cannot be.
        """
        if (radius is None) == (size is None):
            raise ValueError("expected a radius (sphere) or a size (box), one of the two")
        places, shape = checked.rows("position", position, 3)
        turns: NDArray[np.float64] | None = None
        edges = (0.0, 0.0, 0.0)
        if size is not None:
            edges = checked.edges(size)
            level = (1.0, 0.0, 0.0, 0.0)
            turns = checked.attitudes(level if attitude is None else attitude, shape)
        reach = 0.0 if radius is None else checked.positive_radius(radius)
        ids = self._core.collide(places, turns, reach, edges).reshape(shape)
        return Collisions(ids >= 0, ids)

    def spherecast(self, start: ArrayLike, end: ArrayLike, radius: float) -> SphereHits:
        """What spheres that move straight from `start` to `end` touch first.

        start, end: (…, 3) m, world frame, broadcast against each other. radius: m. Bodies are
        solid, planes below, meshes are surfaces; a sphere that touches something at its start has
        the fraction 0. A way that is not finite touches nothing. Raises ValueError for other
        shapes and for a radius that is not positive.
        """
        rows, shape, _ = checked.two_rows("start", start, "end", end)
        a, b = (np.asarray(each, dtype=np.float64) for each in rows)
        fraction, ids = self._core.spherecast(a, b, checked.positive_radius(radius))
        return SphereHits(fraction.reshape(shape), ids.reshape(shape))


def _rebuilt(
    kind: type[Scene],
    items: tuple[Item, ...],
    name: str,
    markers: tuple[Marker, ...],
    start: Start | None,
    meshes: Meshes,
) -> Scene:
    return kind(items, name=name, markers=markers, start=start, meshes=meshes)


def scene_names() -> list[str]:
    """The names of the shipped scenes."""
    return _scene_files.names()


def scene_json_schema() -> dict[str, Any]:
    """The JSON Schema of a scene file, for editors and other tools."""
    return _scene_files.json_schema()
