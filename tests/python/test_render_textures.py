"""Textures: features to track in the shipped scenes, and images on surfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import axis_angle, rotation_matrices
from propwash import Camera, ParameterError
from propwash.render import Offscreen
from propwash.world import Box, Plane, Scene, texture_image, texture_names

cv2: Any = pytest.importorskip("cv2", reason="needs OpenCV: pip install 'propwash[vision]'")

SIZE = (640, 480)
POSES = {
    "room": [((0.0, 0.0, 1.5), 0.3), ((-2.0, 1.0, 1.0), 2.0), ((2.0, -2.0, 2.0), -2.2)],
    "warehouse": [((-18.0, 0.0, 1.5), 0.0), ((-10.0, 0.5, 1.2), 0.4), ((18.0, 0.0, 2.0), 3.0)],
}


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
@pytest.mark.parametrize("name", POSES)
def test_corners_of_shipped_scenes_are_tracked_where_the_geometry_says(
    name: str, axis: tuple[float, float, float]
) -> None:
    studio, camera = Offscreen(name, width=SIZE[0], height=SIZE[1], antialias=1), Camera(*SIZE)
    for position, yaw in POSES[name]:
        before = (np.array(position), axis_angle((0.0, 0.0, 1.0), yaw))
        tilted = camera.mounted(attitude=axis_angle(axis, np.radians(2.0)))
        after = (before[0] + 0.05 / np.sqrt(3.0), tilted.pose(*before)[1])
        first, second = (studio.render("grey", *pose).images["grey"] for pose in (before, after))
        corners = cv2.goodFeaturesToTrack(first, 300, 0.01, 10)
        assert len(corners) >= 150
        tracked, found, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None)
        u, v = corners[:, 0].T + 0.5  # OpenCV has the centres of pixels at whole numbers
        rays = camera.unproject(u, v)
        origin, attitude = camera.pose(*before)
        directions = rays @ rotation_matrices(attitude).T
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


def quadrants(path: Path, size: tuple[int, int] = (60, 40)) -> None:
    """Writes an image with a red, green, blue and white quarter: upper left first, by rows."""
    image = np.zeros((size[1], size[0], 3), np.uint8)
    half = (size[1] // 2, size[0] // 2)
    image[: half[0], : half[1]], image[: half[0], half[1] :] = (255, 0, 0), (0, 255, 0)
    image[half[0] :, : half[1]], image[half[0] :, half[1] :] = (0, 0, 255), (255, 255, 255)
    cv2.imwrite(str(path), image[..., ::-1])


def poster(path: Path) -> Scene:
    """A box of 3 m x 3 m x 2 m with an image that fits its sides, read from a scene file."""
    quadrants(path / "quadrants.png")
    file = path / "scene.toml"
    file.write_text(
        'name = "poster"\n[[items]]\nshape = "box"\nname = "box"\ncolour = [1, 1, 1]\n'
        'size = [3.0, 3.0, 2.0]\ntexture = "quadrants.png"\ntexture_width = 3.0\n'
    )
    return Scene.load(file)


COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "white": (1, 1, 1)}


@pytest.mark.parametrize("side", range(4))
def test_an_image_file_is_upright_and_fits_the_side_of_a_box(tmp_path: Path, side: int) -> None:
    studio = Offscreen(poster(tmp_path), width=120, height=120, vertical_fov_deg=40.0)
    yaw = 0.5 * np.pi * side
    away = np.array([-np.cos(yaw), -np.sin(yaw), 0.0]) * 8.0
    image = studio.render("rgb", away, axis_angle((0.0, 0.0, 1.0), yaw)).images["rgb"]
    places = {"red": (40, 50), "green": (80, 50), "blue": (40, 70), "white": (80, 70)}
    for name, (column, row) in places.items():
        seen = image[row, column] > 60
        assert tuple(seen.astype(int)) == COLOURS[name], name


def test_a_scene_keeps_its_texture_when_it_is_saved(tmp_path: Path) -> None:
    scene = poster(tmp_path)
    scene.save(tmp_path / "saved.toml")
    again = Scene.load(tmp_path / "saved.toml")
    assert again.items == scene.items
    assert again.items[0].texture_width == 3.0


def test_a_pixel_is_the_mean_of_the_texture_in_its_footprint(tmp_path: Path) -> None:
    """From far away, a fine pattern becomes its mean: images do not flicker."""
    noise = np.random.default_rng(1).integers(0, 2, (512, 512, 3)).astype(np.uint8) * 255
    # half of the texels are white: the mean of linear light is 1/2, which is 188 in sRGB
    images = []
    for name, texels in (("noise", noise), ("flat", np.full((8, 8, 3), 188, np.uint8))):
        file = str(tmp_path / f"{name}.png")
        cv2.imwrite(file, texels)
        wall = Box(name="w", size=(1, 40, 40), position=(30.5, 0, 0), texture=file, texture_width=2)
        studio = Offscreen(Scene([wall]), width=64, height=48, antialias=1, look="overcast")
        images.append(studio.render("grey").images["grey"].astype(float))
    image, flat = images
    centre = np.s_[16:32, 16:48]
    assert image[centre].std() < 6.0
    assert image[centre].mean() == pytest.approx(flat[centre].mean(), abs=1.5)


def test_a_texture_multiplies_the_colour_and_does_not_depend_on_threads() -> None:
    plain = Plane(name="floor", texture="terrazzo", texture_width=3.0, colour=(1, 1, 1))
    images = [
        Offscreen(Scene([plain.replace(colour=colour)]), width=80, height=60, threads=threads)
        .render("rgb", (0.0, 0.0, 1.0), axis_angle((0.0, 1.0, 0.0), 1.0))
        .images["rgb"]
        for colour, threads in (((1, 1, 1), 1), ((1, 1, 1), 3), ((1, 0, 1), 1))
    ]
    np.testing.assert_array_equal(images[0], images[1])
    np.testing.assert_array_equal(images[0][..., 0], images[2][..., 0])
    assert images[2][..., 1].max() < images[0][..., 1].max()


@pytest.mark.slow
def test_patterns_repeat_without_a_seam() -> None:
    for name in texture_names():
        image = texture_image(name).astype(float)
        np.testing.assert_array_equal(image, texture_image(name))
        for axis in (0, 1):
            steps = np.abs(np.diff(image, axis=axis, append=image.take([0], axis)))
            steps = steps.mean(axis=(1 - axis, 2))
            # lines along an axis are steps too: the seam is no larger than the largest of them
            assert steps[-1] <= 1.5 * np.sort(steps[:-1])[-8:].mean(), (name, axis)


def test_invalid_textures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="did you mean 'brick'"):
        Plane(name="a", texture="brik")
    with pytest.raises(ParameterError, match="texture_width"):
        Plane(name="a", texture="brick", texture_width=0.0)
    file = tmp_path / "scene.toml"
    file.write_text('name = "s"\n[[items]]\nshape = "plane"\nname = "a"\ntexture = "none.png"\n')
    with pytest.raises(ParameterError, match=r"items\[0\].texture = 'none.png': expected an image"):
        Scene.load(file)
    (tmp_path / "none.png").write_bytes(b"no image")
    with pytest.raises(ParameterError, match=r"none.png: expected a PNG or JPEG image"):
        Offscreen(Scene.load(file))
