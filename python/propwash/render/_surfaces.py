"""Textures of a scene's items in the painter."""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from propwash import _render
from propwash.world import Scene, texture_image, texture_names

MAX_EDGE = 4096
"""px, the largest edge of a texture in memory; larger images are reduced."""


def put_textures(painter: _render.Painter, scene: Scene) -> None:
    """Puts the textures of the items on their surfaces.

    A pattern starts at a point that depends on the item's name, so that equal items differ; a file
    is centred. Raises ParameterError for a file that is not an image.
    """
    names, known = texture_names(), dict[str, tuple[_render.Texture, float]]()
    for index, item in enumerate(scene.items):
        if not item.texture:
            continue
        is_pattern = item.texture in names
        if item.texture not in known:
            known[item.texture] = (_pattern if is_pattern else _texture)(item.texture)
        texture, height = known[item.texture]
        code = zlib.crc32(item.name.encode()) if is_pattern else 0
        shift = (code % 65536 / 65536, code // 65536 / 65536)
        painter.set_texture(
            index, texture, (item.texture_width, item.texture_width * height), shift
        )


def _texture(texture: str) -> tuple[_render.Texture, float]:
    """The texture, and its height in widths."""
    image = texture_image(texture)
    return _render.Texture(power_of_two(image)), image.shape[0] / image.shape[1]


_pattern = lru_cache(_texture)


def power_of_two(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The image (h, w, 3) in the next powers of two, interpolated linearly; at most `MAX_EDGE`.

    Edges above `MAX_EDGE` are halved, which averages pairs of pixels.
    """
    for axis in (0, 1):
        while image.shape[axis] > MAX_EDGE:
            even = image.shape[axis] // 2 * 2
            pairs = np.moveaxis(image, axis, 0)[:even].astype(np.uint16)
            image = np.moveaxis((pairs[::2] + pairs[1::2]) // 2, 0, axis).astype(np.uint8)
        image = _stretched(image, axis)
    return np.ascontiguousarray(image)


def _stretched(image: NDArray[np.uint8], axis: int) -> NDArray[np.uint8]:
    rows = np.moveaxis(image, axis, 0)
    size = 1 << (len(rows) - 1).bit_length()
    if size == len(rows):
        return image
    at = (np.arange(size) + 0.5) * (len(rows) / size) - 0.5
    below = np.floor(at).astype(np.intp)
    t = (at - below)[:, None, None].astype(np.float32)
    low, high = rows[below % len(rows)], rows[(below + 1) % len(rows)]
    mixed = low * (1.0 - t) + high * t + np.float32(0.5)
    return np.moveaxis(mixed.astype(np.uint8), 0, axis)
