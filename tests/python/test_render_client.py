"""The client against a renderer that imitates published ones, on real sockets.

Poses, images, landmarks, several renderers, refused arguments; faults are in
test_render_faults.py.
"""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

zmq = pytest.importorskip("zmq")

from fake_renderer import (  # noqa: E402
    AHEAD,
    SIZE,
    FakeRenderer,
    expected_image,
    free_pair,
)
from helpers import wait_until  # noqa: E402
from propwash import render  # noqa: E402
from propwash.render import Client, RenderCamera, RenderObject  # noqa: E402


def _receive(client: Client, stamp: int) -> None:
    """Serves until the frame of a pose has arrived."""
    wait_until(lambda: client.latest is not None and client.latest.time_ns >= stamp, client.sleep)


@pytest.fixture
def renderer(ports: tuple[int, int]) -> Iterator[FakeRenderer]:
    """A renderer that answers from the first pose on."""
    with FakeRenderer(ports, ignored=0) as running:
        yield running


def test_an_image_is_a_read_only_view_with_its_top_row_first(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        frame = client.request_vehicle(7_000, *AHEAD)
    image = frame.images["camera"]
    np.testing.assert_array_equal(image, expected_image(48, 32, 0, 7_000))
    assert image.strides == (-48 * 3, 3, 1)
    assert not image.flags.owndata
    assert not image.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        image[0, 0, 0] = 1
    assert frame.time_ns == 7_000


@pytest.mark.parametrize("one_byte", [False, True])
def test_every_image_type_has_its_dtype(ports: tuple[int, int], one_byte: bool) -> None:
    kinds = list(render.KINDS)
    cameras = [RenderCamera(kind, kind) for kind in kinds]  # type: ignore[arg-type]
    with (
        FakeRenderer(ports, ignored=0, one_byte=one_byte) as renderer,
        Client("room", cameras, ports=ports, **SIZE) as client,
    ):
        images = client.request_vehicle(1, *AHEAD).images
    assert list(images) == kinds
    for index, kind in enumerate(kinds):
        sent = expected_image(48, 32, index, 1)
        if kind == "depth":
            assert images[kind].dtype == np.dtype("<u2")
            depth = sent[..., 0].astype(np.uint16) * 256 + sent[..., 1]
            np.testing.assert_array_equal(images[kind], depth)
        else:
            has_one_channel = kind in ("grey", "depth8")
            np.testing.assert_array_equal(images[kind], sent[..., 1] if has_one_channel else sent)
    shaders = [camera["outputShaderType"] for camera in renderer.poses[-1]["cameras"]]
    assert shaders == [-1, 0, 1, 2, 3, 4, 5, 6]


def test_landmarks_range_and_collision_are_converted(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        high = client.request_vehicle(1, (0.0, 0.0, 1.0), AHEAD[1])
        low = client.request_vehicle(2, (0.0, 0.0, -1.0), AHEAD[1])
    # the protocol counts from the lower left: 3/4 upwards is 1/4 downwards
    assert high.landmarks.ids == ("Gate10_1",)
    assert (high.landmarks.u[0], high.landmarks.v[0]) == (0.25 * 48, 0.25 * 32)
    assert high.landmarks.depth[0] == 3.5
    assert len(high.landmarks) == 1
    assert high.range_m == 21.0
    assert (high.collision, low.collision) == (False, True)
    assert not high.incomplete


def test_cameras_move_with_the_vehicle(ports: tuple[int, int], renderer: FakeRenderer) -> None:
    draw = np.random.default_rng(5)
    body, mount = (Rotation.from_rotvec(draw.normal(0, 1, 3)) for _ in range(2))
    position, lever = draw.normal(0, 3, (2, 3))
    camera = RenderCamera(
        "front", position=tuple(lever), attitude=tuple(np.roll(mount.as_quat(), 1))
    )
    with Client("room", [camera], ports=ports, **SIZE) as client:
        client.request_vehicle(1, position, np.roll(body.as_quat(), 1))
        client.mount("front", position=(0.0, 0.0, 0.0))
        client.request_vehicle(2, position, np.roll(body.as_quat(), 1))
    sent = {pose["ntime"]: pose["cameras"][0] for pose in renderer.poses}
    first, second = sent[1], sent[2]
    # table of the protocol: (-west, up, north) and [b, -c, -a, w] of north-west-up
    x, y, z = position + body.apply(lever)
    np.testing.assert_allclose(first["position"], (-y, z, x), atol=1e-12)
    a, b, c, w = (body * mount).as_quat()
    expected = np.array((b, -c, -a, w))
    np.testing.assert_allclose(abs(expected @ first["rotation"]), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        second["position"], (-position[1], position[2], position[0]), atol=1e-12
    )
    assert second["rotation"] == first["rotation"]


def test_an_exposure_is_a_fraction_of_the_time_since_the_last_image(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    """Cameras at different rates: 10 ms are half of 20 ms, and a quarter of 40 ms."""
    cameras = [RenderCamera(name, motion_blur=0.01) for name in ("fast", "slow")]
    cameras.append(RenderCamera("sharp"))
    with Client("room", cameras, ports=ports, **SIZE) as client:
        for ms, names in ((0, None), (20, ["fast"]), (40, None), (44, ["fast", "sharp"])):
            client.request_vehicle(ms * 1_000_000, *AHEAD, render=names)
    sent = {
        pose["ntime"] // 1_000_000: [camera["motionBlurPercent"] for camera in pose["cameras"]]
        for pose in renderer.poses
    }
    np.testing.assert_allclose(sent[0], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(sent[20][0], 0.5)
    np.testing.assert_allclose(sent[40], [0.5, 0.25, 0.0])
    assert sent[44][0] == 1.0  # an exposure is not longer than the interval


def test_objects_keep_their_poses_until_moved(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    gate = RenderObject("gate", "gate", size=(1.0, 2.0, 3.0), position=(1.0, 2.0, 3.0))
    with Client("room", objects=[gate], ports=ports, **SIZE) as client:
        client.request_vehicle(1, *AHEAD)
        client.request_vehicle(2, *AHEAD, {"gate": ((4.0, 5.0, 6.0), AHEAD[1])})
        client.add(RenderObject("other", "BlackEagle"))
        client.request_vehicle(3, *AHEAD)
        with pytest.raises(ValueError, match="not in use, got 'other'"):
            client.add(RenderObject("other", "BlackEagle"))
    sent = {pose["ntime"]: pose["objects"] for pose in renderer.poses}
    assert [item["position"] for item in sent[1]] == [[-2, 3, 1]]
    assert [item["position"] for item in sent[2]] == [[-5, 6, 4]]
    assert [item["position"] for item in sent[3]] == [[-5, 6, 4], [0, 0, 0]]
    assert [item["prefabID"] for item in sent[3]] == ["gate", "BlackEagle"]
    assert sorted(sent[1][0]["size"]) == [1, 2, 3]


def test_frames_are_polled_in_order_and_the_newest_is_available(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        client.request_vehicle(1, *AHEAD)
        for stamp in (2, 3):
            client.submit_vehicle(stamp, *AHEAD)
            _receive(client, stamp)
        assert client.latest is not None
        assert client.latest.time_ns == 3
        stamps = [frame.time_ns for frame in iter(client.poll, None)]
        assert stamps == [2, 3]
        assert client.statistics.frames == 3


def test_without_polling_only_the_newest_frame_is_kept(
    ports: tuple[int, int], renderer: FakeRenderer
) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        client.request_vehicle(1, *AHEAD)
        for stamp in range(2, 32):
            client.submit_vehicle(stamp, *AHEAD)
            _receive(client, stamp)
        counted = client.statistics
        assert counted.frames == 31
        assert counted.unread == 31 - 1 - 8
        waiting = [frame.time_ns for frame in iter(client.poll, None)]
        assert len(waiting) == 8
        assert client.latest is not None
        assert waiting[-1] == client.latest.time_ns


def test_a_slow_renderer_renders_only_the_newest_poses(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=0, frame_time=0.1) as slow,
        Client("room", ports=ports, **SIZE) as client,
    ):
        client.request_vehicle(1, *AHEAD)
        began = time.monotonic()
        stamps = itertools.count(2)

        def has_ten_frames() -> bool:
            client.submit_vehicle(next(stamps), *AHEAD)
            return client.statistics.frames >= 10

        wait_until(has_ten_frames, client.sleep)
        # no backlog: two poses are pending, and another for each 0.2 s without an answer
        pending = 2 + (time.monotonic() - began) / 0.2
        before = client.statistics
        _receive(client, before.submitted)
        counted = client.statistics
        assert counted.frames - before.frames <= pending + 2  # the newest one, a reconnection
        assert counted.frames + counted.dropped == counted.submitted == before.submitted
        assert counted.frames == len(set(slow.answered)) < counted.submitted


def test_two_renderers_share_the_cameras_of_a_client() -> None:
    pairs = [free_pair(), free_pair()]
    cameras = [
        RenderCamera("a"),
        RenderCamera("b", renderer=0),
        RenderCamera("c", renderer=1),
        RenderCamera("d"),
    ]
    with (
        FakeRenderer(pairs[0], ignored=0, frame_time=0.02) as one,
        FakeRenderer(pairs[1], ignored=0, frame_time=0.05, newest_only=True) as two,
        Client("room", cameras, ports=pairs, senses=1, **SIZE) as client,
    ):
        frame = client.request_vehicle(1, *AHEAD)
        assert sorted(frame.images) == ["a", "b", "c", "d"]
        assert [c["ID"] for c in one.poses[0]["cameras"]] == ["a", "b"]
        assert [c["ID"] for c in two.poses[0]["cameras"]] == ["c", "d"]
        assert [c["outputIndex"] for c in two.poses[0]["cameras"]] == [0, 1]
        np.testing.assert_array_equal(frame.images["c"], expected_image(48, 32, 0, 1))
        # at different speeds they render the same poses
        stamps = itertools.count(1000, 1000)

        def has_eight_frames() -> bool:
            client.submit_vehicle(next(stamps), *AHEAD)
            for frame in iter(client.poll, None):
                blue = [int(frame.images[name][0, 0, 2]) for name in ("a", "c")]
                assert blue == [frame.time_ns // 1000 % 256] * 2
            return client.statistics.frames >= 8

        wait_until(has_eight_frames, client.sleep)


def test_a_thread_keeps_the_session_while_the_caller_is_busy(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=2, session_timeout=5.0) as renderer,
        Client("room", ports=ports, **SIZE) as client,
    ):
        client.start()
        client.start()  # has no further effect
        client.request_vehicle(1, *AHEAD)
        answered = len(renderer.answered)
        wait_until(
            lambda: client.statistics.kept_alive >= 2 and len(renderer.answered) >= answered + 2
        )
        client.request_vehicle(2, *AHEAD)
        assert renderer.sessions_ended == 0


def test_statistics_report_the_latency_of_answers(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=0, frame_time=0.05),
        Client("room", ports=ports, **SIZE) as client,
    ):
        client.request_vehicle(1, *AHEAD)
        for stamp in range(2, 8):
            began = time.monotonic()
            frame = client.request_vehicle(stamp, *AHEAD)
            assert 0.05 <= frame.latency <= time.monotonic() - began
        latency = client.statistics.latency
    assert latency.count == 7
    assert 0.05 <= latency.median <= latency.p95 <= latency.p99 <= latency.worst
    assert "ms mean" in str(latency)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cameras": [RenderCamera("a"), RenderCamera("a")]}, "got 'a' twice"),
        (
            {"cameras": [RenderCamera("a")], "objects": [RenderObject("a", "gate")]},
            "got 'a' twice",
        ),
        ({"cameras": []}, "renderer 0 has none"),
        ({"ports": [(1, 2), (3, 4)]}, "renderer 1 has none"),
        (
            {"cameras": [RenderCamera("a", renderer=1)]},
            "renderer: expected None or a number from 0",
        ),
        ({"objects": [RenderObject("a", "b", renderer=-1)]}, "object 'a': renderer: expected None"),
        ({"ports": (10253, 10253)}, "no port twice"),
        ({"ports": (0, 70000)}, "ports: expected a pair"),
        ({"ports": "10253"}, "ports: expected a pair"),
        ({"bind": "localhost"}, "bind: expected an IPv4 address"),
        ({"width": 0}, "width: expected a whole number from 1 to 16384, got 0"),
        ({"height": 48.5}, "height: expected a whole number"),
        ({"vertical_fov_deg": 180.0}, "between 0 and 180"),
        ({"vertical_fov_deg": "70"}, "vertical_fov_deg: expected degrees"),
        (
            {"cameras": ["front"]},
            "cameras: expected a list of propwash.render.RenderCamera, got 'front'",
        ),
        (
            {"objects": [RenderCamera("a")]},
            "objects: expected a list of propwash.render.RenderObject",
        ),
        ({"scene": None}, "scene: expected a name"),
        ({"in_flight": 0}, "in_flight = 0: expected 1 to 8"),
        ({"timeout": math.nan}, "timeout: expected a finite number"),
        ({"on_fault": "ignore"}, "on_fault: expected 'raise' or 'count'"),
        ({"senses": 1}, "senses: expected 0 to 0"),
        ({"scene": "Gärten"}, "scene: expected a name of printable ASCII"),
    ],
)
def test_invalid_clients_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Client(**{"ports": free_pair()} | arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, *AHEAD), "time_ns: expected a whole number"),
        ((-1, *AHEAD), "time_ns: expected a whole number"),
        ((2**63, *AHEAD), "time_ns: expected a whole number"),
        ((5, *AHEAD), "time_ns: expected more than that of the last pose, 5"),
        ((9, (0, 0), AHEAD[1]), "position: expected a position of 3"),
        ((9, "123", AHEAD[1]), "position: expected a position of 3"),
        ((9, (0, 0, math.nan), AHEAD[1]), "position: expected a position of 3"),
        ((9, AHEAD[0], (1, 0, 0, 1)), "attitude: expected a unit quaternion"),
        ((9, *AHEAD, {"gate": AHEAD}), "objects: expected one of 'box', got 'gate'"),
        ((9, *AHEAD, {"box": (0, 0, 0)}), "expected a pair"),
    ],
)
def test_invalid_poses_are_refused(
    ports: tuple[int, int], renderer: FakeRenderer, arguments: tuple[Any, ...], message: str
) -> None:
    with Client("room", objects=[RenderObject("box", "box")], ports=ports, **SIZE) as client:
        client.request_vehicle(5, *AHEAD)
        before = client.statistics.submitted
        with pytest.raises(ValueError, match=message):
            client.submit_vehicle(*arguments)
        with pytest.raises(ValueError, match="expected a pose for each, got none for 'camera'"):
            client.submit(9, {})
        assert client.statistics.submitted == before
        assert client.request_vehicle(9, *AHEAD).time_ns == 9


