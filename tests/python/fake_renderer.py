"""A test renderer that imitates published ones, written from the documented protocol only.

It reads poses with Python's json, knows nothing of propwash's own messages, and paints pictures
with predictable pixels.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

Message = list[bytes]


def free_ports(count: int = 2) -> tuple[int, ...]:
    """Ports of the loopback interface that are free at present."""
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = tuple(holder.getsockname()[1] for holder in holders)
    for holder in holders:
        holder.close()
    return ports


def free_pair() -> tuple[int, int]:
    """A pose port and an image port."""
    poses, images = free_ports(2)
    return poses, images


def picture(width: int, height: int, camera: int, ntime: int) -> NDArray[np.uint8]:
    """(h, w, 3), top row first: red counts rows, green columns, blue cameras and time."""
    image = np.empty((height, width, 3), np.uint8)
    image[..., 0] = (np.arange(height) % 256)[:, np.newaxis]
    image[..., 1] = np.arange(width) % 256
    image[..., 2] = (50 * camera + ntime // 1000) % 256
    return image


class FakeRenderer:
    """Runs in a thread until it is closed.

    swallow: poses used up at the start. newest_only: jumps to the newest pose that waits, as up to
    v2.0.4; otherwise answers all, as v2.0.5. frame_time: s for a picture. memory: s without a pose
    until everything is forgotten. repeats: how often an answer is sent again. mangle: what is sent
    in place of an answer. v2: without the keys of v3, every camera drawn, every picture RGB.
    narrow: grey and compressed depth as one byte a pixel, where v3 sends three equal ones.
    """

    def __init__(
        self,
        ports: tuple[int, int],
        *,
        swallow: int = 5,
        newest_only: bool = False,
        frame_time: float = 0.0,
        memory: float = 2.0,
        repeats: int = 0,
        v2: bool = False,
        narrow: bool = False,
        mangle: Callable[[Message, dict[str, Any]], list[Message]] | None = None,
    ) -> None:
        self.ports = ports
        self.swallow = swallow
        self.newest_only = newest_only
        self.frame_time = frame_time
        self.memory = memory
        self.repeats = repeats
        self.v2 = v2
        self.narrow = narrow
        self.mangle = mangle
        self.poses: list[dict[str, Any]] = []
        self.answered: list[int] = []
        self.forgot = 0
        self._used = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Goes, as a killed process does."""
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
                self._used = 0
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
        heard = time.monotonic()
        while not self._stop.is_set():
            if not poses.poll(5):
                if self._used and time.monotonic() - heard > self.memory:
                    self.forgot += 1
                    return
                continue
            message = poses.recv_multipart()
            while self.newest_only and poses.poll(0):
                message = poses.recv_multipart()
            heard = time.monotonic()
            self._answer(message, images)

    def _answer(self, message: Message, images: zmq.Socket[bytes]) -> None:
        assert message[0] == b"Pose"
        assert len(message) == 2
        pose = json.loads(message[1].decode("ascii"))
        self.poses.append(pose)
        self._used += 1
        if self._used <= self.swallow:
            return
        time.sleep(self.frame_time)
        answer = self.answer(pose)
        messages = [answer] if self.mangle is None else self.mangle(answer, pose)
        self.answered.append(pose["ntime"])
        for one in messages * (1 + self.repeats):
            images.send_multipart(one)

    def answer(self, pose: dict[str, Any]) -> Message:
        """The frames of a sound answer."""
        width, height = pose["camWidth"], pose["camHeight"]
        drawn = [
            (index, camera)
            for index, camera in enumerate(pose["cameras"])
            if self.v2 or camera["shouldRenderThisFrame"]
        ]
        body: dict[str, Any] = {
            "ntime": pose["ntime"],
            "camWidth": width,
            "camHeight": height,
            "camDepthScale": pose["camDepthScale"],
            "cameraIDs": [camera["ID"] for _, camera in drawn],
            "channels": [camera["channels"] for _, camera in drawn],
            "hasCameraCollision": pose["cameras"][0]["position"][1] < 0.0,
            "landmarksInView": [{"ID": "Gate10_1", "position": [0.25, 0.75, 3.5]}],
            "lidarReturn": 21,
        }
        frames = []
        for place, (index, camera) in enumerate(drawn):
            image = picture(width, height, index, pose["ntime"])[::-1]
            shader = -1 if self.v2 else camera["outputShaderType"]
            if shader == 3:
                body["channels"][place] = 2
                frames.append((image[..., 0].astype("<u2") * 256 + image[..., 1]).tobytes())
            elif shader in (2, 5):
                body["channels"][place] = 1
                grey = image[..., 1]
                frames.append((grey if self.narrow else np.dstack([grey] * 3)).tobytes())
            else:
                frames.append(image.tobytes())
        if not self.v2:
            body["cameraIndexes"] = [index for index, _ in drawn]
        return [json.dumps(body).encode("ascii"), *frames]
