"""Latency compensation: the homography against projected points and rendered planes."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from propwash import Camera
from propwash.render.compensation import camera_motion, compensate, homography
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

WIDTH, HEIGHT = 96, 64
K = Camera(WIDTH, HEIGHT, 70.0).matrix


def _pose(position: tuple[float, float, float], rotation: Rotation) -> tuple[Array, Array]:
    return np.array(position), np.roll(rotation.as_quat(), 1)


def _optical(points: Array, pose: tuple[Array, Array]) -> Array:
    """World points (k, 3) in the optical axes of a camera."""
    points = Rotation.from_quat(np.roll(pose[1], -1)).inv().apply(points - pose[0])
    return np.stack([-points[:, 1], -points[:, 2], points[:, 0]], axis=1)


def _pixels(points: Array, matrix: Array = K) -> Array:
    image = points @ matrix.T
    return np.asarray(image[:, :2] / image[:, 2:])


def _random_motion(seed: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    draw = np.random.default_rng(seed)
    start = Rotation.from_rotvec(draw.normal(0.0, 1.0, 3))
    rendered = _pose(tuple(draw.normal(0.0, 3.0, 3)), start)
    present = _pose(
        tuple(rendered[0] + draw.normal(0.0, 0.3, 3)),
        start * Rotation.from_rotvec(draw.normal(0.0, 0.1, 3)),
    )
    return rendered, present


@pytest.mark.parametrize("seed", range(8))
def test_points_of_the_plane_are_moved_to_their_present_pixels(seed: int) -> None:
    rendered, present = _random_motion(seed)
    draw = np.random.default_rng(100 + seed)
    normal = draw.normal(0.0, 0.2, 3) + np.array((0.0, 0.0, 1.0))
    normal /= np.linalg.norm(normal)
    d = 4.0
    rays = np.append(draw.uniform(-0.5, 0.5, (20, 2)), np.ones((20, 1)), axis=1)
    on_plane = rays * (d / (rays @ normal))[:, np.newaxis]
    world = Rotation.from_quat(np.roll(rendered[1], -1)).apply(
        np.stack([on_plane[:, 2], -on_plane[:, 0], -on_plane[:, 1]], axis=1)
    )
    world = world + rendered[0]
    R, t = camera_motion(rendered, present)
    H = homography(K, R, t, d, normal)
    before = np.append(_pixels(_optical(world, rendered)), np.ones((20, 1)), axis=1)
    moved = before @ H.T
    np.testing.assert_allclose(
        moved[:, :2] / moved[:, 2:], _pixels(_optical(world, present)), rtol=0.0, atol=1e-9
    )


def test_pure_rotation_needs_no_distance() -> None:
    (position, attitude), (_, present) = _random_motion(3)
    R, t = camera_motion((position, attitude), (position, present))
    np.testing.assert_allclose(t, 0.0, atol=1e-15)
    np.testing.assert_allclose(homography(K, R, t, 1.0), homography(K, R, t, math.inf), atol=1e-15)


def test_a_left_turn_moves_the_image_to_the_right() -> None:
    rendered = _pose((0.0, 0.0, 0.0), Rotation.identity())
    present = _pose((0.0, 0.0, 0.0), Rotation.from_euler("z", 10.0, degrees=True))
    R, t = camera_motion(rendered, present)
    u, v, w = homography(K, R, t, math.inf) @ (WIDTH / 2, HEIGHT / 2, 1.0)
    f = K[0, 0]
    assert u / w == pytest.approx(WIDTH / 2 + f * math.tan(math.radians(10.0)))
    assert v / w == pytest.approx(HEIGHT / 2)


def test_forward_motion_magnifies_by_the_ratio_of_distances() -> None:
    rendered = _pose((0.0, 0.0, 0.0), Rotation.identity())
    R, t = camera_motion(rendered, _pose((1.0, 0.0, 0.0), Rotation.identity()))
    H = homography(K, R, t, 5.0)
    np.testing.assert_allclose(H[0, 0] / H[2, 2], 5.0 / 4.0)


def test_rotation_by_180_degrees_moves_every_pixel() -> None:
    pytest.importorskip("cv2")
    image = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    R = np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_array_equal(compensate(image, K, R, (0, 0, 0)), image[::-1, ::-1])


@pytest.mark.parametrize("degrees", [130.0, 180.0, 230.0])
def test_a_camera_that_looks_back_shows_only_the_fill_value(degrees: float) -> None:
    pytest.importorskip("cv2")
    rotation = Rotation.from_euler("y", degrees, degrees=True).as_matrix()
    white = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    assert (compensate(white, K, rotation, np.zeros(3), fill=7.0) == 7).all()


@pytest.mark.parametrize("forward", [5.0, 6.0])
def test_a_camera_behind_the_plane_shows_only_the_fill_value(forward: float) -> None:
    pytest.importorskip("cv2")
    white = np.full((HEIGHT, WIDTH), 255, np.uint8)
    assert (compensate(white, K, np.eye(3), np.array([0.0, 0.0, -4.0]), 5.0) == 255).all()
    assert (compensate(white, K, np.eye(3), np.array([0.0, 0.0, -forward]), 5.0) == 0).all()


def test_points_behind_the_rendered_camera_are_not_shown() -> None:
    pytest.importorskip("cv2")
    # half of the present wide view is behind the rendered one
    wide = Camera(WIDTH, HEIGHT, 120.0).matrix
    rotation = Rotation.from_euler("y", 90.0, degrees=True).as_matrix()
    white = np.full((HEIGHT, WIDTH), 255, np.uint8)
    warped = compensate(white, wide, rotation, np.zeros(3))
    sides = warped[:, : WIDTH // 2].any(), warped[:, WIDTH // 2 :].any()
    assert sorted(sides) == [False, True]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_without_motion_an_image_is_unchanged(dtype: type[Any]) -> None:
    pytest.importorskip("cv2")
    image = np.random.default_rng(2).integers(0, 200, (HEIGHT, WIDTH)).astype(dtype)[::-1]
    image.flags.writeable = False
    warped = compensate(image, K, np.eye(3), (0, 0, 0), 3.0)
    assert warped.dtype == dtype
    np.testing.assert_allclose(warped, image, rtol=0.0, atol=1e-9)  # exact for whole numbers


def test_a_warped_wall_equals_the_wall_rendered_at_the_present_pose() -> None:
    pytest.importorskip("cv2")
    rendered = _pose((0.0, 0.0, 0.0), Rotation.identity())
    present = _pose((0.3, 0.2, -0.1), Rotation.from_euler("zyx", (3.0, -2.0, 4.0), degrees=True))
    wall = 4.0
    R, t = camera_motion(rendered, present)
    before, after = _wall_image(rendered, wall), _wall_image(present, wall)
    warped = compensate(before, K, R, t, wall, fill=math.nan)
    valid = np.isfinite(warped)
    assert valid.mean() > 0.7
    # twice the error bound of bilinear interpolation of waves of at least 12 px
    assert np.abs(warped - after)[valid].max() < 0.08
    assert np.abs(before - after)[valid].max() > 1.0


def _wall_image(pose: tuple[Array, Array], distance: float) -> NDArray[np.float32]:
    """A wall at x = distance with waves of 1 m, sampled at the pixel centres."""
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    rays = np.stack([np.ones_like(u), (WIDTH / 2 - u) / K[0, 0], (HEIGHT / 2 - v) / K[1, 1]], -1)
    world = Rotation.from_quat(np.roll(pose[1], -1)).apply(rays.reshape(-1, 3))
    hit = pose[0] + world * ((distance - pose[0][0]) / world[:, 0])[:, np.newaxis]
    waves = np.sin(2.0 * np.pi * hit[:, 1]) + np.cos(2.0 * np.pi * hit[:, 2])
    return np.asarray(waves.reshape(HEIGHT, WIDTH).astype(np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.eye(2)}, r"K: expected finite numbers of shape \(3, 3\)"),
        ({"R": 2.0 * np.eye(3)}, "R: expected a rotation"),
        ({"R": np.diag([1.0, 1.0, -1.0])}, "R: expected a rotation"),
        ({"t": (0.0, math.nan, 0.0)}, "t: expected finite"),
        ({"d": 0.0}, "d: expected a distance > 0"),
        ({"d": math.nan}, "d: expected a distance > 0"),
        ({"n": (0.0, 0.0, 2.0)}, "n: expected a vector of unit length"),
    ],
)
def test_errors_name_invalid_arguments(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"K": K, "R": np.eye(3), "t": (0.0, 0.0, 0.0), "d": 1.0}
    with pytest.raises((ValueError, TypeError), match=message):
        homography(**good | change)


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.int64), np.zeros((4, 4, 2), np.uint8), np.zeros((0, 4), np.uint8)]
)
def test_invalid_images_are_refused(image: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="image: expected"):
        compensate(image, K, np.eye(3), (0, 0, 0))


def test_without_opencv_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"propwash\[vision\]"):
        compensate(np.zeros((4, 4), np.uint8), K, np.eye(3), (0, 0, 0))
