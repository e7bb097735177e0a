"""Images of the reference renderer, in process, against closed forms."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from helpers import Array, axis_angle, rotation_matrices
from propwash import _core, _render
from propwash.render import images
from propwash.render.cameras import Kind, RenderCamera, RenderObject, stereo
from propwash.render.offscreen import Offscreen
from propwash.world import Box, Gate, Plane, Scene, Sphere

WIDTH, HEIGHT, FOV = 93, 71, 70.0
FOCAL = HEIGHT / 2.0 / math.tan(math.radians(FOV) / 2.0)
GROUND = Plane(name="ground", category="ground", colour=(0.5, 0.5, 0.5))


def offscreen_renderer(*items: object, **options: object) -> Offscreen:
    settings = {"width": WIDTH, "height": HEIGHT, "vertical_fov_deg": FOV, "antialias": 1}
    return Offscreen(Scene([GROUND, *items]), **(settings | options))  # type: ignore[arg-type, list-item]


def rays() -> Array:
    """(h, w, 3) rays through the pixel centres at a depth of 1 m, in the axes of the camera."""
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    return np.stack(
        [np.ones_like(u), (WIDTH / 2.0 - u) / FOCAL, (HEIGHT / 2.0 - v) / FOCAL], axis=-1
    )


def plane_depth(height: float, attitude: Array) -> Array:
    """(h, w) depth of the ground below a camera [m]; infinite above the horizon."""
    down = -(rays() @ rotation_matrices(attitude).T)[..., 2]
    return np.where(down > 0.0, height / np.where(down > 0.0, down, 1.0), np.inf)


ATTITUDES = [
    np.array((1.0, 0.0, 0.0, 0.0)),
    axis_angle((0.0, 1.0, 0.0), 0.6),
    axis_angle((1.0, 0.0, 0.0), 0.5),
    axis_angle((0.0, 1.0, 0.0), math.pi / 2.0),
]


@pytest.mark.parametrize("attitude", ATTITUDES)
def test_depth_of_a_plane_at_every_pixel(attitude: Array) -> None:
    frame = offscreen_renderer().render(["depth", "depth8"], (3.0, -2.0, 2.5), attitude)
    expected = np.minimum(plane_depth(2.5, attitude), 100.0)
    found = images.depth_in_metres(frame.images["depth"])
    # half a quantisation step, and rounding in single precision at grazing angles
    assert np.all(np.abs(found - expected) <= 0.5 * 100.0 / 65535.0 + 2e-5 * expected)
    coarse = images.depth8_in_metres(frame.images["depth8"])
    assert np.all(np.abs((coarse / 100.0) ** 0.25 - (expected / 100.0) ** 0.25) <= 0.6 / 255.0)


def test_depth_saturates_beyond_the_range() -> None:
    frame = offscreen_renderer().render(["depth"], (0.0, 0.0, 2.0))
    depth = frame.images["depth"]
    assert depth.dtype == np.uint16
    assert np.all(depth[0] == 65535)
    assert depth[-1, WIDTH // 2] < 65535


def test_a_gate_straight_ahead_is_centred_in_the_image() -> None:
    gate = Gate(name="Gate1", category="gate", position=(6.0, 0.0, 2.0), width=2.0, height=2.0)
    frame = offscreen_renderer(gate).render(["instance", "rgb", "semantic"], (0.0, 0.0, 2.0))
    on_gate = images.id_numbers(frame.images["instance"]) == 2
    v, u = np.nonzero(on_gate)
    assert u.mean() + 0.5 == pytest.approx(WIDTH / 2.0, abs=1e-9)
    assert v.mean() + 0.5 == pytest.approx(HEIGHT / 2.0, abs=1e-9)
    assert not on_gate[HEIGHT // 2, WIDTH // 2]  # through the opening
    assert set(images.id_numbers(frame.images["semantic"])[on_gate]) == {
        images.category_number("gate")
    }
    assert sorted(frame.landmarks.ids) == ["Gate1_1", "Gate1_2", "Gate1_3", "Gate1_4"]
    assert frame.landmarks.u.mean() == pytest.approx(WIDTH / 2.0)
    assert frame.landmarks.v.mean() == pytest.approx(HEIGHT / 2.0)


def test_orientation_and_order_of_colours() -> None:
    red = Box(name="red", colour=(1.0, 0.0, 0.0), position=(4.0, 1.5, 1.0), size=(0.1, 1.0, 2.0))
    blue = Box(name="blue", colour=(0.0, 0.0, 1.0), position=(4.0, -1.5, 1.0), size=(0.1, 1.0, 2.0))
    image = offscreen_renderer(red, blue, look="noon").render("rgb", (0.0, 0.0, 1.0)).images["rgb"]
    assert image.shape == (HEIGHT, WIDTH, 3)
    row, offset = HEIGHT // 2, round(FOCAL * 1.5 / 4.0)
    left, right = image[row, WIDTH // 2 - offset], image[row, WIDTH // 2 + offset]
    assert left[0] > 2 * max(left[1], left[2])
    assert right[2] > 2 * max(right[0], right[1])
    sky = image[0, WIDTH // 2].astype(int)
    ground = image[-1, WIDTH // 2].astype(int)
    assert sky[2] > sky[0] + 20
    assert abs(ground[2] - ground[0]) < 40  # grey


def test_visible_landmarks_are_at_their_projections() -> None:
    gate = Gate(name="Gate7", category="gate", position=(6.0, 1.0, 2.0), width=1.5, height=1.5)
    attitude = axis_angle((0.0, 0.0, 1.0), 0.1)
    position = np.array([0.5, 0.2, 1.7])
    frame = offscreen_renderer(gate).render("rgb", position, attitude)
    names, positions, _, _ = Scene([gate]).markers
    points = dict(zip(names, (positions - position) @ rotation_matrices(attitude), strict=True))
    assert sorted(frame.landmarks.ids) == sorted(names)
    for name, u, v, depth in zip(
        frame.landmarks.ids,
        frame.landmarks.u,
        frame.landmarks.v,
        frame.landmarks.depth,
        strict=True,
    ):
        x, y, z = points[name]
        assert depth == pytest.approx(x)
        assert u == pytest.approx(WIDTH / 2.0 - FOCAL * y / x)
        assert v == pytest.approx(HEIGHT / 2.0 - FOCAL * z / x)
    right = Box(name="curtain", position=(3.0, 0.02, 1.8), size=(0.01, 1.0, 3.0))
    some = offscreen_renderer(gate, right).render("rgb", position, attitude)
    assert 0 < len(some.landmarks) < 4
    assert np.all(some.landmarks.u < frame.landmarks.u.mean())
    objects = [RenderObject("screen", "box", (0.01, 9.0, 9.0), position=(3.0, 0.0, 2.0))]
    assert (
        len(offscreen_renderer(gate).render("rgb", position, attitude, objects=objects).landmarks)
        == 0
    )
    body = RenderObject("Own", "gate", position=(5.0, 0.0, 2.0))
    ids = offscreen_renderer().render("rgb", (0.0, 0.0, 2.0), objects=[body]).landmarks.ids
    assert sorted(ids) == ["Own_1", "Own_2", "Own_3", "Own_4"]


def test_range_is_downwards_from_the_mean_of_the_cameras() -> None:
    offscreen = offscreen_renderer()
    assert offscreen.render("rgb", (0.0, 0.0, 3.0)).range_m == pytest.approx(3.0)
    tilted = offscreen.render("rgb", (0.0, 0.0, 3.0), axis_angle((1.0, 0.0, 0.0), 0.4))
    assert tilted.range_m == pytest.approx(3.0 / math.cos(0.4))
    pair = [
        RenderCamera("low", position=(0.0, 0.0, -1.0)),
        RenderCamera("high", position=(0.0, 0.0, 2.0)),
    ]
    assert offscreen.render(pair, (0.0, 0.0, 3.0)).range_m == pytest.approx(3.5)
    assert offscreen.render("rgb", (0.0, 0.0, 20.5)).range_m == 21.0
    box = RenderObject("crate", "box", (1.0, 1.0, 1.0), position=(0.0, 0.0, 0.5))
    assert offscreen.render("rgb", (0.0, 0.0, 3.0), objects=[box]).range_m == pytest.approx(2.0)


def test_cameras_detect_collisions_of_a_sphere() -> None:
    offscreen = offscreen_renderer()
    low = RenderCamera("low", position=(0.0, 0.0, -1.0), collision=True)
    assert offscreen.render(RenderCamera("a"), (0.0, 0.0, 0.14)).collision
    assert not offscreen.render(RenderCamera("a"), (0.0, 0.0, 0.16)).collision
    assert not offscreen.render(RenderCamera("a", collision=False), (0.0, 0.0, 0.1)).collision
    assert offscreen.render([RenderCamera("a"), low], (0.0, 0.0, 1.1)).collision
    other = RenderObject("other", "BlackEagle", position=(2.0, 0.0, 1.0))
    assert offscreen.render(RenderCamera("a"), (2.0, 0.0, 1.1), objects=[other]).collision
    assert not offscreen.render(RenderCamera("a"), (2.0, 0.0, 1.1)).collision


def test_grey_is_luma_and_a_box_has_a_shadow() -> None:
    box = Box(name="box", position=(6.0, 0.0, 1.0), size=(1.0, 1.0, 2.0))
    frame = offscreen_renderer(box, look="noon").render(
        ["rgb", "grey", "instance"], (0.0, 0.0, 3.0)
    )
    rgb = frame.images["rgb"].astype(float)
    luma = rgb @ (0.299, 0.587, 0.114)
    assert np.all(np.abs(frame.images["grey"] - luma) <= 0.501)
    bare = (
        offscreen_renderer(look="noon").render("grey", (0.0, 0.0, 3.0)).images["grey"].astype(int)
    )
    on_ground = images.id_numbers(frame.images["instance"]) == 1
    darker = on_ground & (frame.images["grey"] < 0.7 * bare)
    same = on_ground & (frame.images["grey"] == bare)
    assert darker.sum() > 20
    assert darker.sum() + same.sum() > 0.98 * on_ground.sum()


def test_stereo_images_differ_by_the_disparity() -> None:
    ball = Sphere(name="ball", position=(5.0, 0.0, 1.5), radius=0.4)
    pair = stereo("instance", baseline=0.32)
    frame = offscreen_renderer(ball).render(pair, (0.0, 0.0, 1.5))
    columns = [
        np.nonzero(images.id_numbers(frame.images[name]) == 2)[1].mean()
        for name in ("left", "right")
    ]
    assert columns[0] - columns[1] == pytest.approx(FOCAL * 0.32 / 5.0, abs=0.1)


def test_threads_and_joint_rendering_do_not_change_images() -> None:
    kinds: tuple[Kind, ...] = get_args(Kind)
    pose = ((18.5, 6.5, 1.5), axis_angle((0.0, 0.0, 1.0), 1.6))
    one = Offscreen("alphapilot", width=160, height=120, antialias=2, seed=3)
    two = Offscreen("alphapilot", width=160, height=120, antialias=2, seed=3, threads=2)
    together, shared = one.render(kinds, *pose), two.render(kinds, *pose)
    one.forget()
    for kind in kinds:
        np.testing.assert_array_equal(together.images[kind], shared.images[kind])
        alone = one.render([kind], *pose).images[kind]
        np.testing.assert_array_equal(alone, together.images[kind])
    assert not together.images["rgb"].flags.writeable


def test_looks_differ_and_rooms_have_the_indoor_look() -> None:
    images_of = {
        look: offscreen_renderer(look=look).render("rgb", (0.0, 0.0, 2.0)).images["rgb"].astype(int)
        for look in _render.looks
    }
    for look, image in images_of.items():
        others = [np.abs(image - other).mean() for name, other in images_of.items() if name != look]
        assert min(others) > 2.0
    assert Offscreen("room").look == "indoor"
    assert Offscreen("empty").look == "morning"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"width": 0}, "width: expected a whole number from 1"),
        ({"height": 20_000}, "height: expected a whole number from 1"),
        ({"vertical_fov_deg": 180.0}, "vertical_fov_deg: expected"),
        ({"antialias": 9}, "antialias: expected a whole number from 1 to 8"),
        ({"threads": 0}, "threads: expected"),
        ({"look": "midnight"}, "look: expected 'auto', 'morning'"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        offscreen_renderer(**options)


def test_invalid_requests_do_not_affect_the_next_image() -> None:
    offscreen = offscreen_renderer()
    good = offscreen.render("rgb", (0.0, 0.0, 2.0)).images["rgb"]
    with pytest.raises(ValueError, match="'rgb', 'instance'"):
        offscreen.render("colour", (0.0, 0.0, 2.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="position: expected"):
        offscreen.render("rgb", (0.0, math.nan, 2.0))
    with pytest.raises(ValueError, match="twice"):
        offscreen.render(["rgb", "rgb"])
    for wrong in (5, [5], [None, "rgb"]):
        with pytest.raises(
            ValueError, match=r"cameras: expected a list of propwash\.render\.RenderCamera"
        ):
            offscreen.render(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="objects: expected a list"):
        offscreen.render("rgb", objects=["gate"])  # type: ignore[list-item]
    np.testing.assert_array_equal(offscreen.render("rgb", (0.0, 0.0, 2.0)).images["rgb"], good)


PRINT_IMAGES = """
import sys
from propwash.render.offscreen import Offscreen
frame = Offscreen("alphapilot", width=96, height=64).render(["rgb", "depth"], (18.5, 6.5, 1.5))
sys.stdout.buffer.write(frame.images["rgb"].tobytes() + frame.images["depth"].tobytes())
"""


def test_instruction_sets_render_equal_images() -> None:
    outputs = []
    for isa in _core.build_info()["isas"]:
        result = subprocess.run(
            [sys.executable, "-c", PRINT_IMAGES],
            env={**os.environ, "PROPWASH_ISA": isa},
            capture_output=True,
            check=True,
            timeout=60,
        )
        outputs.append(result.stdout)
    assert all(output == outputs[0] for output in outputs)
