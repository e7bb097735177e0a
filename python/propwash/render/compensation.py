"""Latency compensation: a late image, warped to where the camera is now.

The papers' homography (Guerra et al., arXiv 1905.11377, section VII-D; thesis 4.6),

    H = K (R + t n^T / d) K^-1,

takes a pixel of the rendered image to the present one, exactly for points of the plane n . X = d
and for any point where the camera only turned. `homography` and `camera_motion` need numpy alone,
the warp needs OpenCV (the extra `vision`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash.render import _pose

Array = NDArray[np.float64]

__all__ = ["camera_motion", "compensate", "homography"]

# optical axes (x right, y down, z forward) from a camera's own (x forward, y left, z up)
_OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
# OpenCV measures pixels from the first one's centre, K from the picture's corner
_FROM_CENTRE = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])


def homography(
    K: ArrayLike, R: ArrayLike, t: ArrayLike, d: float, n: ArrayLike = (0.0, 0.0, 1.0)
) -> Array:
    """(3, 3) H = K (R + t n^T / d) K^-1, from pixels of the rendered image to present ones.

    Args:
        K: (3, 3) camera matrix, pixels from the upper left corner (`propwash.Camera.matrix`).
        R: (3, 3) rotation, from the camera's axes at the time of rendering to those of now.
        t: (3,) m, so that a point X goes to R X + t; optical axes, x right, y down, z forward.
        d: m, distance of the plane that is to be right; math.inf: none, rotation alone.
        n: (3,) the plane's unit normal, in the axes of the rendered image; by default the plane
            faces the camera.

    Raises:
        ValueError: for a wrong shape, a number that is not finite, an R that is no rotation, a K
            that has no inverse, d <= 0 or an n that is not of unit length.
    """
    matrix, rotation = _array("K", K, (3, 3)), _array("R", R, (3, 3))
    if not np.allclose(matrix[2], (0.0, 0.0, 1.0)) or matrix[0, 0] * matrix[1, 1] <= 0.0:
        raise ValueError(f"K: expected [[fx, s, cx], [0, fy, cy], [0, 0, 1]], got {matrix}")
    identity = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if identity > 1e-6 or np.linalg.det(rotation) < 0.0:
        raise ValueError(f"R: expected a rotation matrix, got {rotation}")
    normal = _array("n", n, (3,))
    if abs(np.linalg.norm(normal) - 1.0) > _pose.UNIT_TOLERANCE:
        raise ValueError(f"n: expected a vector of unit length, got {normal}")
    if not isinstance(d, int | float | np.number) or not d > 0.0:
        raise ValueError(f"d: expected a distance > 0 [m], got {d!r:.100}")
    moved = rotation + np.outer(_array("t", t, (3,)), normal) / d
    return np.asarray(matrix @ moved @ np.linalg.inv(matrix))


def camera_motion(rendered: object, present: object) -> tuple[Array, Array]:
    """R and t of `homography` from two poses (position, attitude) of the camera in the world.

    Poses are propwash's: forward-left-up camera axes, scalar first. Raises ValueError for poses
    that are none.
    """
    (p0, q0), (p1, q1) = _pose.pose("rendered", rendered), _pose.pose("present", present)
    to_present = _matrix(q1).T
    rotation = _OPTICAL @ to_present @ _matrix(q0) @ _OPTICAL.T
    translation = _OPTICAL @ to_present @ (np.array(p0) - np.array(p1))
    return rotation, translation


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
    """The image as the camera would see it now.

    Args:
        image: (h, w) or (h, w, 3), uint8, uint16 or float32, top row first.
        K: (3, 3) camera matrix; R, t, d, n: see `homography`.
        R: (3, 3), `camera_motion` gives it.
        t: (3,) m.
        d: m.
        n: (3,).
        fill: what pixels are set to that the rendered image did not see: beyond its edges, behind
            the camera, or all of them where the camera has passed the plane.
        nearest: take the nearest pixel, for pictures whose numbers must not be mixed (semantic,
            depth, flow); otherwise interpolate.

    Returns:
        A new array of the image's shape and type.

    Raises:
        ImportError: where OpenCV is missing.
        ValueError: as `homography`, and for an image of another shape or type.
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
    # OpenCV's own type stubs know neither the scalar border nor read-only views
    warp: Any = cv2.warpPerspective
    warped = warp(
        np.ascontiguousarray(image),
        centred,
        (width, height),
        flags=cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(fill, fill, fill, fill),
    )
    shown = np.asarray(warped)
    least, most = (0, np.iinfo(image.dtype).max) if image.dtype.kind == "u" else (-np.inf, np.inf)
    shown[_behind(H, width, height)] = np.clip(fill, least, most)
    return shown


def _behind(H: Array, width: int, height: int) -> Any:
    """What indexes the pixels that show what lay behind the camera when it rendered.

    The homography takes a line of sight for both its ends. It keeps the sign of depths as long as
    the camera has not passed the plane; where it has, no pixel can be told.
    """
    if not np.linalg.det(H) > 1e-9:
        return ...
    depth = np.linalg.inv(H)[2]
    x, y = np.arange(width) + 0.5, np.arange(height)[:, np.newaxis] + 0.5
    ends = depth[0] * x[[0, -1]] + depth[1] * y[[0, -1]] + depth[2]
    if (ends > 0.0).all():  # it is linear: the corners have the least
        return slice(0, 0)
    return depth[0] * x + depth[1] * y + depth[2] <= 0.0


def _matrix(q: _pose.Attitude) -> Array:
    """(3, 3) of a unit quaternion."""
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    turned = [_pose.compose(((0.0, 0.0, 0.0), q), (axis, q))[0] for axis in axes]
    return np.array(turned).T


def _array(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: expected an array of shape {shape}, got {value!r:.100}"
        ) from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(
            f"{name}: expected finite numbers of shape {shape}, got shape {array.shape}: "
            f"{value!r:.100}"
        )
    return array
