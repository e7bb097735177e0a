"""Triangles from Wavefront OBJ and STL files; colours, normals and textures are left."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._parameter_values import ParameterError

Triangles = tuple[NDArray[np.float64], NDArray[np.int32]]


def read(path: Path) -> Triangles:
    """Vertices (k, 3) and triangles (n, 3). Raises ParameterError, which names the file."""
    if path.suffix.lower() not in (".obj", ".stl"):
        raise ParameterError(f"{path}: expected a mesh file, .obj or .stl")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"{path}: expected a mesh file, {error.strerror}") from None
    try:
        vertices, triangles = _obj(data) if path.suffix.lower() == ".obj" else _stl(data)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: expected a mesh, {error}") from None
    if len(triangles) == 0:
        raise ParameterError(f"{path}: expected a mesh, it has no triangles")
    return vertices, triangles


def _obj(data: bytes) -> Triangles:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(word) for word in words[1:4]])
        elif words[0] == "f":
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            corners = [k - 1 if k > 0 else len(vertices) + k for k in numbers]
            triangles += [(corners[0], a, b) for a, b in itertools.pairwise(corners[1:])]
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), _indices(triangles)


def _stl(data: bytes) -> Triangles:
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, record, count, offset=84)["corners"].astype(np.float64)
        rows = corners.reshape(-1, 3)
    else:
        words = [line.split() for line in data.decode("utf-8").splitlines()]
        rows = np.array(
            [[float(x) for x in line[1:4]] for line in words if line and line[0] == "vertex"]
        ).reshape(-1, 3)
        if len(rows) % 3 != 0:
            raise ValueError("its vertices are not three for each triangle")
    vertices, indices = np.unique(rows, axis=0, return_inverse=True)
    return vertices, _indices(indices.reshape(-1, 3))


def _indices(triangles: Any) -> NDArray[np.int32]:
    return np.array(triangles, dtype=np.int32).reshape(-1, 3)
