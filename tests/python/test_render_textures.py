"""Textures: features to track in the shipped scenes, and images on surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import Camera
from propwash.render import Offscreen

cv2: Any = pytest.importorskip("cv2", reason="needs OpenCV: pip install 'propwash[vision]'")

Array = NDArray[np.float64]
SIZE = (640, 480)
POSES = {
    "room": [((0.0, 0.0, 1.5), 0.3), ((-2.0, 1.0, 1.0), 2.0), ((2.0, -2.0, 2.0), -2.2)],
    "warehouse": [((-18.0, 0.0, 1.5), 0.0), ((-10.0, 0.5, 1.2), 0.4), ((18.0, 0.0, 2.0), 3.0)],
}


def product(a: Array, b: Array) -> Array:
    """The Hamilton product of two quaternions."""
    (w, v), (x, u) = (a[0], a[1:]), (b[0], b[1:])
    return np.array([w * x - v @ u, *(w * u + x * v + np.cross(v, u))])


def rotation(q: Array) -> Array:
    """The matrix of a unit quaternion."""
    columns = [product(product(q, np.array([0.0, *e])), q * [1, -1, -1, -1])[1:] for e in np.eye(3)]
    return np.stack(columns, axis=1)


def about(axis: tuple[float, float, float], angle: float) -> Array:
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * np.array(axis))])


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
@pytest.mark.parametrize("name", POSES)
def test_corners_of_shipped_scenes_are_tracked_where_the_geometry_says(
    name: str, axis: tuple[float, float, float]
) -> None:
    studio, camera = Offscreen(name, width=SIZE[0], height=SIZE[1], antialias=1), Camera(*SIZE)
    for position, yaw in POSES[name]:
        before = (np.array(position), about((0.0, 0.0, 1.0), yaw))
        after = (before[0] + 0.05 / np.sqrt(3.0), product(before[1], about(axis, np.radians(2.0))))
        first, second = (studio.render("grey", *pose).images["grey"] for pose in (before, after))
        corners = cv2.goodFeaturesToTrack(first, 300, 0.01, 10)
        assert len(corners) >= 150
        tracked, found, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None)
        u, v = corners[:, 0].T + 0.5  # OpenCV has the centres of pixels at whole numbers
        rays = camera.unproject(u, v)
        origin, attitude = camera.pose(*before)
        directions = rays @ rotation(attitude).T
        distance = studio.scene.raycast(origin, directions).distance
        length = np.linalg.norm(directions, axis=1)
        points = origin + directions * (distance / length)[:, None]
        expected = camera.project(points, *after)
        moved = np.hypot(*(tracked[:, 0].T + 0.5 - (expected.u, expected.v)))
        # a corner that a nearer item hides, or that leaves the image, cannot be tracked
        visible = studio.scene.visible(after[0], points - 1e-3 * directions) & expected.in_view
        error = moved[visible]
        survived = (found[visible, 0] == 1) & (error < 2.0)
        assert survived.mean() >= 0.9
        assert np.median(error[survived]) < 0.3