def test_the_program_in_the_docs_runs() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "render.md"
    if not page.exists():
        pytest.skip("docs/render.md is missing")
    program = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)[0]
    code = program.replace("width=320", f"ports={free_pair()}, width=320")
    assert code != program
    namespace: dict[str, Any] = {"__name__": "__guide__"}
    exec(compile(code, "docs/render.md", "exec"), namespace)
    frame = namespace["frame"]
    assert frame.time_ns == 500_000_000
    assert frame.images["front"].shape == (240, 320, 3)
    assert frame.range_m == pytest.approx(1.0, abs=0.1)


WITHOUT_ZMQ = """
import sys
sys.modules["zmq"] = None
from propwash import render
render.RenderCamera("a"), render.LockStep(60.0), render.homography, render.Frame
render.VehicleInTheLoop
for make in (render.Client, render.PoseStream):
    try:
        make()
    except ImportError as error:
        assert 'pip install "propwash[render]"' in str(error), error
    else:
        raise SystemExit("no error without pyzmq")
"""


def test_without_pyzmq_only_clients_raise_and_name_the_extra() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ZMQ], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_dir_lists_the_public_names() -> None:
    assert {"Client", "RenderCamera", "Frame", "compensate", "DynamicClock"} <= set(dir(render))
    assert callable(render.compensate)
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        render.Missing  # type: ignore[attr-defined]  # noqa: B018
