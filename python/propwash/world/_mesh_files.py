"""Reads triangles from Wavefront OBJ and STL files; ignores colours, normals and textures."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash import _files
from propwash._checks import ParameterError, shown
from propwash._files import encoding_of
from propwash.world._items import LARGEST_WORLD

Triangles = tuple[NDArray[np.float64], NDArray[np.int32]]
Row = tuple[float, ...]


def read(path: Path) -> Triangles:
    """Reads vertices (k, 3) and triangles (n, 3).

    Raises ParameterError that names the file and the line, or the triangle of a binary STL file.
    """
    suffix = path.suffix.lower()
    if suffix not in (".obj", ".stl"):
        raise ParameterError(f"{path}: expected a mesh file, .obj or .stl")
    try:
        if suffix == ".obj":
            vertices, triangles = _obj(_files.read_text(path, "an OBJ file", ParameterError))
        else:
            vertices, triangles = _stl(path)
    except _LineError as error:
        raise ParameterError(f"{path}, {error}") from None
    if len(triangles) == 0:
        raise ParameterError(f"{path}: expected a mesh, it has no triangles")
    return vertices, triangles


class _LineError(Exception):
    """An invalid line."""

    def __init__(self, number: int, line: str, expected: str) -> None:
        super().__init__(f"line {number}: {shown(line.strip())}: expected {expected}")


def _obj(text: str) -> Triangles:
    vertices: list[Row] = []
    faces: list[tuple[int, str, list[int]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_vertex(number, line, words))
        elif words[0] == "f":
            faces.append((number, line, _corners(number, line, words, len(vertices))))
    triangles: list[tuple[int, int, int]] = []
    for number, line, corners in faces:  # faces may precede their vertices
        if max(corners) >= len(vertices):
            raise _LineError(number, line, f"indices of the {len(vertices)} vertices")
        triangles += [(corners[0], a, b) for a, b in itertools.pairwise(corners[1:])]
    return _rows(vertices), np.array(triangles, dtype=np.int32).reshape(-1, 3)


def _vertex(number: int, line: str, words: list[str]) -> Row:
    """The three numbers after the first word."""
    try:
        row = tuple(float(word) for word in words[1:4])
    except ValueError:
        row = ()
    if len(row) != 3 or not all(math.fabs(x) <= LARGEST_WORLD for x in row):
        raise _LineError(number, line, f"{words[0]} and 3 numbers, at most {LARGEST_WORLD:g} m")
    return row


def _corners(number: int, line: str, words: list[str], vertices: int) -> list[int]:
    """Indices from 0; the file counts from 1, or backwards from the last vertex with -1."""
    try:
        indices = [int(word.split("/")[0]) for word in words[1:]]
    except ValueError:
        indices = []
    corners = [k - 1 if k > 0 else vertices + k for k in indices]
    if len(corners) < 3 or 0 in indices or min(corners) < 0:
        raise _LineError(number, line, "f and at least 3 indices of vertices, from 1 or from -1")
    return corners


_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84


def _stl(path: Path) -> Triangles:
    data = _files.read_bytes(path, "an STL file", ParameterError)
    count = int.from_bytes(data[80:_HEADER], "little")
    size = _HEADER + _RECORD.itemsize * count
    if len(data) >= _HEADER and len(data) == size:
        rows = _stl_records(path, data, count)
    elif data.lstrip(b"\xef\xbb\xbf \t\r\n")[:5].lower() == b"solid" or encoding_of(data):
        rows = _stl_text(_files.read_text(path, "an STL file", ParameterError))
    else:
        raise ParameterError(
            f"{path}: expected an STL file, which begins with 'solid' or has 84 bytes and 50 for "
            f"each triangle: {size} bytes for the stated {count} triangles, got {len(data)}"
        )
    vertices, indices = np.unique(rows, axis=0, return_inverse=True)
    return vertices, indices.astype(np.int32).reshape(-1, 3)


def _stl_records(path: Path, data: bytes, count: int) -> NDArray[np.float64]:
    records = np.frombuffer(data, _RECORD, count, offset=_HEADER)
    corners = records["corners"].astype(np.float64)
    wrong = np.flatnonzero(~(np.abs(corners) <= LARGEST_WORLD).all(axis=(1, 2)))
    if len(wrong):
        raise ParameterError(
            f"{path}, triangle {wrong[0] + 1} of {count}: {shown(corners[wrong[0]].tolist())}: "
            f"expected numbers of at most {LARGEST_WORLD:g} m"
        )
    return corners.reshape(-1, 3)


def _stl_text(text: str) -> NDArray[np.float64]:
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        if words[0] == "vertex":
            rows.append(_vertex(number, line, words))
        if len(rows) % 3 != 0 and words[0] in ("endloop", "endfacet", "facet", "endsolid"):
            raise _LineError(number, line, "3 vertices in each preceding facet")
    if len(rows) % 3 != 0:
        raise _LineError(number, line, "3 vertices in each facet; the file ends within one")
    return _rows(rows)


def _rows(rows: list[Row]) -> NDArray[np.float64]:
    return np.array(rows, dtype=np.float64).reshape(-1, 3)
