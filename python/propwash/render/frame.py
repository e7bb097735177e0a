"""What a renderer answered for one pose: images, landmarks, range, collision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]


def _empty() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True)
class Landmarks:
    """Markers in the picture of the first camera that nothing hides, m of them in no order."""

    ids: tuple[str, ...] = ()
    """"<gate>_<marker>", markers 1 to 4."""
    u: NDArray[np.float64] = field(default_factory=_empty)
    """(m,) px, to the right, from the upper left corner of the picture."""
    v: NDArray[np.float64] = field(default_factory=_empty)
    """(m,) px, down, from the upper left corner of the picture."""
    depth: NDArray[np.float64] = field(default_factory=_empty)
    """(m,) m, along the optical axis."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Frame:
    """The answer to one pose."""

    time_ns: int
    """The time stamp of the pose that was rendered."""
    images: Mapping[str, Image]
    """Camera name to picture, of the cameras that rendered this frame, top row first, read-only:
    (h, w, 3) uint8 red-green-blue, (h, w) uint8 for kinds of one byte, (h, w) uint16 for 16-bit
    depth. A view of the received frame, or, where the renderer sent one-byte kinds as three bytes a
    pixel, a new array: `np.array(image)` makes a writable, contiguous copy of either."""
    landmarks: Landmarks = field(default_factory=Landmarks)
    """Of the first camera of the renderer that senses."""
    range_m: float = float("nan")
    """m, one ray straight down from the cameras' mean, in the first camera's axes; 21 where it
    meets nothing within 20 m. Without noise."""
    collision: bool = False
    """Whether a camera with `collision` touches a body."""
    latency: float = float("nan")
    """s, from the pose's first sending to the arrival of its last image."""
    half_done: bool = False
    """Whether a published renderer met an error in the pose, as an object whose prefab it does not
    know: bodies may stand where they were before."""
