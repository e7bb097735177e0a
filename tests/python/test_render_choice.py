"""Choice of the cameras that render a frame, `shouldRenderThisFrame` of the protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

zmq = pytest.importorskip("zmq")

from fake_renderer import AHEAD, SIZE, FakeRenderer, expected_image, free_pair  # noqa: E402
from propwash import render  # noqa: E402
from propwash.render import Client, RenderCamera  # noqa: E402
from wire_client import server, serving  # noqa: E402


def test_only_the_chosen_cameras_render_a_frame(
    ports: tuple[int, int],
) -> None:
    cameras = [RenderCamera("front"), RenderCamera("down"), RenderCamera("far", "depth")]
    chosen = {1: None, 2: ["down"], 3: [], 4: {"far", "front"}, 5: None}
    expected = {1: ["front", "down", "far"], 2: ["down"], 3: [], 4: ["front", "far"]}
    with (
        FakeRenderer(ports, ignored=0) as renderer,
        Client("room", cameras, ports=ports, **SIZE) as client,
    ):
        for stamp, names in chosen.items():
            frame = client.request_vehicle(stamp, *AHEAD, render=names)
            assert list(frame.images) == expected.get(stamp, expected[1])
            assert frame.range_m == 21.0
            assert len(frame.landmarks) == 1
        assert client.statistics.faulty == 0
        assert client.statistics.frames == len(chosen)
        poses = {name: AHEAD for name in ("front", "down", "far")}
        client.submit(6, poses, render=["far"])
        polled = client.poll(5.0)
        assert polled is not None
        assert list(polled.images) == ["far"]
        clock = render.LockStep(100.0, offset_ns=10)
        assert clock.advance(0.01)
        assert list(clock.render(client, *AHEAD, render=["front"]).images) == ["front"]
    sent = {pose["ntime"]: pose["cameras"] for pose in renderer.poses}
    flags = [camera["shouldRenderThisFrame"] for camera in sent[4]]
    assert flags == [True, False, True]


def test_images_of_other_cameras_are_dropped(
    ports: tuple[int, int],
) -> None:
    with (
        FakeRenderer(ports, ignored=0, v2=True),
        Client("room", [RenderCamera("a"), RenderCamera("b")], ports=ports, **SIZE) as client,
    ):
        assert list(client.request_vehicle(1, *AHEAD, render=["b"]).images) == ["b"]
        assert list(client.request_vehicle(2, *AHEAD).images) == ["a", "b"]


def test_one_of_two_renderers_may_have_nothing_to_render() -> None:
    pairs = [free_pair(), free_pair()]
    cameras = [RenderCamera("a", renderer=0), RenderCamera("b", renderer=1)]
    with (
        FakeRenderer(pairs[0], ignored=0),
        FakeRenderer(pairs[1], ignored=0),
        Client("room", cameras, ports=pairs, **SIZE) as client,
    ):
        for stamp, name in ((1, "a"), (2, "b")):
            frame = client.request_vehicle(stamp, *AHEAD, render=[name])
            assert list(frame.images) == [name]
            image = expected_image(48, 32, 0, stamp)
            np.testing.assert_array_equal(frame.images[name], image)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("front", "render: expected a list of names, or None for all, got 'front'"),
        (["front", "back"], "render: expected one of 'front', 'down', got 'back'"),
        ({"front": True, "down": False}, "render: expected a list of names"),
        ([True, False], "render: expected one of 'front', 'down', got True"),
        (True, "render: expected a list of names"),
        ([["front"]], r"render: expected one of 'front', 'down', got \['front'\]"),
    ],
)
def test_invalid_choices_are_refused(names: Any, message: str) -> None:
    with Client(
        "room", [RenderCamera("front"), RenderCamera("down")], ports=free_pair(), **SIZE
    ) as client:
        with pytest.raises(ValueError, match=message):
            client.submit_vehicle(1, *AHEAD, render=names)
        assert client.statistics.submitted == 0


def test_the_reference_renderer_skips_cameras(ports: tuple[int, int]) -> None:
    cameras = [RenderCamera("front"), RenderCamera("flow", "flow", position=(0.0, 0.2, 0.0))]
    with serving(server(ports=ports)), Client("", cameras, ports=ports, **SIZE) as client:
        assert list(client.request_vehicle(1, *AHEAD).images) == ["front", "flow"]
        moved = ((0.0, 0.1, 1.0), AHEAD[1])
        assert list(client.request_vehicle(2, *moved, render=["front"]).images) == ["front"]
        # flow is relative to the last image of the same camera, at the first pose
        assert client.request_vehicle(3, *moved).images["flow"].any()
        assert not client.request_vehicle(4, *moved).images["flow"].any()
        without_images = client.request_vehicle(5, *moved, render=[])
        assert not without_images.images
        assert without_images.range_m == pytest.approx(1.0)
