"""The reference renderer as a server: protocol versions, malformed poses, timeouts, sockets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from fake_renderer import free_pair
from helpers import restore_signals
from propwash import _render
from propwash.render import images
from propwash.render._reference import Shot
from propwash.render.cameras import CHANNELS, KINDS, RenderCamera, RenderObject
from propwash.render.offscreen import Offscreen
from propwash.render.server import STAGES, Server, _wire_landmarks
from propwash.world import scene_names
from wire_client import (
    FOV,
    HEIGHT,
    POSITION,
    SCENE,
    TIMEOUT,
    WIDTH,
    WireClient,
    camera,
    payload,
    running,
    server,
)


def changed(message: bytes, **values: Any) -> bytes:
    return json.dumps(json.loads(message) | values).encode()


def frames_of(renderer: Server, message: bytes) -> list[Any]:
    frames = renderer.answer(message)
    assert frames is not None
    return list(frames)


def test_sent_images_equal_those_in_process() -> None:
    cameras = [camera(f"a {kind}", kind) for kind in KINDS]
    frames = frames_of(server(), payload(cameras, ntime=77))
    answer = _render.decode_answer([bytes(frame) for frame in frames])
    offscreen = Offscreen(SCENE, width=WIDTH, height=HEIGHT, vertical_fov_deg=FOV, antialias=1)
    expected = offscreen.render([RenderCamera(f"a {kind}", kind) for kind in KINDS], POSITION)  # type: ignore[arg-type]
    assert answer.ntime == 77
    assert list(answer.images) == [f"a {kind}" for kind in KINDS]
    assert json.loads(bytes(frames[0]))["channels"] == [CHANNELS[kind] for kind in KINDS]
    for kind in KINDS:
        name = f"a {kind}"
        image = expected.images[name]
        if CHANNELS[kind] == 1:  # published v3 clients copy three bytes per pixel
            image = np.repeat(image[:, :, np.newaxis], 3, axis=2)
        np.testing.assert_array_equal(answer.images[name], image)
    assert answer.range == pytest.approx(expected.range_m)
    assert not answer.collision


def test_headers_have_the_keys_of_both_versions() -> None:
    message = payload([camera("front"), camera("deep", "depth")], ntime=2**62 + 1, depth_scale=0.2)
    header, rgb, depth = frames_of(server(), message)
    fields = json.loads(bytes(header))
    assert fields["ntime"] == 2**62 + 1
    assert (fields["camWidth"], fields["camHeight"]) == (WIDTH, HEIGHT)
    assert fields["camDepthScale"] == 0.2
    assert fields["cameraIDs"] == ["front", "deep"]
    assert fields["channels"] == [3, 2]
    assert fields["cameraIndexes"] == [0, 1]
    assert fields["hasCameraCollision"] is False
    assert fields["landmarksInView"] == []
    assert fields["lidarReturn"] == pytest.approx(1.5)
    assert len(rgb) == 3 * WIDTH * HEIGHT
    assert len(depth) == 2 * WIDTH * HEIGHT
    rows = np.frombuffer(rgb, np.uint8).reshape(HEIGHT, WIDTH, 3).astype(int)
    assert rows[-1, 0, 2] > rows[-1, 0, 0] + 20  # the last row is sky: blue, its third byte
    middle, offset = rows[HEIGHT // 2], round(HEIGHT / 2.0 / np.tan(np.radians(35.0)) * 1.5 / 4.0)
    assert middle[WIDTH // 2 - offset, 0] > 2 * middle[WIDTH // 2 - offset, 2]  # red, to the left
    values = np.frombuffer(depth, "<u2").reshape(HEIGHT, WIDTH)
    assert values[0, WIDTH // 2] < values[HEIGHT // 4, WIDTH // 2] < 65535 == values[-1, 0]


def test_a_v2_pose_is_answered() -> None:
    message = json.loads(payload([camera("front")]))
    for key in ("obstaclePerturbationFile",):
        message.pop(key, None)
    for each in message["cameras"]:
        for key in ("outputShaderType", "motionBlurPercent", "shouldRenderThisFrame"):
            each.pop(key, None)
        each.update(channels=3, isDepth=False, outputIndex=0)
    frames = frames_of(server(), json.dumps(message).encode())
    assert _render.decode_answer([bytes(frame) for frame in frames]).images["front"].shape[-1] == 3


def test_landmarks_count_from_the_lower_left() -> None:
    gate = {"id": "Gate3", "prefab": "gate", "position": (5.0, 1.0, 3.2), "size": (100.0,) * 3}
    frames = frames_of(server(), payload([camera("front")], objects=[gate]))
    answer = _render.decode_answer([bytes(frame) for frame in frames])
    assert sorted(answer.landmark_ids) == [f"Gate3_{number}" for number in range(1, 5)]
    landmarks = np.asarray(answer.landmark_position)
    assert np.all((landmarks[:, :2] > 0.0) & (landmarks[:, :2] < 1.0))
    assert landmarks[:, 0].mean() < 0.5 < landmarks[:, 1].mean()  # left of the centre, above it
    offscreen = Offscreen(SCENE, width=WIDTH, height=HEIGHT, vertical_fov_deg=FOV)
    body = RenderObject("Gate3", "gate", position=(5.0, 1.0, 3.2))
    expected = offscreen.render("rgb", POSITION, objects=[body]).landmarks
    assert tuple(answer.landmark_ids) == expected.ids
    np.testing.assert_allclose(np.asarray(answer.landmark_pixel)[:, 0], expected.u)
    np.testing.assert_allclose(np.asarray(answer.landmark_pixel)[:, 1], expected.v)


def test_a_landmark_that_rounds_to_the_image_edge_is_not_sent() -> None:
    markers = [("Gate1_1", 32.0, 1e-15, 2.0), ("Gate1_2", 32.0, 1.0, 2.0)]
    shot = Shot({}, markers, range_m=21.0, collision=False)
    assert 1.0 - 1e-15 / HEIGHT == 1.0
    (sent,) = _wire_landmarks(shot, WIDTH, HEIGHT)
    assert sent == ("Gate1_2", (0.5, 1.0 - 1.0 / HEIGHT, 2.0))


@pytest.mark.parametrize(
    ("prefab", "category"),
    [("gate", "gate"), ("BlackEagle", "vehicle"), ("Person_3", "person"), ("Blob", "obstacle")],
)
def test_bodies_have_the_category_of_their_prefab(prefab: str, category: str) -> None:
    body = {"id": "it", "prefab": prefab, "position": (3.0, 0.0, 1.0), "size": (1.0, 1.0, 1.0)}
    message = payload([camera("s", "semantic")], objects=[body])
    frames = frames_of(server(), message)
    image = _render.decode_answer([bytes(frame) for frame in frames]).images["s"]
    assert images.category_number(category) in images.id_numbers(image)


def test_cameras_that_do_not_render_are_skipped() -> None:
    cameras = [camera("a", render=False), camera("b", "grey"), camera("c", "depth")]
    frames = frames_of(server(), payload(cameras))
    assert len(frames) == 3
    fields = json.loads(bytes(frames[0]))
    assert fields["cameraIDs"] == ["b", "c"]
    assert fields["cameraIndexes"] == [1, 2]


def test_cameras_and_sizes_may_change_from_pose_to_pose() -> None:
    renderer = server()
    for number, (width, height, names) in enumerate(
        [(64, 48, "ab"), (80, 20, "a"), (33, 77, "cde")]
    ):
        cameras = [camera(name) for name in names]
        message = payload(cameras, ntime=number, width=width, height=height)
        answer = _render.decode_answer([bytes(frame) for frame in frames_of(renderer, message)])
        assert {name: image.shape for name, image in answer.images.items()} == {
            name: (height, width, 3) for name in names
        }


def test_malformed_poses_are_counted_and_repeat_the_last_answer() -> None:
    lines: list[str] = []
    renderer = server(log=lines.append)
    good = payload([camera("front")])
    faults = [
        b"",
        b"not JSON at all",
        good[: len(good) // 2],
        bytes(range(256)),
        b"[" * 100_000,
        changed(good, cameras=[]),
        changed(good, camWidth=0),
        changed(good, camWidth=10**9),
        changed(good, cameras=[{"ID": "x", "position": [0, None, 0], "rotation": [0, 0, 0, 1]}]),
    ]
    for fault in faults:
        assert renderer.answer(fault) is None
    answered = frames_of(renderer, good)
    for fault in faults:
        assert renderer.answer(fault) == answered
    assert renderer.counts["malformed"] + renderer.counts["refused"] == 2 * len(faults)
    assert renderer.counts["answered"] == 1
    assert 0 < len(lines) <= len(faults)  # each message once
    assert frames_of(renderer, good) == answered
    assert renderer.counts["repeated"] == 1


def test_too_large_requests_are_refused() -> None:
    lines: list[str] = []
    renderer = server(log=lines.append)
    cameras = [camera(f"c{number}") for number in range(5)]
    assert renderer.answer(payload(cameras, width=16384, height=16384)) is None
    assert renderer.counts["refused"] == 1
    assert "use smaller images or fewer cameras" in lines[-1]


def test_published_scenes_have_substitutes() -> None:
    assert {stage.scene for stage in STAGES.values()} <= set(scene_names())
    renderer = server(scene=None)
    message = payload([camera("s", "semantic", position=(18.5, 6.5, 6.0))], width=32, height=24)
    gates = images.category_number("gate")
    has_gates = {}
    for number, name in enumerate(
        ("Abandoned_Factory_Morning", "Abandoned_Factory_Morning_No_Gates")
    ):
        rotated = changed(message, sceneFilename=name, ntime=number)
        # at the start, towards the first gates
        rotated = changed(
            rotated,
            cameras=[
                json.loads(rotated)["cameras"][0] | {"rotation": [0, -0.70710678, 0, 0.70710678]}
            ],
        )
        frames = frames_of(renderer, rotated)
        image = _render.decode_answer([bytes(frame) for frame in frames]).images["s"]
        has_gates[name] = gates in images.id_numbers(image)
    assert has_gates == {
        "Abandoned_Factory_Morning": True,
        "Abandoned_Factory_Morning_No_Gates": False,
    }
    frames_of(renderer, changed(message, sceneFilename="Abandoned_Factory_Sunset", ntime=8))
    assert renderer.look == "sunset"
    fixed = server(scene="Abandoned_Factory_Sunset_No_Gates")
    frames_of(fixed, changed(message, sceneFilename="room", ntime=9))
    assert fixed.look == "sunset"
    lines: list[str] = []
    renderer = server(scene=None, log=lines.append)
    frames_of(renderer, changed(message, sceneFilename="Atlantis"))
    assert "'Atlantis' is unknown" in lines[0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ports": (10253, 10253)}, "ports: expected a pair"),
        ({"ports": (0, 99999)}, "ports: expected a pair"),
        ({"client_ip": "localhost"}, "not a host name"),
        ({"scene": "Atlantis"}, "alphapilot"),
        ({"look": "midnight"}, "look: expected"),
        ({"threads": 0}, "threads: expected"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        server(**options)


# sockets


def test_the_newest_waiting_pose_is_answered() -> None:
    with running(lambda ports: server(ports=ports)) as (renderer, client):
        first = client.request(payload([camera("front")], ntime=1))
        assert first.images["front"].shape == (HEIGHT, WIDTH, 3)
        # poses that arrive while it is busy: it continues with the newest
        backlog = range(100, 105)
        for number in backlog:
            client.poses.send_multipart([b"Pose", payload([camera("front")], ntime=number)])
        answers: list[int] = []
        while not answers or answers[-1] < backlog[-1]:
            answer = client.receive(TIMEOUT)
            assert answer is not None
            answers.append(answer.ntime)
        assert answers[-1] == backlog[-1]
        assert answers == sorted(answers)
        end = time.monotonic() + TIMEOUT
        while renderer.counts["answered"] + renderer.counts["skipped"] < 6:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_malformed_messages_do_not_stop_the_server() -> None:
    with running(lambda ports: server(ports=ports)) as (renderer, client):
        client.request(payload([camera("front")], ntime=1))
        good = payload([camera("front")], ntime=2)
        for message in (
            [b"Pose"],
            [b"Pose", b"{}"],
            [b"Pose", good, b"more"],
            [b"Poses", good],
            [b"Pose", good[:40]],
            [b"Pose", bytes(1_000_000)],
        ):
            client.poses.send_multipart(message)
        assert client.request(payload([camera("front")], ntime=3)).ntime == 3
        assert renderer.counts["malformed"] >= 4


def test_a_timeout_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    timeout = "propwash.render.server.SESSION_TIMEOUT"
    monkeypatch.setattr(timeout, 60.0)
    ended = threading.Event()
    with running(lambda ports: server(ports=ports)) as (renderer, client):

        def forget() -> None:
            Server.forget(renderer)
            ended.set()

        monkeypatch.setattr(renderer, "forget", forget)
        moved = [camera("f", "flow", position=(0.0, 0.2, 1.5))]
        client.request(payload([camera("f", "flow")], ntime=1))
        assert client.request(payload(moved, ntime=2)).images["f"].any()
        assert not ended.is_set()
        monkeypatch.setattr(timeout, 0.2)
        assert ended.wait(TIMEOUT)
        fresh = client.request(payload([camera("f", "flow")], ntime=3))
        assert not fresh.images["f"].any()  # the first image of a session has no flow


def test_the_command_answers_a_client_until_ctrl_c() -> None:
    ports = free_pair()
    client = WireClient(ports)
    command = [sys.executable, "-m", "propwash", "render", "--scene", "empty", "--antialias", "1"]
    process = subprocess.Popen(
        [*command, "--port", str(ports[0]), str(ports[1])],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ.copy(),
        preexec_fn=restore_signals,
    )
    try:
        answer = client.request(payload([camera("front"), camera("d", "depth")], ntime=9))
        assert answer.images["d"].dtype == np.uint16
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
        process.wait()
        client.close()
    assert process.returncode == 130
    assert f"poses from 127.0.0.1:{ports[0]}" in stderr
    assert "1 poses answered" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--scene", "Atlantis"], "Atlantis"),
        (["--client-ip", "nowhere"], "not a host name"),
        (["--port", "1", "1"], "ports: expected a pair"),
        (["--look", "midnight"], "look: expected"),
    ],
)
def test_the_command_refuses_invalid_arguments(arguments: list[str], text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "propwash", "render", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr
