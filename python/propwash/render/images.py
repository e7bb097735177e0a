"""Decoding of depth, optical flow, id and normal images (docs/render.md, "Kinds of camera")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _render

__all__ = [
    "CATEGORIES",
    "DEPTH_RANGE",
    "FLOW_RANGE",
    "category_number",
    "depth8_in_metres",
    "depth_in_metres",
    "flow_in_pixels",
    "id_colours",
    "id_numbers",
    "unit_normals",
]

DEPTH_RANGE = 100.0
"""m, the depth of the largest pixel value."""
FLOW_RANGE = 20.0
"""px per image, the flow of the largest pixel value."""

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
"""Categories with fixed numbers in "semantic" images: 1, 2, … in this order."""


def depth_in_metres(image: ArrayLike, maximum: float = DEPTH_RANGE) -> NDArray[np.float32]:
    """Decodes a 16-bit depth image (…) to metres along the optical axis; 65535 is `maximum` [m]."""
    raw = np.asarray(image)
    if raw.dtype.kind != "u" or raw.dtype.itemsize != 2:
        raise ValueError(
            f"image: expected 16-bit depth (uint16) of a camera of kind='depth', got {raw.dtype}"
        )
    return np.asarray(np.multiply(raw, np.float32(maximum / 65535.0), dtype=np.float32))


def depth8_in_metres(
    image: ArrayLike, near: float = 0.01, far: float = DEPTH_RANGE
) -> NDArray[np.float32]:
    """Decodes an 8-bit compressed depth image (…) with values c to metres.

    z = near + c^4 far^2 / (255^4 (far + near)), as in the Blackbird data set (Guerra, MEng thesis,
    MIT 2019, eq. 4.2).
    """
    raw = np.asarray(image)
    if raw.dtype != np.uint8:
        raise ValueError(f"image: expected 8-bit depth (uint8), got {raw.dtype}")
    table = near + (np.arange(256) / 255.0) ** 4 * far**2 / (far + near)
    return np.asarray(table.astype(np.float32)[raw])


def flow_in_pixels(image: ArrayLike, maximum: float = FLOW_RANGE) -> NDArray[np.float32]:
    """Decodes an optical flow image (…, 3) to (…, 2) motion (du, dv) [px], right and down.

    The image encodes motion in colour: the hue is the direction, counter-clockwise from red for
    motion to the right; the value is the length, full for `maximum` [px] or more; the saturation is
    full.
    """
    red, green, blue = np.moveaxis(_bytes(image).astype(np.float32), -1, 0)
    value = np.maximum(np.maximum(red, green), blue)
    chroma = value - np.minimum(np.minimum(red, green), blue)
    spread = np.where(chroma > 0.0, chroma, np.float32(1.0))
    sextant = np.where(
        value == red,
        (green - blue) / spread,
        np.where(value == green, 2.0 + (blue - red) / spread, 4.0 + (red - green) / spread),
    )
    angle = sextant * np.float32(np.pi / 3.0)
    length = np.where(chroma > 0.0, value * np.float32(maximum / 255.0), np.float32(0.0))
    flow = np.stack([length * np.cos(angle), -length * np.sin(angle)], axis=-1)
    return np.asarray(flow, dtype=np.float32)


def id_numbers(image: ArrayLike) -> NDArray[np.int32]:
    """Decodes an "instance" or "semantic" image (…, 3) uint8 to numbers (…).

    0 is the background. In "instance" images item i of the scene is i + 1, followed by the bodies
    of the pose in their order; for "semantic" images see `category_number`.
    """
    red, green, blue = np.moveaxis(_bytes(image).astype(np.int64), -1, 0)
    codes = red << 16 | green << 8 | blue
    return np.asarray(codes * _INVERSE & _MASK, dtype=np.int32)


def id_colours(numbers: ArrayLike) -> NDArray[np.uint8]:
    """Colours (…, 3) of numbers (…) from 0 to 2^24 - 1; the inverse of `id_numbers`."""
    array = np.asarray(numbers)
    if array.dtype.kind not in "iu" or (
        array.size and not 0 <= array.min() <= array.max() <= _MASK
    ):
        raise ValueError(f"numbers: expected whole numbers from 0 to {_MASK}, got {numbers!r:.100}")
    codes = (array.astype(np.int64) * _FACTOR) & _MASK
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)


def category_number(name: str) -> int:
    """The number of a category in "semantic" images.

    It is the index in `CATEGORIES`, from 1; for other names a number >= 64 that depends only on the
    name.
    """
    return int(_render.category_id(name))


def unit_normals(image: ArrayLike) -> NDArray[np.float32]:
    """Decodes a "normals" image (…, 3) to unit normals: right, up, towards the camera.

    The background, (0, 0, 0) in the image, is NaN.
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
