"""Pose messages, and a render client on plain ZeroMQ sockets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fake_renderer import free_pair
from propwash import _render
from propwash.render.server import Server
from propwash.world import Box, Plane, Scene

WIDTH, HEIGHT, FOV = 64, 48, 70.0
TIMEOUT = 20.0
"""s, the longest wait for an answer."""
WIRE_KINDS = {"depth8": "depth_compressed", "flow": "optical_flow"}
SCENE = Scene(
    [
        Plane(name="ground", category="ground", colour=(0.5, 0.5, 0.5)),
        Box(name="left", colour=(1.0, 0.0, 0.0), position=(4.0, 1.5, 1.0), size=(0.1, 1.0, 2.0)),
        Box(name="right", colour=(0.0, 0.0, 1.0), position=(4.0, -1.5, 1.0), size=(0.1, 1.0, 2.0)),
    ]
)
POSITION, ATTITUDE = (0.0, 0.0, 1.5), (1.0, 0.0, 0.0, 0.0)


def server(**options: Any) -> Server:
    """The reference renderer of SCENE."""
    return Server(options.pop("scene", SCENE), **({"antialias": 1} | options))


def camera(name: str, kind: str = "rgb", **rest: Any) -> dict[str, Any]:
    """A camera of a pose message."""
    fields = {"id": name, "type": WIRE_KINDS.get(kind, kind)}
    return fields | {"position": POSITION, "attitude": ATTITUDE} | rest


def payload(cameras: list[dict[str, Any]], ntime: int = 1, **rest: Any) -> bytes:
    """The second frame of a pose message, as the clients of the library encode it."""
    settings = {"width": WIDTH, "height": HEIGHT, "vertical_fov_deg": FOV, "ntime": ntime}
    scene = rest.pop("scene", "")
    objects = rest.pop("objects", [])
    return bytes(_render.PoseMessage(scene, cameras, objects, **(settings | rest)).encode())


class WireClient:
    """A minimal render client."""

    def __init__(self, ports: tuple[int, int]) -> None:
        self.zmq = pytest.importorskip("zmq")
        self._context = self.zmq.Context()
        self.poses = self._context.socket(self.zmq.PUB)
        self.images = self._context.socket(self.zmq.SUB)
        self.images.setsockopt(self.zmq.SUBSCRIBE, b"")
        for each, port in zip((self.poses, self.images), ports, strict=True):
            each.setsockopt(self.zmq.LINGER, 0)
            each.bind(f"tcp://127.0.0.1:{port}")

    def close(self) -> None:
        """Frees the ports."""
        self.poses.close(linger=0)
        self.images.close(linger=0)
        self._context.term()

    def receive_frames(self, wait: float = 0.2) -> list[bytes] | None:
        """The frames of the next message; None if none arrives within `wait` seconds."""
        if not self.images.poll(int(1000 * wait)):
            return None
        frames: list[bytes] = self.images.recv_multipart()
        return frames

    def receive(self, wait: float = 0.2) -> Any:
        """The next message, decoded."""
        frames = self.receive_frames(wait)
        return None if frames is None else _render.decode_answer(frames)

    def request_frames(self, message: bytes) -> list[bytes]:
        """Sends a pose repeatedly until its answer arrives; returns the frames of the answer."""
        ntime = json.loads(message)["ntime"]
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            self.poses.send_multipart([b"Pose", message])
            frames = self.receive_frames()
            while frames is not None:
                if json.loads(frames[0])["ntime"] == ntime:
                    return frames
                frames = self.receive_frames(0.0)
        pytest.fail(f"no answer within {TIMEOUT} s")

    def request(self, message: bytes) -> Any:
        """The decoded answer to a pose."""
        return _render.decode_answer(self.request_frames(message))


@contextmanager
def serving(renderer: Server) -> Iterator[Server]:
    """Runs the renderer in a thread."""
    stop = threading.Event()
    thread = threading.Thread(target=lambda: renderer.run(stop.is_set), daemon=True)
    thread.start()
    try:
        yield renderer
    finally:
        stop.set()
        thread.join(TIMEOUT)
    assert not thread.is_alive()


@contextmanager
def running(
    make: Callable[[tuple[int, int]], Server],
) -> Iterator[tuple[Server, WireClient]]:
    """A running renderer and a client, connected."""
    ports = free_pair()
    client = WireClient(ports)
    try:
        with serving(make(ports)) as renderer:
            yield renderer, client
    finally:
        client.close()
