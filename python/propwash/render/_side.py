"""One renderer as the client sees it: its sockets, its session, its cameras."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from propwash import _core
from propwash.render._pose import Pose
from propwash.render._transport import Link
from propwash.render.cameras import CHANNELS, KINDS, RenderCamera, RenderObject
from propwash.render.frame import Image, Landmarks


@dataclass(frozen=True)
class Setting:
    """What a renderer fixes at the start of a session."""

    scene: str
    width: int
    height: int
    vertical_fov_deg: float
    depth_scale: float


@dataclass(frozen=True)
class Part:
    """One renderer's answer to a pose."""

    time_ns: int
    images: dict[str, Image]
    landmarks: Landmarks
    range_m: float
    collision: bool
    half_done: bool
    latency: float


class Side:
    """Sockets and session of one renderer. The client's lock is held around every call.

    Raises ValueError for a setting, camera or object that cannot go on the wire.
    """

    def __init__(
        self,
        link: Link,
        setting: Setting,
        cameras: Sequence[RenderCamera],
        in_flight: int,
        resend_after: float,
    ) -> None:
        self.link = link
        self.session = _core.RenderSession(in_flight=in_flight, resend_after=resend_after)
        self.cameras = list(cameras)
        self.misfits = 0
        self._setting = setting
        self._kinds = {camera.name: camera.kind for camera in cameras}
        self._in_flight = in_flight
        self._joined = 0
        self.show(())

    @property
    def ready(self) -> bool:
        """Whether a pose would go out at once."""
        return self.session.waiting == 0 and self.session.in_flight < self._in_flight

    def show(self, objects: Sequence[RenderObject]) -> None:
        """The objects of the poses to come."""
        self._message = _core.PoseMessage(
            self._setting.scene,
            [
                {
                    "id": camera.name,
                    "type": KINDS[camera.kind],
                    "collision_check": camera.collision,
                    "landmarks": place == 0,
                    "motion_blur": camera.motion_blur,
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
        """Hands a pose to the session, and sends what it gives; poses in the order of the names."""
        positions, attitudes = zip(*cameras, strict=True)
        moved, turned = zip(*objects, strict=True) if objects else (None, None)
        flags = [camera.name in rendered for camera in self.cameras]
        self._message.place(time_ns, positions, attitudes, moved, turned, flags)
        self._send(self.session.submit(self._message, now))

    def serve(self, now: float) -> None:
        """Notes renderers that came, sends what is due."""
        self.link.listen()
        if self.link.joined != self._joined:
            self._joined = self.link.joined
            self.session.renderer_connected(now)
        self._send(self.session.poll(now))

    def receive(self, now: float) -> tuple[bool, Part | None]:
        """Takes one message, if one waits: whether there was one, and the part, if it is new.

        Raises ProtocolError for a message that is not as it should be.
        """
        frames = self.link.receive()
        if frames is None:
            return False, None
        answer = self.session.receive([frame.buffer for frame in frames], now)
        return True, None if answer is None else self._part(answer)

    def _send(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            self.link.send((b"Pose", message))

    def _part(self, answer: _core.RenderAnswer) -> Part:
        images = {name: self._fitting(name, image) for name, image in answer.images.items()}
        pixels, positions = answer.landmark_pixel, answer.landmark_position
        return Part(
            answer.ntime,
            images,
            Landmarks(tuple(answer.landmark_ids), pixels[:, 0], pixels[:, 1], positions[:, 2]),
            math.nan if answer.range is None else answer.range,
            answer.collision,
            answer.half_done,
            answer.latency,
        )

    def _fitting(self, camera: str, image: Image) -> Image:
        """The image as its kind of camera gives it; one byte a pixel may come as RGB."""
        kind = self._kinds[camera]
        came = 3 if image.ndim == 3 else image.dtype.itemsize
        if came == CHANNELS[kind]:
            return image
        if came == 3 and CHANNELS[kind] == 1:
            narrow: Image = _core.luma(image)
            narrow.flags.writeable = False
            return narrow
        self.misfits += 1
        raise _core.ProtocolError(
            f"answer: camera {camera!r} of kind {kind!r}: expected {CHANNELS[kind]} bytes a pixel, "
            f"got {came}. Published renderers up to v2 draw RGB alone: ask for kind='rgb', or run "
            f"one that draws {kind} (python -m propwash render)"
        )
