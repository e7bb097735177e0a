"""Descriptions of cameras and objects, and the units of image values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from propwash import Camera, render
from propwash.render import RenderCamera, RenderObject


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RenderCamera("a\n"), "camera: expected a name of printable ASCII"),
        (lambda: RenderCamera("a", "gray"), "expected one of 'rgb'"),  # type: ignore[arg-type]
        (lambda: RenderCamera("a", position=(0, 0, math.inf)), "camera 'a': position: expected"),
        (lambda: RenderCamera("a", attitude=(1, 1, 0, 0)), "norm of 1.41421"),
        (lambda: RenderCamera("a", motion_blur=2.0), "motion_blur: expected 0 to 1"),
        (lambda: RenderObject("a", ""), "prefab: expected a name"),
        (lambda: RenderObject("a", "gate", size=(1, 0, 1)), "size: expected three numbers > 0"),
        (lambda: RenderCamera("a", ["rgb"]), "expected one of 'rgb'"),  # type: ignore[arg-type]
        (lambda: RenderCamera("a", motion_blur="x"), "expected 0 to 1"),  # type: ignore[arg-type]
        (lambda: render.stereo(baseline=-1.0), "baseline: expected a finite number > 0"),
    ],
)
def test_invalid_cameras_and_objects_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_stereo_pair_has_a_baseline_of_32_cm() -> None:
    left, right = render.stereo(position=(0.1, 0.0, 0.2))
    assert (left.name, right.name) == ("left", "right")
    assert left.position == (0.1, 0.16, 0.2)
    assert right.position == (0.1, -0.16, 0.2)


def test_the_field_of_view_ends_at_the_image_edge() -> None:
    K = Camera(1024, 768, 70.0).matrix
    top = K @ (0.0, -math.tan(math.radians(35.0)), 1.0)
    np.testing.assert_allclose(top, (512.0, 0.0, 1.0), atol=1e-12)


def test_depth_and_flow_have_their_units() -> None:
    np.testing.assert_allclose(
        render.depth_in_metres(np.array([0, 32768, 65535], np.uint16)), [0.0, 50.000763, 100.0]
    )
    c = np.array([0, 255], np.uint8)
    np.testing.assert_allclose(
        render.depth8_in_metres(c), [0.01, 0.01 + 100.0**2 / 100.01], rtol=1e-6
    )
    colours = np.array([[255, 0, 0], [128, 255, 0], [0, 255, 255], [0, 0, 0], [51, 0, 0]], np.uint8)
    motion = render.flow_in_pixels(colours, maximum=20.0)
    expected = [[20, 0], [0, -20], [-20, 0], [0, 0], [4, 0]]  # right, up, left, none, right
    np.testing.assert_allclose(motion, expected, atol=0.05)
    with pytest.raises(ValueError, match="expected 16-bit depth"):
        render.depth_in_metres(colours)
    with pytest.raises(ValueError, match="expected 8-bit depth"):
        render.depth8_in_metres(np.zeros(3))
    with pytest.raises(ValueError, match="uint8"):
        render.flow_in_pixels(c)
