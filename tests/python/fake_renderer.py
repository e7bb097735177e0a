"""A test renderer that imitates published ones, written from the documented protocol only.

It reads poses with Python's json, shares no code with propwash, and sends images with predictable
pixels.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

Message = list[bytes]

AHEAD = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0))  # position and attitude of a vehicle
SIZE: dict[str, Any] = {"width": 48, "height": 32}  # of the images of a client


# below the ports that systems assign to other sockets; each is used once, in a random order
_PORTS = iter(random.SystemRandom().sample(range(20_000, 32_000), 12_000))


def free_port() -> int:
    """A free port of the loopback interface."""
    while True:
        port = next(_PORTS)
        with socket.socket() as holder:
            try:
                holder.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def free_pair() -> tuple[int, int]:
    """Two free ports: for poses and for images."""
    return free_port(), free_port()


def expected_image(width: int, height: int, camera: int, ntime: int) -> NDArray[np.uint8]:
    """(h, w, 3), top row first: red counts rows, green columns, blue cameras and µs."""
    image = np.empty((height, width, 3), np.uint8)
    image[..., 0] = (np.arange(height) % 256)[:, np.newaxis]
    image[..., 1] = np.arange(width) % 256
    image[..., 2] = (50 * camera + ntime // 1000) % 256
    return image


class FakeRenderer:
    """Runs in a thread until it is closed.

    ignored: poses without an answer at the start of a session. newest_only: answers only the newest
    waiting pose, as up to v2.0.4; otherwise all, as v2.0.5. frame_time: s for an image.
    session_timeout: s without a pose that end a session. repeats: additional copies of an answer.
    modify: returns the messages to send instead of an answer. v2: without the keys of v3; renders
    every camera, as RGB. one_byte: grey and compressed depth with one byte per pixel, where v3
    sends three equal ones.
    """

    def __init__(
        self,
        ports: tuple[int, int],
        *,
        ignored: int = 5,
        newest_only: bool = False,
        frame_time: float = 0.0,
        session_timeout: float = 2.0,
        repeats: int = 0,
        v2: bool = False,
        one_byte: bool = False,
        modify: Callable[[Message, dict[str, Any]], list[Message]] | None = None,
    ) -> None:
        self.ports = ports
        self.ignored = ignored
        self.newest_only = newest_only
        self.frame_time = frame_time
        self.session_timeout = session_timeout
        self.repeats = repeats
        self.v2 = v2
        self.one_byte = one_byte
        self.modify = modify
        self.poses: list[dict[str, Any]] = []
        self.times: list[float] = []  # s, of the arrival of each pose
        self.answered: list[int] = []
        self.sessions_ended = 0
        self._received = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops without a message, like a killed process."""
        self._stop.set()
        self._thread.join(5.0)
        assert not self._thread.is_alive()

    def __enter__(self) -> FakeRenderer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        with zmq.Context() as context:
            while not self._stop.is_set():
                self._received = 0
                with context.socket(zmq.SUB) as poses, context.socket(zmq.PUB) as images:
                    for end, port in ((poses, self.ports[0]), (images, self.ports[1])):
                        end.setsockopt(zmq.LINGER, 0)
                        end.setsockopt(zmq.RCVHWM, 6)
                        end.setsockopt(zmq.SNDHWM, 6)
                        end.setsockopt(zmq.RECONNECT_IVL, 20)
                        end.connect(f"tcp://127.0.0.1:{port}")
                    poses.setsockopt(zmq.SUBSCRIBE, b"Pose")
                    self._session(poses, images)

    def _session(self, poses: zmq.Socket[bytes], images: zmq.Socket[bytes]) -> None:
        last_pose = time.monotonic()
        while not self._stop.is_set():
            if not poses.poll(5):
                if self._received and time.monotonic() - last_pose > self.session_timeout:
                    self.sessions_ended += 1
                    return
                continue
            message = poses.recv_multipart()
            while self.newest_only and poses.poll(0):
                message = poses.recv_multipart()
            last_pose = time.monotonic()
            self._answer(message, images)

    def _answer(self, message: Message, images: zmq.Socket[bytes]) -> None:
        assert message[0] == b"Pose"
        assert len(message) == 2
        pose = json.loads(message[1].decode("ascii"))
        self.poses.append(pose)
        self.times.append(time.monotonic())
        self._received += 1
        if self._received <= self.ignored:
            return
        time.sleep(self.frame_time)
        answer = self.answer(pose)
        messages = [answer] if self.modify is None else self.modify(answer, pose)
        self.answered.append(pose["ntime"])
        for one in messages * (1 + self.repeats):
            images.send_multipart(one)

    def answer(self, pose: dict[str, Any]) -> Message:
        """The frames of a valid answer."""
        width, height = pose["camWidth"], pose["camHeight"]
        rendered = [
            (index, camera)
            for index, camera in enumerate(pose["cameras"])
            if self.v2 or camera["shouldRenderThisFrame"]
        ]
        body: dict[str, Any] = {
            "ntime": pose["ntime"],
            "camWidth": width,
            "camHeight": height,
            "camDepthScale": pose["camDepthScale"],
            "cameraIDs": [camera["ID"] for _, camera in rendered],
            "channels": [camera["channels"] for _, camera in rendered],
            "hasCameraCollision": pose["cameras"][0]["position"][1] < 0.0,
            "landmarksInView": [{"ID": "Gate10_1", "position": [0.25, 0.75, 3.5]}],
            "lidarReturn": 21,
        }
        frames = []
        for number, (index, camera) in enumerate(rendered):
            image = expected_image(width, height, index, pose["ntime"])[::-1]
            shader = -1 if self.v2 else camera["outputShaderType"]
            if shader == 3:
                body["channels"][number] = 2
                frames.append((image[..., 0].astype("<u2") * 256 + image[..., 1]).tobytes())
            elif shader in (2, 5):
                body["channels"][number] = 1
                grey = image[..., 1]
                frames.append((grey if self.one_byte else np.dstack([grey] * 3)).tobytes())
            else:
                frames.append(image.tobytes())
        if not self.v2:
            body["cameraIndexes"] = [index for index, _ in rendered]
        return [json.dumps(body).encode("ascii"), *frames]
