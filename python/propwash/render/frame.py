"""The answer of a renderer to one pose: images, landmarks, range, collision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]


@dataclass(frozen=True)
class Landmarks:
    """The m markers visible in the image of the first camera, in no particular order."""

    ids: tuple[str, ...] = ()
    """"<gate>_<marker>", markers 1 to 4."""
    u: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))
    """(m,) px, to the right, from the upper left corner of the image."""
    v: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))
    """(m,) px, down, from the upper left corner of the image."""
    depth: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))
    """(m,) m, along the optical axis."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Frame:
    """The answer to one pose."""

    time_ns: int
    """The time stamp of the pose that was rendered."""
    images: Mapping[str, Image]
    """Camera name to image, for the cameras that rendered this frame; top row first, read-only:
    (h, w, 3) uint8 RGB, (h, w) uint8 for kinds of one byte, (h, w) uint16 for 16-bit depth. It may
    be a view of the received message; `np.array(image)` makes a writable, contiguous copy."""
    landmarks: Landmarks = field(default_factory=Landmarks)
    """Landmarks of the first camera of the renderer chosen by `senses`."""
    range_m: float = float("nan")
    """m, along a ray downwards in the axes of the first camera, from the mean position of the
    cameras; 21 if it hits nothing within 20 m. Without noise."""
    collision: bool = False
    """Whether a camera with `collision` touches a body."""
    latency: float = float("nan")
    """s, from the first sending of the pose to the arrival of its last image."""
    incomplete: bool = False
    """Whether a published renderer found an error in the pose, such as an unknown prefab: then
    bodies may be at their previous poses."""
