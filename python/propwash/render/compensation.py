"""Latency compensation: warps a delayed image to the present pose of the camera.

The papers' homography (Guerra et al., arXiv 1905.11377, section VII-D; thesis 4.6),

    H = K (R + t n^T / d) K^-1,

maps pixels of the rendered image to the present one, exactly for points of the plane n . X = d, and
for all points if the camera only rotated. `compensate` needs OpenCV (the extra `vision`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks
from propwash._rotation import rotation
from propwash.render import _pose

Array = NDArray[np.float64]

__all__ = ["camera_motion", "compensate", "homography"]

# from camera axes (x forward, y left, z up) to optical axes (x right, y down, z forward)
_OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
# OpenCV measures pixels from the centre of the first one, K from the corner of the image
_FROM_CENTRE = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])


def homography(
    K: ArrayLike, R: ArrayLike, t: ArrayLike, d: float, n: ArrayLike = (0.0, 0.0, 1.0)
) -> Array:
    """(3, 3) H = K (R + t n^T / d) K^-1, from pixels of the rendered to the present image.

    Args:
        K: (3, 3) camera matrix, pixels from the upper left corner (`propwash.Camera.matrix`).
        R: (3, 3) rotation from the camera axes at rendering to the present ones.
        t: (3,) m: a point X maps to R X + t; optical axes, x right, y down, z forward.
        d: m, distance of the plane; math.inf: rotation only.
        n: (3,) unit normal of the plane, in the optical axes at rendering; by default the plane
            faces the camera.

    Raises:
        ValueError, TypeError: for an invalid shape, numbers that are not finite, an R that is not a
            rotation, a singular K, d <= 0 or an n that is not of unit length.
    """
    matrix = _checks.shaped("K", K, (3, 3))
    relative = _checks.shaped("R", R, (3, 3))
    if not np.allclose(matrix[2], (0.0, 0.0, 1.0)) or matrix[0, 0] * matrix[1, 1] <= 0.0:
        raise ValueError(f"K: expected [[fx, s, cx], [0, fy, cy], [0, 0, 1]], got {matrix}")
    error = np.abs(relative @ relative.T - np.eye(3)).max()
    if error > 1e-6 or np.linalg.det(relative) < 0.0:
        raise ValueError(f"R: expected a rotation matrix, got {relative}")
    normal = _checks.shaped("n", n, (3,))
    if abs(np.linalg.norm(normal) - 1.0) > _pose.UNIT_TOLERANCE:
        raise ValueError(f"n: expected a vector of unit length, got {normal}")
    if not isinstance(d, int | float | np.number) or not d > 0.0:
        raise ValueError(f"d: expected a distance > 0 [m], got {d!r:.100}")
    moved = relative + np.outer(_checks.shaped("t", t, (3,)), normal) / d
    return np.asarray(matrix @ moved @ np.linalg.inv(matrix))


def camera_motion(rendered: object, present: object) -> tuple[Array, Array]:
    """R and t for `homography`, from two poses (position, attitude) of the camera in the world.

    Camera axes are forward-left-up, quaternions scalar first. Raises ValueError for invalid poses.
    """
    (p0, q0), (p1, q1) = _pose.pose("rendered", rendered), _pose.pose("present", present)
    to_present = rotation(q1).T
    relative = _OPTICAL @ to_present @ rotation(q0) @ _OPTICAL.T
    translation = _OPTICAL @ to_present @ (np.array(p0) - np.array(p1))
    return relative, translation


def compensate(
    image: NDArray[Any],
    K: ArrayLike,
    R: ArrayLike,
    t: ArrayLike,
    d: float = math.inf,
    n: ArrayLike = (0.0, 0.0, 1.0),
    *,
    fill: float = 0.0,
    nearest: bool = False,
) -> NDArray[Any]:
    """Warps an image to the present pose of the camera.

    Args:
        image: (h, w) or (h, w, 3), uint8, uint16 or float32, top row first.
        K: (3, 3) camera matrix.
        R: (3, 3) rotation, from `camera_motion`.
        t: (3,) m, from `camera_motion`.
        d: m, see `homography`.
        n: (3,), see `homography`.
        fill: value of pixels that the rendered image does not show: beyond its edges, behind the
            camera, or all pixels if the camera has passed the plane.
        nearest: use the nearest pixel instead of interpolation, for semantic, depth and flow
            images.

    Returns:
        A new array of the image's shape and type.

    Raises:
        ImportError: without OpenCV.
        ValueError, TypeError: as `homography`, and for an image of another shape or type.
    """
    H = homography(K, R, t, d, n)
    if not isinstance(image, np.ndarray) or image.dtype.name not in ("uint8", "uint16", "float32"):
        kind = image.dtype.name if isinstance(image, np.ndarray) else type(image).__name__
        raise ValueError(f"image: expected an array of uint8, uint16 or float32, got {kind}")
    if image.ndim not in (2, 3) or image.size == 0 or (image.ndim == 3 and image.shape[2] != 3):
        raise ValueError(f"image: expected shape (h, w) or (h, w, 3), got {image.shape}")
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            'compensate warps with OpenCV: pip install "propwash[vision]"; homography() does '
            "without"
        ) from error
    centred = np.linalg.inv(_FROM_CENTRE) @ H @ _FROM_CENTRE
    height, width = image.shape[:2]
    # the type stubs of OpenCV lack the scalar border and read-only views
    warp: Any = cv2.warpPerspective
    warped = warp(
        np.ascontiguousarray(image),
        centred,
        (width, height),
        flags=cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(fill, fill, fill, fill),
    )
    result = np.asarray(warped)
    limits = (0, np.iinfo(image.dtype).max) if image.dtype.kind == "u" else (-np.inf, np.inf)
    result[_behind(H, width, height)] = np.clip(fill, *limits)
    return result


def _behind(H: Array, width: int, height: int) -> Any:
    """An index of the pixels that show points behind the camera at rendering.

    A homography does not distinguish points before and behind the camera. It keeps the sign of
    depths as long as the camera has not passed the plane; otherwise all pixels are invalid.
    """
    if not np.linalg.det(H) > 1e-9:
        return ...
    depth = np.linalg.inv(H)[2]
    x, y = np.arange(width) + 0.5, np.arange(height)[:, np.newaxis] + 0.5
    ends = depth[0] * x[[0, -1]] + depth[1] * y[[0, -1]] + depth[2]
    if (ends > 0.0).all():  # depth is linear, so its minimum is at a corner
        return slice(0, 0)
    return depth[0] * x + depth[1] * y + depth[2] <= 0.0
