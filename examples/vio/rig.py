"""The stereo camera of the vehicle: geometry, rate and conversion of measurements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from propwash import Camera
from propwash.render import RenderCamera, stereo

Array = NDArray[np.float64]

MIN_RATE, MAX_RATE = 5.0, 120.0
"""Hz. Below 5 Hz a feature of a vehicle at 2 m/s is rarely visible in two successive images."""


class VioError(ValueError):
    """Odometry is not possible with these arguments or images."""


@dataclass(frozen=True)
class Rig:
    """Two grey cameras that look along the body's x axis, the left one first.

    Points in the camera frame have optical axes: x right, y down, z forward. A stereo measurement
    is (u left, u right, v) in pixels from the upper left corner of the image.
    """

    width: int = 400
    height: int = 300
    fov: float = 70.0
    """Degrees, vertical."""
    rate: float = 20.0
    """Hz, of image pairs."""
    baseline: float = 0.2
    """m, between the cameras."""
    antialias: int = 1

    def __post_init__(self) -> None:
        if not MIN_RATE <= self.rate <= MAX_RATE:
            raise VioError(
                f"rate = {self.rate:g} Hz: expected {MIN_RATE:g} to {MAX_RATE:g} Hz, as features "
                "must be visible in successive images; use 20"
            )
        if not 20.0 <= self.fov <= 150.0:
            raise VioError(f"fov = {self.fov:g} degrees: expected 20 to 150; use 70")
        if not (96 <= self.width <= 4096 and 72 <= self.height <= 4096):
            raise VioError(
                f"size = {self.width} x {self.height} px: expected 96 x 72 to 4096 x 4096; use "
                "400 x 300"
            )
        if not 0.01 <= self.baseline <= 2.0:
            raise VioError(f"baseline = {self.baseline:g} m: expected 0.01 to 2; use 0.2")

    @property
    def focal_length(self) -> float:
        """Pixels."""
        return Camera(self.width, self.height, self.fov).focal_length

    @property
    def centre(self) -> tuple[float, float]:
        """Pixels, u and v of the optical axis."""
        return self.width / 2.0, self.height / 2.0

    @property
    def cameras(self) -> list[RenderCamera]:
        """The cameras "left" and "right" for a renderer."""
        return stereo("grey", self.baseline)

    def points(self, measured: Array) -> Array:
        """Points (n, 3) m in the left camera frame from stereo measurements (n, 3)."""
        u, v = self.centre
        depth = self.focal_length * self.baseline / (measured[:, 0] - measured[:, 1])
        return np.stack(
            [
                (measured[:, 0] - u) * depth / self.focal_length,
                (measured[:, 2] - v) * depth / self.focal_length,
                depth,
            ],
            axis=1,
        )

    def measurements(self, points: Array) -> Array:
        """Stereo measurements (…, 3) of points (…, 3) m; NaN behind the camera."""
        u, v = self.centre
        x, y, z = np.moveaxis(points, -1, 0)
        scale = self.focal_length / np.where(z > 0.05, z, np.nan)
        return np.stack([u + scale * x, u + scale * (x - self.baseline), v + scale * y], axis=-1)


BODY_FROM_CAMERA = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Rotation from optical axes to body axes."""
