"""Moving items of a scene in images and on the wire."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import render
from propwash.world import Box, Capsule, Gate, Mesh, Plane, Scene, Sphere, Waypoints, person
from scene_helpers import box_mesh

SIZE: dict[str, Any] = {"width": 48, "height": 36, "vertical_fov_deg": 70.0}
POSITION, LEVEL = (0.0, 0.0, 1.5), (1.0, 0.0, 0.0, 0.0)
WALK = Waypoints([0.0, 2.0], [[4, -3, 0], [5, 3, 0]], yaws=[0.5, 2.5])
SCENE = Scene(
    [
        Plane(name="ground", category="ground"),
        Box(name="wall", size=(1, 9, 3), position=(9, 0, 1.5)),
        *person(motion=WALK),
        Gate(name="G", category="gate", width=1, height=1, position=(0, 0, 2.0), motion=WALK),
        Mesh(name="kite", position=(0, 1, 2), motion=WALK, **box_mesh((0.4, 0.2, 0.9))),
    ]
)


@pytest.mark.parametrize("time", [0.0, 0.7, 1.9])
def test_images_show_moving_items_where_sensors_measure_them(time: float) -> None:
    frame = render.Offscreen(SCENE, antialias=1, **SIZE).render(
        ["depth", "instance"], POSITION, time=time
    )
    depth = render.depth_in_metres(frame.images["depth"])
    camera = pw.Camera(48, 36, 70.0)
    expected = pw.DepthCamera(SCENE, camera).measure(POSITION, LEVEL, time).depth
    assert np.mean(np.abs(depth - expected) < 0.005) > 0.999
    empty = pw.DepthCamera(Scene(SCENE.items[:2]), camera).measure(POSITION, LEVEL).depth
    assert np.mean(expected < empty - 0.1) > 0.015
    assert not (set(frame.landmarks.ids) - {f"G_{i}" for i in range(1, 5)})


def test_no_light_shines_through_a_person() -> None:
    """Between the legs and under the arms there are no gaps, which were specks in shadows."""
    scene = Scene(person())
    for low, high, half in ((0.1, 0.85, 0.17), (1.0, 1.38, 0.28)):  # m: heights, half width
        y, z = np.meshgrid(np.linspace(-half, half, 141), np.linspace(low, high, 101))
        start = np.stack([np.full_like(y, -2.0), y, z], axis=-1)
        assert np.isfinite(scene.raycast(start, [1.0, 0.0, 0.0]).distance).all()


def test_flow_is_the_motion_of_the_item() -> None:
    ball = Sphere(name="ball", radius=0.5, motion=Waypoints([0, 1], [[5, 0, 0], [5, 1, 0]]))
    offscreen = render.Offscreen(Scene([ball]), antialias=1, **SIZE)
    offscreen.render("flow", time=0.0)
    frame = offscreen.render("flow", time=0.1)
    assert frame.time_ns == 100_000_000
    flow = render.flow_in_pixels(frame.images["flow"])
    focal = 18.0 / np.tan(np.radians(35.0))
    assert flow[18, 23].tolist() == pytest.approx([-0.1 * focal / 4.5, 0.0], abs=0.15)


@pytest.mark.parametrize("time", [-1e-3, np.nan, 1e12])
def test_times_other_than_seconds_are_refused(time: Any) -> None:
    with pytest.raises(ValueError, match=r"time: expected 0 to 9\.2e9 s, got"):
        render.Offscreen(SCENE, **SIZE).render("depth", POSITION, time=time)


def test_the_wire_carries_moving_items_with_their_poses() -> None:
    pytest.importorskip("zmq")
    from fake_renderer import free_pair
    from wire_client import serving

    ports = free_pair()
    cameras = [render.RenderCamera("front"), render.RenderCamera("far", "depth")]
    own = render.Offscreen(SCENE, antialias=1, **SIZE)
    with (
        render.Client(
            "yard", cameras, render.moving_objects(SCENE), ports=[ports], **SIZE
        ) as client,
        serving(render.Server(SCENE, ports=ports, antialias=1)),
    ):
        for time in (0.3, 1.4):
            stamp = round(time * 1e9)
            moved = render.moving_objects(SCENE.at(time))
            poses = {each.name: (each.position, each.attitude) for each in moved}
            frame = client.request_vehicle(stamp, POSITION, LEVEL, poses)
            expected = own.render(cameras, POSITION, time=time)
            for name in ("front", "far"):
                differs = frame.images[name] != expected.images[name]
                assert np.mean(differs) < 0.002  # poses are rounded in messages
            np.testing.assert_allclose(frame.landmarks.u, expected.landmarks.u, atol=1e-3)


def test_objects_have_the_sizes_of_their_items() -> None:
    sizes = {each.name: each.size for each in render.moving_objects(SCENE)}
    assert sizes["G"] == pytest.approx((0.1, 1.4, 1.4))
    assert sizes["kite"] == pytest.approx((0.4, 0.2, 0.9))
    assert sizes["person head"] == pytest.approx((0.23, 0.23, 0.23))
    assert sizes["person trunk"] == pytest.approx((0.34, 0.34, 0.70))
    assert "wall" not in sizes
    assert [each.prefab for each in render.moving_objects(SCENE)] == list(sizes)
    lift = Scene([Plane(name="lift", motion=WALK), Capsule(name="c", radius=0.1, length=1.0)])
    with pytest.raises(ValueError, match="item 'lift': expected a finite shape, got a plane"):
        render.moving_objects(lift)
