"""What the numbers of pictures of ids and normals mean (docs/render-reference.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core

__all__ = ["CATEGORIES", "category_number", "id_colours", "id_numbers", "unit_normals"]

_FACTOR = 0x61C885
_INVERSE = 0x52F04D
"""_FACTOR * _INVERSE = 1 (mod 2^24)."""
_MASK = 0xFFFFFF

CATEGORIES = (
    "ground",
    "floor",
    "wall",
    "ceiling",
    "gate",
    "trunk",
    "crown",
    "shelf",
    "crate",
    "pillar",
    "vehicle",
    "person",
    "obstacle",
    "grid",
)
"""Those with numbers of their own in pictures of categories: 1, 2, … in this order."""


def id_numbers(image: ArrayLike) -> NDArray[np.int32]:
    """(…) the numbers behind the colours (…, 3) uint8 of an "instance" or "semantic" picture.

    0 is nothing. In pictures of instances, item i of the scene is i + 1 and the bodies of the pose
    follow in their order; in pictures of categories see `category_number`.
    """
    red, green, blue = np.moveaxis(_bytes(image).astype(np.int64), -1, 0)
    codes = red << 16 | green << 8 | blue
    return np.asarray(codes * _INVERSE & _MASK, dtype=np.int32)


def id_colours(numbers: ArrayLike) -> NDArray[np.uint8]:
    """(…, 3) the colours of numbers (…) from 0 to 2^24 - 1: the inverse of `id_numbers`."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (
        array.size and not 0 <= array.min() <= array.max() <= _MASK
    ):
        raise ValueError(f"numbers: expected whole ones from 0 to {_MASK}, got {numbers!r:.100}")
    codes = (array.astype(np.int64) * _FACTOR) & _MASK
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)


def category_number(name: str) -> int:
    """The number of a category in pictures of categories.

    Its place in `CATEGORIES`, from 1; of any other name a number from 64 on that depends on the
    name alone.
    """
    return int(_core.category_id(name))


def unit_normals(image: ArrayLike) -> NDArray[np.float32]:
    """(…, 3) normals in the camera's picture: right, up, towards the camera.

    Of unit length but for rounding; NaN where nothing is seen, which is (0, 0, 0) in the picture.
    """
    raw = _bytes(image)
    normals = raw.astype(np.float32) / np.float32(127.5) - np.float32(1.0)
    normals[~raw.any(axis=-1)] = np.nan
    return np.asarray(normals)


def _bytes(image: ArrayLike) -> NDArray[np.uint8]:
    raw = np.asarray(image)
    if raw.dtype != np.uint8 or raw.ndim < 1 or raw.shape[-1] != 3:
        raise ValueError(f"image: expected (…, 3) uint8, got {raw.shape} {raw.dtype}")
    return raw
