"""Lens distortion and motion blur of images, and distortion of the camera's geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import Array, axis_angle, rotation_matrices
from propwash import Camera
from propwash.render import Client, Offscreen, RenderCamera, RenderObject
from propwash.render._blur import MAX_SAMPLES, CameraSweep, sample_count, sweep_between, sweep_of
from propwash.render._reference import ImageView, Request, SceneRenderer
from propwash.render.images import depth_in_metres
from propwash.world import Box, Plane, Scene

SIZE = (160, 120)
Lens = tuple[float, float, float, float]
LENSES: list[Lens] = [
    (-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05),  # camera 0 of EuRoC
    (-0.1, 0.02, 0.002, -0.003),
    (0.15, -0.02, -0.001, 0.002),
]
CODES = np.arange(256) / 255.0
LIGHT = np.where(CODES <= 0.04045, CODES / 12.92, ((CODES + 0.055) / 1.055) ** 2.4)
"""The linear light of sRGB codes."""


@pytest.mark.parametrize("lens", LENSES)
def test_the_lens_agrees_with_opencv_and_its_inverse(lens: Lens) -> None:
    cv2: Any = pytest.importorskip("cv2", reason="needs OpenCV")
    camera = Camera(*SIZE, distortion=lens)
    rng = np.random.default_rng(3)
    u, v = rng.uniform((0.0, 0.0), SIZE, (500, 2)).T
    points = camera.unproject(u, v, rng.uniform(0.5, 9.0, 500))
    optical = np.stack([-points[:, 1], -points[:, 2], points[:, 0]], axis=-1)
    expected, _ = cv2.projectPoints(
        optical, np.zeros(3), np.zeros(3), camera.matrix, np.array(camera.distortion)
    )
    pixels = camera.project(points)
    np.testing.assert_allclose(np.stack([pixels.u, pixels.v], axis=-1), expected[:, 0], atol=1e-9)
    np.testing.assert_allclose([pixels.u, pixels.v], [u, v], atol=1e-9)
    assert pixels.in_view.all()
    stop = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 200, 1e-13)
    straight = cv2.undistortPoints(
        np.stack([u, v], axis=-1)[:, None],
        camera.matrix,
        np.array(camera.distortion),
        None,
        None,
        camera.matrix,
        stop,
    )
    np.testing.assert_allclose(np.stack(camera.undistort(u, v), -1), straight[:, 0], atol=1e-7)


@pytest.mark.parametrize("lens", LENSES)
def test_images_through_a_lens_show_the_depth_along_its_rays(lens: Lens) -> None:
    studio = Offscreen(Scene([Plane(name="ground")]), width=SIZE[0], height=SIZE[1], antialias=1)
    attitude = axis_angle((0.0, 1.0, 0.0), 0.5)
    view = RenderCamera("d", "depth", distortion=lens)
    found = depth_in_metres(studio.render(view, (0.0, 0.0, 2.0), attitude).images["d"])
    u, v = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    rays = Camera(*SIZE, distortion=lens).unproject(u, v)
    down = -(rays @ rotation_matrices(attitude).T)[..., 2]
    expected = np.where(down > 0.02, 2.0 / np.maximum(down, 0.02), np.inf)
    near = expected < 50.0
    assert near.mean() > 0.5
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-4, atol=2e-3)


def test_landmarks_and_flow_are_seen_through_the_lens() -> None:
    lens, camera = LENSES[0], Camera(*SIZE, distortion=LENSES[0])
    studio = Offscreen("alphapilot", width=SIZE[0], height=SIZE[1], antialias=1)
    pose = ((18.5, 6.5, 1.5), axis_angle((0.0, 0.0, 1.0), np.pi / 2.0))
    marks = studio.render(RenderCamera("c", distortion=lens), *pose).landmarks
    names, positions = studio.scene.markers[:2]
    places = np.array([positions[names.index(name)] for name in marks.ids])
    expected = camera.project(places, *pose)
    assert len(places) > 0
    np.testing.assert_allclose([marks.u, marks.v], [expected.u, expected.v], atol=1e-9)


def test_a_point_outside_the_field_of_view_does_not_fold_back_into_it() -> None:
    camera = Camera(*SIZE, 40.0, distortion=(-0.25, 0.0, 0.0, 0.0))
    angle = np.radians(np.linspace(50.0, 89.9, 200))
    points = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=-1)
    assert not camera.project(points).in_view.any()


def test_a_lens_that_folds_the_image_is_refused() -> None:
    with pytest.raises(ValueError, match=r"distortion: expected .* one to one"):
        Camera(*SIZE, 120.0, distortion=(-0.5, 0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="distortion: expected k1, k2, p1, p2"):
        RenderCamera("a", distortion=(0.1, 0.2))  # type: ignore[arg-type]
    studio = Offscreen(Scene([Plane(name="ground")]), width=16, height=12)
    with pytest.raises(ValueError, match="one to one"):
        studio.render(RenderCamera("a", "depth", distortion=(-0.5, 0.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="messages have no field"):
        Client(cameras=[RenderCamera("a", distortion=LENSES[0])])


def edge_scene() -> Offscreen:
    """A dark wall 4 m ahead, with a bright half to the left of the axis."""
    wall = Box(
        name="wall",
        category="vehicle",  # without grain
        position=(4.5, -25.0, 0.0),
        size=(1.0, 50.0, 50.0),
        colour=(0.0, 0.0, 0.0),
    )
    white = wall.replace(name="white", position=(4.5, 25.0, 0.0), colour=(1.0, 1.0, 1.0))
    return Offscreen(
        Scene([wall, white]), width=SIZE[0], height=SIZE[1], antialias=4, look="overcast"
    )


def width_of_edge(image: Array) -> float:
    """The width [px] of a ramp between a bright and a dark half, by its mean slope."""
    row = LIGHT[image[SIZE[1] // 2]]
    low, high = row[-10:].mean(), row[:10].mean()
    fraction = (row - low) / (high - low)
    return float(((fraction > 0.02) & (fraction < 0.98)).sum())


@pytest.mark.parametrize("exposure", [0.01, 0.03])
def test_an_edge_blurs_over_the_distance_that_it_moves(exposure: float) -> None:
    studio, focal = edge_scene(), Camera(*SIZE).focal_length
    view = RenderCamera("c", "grey", motion_blur=exposure)
    still = studio.render(view).images["c"]
    assert width_of_edge(still) <= 1.0
    for velocity, rates in (((0.0, 10.0, 0.0), np.zeros(3)), (np.zeros(3), (0.0, 0.0, 2.5))):
        image = studio.render(view, velocity=velocity, body_rates=rates).images["c"]
        moved = focal * 10.0 * exposure / 4.0
        assert width_of_edge(image) == pytest.approx(0.96 * moved, abs=1.6)
        # centred on the pose: the middle of the ramp is where the edge is without blur
        row = LIGHT[image[SIZE[1] // 2]]
        middle = np.interp(-0.5 * (row[5] + row[-5]), -row, np.arange(len(row)) + 0.5)
        assert middle == pytest.approx(SIZE[0] / 2.0, abs=0.6)
        # the light is averaged, not lost
        assert row.mean() == pytest.approx(LIGHT[still[SIZE[1] // 2]].mean(), rel=0.01)


def test_a_mounted_camera_moves_with_the_arm() -> None:
    vehicle = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    camera = ((0.0, 0.5, 0.0), (1.0, 0.0, 0.0, 0.0))
    sweep = sweep_of(vehicle, camera, [1.0, 0.0, 0.0], [0.0, 0.0, 2.0], 0.1)
    np.testing.assert_allclose(sweep.shift, (0.0, 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(sweep.turn, (0.0, 0.0, 0.2))
    before, after = sweep.at(camera, -0.5), sweep.at(camera, 0.5)
    again = sweep_between(before, after, 1.0)
    np.testing.assert_allclose(again, sweep, atol=1e-12)


def test_only_images_of_light_have_an_exposure() -> None:
    with pytest.raises(ValueError, match="motion_blur: expected 0 for kind 'depth'"):
        RenderCamera("d", "depth", motion_blur=0.01)
    studio = edge_scene()
    cameras = [
        RenderCamera("g", "grey", motion_blur=0.02),
        RenderCamera("d", "depth"),
        RenderCamera("f", "flow"),
    ]
    frame = studio.render(cameras, velocity=(0.0, 5.0, 0.0), objects=[RenderObject("b", "box")])
    alone = studio.render("depth", objects=[RenderObject("b", "box")])
    np.testing.assert_array_equal(frame.images["d"], alone.images["depth"])


def test_the_number_of_images_of_an_exposure_follows_the_motion() -> None:
    scene, counts = edge_scene(), []
    camera = Camera(*SIZE)
    depth = scene.render(["depth"]).images["depth"]
    pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    for shift in (0.0, 0.001, 0.1, 0.4, 100.0):
        counts.append(
            sample_count(depth, camera, pose, CameraSweep((0.0, shift, 0.0), (0.0, 0.0, 0.0)))
        )
    pixels = camera.focal_length / 4.0
    assert counts[:2] == [1, 1]
    for count, shift in zip(counts[2:4], (0.1, 0.4), strict=True):
        assert pixels * shift <= count <= pixels * shift + 2.0
    assert counts[4] == MAX_SAMPLES


def test_messages_blur_by_a_fraction_of_the_motion_since_the_last_pose() -> None:
    """As the server requests it: half of the motion between two poses, 0.5 s apart."""
    scene = edge_scene()
    reference = SceneRenderer(scene.scene, scene.look, 0, 4)
    views = [
        ImageView("c", "grey", ((0.0, y, 0.0), (1.0, 0.0, 0.0, 0.0)), motion_blur=0.5)
        for y in (-0.4, 0.0)
    ]
    images = [reference.take(Request(*SIZE, 70.0, [view])).images["c"] for view in views]
    direct = scene.render(
        RenderCamera("c", "grey", motion_blur=0.25), velocity=(0.0, 0.8, 0.0)
    ).images["c"]
    np.testing.assert_array_equal(images[1], direct)
    assert width_of_edge(images[0]) <= 1.0  # there is no motion before the first pose
