"""Camera geometry: a pinhole camera without distortion, and its mounting on a body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core, _rotation
from propwash._checks import checked_parameters

Array = NDArray[np.float64]

STEREO_BASELINE = 0.32
"""m, of FlightGoggles' stereo pair (Guerra et al., arXiv 1905.11377, Table I)."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Projected points, in pixels from the upper left corner of the image."""

    u: Array
    """(…, m) to the right."""
    v: Array
    """(…, m) down."""
    depth: Array
    """(…, m) m, along the optical axis; negative behind the camera."""
    in_view: NDArray[np.bool_]
    """(…, m) whether in the image and in front of the camera; occlusion is not considered."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera on a body: image size, field of view and mounting.

    Camera axes: x forward along the optical axis, y left, z up. Pixel coordinates are measured from
    the upper left corner, u to the right and v down; the pixel in column i and row j has its centre
    at (i + 1/2, j + 1/2).

    width, height: pixels. vertical_fov_deg: degrees, between 0 and 180.
    position: (3,) m, of the camera in the body frame; (n, 3): one for each of n bodies.
    attitude: (4,) or (n, 4) unit quaternions, scalar first, that rotate camera axes into the body
        frame.

    The defaults are those of FlightGoggles (Guerra et al., arXiv 1905.11377, Table I). A camera
    is immutable: `mounted()` returns a copy with another mounting, such as for a gimbal. Raises
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
        put(self, "width", _checks.whole_number("width", self.width, 1, 2**15))
        put(self, "height", _checks.whole_number("height", self.height, 1, 2**15))
        expected = "degrees between 0 and 180"
        fov = _checks.number(
            "vertical_fov_deg", self.vertical_fov_deg, expected, lambda x: 0.0 < x < 180.0
        )
        put(self, "vertical_fov_deg", fov)
        position = _checks.shaped("position", self.position, (3,), ("n", 3), unit="m")
        position.flags.writeable = False
        put(self, "position", position)
        put(self, "attitude", _checks.attitudes("attitude", self.attitude))
        rows = {len(a) for a in (self.position, self.attitude) if a.ndim == 2}
        if len(rows) > 1:
            raise ValueError(
                f"attitude: expected as many rows as position has, {len(self.position)}, got "
                f"{len(self.attitude)}"
            )

    @cached_property
    def core(self) -> _core.CameraModel:
        """The camera model of the extension module."""
        position, attitude = np.atleast_2d(self.position), np.atleast_2d(self.attitude)
        return _core.CameraModel(self.width, self.height, self.focal_length, position, attitude)

    @property
    def focal_length(self) -> float:
        """Pixels, the same in both directions: (height / 2) / tan(vertical field of view / 2)."""
        return _core.focal_length(self.height, np.radians(self.vertical_fov_deg))

    @property
    def matrix(self) -> Array:
        """(3, 3) K, from optical axes (x right, y down, z forward) to pixels."""
        return self.core.matrix()

    @property
    def rays(self) -> Array:
        """(height, width, 3) unit vectors through the centres of all pixels, camera frame."""
        return self.core.rays().reshape(self.height, self.width, 3)

    def mounted(
        self, position: ArrayLike | None = None, attitude: ArrayLike | None = None
    ) -> Camera:
        """A copy of the camera with another mounting; None keeps the present value."""
        return replace(
            self,
            position=self.position if position is None else position,
            attitude=self.attitude if attitude is None else attitude,
        )

    def stereo(self, baseline: float = STEREO_BASELINE) -> tuple[Camera, Camera]:
        """Left and right camera, each half the baseline [m] away from this camera."""
        half = 0.5 * _checks.number("baseline", baseline, "a number [m]")
        y_axis_B = _rotation.rotation(self.attitude)[..., 1]
        left, right = (self.position + side * y_axis_B for side in (half, -half))
        return self.mounted(position=left), self.mounted(position=right)

    def pose(self, position: ArrayLike, attitude: ArrayLike) -> tuple[Array, Array]:
        """The pose of the camera in the world: position (…, 3) m and attitude (…, 4).

        position, attitude: of the body, (…, 3) and (…, 4).
        """
        lead, at, rotations = _checks.poses(position, attitude, np.dtype(np.float64))
        self._check_bodies(len(at))
        positions, attitudes = self.core.poses(at, rotations)
        return positions.reshape((*lead, 3)), attitudes.reshape((*lead, 4))

    def project(
        self,
        points: ArrayLike,
        position: ArrayLike | None = None,
        attitude: ArrayLike | None = None,
    ) -> Pixels:
        """Projects points into the image.

        points: (m, 3) m, or (3,), world frame. position, attitude: of the body, (…, 3) and (…, 4);
        by default the body is level at the origin, so for a camera with the default mounting the
        points are in the camera frame.
        """
        place = np.zeros(3) if position is None else position
        lead, at, rotations = _checks.poses(place, attitude, np.dtype(np.float64))
        self._check_bodies(len(at))
        rows = _checks.shaped("points", points, ("m", 3), (3,))
        u, v, depth = self.core.project(at, rotations, np.atleast_2d(rows))
        with np.errstate(invalid="ignore"):
            in_view = (depth > 0) & (u > 0) & (u < self.width) & (v > 0) & (v < self.height)
        shape = (*lead, *rows.shape[:-1])
        u, v, depth, in_view = (array.reshape(shape) for array in (u, v, depth, in_view))
        return Pixels(u, v, depth, in_view)

    def unproject(self, u: ArrayLike, v: ArrayLike, depth: ArrayLike = 1.0) -> Array:
        """Points (…, 3) m, camera frame, at pixels (…) and depths (…) m."""
        named = {"u": u, "v": v, "depth": depth}
        parts = [_checks.shaped(name, value, ("…",)) for name, value in named.items()]
        pixels = np.stack(np.broadcast_arrays(*parts), axis=-1)
        rows = np.ascontiguousarray(pixels.reshape(-1, 3))
        return self.core.unproject(rows).reshape(pixels.shape)

    def _check_bodies(self, n: int) -> None:
        if self.core.count not in (1, n):
            raise ValueError(
                f"camera: expected poses of {self.core.count} bodies, one for each row of its "
                f"mounting, got {n}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "core"}

    def __repr__(self) -> str:
        return f"Camera({self.width}, {self.height}, vertical_fov_deg={self.vertical_fov_deg:g})"
