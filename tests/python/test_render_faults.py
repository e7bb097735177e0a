"""Faults between client and renderer: each is reported, and the session continues."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

zmq = pytest.importorskip("zmq")

from fake_renderer import (  # noqa: E402
    AHEAD,
    SIZE,
    FakeRenderer,
    Message,
    expected_image,
    free_pair,
)
from helpers import wait_until  # noqa: E402
from propwash.render import (  # noqa: E402
    Client,
    PortInUseError,
    ProtocolError,
    RenderCamera,
    RenderTimeoutError,
)


def _check_pace(renderer: FakeRenderer) -> None:
    """The poses of a start follow each other after 0.2 s, less than the 0.5 s of repetitions.

    The median, as a busy machine may delay some of them.
    """
    assert np.median(np.diff(renderer.times)) < 0.4


def test_frames_are_complete_after_one_of_two_renderers_restarts() -> None:
    pairs = [free_pair(), free_pair()]
    cameras = [RenderCamera("a"), RenderCamera("b")]
    with (
        FakeRenderer(pairs[0], ignored=1),
        Client("room", cameras, ports=pairs, **SIZE) as client,
    ):
        with FakeRenderer(pairs[1], ignored=1):
            assert client.request_vehicle(1, *AHEAD).time_ns == 1
        wait_until(lambda: client.renderers[1] == 0, client.sleep)
        with FakeRenderer(pairs[1]) as renderer:
            assert sorted(client.request_vehicle(2, *AHEAD).images) == ["a", "b"]
            _check_pace(renderer)


def _body(answer: Message, **changes: Any) -> Message:
    """The answer with other entries in its JSON; None removes an entry."""
    body = json.loads(answer[0]) | changes
    body = {key: value for key, value in body.items() if value is not None}
    return [json.dumps(body).encode(), *answer[1:]]


def _landmark(answer: Message, *position: float) -> Message:
    """The answer with one landmark, at (u, v, depth)."""
    return _body(answer, landmarksInView=[{"ID": "Gate10_1", "position": position}])


MALFORMED: dict[str, tuple[Callable[[Message], Message], str]] = {
    "truncated": (lambda a: [a[0][:-9], *a[1:]], "JSON"),
    "noise": (lambda a: [bytes(range(256)), *a[1:]], "answer"),
    "empty": (lambda a: [b"", *a[1:]], "answer"),
    "nested": (lambda a: [b"[" * 100_000, *a[1:]], "answer"),
    "no time": (lambda a: _body(a, ntime=None), "has no ntime"),
    "no ids": (lambda a: _body(a, cameraIDs=None), "cameraIDs"),
    "few channels": (lambda a: _body(a, channels=[]), "channels"),
    "no image": (lambda a: a[:1], "2 frames"),
    "an extra image": (lambda a: [*a, a[1]], "2 frames"),
    "short": (lambda a: [a[0], a[1][:-1]], r"4608 bytes"),
    "100 MB": (lambda a: [a[0], bytes(100_000_000)], r"4608 bytes"),
    "larger": (lambda a: _body(a, camWidth=64), "bytes"),
    "other size": (
        lambda a: [*_body(a, camWidth=24, camHeight=64)[:1], a[1]],
        "48 x 32, got 24 x 64",
    ),
    "unknown camera": (lambda a: _body(a, cameraIDs=["other"]), 'camera "other"'),
    "a number in quotes": (lambda a: _body(a, camWidth="48"), r"camWidth: expected a whole number"),
    "a number for a flag": (lambda a: _body(a, hasCameraCollision=7), "expected true or false"),
    "a key twice": (lambda a: [b'{"ntime":0,' + a[0][1:], *a[1:]], 'got "ntime" twice'),
    "negative range": (lambda a: _body(a, lidarReturn=-5), "lidarReturn: expected a finite number"),
    "landmark outside": (lambda a: _landmark(a, 7, -3, -1), r"0 and 1, .* depth > 0, got \(7, -3,"),
    "huge size": (lambda a: _body(a, camWidth=2**31, camHeight=2**33), "camWidth"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_answers_are_reported_and_the_next_is_received(
    ports: tuple[int, int], name: str
) -> None:
    corrupt, message = MALFORMED[name]
    faults = {1000: corrupt}  # once, as a pose may be sent again

    def modify(answer: Message, pose: dict[str, Any]) -> list[Message]:
        fault = faults.pop(pose["ntime"], None)
        return [answer] if fault is None else [fault(answer), answer]

    with (
        FakeRenderer(ports, ignored=0, session_timeout=60.0, modify=modify),
        Client("room", ports=ports, **SIZE) as client,
    ):
        client.request_vehicle(0, *AHEAD)  # the sockets are connected
        with pytest.raises(ProtocolError, match=message):
            client.request_vehicle(1000, *AHEAD)
        frame = client.poll(10.0)
        assert frame is not None
        np.testing.assert_array_equal(frame.images["camera"], expected_image(48, 32, 0, 1000))
        assert client.statistics.faulty >= 1
        assert isinstance(client.last_fault, ProtocolError)


def test_faults_can_be_counted_without_warnings(ports: tuple[int, int]) -> None:
    def modify(answer: Message, pose: dict[str, Any]) -> list[Message]:
        return [[b"noise"], answer[:1], answer]

    with (
        FakeRenderer(ports, ignored=0, modify=modify),
        Client("room", ports=ports, on_fault="count", **SIZE) as client,
    ):
        for stamp in range(11):
            assert client.request_vehicle(stamp, *AHEAD).time_ns == stamp
        assert client.statistics.faulty >= 20
        assert client.last_fault is not None
        assert (
            client.last_fault.__traceback__ is None
        )  # its stack frames would keep the message alive


def test_a_v2_renderer_provides_rgb_and_grey(ports: tuple[int, int]) -> None:
    cameras = [RenderCamera("colour"), RenderCamera("grey", "grey")]
    with (
        FakeRenderer(ports, ignored=0, v2=True),
        Client("room", cameras, ports=ports, **SIZE) as client,
    ):
        images = client.request_vehicle(1, *AHEAD).images
    np.testing.assert_array_equal(images["colour"], expected_image(48, 32, 0, 1))
    luma = expected_image(48, 32, 1, 1) @ np.array([0.299, 0.587, 0.114])
    assert images["grey"].shape == (32, 48)
    assert np.abs(images["grey"] - luma).max() <= 0.51


def test_depth_of_a_v2_renderer_is_refused(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=0, v2=True),
        Client("room", [RenderCamera("far", "depth")], ports=ports, **SIZE) as client,
        pytest.raises(ProtocolError, match=r"'far' of kind 'depth'.*use kind='rgb'"),
    ):
        client.request_vehicle(1, *AHEAD)


def test_errors_name_ports_and_command_of_a_missing_renderer(ports: tuple[int, int]) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        began = time.monotonic()
        with pytest.raises(RenderTimeoutError) as caught:
            client.request_vehicle(1, *AHEAD, timeout=0.3)
        assert 0.3 <= time.monotonic() - began < 9.0  # the default is 10 s
        text = str(caught.value)
        assert "no renderer is connected" in text
        assert f"--scene room --port {ports[0]} {ports[1]}" in text
        assert f"-input-port {ports[0]} -output-port {ports[1]}" in text
        # a renderer that starts later is used
        with FakeRenderer(ports, ignored=0):
            assert client.request_vehicle(2, *AHEAD).time_ns == 2


def test_a_silent_renderer_is_distinguished_from_a_missing_one(
    ports: tuple[int, int],
) -> None:
    with (
        FakeRenderer(ports, ignored=10**6, session_timeout=60.0),
        Client("nowhere", ports=ports, **SIZE) as client,
    ):
        wait_until(lambda: client.renderers == [1], client.sleep)
        with pytest.raises(
            RenderTimeoutError, match=r"a renderer is connected.*-output-port.*'nowhere'"
        ):
            client.request_vehicle(1, *AHEAD, timeout=0.3)


def test_two_renderers_on_one_pair_of_ports_are_reported(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=10**6, session_timeout=60.0),
        FakeRenderer(ports, ignored=10**6, session_timeout=60.0),
        Client("room", ports=ports, **SIZE) as client,
    ):
        wait_until(lambda: client.renderers == [2], client.sleep)
        with pytest.raises(RenderTimeoutError, match="2 renderers share these ports"):
            client.request_vehicle(1, *AHEAD, timeout=0.3)


def test_errors_name_a_port_in_use_and_ports_are_released(ports: tuple[int, int]) -> None:
    with Client("room", ports=ports, **SIZE):
        with pytest.raises(PortInUseError, match=f"port {ports[0]} of 127.0.0.1 is in use"):
            Client("room", ports=ports, **SIZE)
        other = free_pair()
        with pytest.raises(PortInUseError, match=f"port {ports[1]}"):
            Client("room", ports=(other[0], ports[1]), **SIZE)
        Client("room", ports=other, **SIZE).close()
    Client("room", ports=ports, **SIZE).close()


def test_clients_listen_on_the_loopback_interface_only(ports: tuple[int, int]) -> None:
    addresses = Path("/proc/net/tcp")
    if not addresses.exists():
        pytest.skip("/proc/net/tcp is missing")
    with Client("room", ports=ports, **SIZE):
        rows = [line.split() for line in addresses.read_text().splitlines()[1:]]
        listening = {int(r[1][9:], 16): r[1][:8] for r in rows if r[3] == "0A"}
    assert listening[ports[0]] == listening[ports[1]] == "0100007F"


def test_a_closed_client_raises(ports: tuple[int, int]) -> None:
    client = Client("room", ports=ports, **SIZE)
    client.start()
    client.close()
    client.close()
    for call in (lambda: client.submit_vehicle(1, *AHEAD), client.poll, client.start):
        with pytest.raises(RuntimeError, match="closed"):
            call()


@pytest.mark.slow
def test_a_restart_starts_a_new_session(ports: tuple[int, int]) -> None:
    with (
        FakeRenderer(ports, ignored=1, session_timeout=60.0) as renderer,
        Client("room", ports=ports, **SIZE) as client,
    ):
        client.request_vehicle(1, *AHEAD)
        began = time.monotonic()
        client.submit_vehicle(2, *AHEAD)
        client.restart()
        client.submit_vehicle(3, *AHEAD)
        renderer.session_timeout = 0.1
        wait_until(lambda: renderer.sessions_ended > 0, client.sleep)
        renderer.session_timeout = 60.0
        wait_until(lambda: client.latest is not None and client.latest.time_ns == 3, client.sleep)
        assert time.monotonic() - began > 2.0  # s, after which published renderers end a session
        assert renderer.sessions_ended == 1
        assert client.statistics.frames + client.statistics.dropped == 3


def test_invalid_times_are_refused(ports: tuple[int, int]) -> None:
    with Client("room", ports=ports, **SIZE) as client:
        for wrong in (-1.0, math.inf, "1"):
            with pytest.raises(ValueError, match="expected a finite number >= 0"):
                client.poll(wrong)  # type: ignore[arg-type]
