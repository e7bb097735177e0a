"""What the numbers of depth and flow pictures mean (docs/render.md, "Kinds of camera")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["DEPTH_RANGE", "FLOW_RANGE", "depth8_in_metres", "depth_in_metres", "flow_in_pixels"]

DEPTH_RANGE = 100.0
"""m that the largest number of a depth picture stands for."""
FLOW_RANGE = 20.0
"""px from picture to picture that the brightest flow stands for."""


def depth_in_metres(image: ArrayLike, maximum: float = DEPTH_RANGE) -> NDArray[np.float32]:
    """(…) m along the optical axis, of a 16-bit depth picture; 65535 stands for `maximum` [m]."""
    raw = np.asarray(image)
    if raw.dtype.kind != "u" or raw.dtype.itemsize != 2:
        raise ValueError(
            f"image: expected 16-bit depth (uint16), got {raw.dtype}; a camera of "
            f"kind='depth' gives it"
        )
    return np.asarray(np.multiply(raw, np.float32(maximum / 65535.0), dtype=np.float32))


def depth8_in_metres(
    image: ArrayLike, near: float = 0.01, far: float = DEPTH_RANGE
) -> NDArray[np.float32]:
    """(…) m of an 8-bit compressed depth picture, c in 0..255.

    z = near + c^4 far^2 / (255^4 (far + near)), as the Blackbird data set has it
    (Guerra, MEng thesis, MIT 2019, eq. 4.2).
    """
    raw = np.asarray(image)
    if raw.dtype != np.uint8:
        raise ValueError(f"image: expected 8-bit depth (uint8), got {raw.dtype}")
    table = near + (np.arange(256) / 255.0) ** 4 * far**2 / (far + near)
    return np.asarray(table.astype(np.float32)[raw])


def flow_in_pixels(image: ArrayLike, maximum: float = FLOW_RANGE) -> NDArray[np.float32]:
    """(…, 2) motion (du, dv) [px], u to the right and v down, of an optical flow picture.

    The picture codes motion as a colour: its hue is the direction, counter-clockwise as one sees
    it, from red for a motion to the right; its saturation is full; its value is the length, full
    for `maximum` [px] or more.
    """
    raw = np.asarray(image)
    if raw.dtype != np.uint8 or raw.ndim < 1 or raw.shape[-1] != 3:
        raise ValueError(f"image: expected (…, 3) uint8, got {raw.shape} {raw.dtype}")
    red, green, blue = np.moveaxis(raw.astype(np.float32), -1, 0)
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
