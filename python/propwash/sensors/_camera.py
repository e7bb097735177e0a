"""Camera geometry: a pinhole without distortion, on a mounting that may move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core
from propwash import _sensor_checks as sensed
from propwash._checks import checked_parameters
from propwash._rotation import rotation

Array = NDArray[np.float64]

STEREO_BASELINE = 0.32
"""m, of FlightGoggles' stereo pair (Guerra et al., arXiv 1905.11377, Table I)."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Where points are seen, in pixels from the upper left corner of the picture."""

    u: Array
    """(…, m) to the right."""
    v: Array
    """(…, m) down."""
    depth: Array
    """(…, m) m, along the optical axis; negative behind the camera."""
    in_view: NDArray[np.bool_]
    """(…, m) in the picture and in front of the camera; what hides them is not asked."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera on a body: picture, field of view, and mounting.

    The camera frame is laid as the body's: x forward along the optical axis, y left, z up. Pixel
    coordinates are lengths from the upper left corner: u to the right, v down; the pixel of column
    i and row j has its centre at (i + 1/2, j + 1/2).

    width, height: pixels. vertical_fov_deg: degrees, between 0 and 180.
    position: (3,) m, of the camera in the body frame, or (n, 3) for n bodies, each its own.
    attitude: (4,) or (n, 4) unit quaternions, scalar first, which turn camera components into the
        body frame.

    The defaults are those of FlightGoggles (Guerra et al., arXiv 1905.11377, Table I). A camera
    does not change: `mounted()` gives one that is mounted otherwise, as a gimbal turns it. Raises
    ParameterError for invalid parameters.

    >>> left, right = Camera().stereo()
    """

    width: int = 1024
    height: int = 768
    vertical_fov_deg: float = 70.0
    position: Any = (0.0, 0.0, 0.0)
    attitude: Any = (1.0, 0.0, 0.0, 0.0)

    @checked_parameters()
    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "width", given.whole_number("width", self.width, 1, 2**15))
        put(self, "height", given.whole_number("height", self.height, 1, 2**15))
        fov = given.number("vertical_fov_deg", self.vertical_fov_deg, "a number of degrees")
        if not 0.0 < fov < 180.0:
            raise ValueError(f"vertical_fov_deg: expected degrees between 0 and 180, got {fov}")
        put(self, "vertical_fov_deg", fov)
        put(self, "position", sensed.fixed("position", self.position, 3, "m"))
        put(self, "attitude", sensed.fixed_attitude("attitude", self.attitude))
        rows = {len(a) for a in (self.position, self.attitude) if a.ndim == 2}
        if len(rows) > 1:
            raise ValueError(
                f"attitude: expected as many rows as position has, {len(self.position)}, got "
                f"{len(self.attitude)}"
            )

    @cached_property
    def core(self) -> _core.CameraModel:
        """The camera as the compiled part knows it."""
        position, attitude = np.atleast_2d(self.position), np.atleast_2d(self.attitude)
        return _core.CameraModel(self.width, self.height, self.focal_length, position, attitude)

    @property
    def focal_length(self) -> float:
        """Pixels, the same in both directions: (height / 2) / tan(vertical field of view / 2)."""
        return _core.focal_length(self.height, np.radians(self.vertical_fov_deg))

    @property
    def matrix(self) -> Array:
        """(3, 3), K: from optical axes, x right, y down, z forward, to pixels."""
        return self.core.matrix()

    @property
    def rays(self) -> Array:
        """(height, width, 3) unit vectors through the centres of all pixels, camera frame."""
        return self.core.rays().reshape(self.height, self.width, 3)

    def mounted(
        self, position: ArrayLike | None = None, attitude: ArrayLike | None = None
    ) -> Camera:
        """The same camera on another mounting; None leaves a part as it is."""
        return replace(
            self,
            position=self.position if position is None else position,
            attitude=self.attitude if attitude is None else attitude,
        )

    def stereo(self, baseline: float = STEREO_BASELINE) -> tuple[Camera, Camera]:
        """A pair, left and right, half the baseline [m] to either side of this camera."""
        half = 0.5 * given.number("baseline", baseline, "a number [m]")
        left = self._aside(half)
        return left, self._aside(-half)

    def _aside(self, left: float) -> Camera:
        axis = self.core.poses(*self._resting())[1]
        # the camera's own y-axis in the body frame
        moved = np.atleast_2d(self.position) + left * rotation(axis)[..., 1]
        is_one = self.position.ndim == 1 and self.attitude.ndim == 1
        return self.mounted(position=moved[0] if is_one else moved)

    def _resting(self) -> tuple[Array, Array]:
        n = self.core.count
        return np.zeros((n, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))

    def pose(self, position: ArrayLike, attitude: ArrayLike) -> tuple[Array, Array]:
        """Where the camera is in the world: position (…, 3) m and attitude (…, 4).

        position, attitude: those of the body, (…, 3) and (…, 4).
        """
        lead, at, turned = sensed.poses(position, attitude, np.dtype(np.float64))
        self._check_bodies(len(at))
        places, turns = self.core.poses(at, turned)
        return places.reshape((*lead, 3)), turns.reshape((*lead, 4))

    def project(
        self,
        points: ArrayLike,
        position: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
    ) -> Pixels:
        """Where points are seen.

        points: (m, 3) m, or (3,), in the world. position, attitude: those of the body, (…, 3) and
        (…, 4); without them the body is at the origin, level, so that for a camera without a
        mounting the points are those of its own frame.
        """
        lead, at, turned = sensed.poses(
            np.zeros(3) if position is None else position,
            np.array([1.0, 0.0, 0.0, 0.0]) if attitude is None else attitude,
            np.dtype(np.float64),
        )
        self._check_bodies(len(at))
        rows = sensed.points("points", points)
        u, v, depth = self.core.project(at, turned, np.atleast_2d(rows))
        with np.errstate(invalid="ignore"):
            in_view = (depth > 0) & (u > 0) & (u < self.width) & (v > 0) & (v < self.height)
        shape = (*lead, *rows.shape[:-1])
        u, v, depth, in_view = (array.reshape(shape) for array in (u, v, depth, in_view))
        return Pixels(u, v, depth, in_view)

    def unproject(self, u: ArrayLike, v: ArrayLike, depth: ArrayLike = 1.0) -> Array:
        """The points (…, 3) of the camera frame that are seen at pixels (…) at depths (…) m."""
        parts = np.broadcast_arrays(
            *(sensed.numbers(name, a) for name, a in (("u", u), ("v", v), ("depth", depth)))
        )
        pixels = np.stack(parts, axis=-1)
        return self.core.unproject(np.ascontiguousarray(pixels.reshape(-1, 3))).reshape(
            pixels.shape
        )

    def _check_bodies(self, n: int) -> None:
        if self.core.count not in (1, n):
            raise ValueError(
                f"camera: expected poses of {self.core.count} bodies, as its mounting has rows, "
                f"got {n}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "core"}

    def __repr__(self) -> str:
        return f"Camera({self.width}, {self.height}, vertical_fov_deg={self.vertical_fov_deg:g})"
