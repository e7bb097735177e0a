"""The client's side of one renderer: sockets, session and cameras."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from propwash import _render
from propwash.render._pose import Pose
from propwash.render._transport import SocketPair
from propwash.render.cameras import CHANNELS, KINDS, RenderCamera, RenderObject
from propwash.render.frame import Image, Landmarks


@dataclass(frozen=True)
class Setting:
    """Settings that are constant during a session."""

    scene: str
    width: int
    height: int
    vertical_fov_deg: float
    depth_scale: float


@dataclass(frozen=True)
class RendererAnswer:
    """The answer of one renderer to a pose."""

    time_ns: int
    images: dict[str, Image]
    landmarks: Landmarks
    range_m: float
    collision: bool
    incomplete: bool
    latency: float


class Side:
    """Sockets and session of one renderer. Every call requires the client's lock.

    Raises ValueError for a setting, camera or object that cannot be encoded.
    """

    def __init__(
        self,
        link: SocketPair,
        setting: Setting,
        cameras: Sequence[RenderCamera],
        in_flight: int,
        resend_after: float,
    ) -> None:
        self.link = link
        self.session = _render.RenderSession(in_flight=in_flight, resend_after=resend_after)
        self.cameras = list(cameras)
        self.misfits = 0
        self._setting = setting
        self._kinds = {camera.name: camera.kind for camera in cameras}
        self._in_flight = in_flight
        self._joined = 0
        self._last_ns: dict[str, int] = {}
        self.show(())

    @property
    def ready(self) -> bool:
        """Whether a pose would be sent immediately."""
        return self.session.waiting == 0 and self.session.in_flight < self._in_flight

    def show(self, objects: Sequence[RenderObject]) -> None:
        """Sets the objects of the next poses."""
        self._message = _render.PoseMessage(
            self._setting.scene,
            [
                {
                    "id": camera.name,
                    "type": KINDS[camera.kind],
                    "collision_check": camera.collision,
                    "landmarks": place == 0,
                }
                for place, camera in enumerate(self.cameras)
            ],
            [{"id": item.name, "prefab": item.prefab, "size": item.size} for item in objects],
            width=self._setting.width,
            height=self._setting.height,
            vertical_fov_deg=self._setting.vertical_fov_deg,
            depth_scale=self._setting.depth_scale,
        )

    def submit(
        self,
        time_ns: int,
        cameras: Sequence[Pose],
        objects: Sequence[Pose],
        rendered: frozenset[str],
        now: float,
    ) -> None:
        """Submits a pose to the session and sends its messages.

        cameras, objects: poses, in the order of `self.cameras` and of the objects of show().
        """
        positions, attitudes = zip(*cameras, strict=True)
        places, rotations = zip(*objects, strict=True) if objects else (None, None)
        flags = [camera.name in rendered for camera in self.cameras]
        blur = [self._blur(camera, time_ns) for camera in self.cameras]
        self._message.place(time_ns, positions, attitudes, places, rotations, flags, blur)
        self._send(self.session.submit(self._message, now))
        self._last_ns.update(dict.fromkeys(rendered, time_ns))

    def _blur(self, camera: RenderCamera, time_ns: int) -> float:
        """The exposure as a fraction of the time since the camera's last image; 0 without one."""
        last_ns = self._last_ns.get(camera.name)
        since = math.inf if last_ns is None else 1e-9 * (time_ns - last_ns)
        return min(camera.motion_blur / since, 1.0)

    def serve(self, now: float) -> None:
        """Detects connected renderers and sends what is due."""
        self.link.listen()
        if self.link.joined != self._joined:
            self._joined = self.link.joined
            self.session.renderer_connected(now)
        self._send(self.session.poll(now))

    def receive(self) -> tuple[bool, RendererAnswer | None]:
        """Receives one message; returns whether there was one, and the part if it is new.

        Raises ProtocolError for a malformed message.
        """
        frames = self.link.receive()
        if frames is None:
            return False, None
        # not the time at which the client began to serve, which would shorten latencies
        now = time.monotonic()
        answer = self.session.receive([frame.buffer for frame in frames], now)
        return True, None if answer is None else self._part(answer)

    def _send(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            self.link.send((b"Pose", message))

    def _part(self, answer: _render.RenderAnswer) -> RendererAnswer:
        images = {name: self._fitting(name, image) for name, image in answer.images.items()}
        pixels, positions = answer.landmark_pixel, answer.landmark_position
        return RendererAnswer(
            answer.ntime,
            images,
            Landmarks(tuple(answer.landmark_ids), pixels[:, 0], pixels[:, 1], positions[:, 2]),
            math.nan if answer.range is None else answer.range,
            answer.collision,
            answer.incomplete,
            answer.latency,
        )

    def _fitting(self, camera: str, image: Image) -> Image:
        """The image in the format of its camera kind; one-byte kinds may arrive as RGB."""
        kind = self._kinds[camera]
        channels = 3 if image.ndim == 3 else image.dtype.itemsize
        if channels == CHANNELS[kind]:
            return image
        if channels == 3 and CHANNELS[kind] == 1:
            narrow: Image = _render.luma(image)
            narrow.flags.writeable = False
            return narrow
        self.misfits += 1
        raise _render.ProtocolError(
            f"answer: camera {camera!r} of kind {kind!r}: expected {CHANNELS[kind]} bytes a pixel, "
            f"got {channels}. Published renderers up to v2 only render RGB: use kind='rgb' or a "
            f"renderer for {kind} (python -m propwash render)"
        )
