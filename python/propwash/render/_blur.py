"""Motion blur: the mean of images along the motion of a camera during the exposure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propwash._rotation import product, rotation
from propwash.render._pose import Attitude, Pose, Position
from propwash.render.cameras import Kind
from propwash.render.frame import Image
from propwash.render.images import depth_in_metres
from propwash.sensors import Camera

MAX_SAMPLES = 32
"""The maximum number of images of an exposure."""


class CameraSweep(NamedTuple):
    """The motion of a camera during the exposure, which is centred on its pose."""

    shift: Position
    """m, world frame."""
    turn: Position
    """rad, rotation vector in the world frame."""

    def at(self, pose: Pose, fraction: float) -> Pose:
        """The pose at a fraction of the exposure from its middle, -1/2 to 1/2."""
        x, y, z = (p + fraction * d for p, d in zip(pose[0], self.shift, strict=True))
        return (x, y, z), product(_exponential(self.turn, fraction), pose[1])


STILL = CameraSweep((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def sweep_of(
    vehicle: Pose, camera: Pose, velocity: list[float], body_rates: list[float], exposure: float
) -> CameraSweep:
    """The motion of a camera of a vehicle.

    velocity: m/s, world frame. body_rates: rad/s, body frame. exposure: s. camera: its pose in the
    world.
    """
    rates_W = rotation(vehicle[1]) @ np.array(body_rates)
    arm_W = np.array(camera[0]) - np.array(vehicle[0])
    shift = (np.array(velocity) + np.cross(rates_W, arm_W)) * exposure
    return CameraSweep(tuple(shift.tolist()), tuple((rates_W * exposure).tolist()))


def sweep_between(before: Pose, now: Pose, fraction: float) -> CameraSweep:
    """A fraction of the motion from one pose to the next."""
    w0, x0, y0, z0 = before[1]
    w, *vector = product(now[1], (w0, -x0, -y0, -z0))
    sign, sine = math.copysign(1.0, w), math.hypot(*vector)
    angle = 2.0 * math.atan2(sine, abs(w))
    scale = fraction * sign * (angle / sine if sine > 0.0 else 2.0)
    x, y, z = (scale * part for part in vector)
    dx, dy, dz = (fraction * (b - a) for a, b in zip(before[0], now[0], strict=True))
    return CameraSweep((dx, dy, dz), (x, y, z))


def sample_count(depth: Image, camera: Camera, pose: Pose, sweep: CameraSweep) -> int:
    """The number of images: about one for each pixel by which a point of the image moves.

    depth: a small depth image of the camera at the pose.
    """
    rows, columns = depth.shape
    u, v = (np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows
    across, down = np.meshgrid(u * camera.width, v * camera.height)
    points_C = camera.unproject(across, down, depth_in_metres(depth)).reshape(-1, 3)
    points = np.array(pose[0]) + points_C @ rotation(pose[1]).T
    start, end = (camera.project(points, *sweep.at(pose, side)) for side in (-0.5, 0.5))
    motion = np.hypot(end.u - start.u, end.v - start.v)[(start.depth > 0.0) & (end.depth > 0.0)]
    motion = motion[np.isfinite(motion)]
    largest = float(motion.max()) if motion.size else float(MAX_SAMPLES)
    return 1 if largest < 0.1 else min(2 + int(largest), MAX_SAMPLES)


def mean_images(exposures: Iterable[Mapping[Kind, Image]]) -> dict[Kind, Image]:
    """The means of images of the same kinds, in linear light."""
    sums: dict[Kind, NDArray[np.float32]] = {}
    count = 0
    for images in exposures:
        count += 1
        for kind, image in images.items():
            light = _LINEAR[image]
            sums[kind] = sums[kind] + light if kind in sums else light
    scale = np.float32((len(_CODES) - 1) / count)
    return {
        kind: _CODES[(light * scale + np.float32(0.5)).astype(np.intp)]
        for kind, light in sums.items()
    }


def _exponential(turn: Position, fraction: float) -> Attitude:
    """The quaternion of a fraction of a rotation vector."""
    x, y, z = (0.5 * fraction * part for part in turn)
    angle = math.hypot(x, y, z)
    sinc = math.sin(angle) / angle if angle > 0.0 else 1.0
    return math.cos(angle), x * sinc, y * sinc, z * sinc


def _linear_values() -> NDArray[np.float32]:
    """The linear light of sRGB codes (IEC 61966-2-1)."""
    x = np.arange(256) / 255.0
    curve = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    return np.asarray(curve.astype(np.float32))


_LINEAR = _linear_values()
_CODES = np.searchsorted(0.5 * (_LINEAR[:-1] + _LINEAR[1:]), np.linspace(0.0, 1.0, 1 << 16)).astype(
    np.uint8
)
"""The nearest sRGB codes of linear light in equal steps from 0 to 1."""
