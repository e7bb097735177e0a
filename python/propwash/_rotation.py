"""Rotations: unit quaternions, scalar first, and rotation matrices."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Quaternion = tuple[float, float, float, float]


def rotation(q: ArrayLike) -> Array:
    """(…, 3, 3) matrices of unit quaternions (…, 4), from body to world axes."""
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def about_z(angle: float) -> Quaternion:
    """The unit quaternion of a rotation by `angle` [rad] about z."""
    return (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))


def about_y(angle: float) -> Quaternion:
    """The unit quaternion of a rotation by `angle` [rad] about y."""
    return (math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0)


def from_euler(roll: ArrayLike, pitch: ArrayLike, yaw: ArrayLike) -> Array:
    """(…, 4) unit quaternions of rotations [rad] about z, then the new y, then the new x."""
    angles = np.stack(np.broadcast_arrays(yaw, pitch, roll))
    (cy, cp, cr), (sy, sp, sr) = np.cos(0.5 * angles), np.sin(0.5 * angles)
    return np.stack(
        [
            cy * cp * cr + sy * sp * sr,
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
        ],
        axis=-1,
    )


def euler(q: ArrayLike) -> tuple[float, float, float]:
    """Roll, pitch and yaw [rad] of a unit quaternion, as from_euler()."""
    w, x, y, z = np.asarray(q, dtype=np.float64).tolist()
    return (
        math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x)))),
        yaw((w, x, y, z)),
    )


def interpolated(when: Array, time: Array, q: Array) -> Array:
    """(K, 4) normalised linear interpolation at `when` of quaternions (T, 4) at times (T,)."""
    flips = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0)
    continuous = q * np.cumprod(np.concatenate([[1.0], flips]))[:, None]
    found = np.stack([np.interp(when, time, column) for column in continuous.T], axis=1)
    unit: Array = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The Hamilton product of two quaternions: first the rotation b, then a."""
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def yaw(q: ArrayLike) -> float:
    """Angle [rad] about z of the body's x axis seen from above, -pi to pi."""
    w, x, y, z = np.asarray(q, dtype=np.float64).tolist()
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def heading(q: ArrayLike) -> float:
    """Angle [rad] about z that remains when the shortest rotation removes the tilt, -pi to pi."""
    w, _, _, z = np.asarray(q, dtype=np.float64).tolist()
    return math.remainder(2.0 * math.atan2(z, w), math.tau)


def tilts(z: Array) -> Array:
    """(K, 3, 3) the smallest rotations that take the vertical to unit vectors (K, 3)."""
    x, y, up = z.T
    scale = 1.0 / np.maximum(1.0 + up, 1e-6)
    rows = [[1.0 - x * x * scale, -x * y * scale, x], [-x * y * scale, 1.0 - y * y * scale, y]]
    return np.moveaxis(np.array([*rows, [-x, -y, up]]), -1, 0)
