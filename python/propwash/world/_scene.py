"""The scene: ray casts, lines of sight, collisions and markers of its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _world
from propwash._checks import ParameterError, nearest
from propwash.fleet.threads import ThreadPool, pool_of
from propwash.world import _files as _scene_files
from propwash.world import _mesh_rays
from propwash.world._items import Gate, Item, Marker, Start, poses_of
from propwash.world._results import Collisions, Markers, NearestItems, RayHits, SphereHits

Meshes = Literal["auto", "builtin", "embree"]

NO_POSES: NDArray[np.float64] = np.zeros((0, 7))


class Scene:
    """The items of a world. A scene is immutable; threads may share it.

    A scene with moving items, or with vehicles, is queried at a time: see `at`. Before, its moving
    items are where they are at time 0, and it has no vehicles.

    items: Plane, Box, Sphere, Cylinder, Capsule, Gate or Mesh; the id of an item is its index.
    markers: Marker objects, in addition to the four of each gate.
    start: the initial pose of a vehicle, a Start or None.
    vehicles: an item in axes of the body, the shape of all vehicles. The bodies that a sensor
        measures are then in the scene, and each one is hit by the rays of the others and touched by
        them. None: vehicles do not see each other.
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
        vehicles: Item | None = None,
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
        self._vehicles = _vehicle(vehicles)
        self._name = str(name)
        self._start = start
        try:
            self._core = _world.SceneIndex(self._items, self._own_markers)
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
        self._moves = any(item.motion is not None for item in self._items)
        self._whole: Self | None = None  # of a scene that at() returned, the scene with motions
        self._time, self._vehicle_poses = 0.0, NO_POSES
        if self._moves:
            self._place(0.0, NO_POSES)

    def at(
        self,
        time: float,
        position: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
    ) -> Self:
        """The scene at a time, a static scene that shares the index of the static items.

        time: s. position, attitude: (…, 3) m and (…, 4) of vehicles, if the scene has `vehicles`:
        vehicle i has the id len(scene) + i. A vehicle whose pose is not finite is absent.

        Raises ValueError for invalid arguments, and for a motion that returns an invalid pose.
        """
        moment = _checks.number("time", time, "a finite number [s]")
        whole = self if self._whole is None else self._whole
        vehicles = NO_POSES
        if position is None and attitude is not None:
            raise ValueError("attitude: expected None without the positions of vehicles")
        if position is not None:
            if whole._vehicles is None:
                raise ValueError(
                    "position: expected None for a scene without vehicles; create it with "
                    "vehicles=Sphere(name='vehicle', radius=0.2) or another shape"
                )
            _, places, attitudes = _checks.poses(position, attitude, np.dtype(np.float64))
            vehicles = np.concatenate((places, attitudes), axis=1)
        if not (whole._moves or len(vehicles)):
            return whole
        scene = object.__new__(type(self))
        scene.__dict__.update(whole.__dict__, _whole=whole)
        scene._place(moment, vehicles)
        return scene

    def _place(self, time: float, vehicles: NDArray[np.float64]) -> None:
        """Sets the poses of the moving items and of vehicles, rows (n, 7)."""
        bodies = poses_of(self._items, time) if self._moves else NO_POSES
        shape = self._vehicles if len(vehicles) else None
        self._core = self._core.at(bodies, vehicles, shape)
        self._time, self._vehicle_poses = time, vehicles
        if self._mesh_rays is not None:
            self._mesh_rays = self._mesh_rays.at(bodies, vehicles, shape)
        if self._moves and any(isinstance(item, Gate) for item in self._items):
            _, positions, _, _ = self._core.markers()
            positions.setflags(write=False)
            self._markers = self._markers._replace(positions=positions)

    @property
    def time(self) -> float:
        """s, the time of the poses of moving items."""
        return self._time

    @property
    def has_motion(self) -> bool:
        """Whether items move, so that queries need a time: see at()."""
        return self._moves and self._whole is None

    @property
    def vehicles(self) -> Item | None:
        """The shape of the vehicles that see each other; None: they do not."""
        return self._vehicles

    @property
    def moving(self) -> tuple[Item, ...]:
        """The moving items where they are at this time, without their motions."""
        found = [item for item in self._items if item.motion is not None]
        return tuple(
            item.replace(motion=None, position=row[:3], attitude=row[3:])
            for item, row in zip(found, self._core.placed(), strict=False)
        )

    @classmethod
    def load(
        cls,
        scene: str | PathLike[str],
        seed: int | None = None,
        *,
        meshes: Meshes = "auto",
        vehicles: Item | None = None,
        **generator: Any,
    ) -> Self:
        """Loads a scene by its name (`scene_names()`) or the path of a TOML file.

        seed: of a procedural scene (None: 0) and of the perturbation of items: None leaves them at
        their nominal poses, a number moves them within their bounds, `item.perturbation`.
        meshes, vehicles: as for Scene.
        generator: fields of the scene's generator, a Forest or Warehouse, that replace those of the
            file or of its base: Scene.load("forest", seed=3, density=0.1).

        Raises ParameterError, which names the file.
        """
        if seed is not None:
            seed = _checks.seed(seed)
        path = _scene_files.find(scene)
        found = _scene_files.read(path, seed, generator)
        try:
            return cls(
                found.items,
                name=found.name,
                markers=found.markers,
                start=found.start,
                meshes=meshes,
                vehicles=vehicles,
            )
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a scene file: items at their present poses, with their bounds of perturbation.

        Raises ParameterError for items that are absent, and for motions other than Waypoints.
        """
        for item in self.items:
            if not np.isfinite((*item.position, *item.attitude)).all():
                raise ParameterError(
                    f"item {item.name!r}: expected a pose, it is absent at {self.time:g} s; save "
                    "the scene at a time with all items, or without it"
                )
        parts = _scene_files.SceneFile(
            self._name, list(self.items), list(self._own_markers), self._start
        )
        Path(path).write_text(_scene_files.to_toml(parts), encoding="utf-8")

    @property
    def name(self) -> str:
        """The scene's name."""
        return self._name

    @property
    def items(self) -> tuple[Item, ...]:
        """All items; the id of an item is its index. Those of at() have no motions."""
        if self._whole is None or not self._moves:
            return self._items
        placed = {item.name: item for item in self.moving}
        return tuple(placed.get(item.name, item) for item in self._items)

    @property
    def names(self) -> tuple[str, ...]:
        """The items' names."""
        return tuple(item.name for item in self._items)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates in the order of the items, which is the order of a course."""
        return tuple(item for item in self.items if isinstance(item, Gate))

    @property
    def markers(self) -> Markers:
        """All beacons: "<gate>_1" to "<gate>_4" of each gate, and those of `markers`."""
        return self._markers

    @property
    def start(self) -> Start | None:
        """The initial pose of a vehicle; None if the scene has none."""
        return self._start

    @property
    def core(self) -> _world.SceneIndex:
        """The scene of the extension module."""
        return self._core

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __getitem__(self, item: int | str) -> Item:
        """An item by its id or name. Raises IndexError or KeyError."""
        return self.items[self.id_of(item) if isinstance(item, str) else item]

    def __contains__(self, name: object) -> bool:
        return name in self.names or name in self.items

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
        if self._whole is not None:
            at, attitude = np.hsplit(self._vehicle_poses, (3,))
            vehicles = (at, attitude) if len(at) else (None, None)
            return type(self).at, (self._whole, self._time, *vehicles)
        options: dict[str, Any] = {
            "name": self._name,
            "markers": self._own_markers,
            "start": self._start,
            "meshes": self._meshes,
            "vehicles": self._vehicles,
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

    def nearest(
        self, points: ArrayLike, reach: float = np.inf, *, threads: int | ThreadPool = 1
    ) -> NearestItems:
        """Returns the signed distances of points to their nearest items, and the derivatives.

        points: (…, 3) m, world frame. reach: m; items at this distance or farther are not found.
        threads: as for a Fleet. Items are solid, planes below; meshes are surfaces, at distances
        >= 0. Inside several bodies the deepest counts. At equal distances, in the middle of a body
        or on a surface, the normal is that of one side. A point that is not finite has no nearest
        item. Raises ValueError or TypeError for invalid arguments.
        """
        shape, rows = _checks.flattened("points", points, 3)
        places = np.ascontiguousarray(rows, dtype=np.float64)
        limit = _checks.positive("reach", reach, "m", infinite=True)
        distance, ids, normal = self._core.nearest(places, limit, pool_of(threads))
        return NearestItems(
            distance.reshape(shape), ids.reshape(shape), normal.reshape((*shape, 3))
        )

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


def _vehicle(item: Item | None) -> Item | None:
    """The shape of vehicles. Raises ParameterError."""
    if item is None:
        return None
    if not isinstance(item, Item) or not item.shape or item.shape == "plane":
        raise ParameterError(f"vehicles: expected a shape such as a Sphere, got {item!r:.100}")
    if item.motion is not None:
        raise ParameterError("vehicles: expected an item without a motion")
    try:
        _world.SceneIndex((item,), ())  # checks it
    except ValueError as error:
        raise ParameterError(f"vehicles: {error}") from None
    return item


def scene_names() -> list[str]:
    """The names of the shipped scenes."""
    return _scene_files.names()


def scene_json_schema() -> dict[str, Any]:
    """The JSON Schema of a scene file, for editors and other tools."""
    return _scene_files.json_schema()
