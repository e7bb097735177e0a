"""Camera geometry: a pinhole camera with a lens, and its mounting on a body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation, _world
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
    """A pinhole camera on a body: image size, field of view, mounting and distortion.

    Camera axes: x forward along the optical axis, y left, z up. Pixel coordinates are measured from
    the upper left corner, u to the right and v down; the pixel in column i and row j has its centre
    at (i + 1/2, j + 1/2).

    width, height: pixels. vertical_fov_deg: degrees, between 0 and 180.
    position: (3,) m, of the camera in the body frame; (n, 3): one for each of n bodies.
    attitude: (4,) or (n, 4) unit quaternions, scalar first, that rotate camera axes into the body
        frame.
    distortion: (4,) k1, k2, p1, p2 of the lens, the radial-tangential model of OpenCV and kalibr;
        it must map the image one to one.

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
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

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
        lens = _checks.shaped("distortion", self.distortion, (4,))
        put(self, "distortion", tuple(lens.tolist()))
        if any(self.distortion):
            self._check_distortion()

    @cached_property
    def core(self) -> _world.CameraModel:
        """The camera model of the extension module."""
        position, attitude = np.atleast_2d(self.position), np.atleast_2d(self.attitude)
        return _world.CameraModel(
            self.width, self.height, self.focal_length, position, attitude, self.distortion
        )

    @property
    def focal_length(self) -> float:
        """Pixels, the same in both directions: (height / 2) / tan(vertical field of view / 2)."""
        return _world.focal_length(self.height, np.radians(self.vertical_fov_deg))

    @property
    def matrix(self) -> Array:
        """(3, 3) K, from optical axes (x right, y down, z forward) to pixels, without the lens."""
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

    def undistort(self, u: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """The pixels (…) that a camera without distortion shows at the pixels (…) of this one.

        The same as `cv2.undistortPoints(points, K, camera.distortion, P=K)` with K =
        `camera.matrix`, solved to rounding error.
        """
        depth, left, up = np.moveaxis(self.unproject(u, v), -1, 0)
        scale = self.focal_length / depth
        return 0.5 * self.width - left * scale, 0.5 * self.height - up * scale

    def _check_distortion(self) -> None:
        """Raises ValueError unless the lens maps the area of the image one to one."""
        side = np.linspace(-1.0, 1.0, 33)
        border = np.concatenate([(side, np.ones(33)), (np.ones(33), side)], axis=1)
        border = np.concatenate([border, -border], axis=1)[:, None]
        lines = border * np.linspace(0.0, 1.0, 9)[:, None]
        size = (self.width, self.height)
        u, v = (0.5 * size[k] * (1.0 + lines[k]).ravel() for k in (0, 1))
        origin, level = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]])
        core = _world.CameraModel(*size, self.focal_length, origin, level, self.distortion)
        with np.errstate(all="ignore"):
            points = core.unproject(np.stack([u, v, np.ones(u.shape)], axis=-1))
            seen = core.project(origin, level, points)
            square = (points[:, 1:] ** 2).sum(axis=-1)
            k1, k2 = self.distortion[:2]
            unique = 1.0 + square * (3.0 * k1 + square * 5.0 * k2) > 0.0
            unique &= np.hypot(seen[0][0] - u, seen[1][0] - v) < 1e-6
        if not unique.all():
            raise ValueError(
                f"distortion: expected k1, k2, p1, p2 that map the image of {self.width} x "
                f"{self.height} px one to one, got {self.distortion}; reduce the field of view or "
                f"calibrate up to the corners"
            )

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
