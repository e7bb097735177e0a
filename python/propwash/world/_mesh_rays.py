"""Ray casts against large meshes with Embree, if the package embreex is installed."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from propwash import _core, _world
from propwash._checks import choice
from propwash._rotation import rotation
from propwash.world._items import Item, Marker, Mesh

MAX_TRIANGLES = 500  # of a mesh that the extension module handles
_MARGIN = 1e-4  # m, sight_margin of raycast.hpp
_ROUNDING = 8.0 * float(np.finfo(np.float32).eps)  # sight_rounding of raycast.hpp, for float32


def uses_embree(items: Sequence[Item], meshes: str) -> bool:
    """Whether to use Embree; "auto" uses it if it is installed."""
    if choice("meshes", meshes, ("auto", "builtin", "embree")) == "builtin" or not any(
        _is_large(item) for item in items
    ):
        return False
    try:
        importlib.import_module("embreex")
    except ImportError:
        if meshes == "auto":
            return False
        raise ImportError(
            'meshes="embree" needs the package embreex: pip install "propwash[mesh]"'
        ) from None
    return True


def _is_large(item: Item) -> bool:
    is_static = item.motion is None  # moving meshes are handled by the extension module
    return isinstance(item, Mesh) and is_static and len(item.triangles) > MAX_TRIANGLES


class MeshRays:
    """A scene whose large meshes are handled by Embree in float32, and the rest by `_world`."""

    def __init__(self, items: Sequence[Item], markers: Sequence[Marker]) -> None:
        self._rest = _world.SceneIndex(items, markers, MAX_TRIANGLES)
        scene = importlib.import_module("embreex.rtcore_scene").EmbreeScene
        self._embree: Any = scene(robust=True)  # no cracks where triangles meet
        triangle_mesh = importlib.import_module("embreex.mesh_construction").TriangleMesh
        ids = []
        for i, item in enumerate(items):
            if isinstance(item, Mesh) and _is_large(item):
                attitude = np.array(item.attitude) / np.linalg.norm(item.attitude)
                vertices = item.vertices @ rotation(attitude).T + item.position
                corners = vertices[item.triangles]
                triangle_mesh(self._embree, np.ascontiguousarray(corners, dtype=np.float32))
                ids.append(i)
        self._ids = np.array(ids, dtype=np.int32)

    def at(
        self, bodies: NDArray[np.float64], vehicles: NDArray[np.float64], shape: Item | None
    ) -> Self:
        """The same meshes with moving items and vehicles at poses, rows (n, 7)."""
        now = copy.copy(self)
        now._rest = self._rest.at(bodies, vehicles, shape)
        return now

    def raycast(
        self,
        rows: tuple[NDArray[Any], NDArray[Any]],
        max_range: float,
        normals: bool,
        pool: _core.ThreadPool | None,
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any] | None]:
        """Distance, id and normal of rays (n, 3), as returned by _world.SceneIndex."""
        single = rows[0].dtype == np.float32
        call = self._rest.raycast_float32 if single else self._rest.raycast_float64
        distance, ids, normal = call(*rows, max_range, normals, pool)
        length = np.linalg.norm(rows[1], axis=1)
        hit, far, geometry, across = self._met(rows[0], rows[1], length, distance, max_range)
        distance[hit] = far
        ids[hit] = self._ids[geometry]
        if normal is not None:
            normal[hit] = across
        return distance, ids, normal

    def visible(
        self, rows: tuple[NDArray[Any], NDArray[Any]], pool: _core.ThreadPool | None
    ) -> NDArray[np.bool_]:
        """Whether lines between points (n, 3) are unobstructed."""
        single = rows[0].dtype == np.float32
        call = self._rest.visible_float32 if single else self._rest.visible_float64
        free: NDArray[np.bool_] = call(*rows, pool)
        with np.errstate(invalid="ignore"):
            line = rows[1] - rows[0]
            length = np.linalg.norm(line, axis=1)
            size = np.abs(rows[0]).sum(axis=1) + length
            margin = np.maximum(_MARGIN, _ROUNDING * size)
            start = rows[0] + line * (margin / np.maximum(length, margin))[:, None]
            reach = np.where(free, length - 2.0 * margin, 0.0)
        hit, *_ = self._met(start, line, length, reach, np.inf)
        free[hit] = False
        return free

    def _met(
        self,
        origins: NDArray[Any],
        directions: NDArray[Any],
        length: NDArray[Any],
        reach: NDArray[Any],
        max_range: float,
    ) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.int32], NDArray[Any]]:
        """Rows that hit a mesh nearer than `reach`, with distance, mesh and normal."""
        with np.errstate(invalid="ignore"):
            sound = np.isfinite(np.abs(origins).sum(axis=1) + length) & (length > 0.0) & (reach > 0)
        rows = np.flatnonzero(sound)
        if len(rows) == 0:
            return rows, np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros((0, 3))
        along = (directions[rows] / length[rows, None]).astype(np.float32)
        bound = np.minimum(np.minimum(reach[rows], max_range), 1e30).astype(np.float32)
        met = self._embree.run(
            np.ascontiguousarray(origins[rows], dtype=np.float32), along, bound, output=1
        )
        found = np.flatnonzero(met["primID"] >= 0)
        across = met["Ng"][found].astype(np.float64)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        across *= np.where(np.sum(across * along[found], axis=1) > 0.0, -1.0, 1.0)[:, None]
        return rows[found], met["tfar"][found], met["geomID"][found], across
