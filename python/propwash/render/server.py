"""The reference renderer as a server: answers pose messages like the published renderer.

`Server.answer` maps a message to its answer, without sockets; `Server.run` connects to a client.
Both versions of the protocol are supported. docs/render-reference.md lists the differences from the
published renderer.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from propwash import _render
from propwash.render._pose import Pose
from propwash.render._reference import Body, ImageView, Request, SceneRenderer, Shot
from propwash.render._transport import (
    HIGH_WATER_MARK,
    IMAGE_PORT,
    LOOPBACK,
    POSE_PORT,
    checked_address,
    checked_ports,
    require_zeromq,
)
from propwash.render.cameras import Kind
from propwash.world import Scene, scene_names

__all__ = ["STAGES", "Server", "Stage", "require_zeromq"]

SESSION_TIMEOUT = 2.0
"""s without a pose, after which a session ends."""

_KIND_OF: dict[str, Kind] = {"depth_compressed": "depth8", "optical_flow": "flow"}
"""Names of camera kinds in messages that differ from the names in propwash."""


@dataclass(frozen=True)
class Stage:
    """The shipped scene that represents a scene of the published renderer."""

    scene: str
    """Name of a shipped scene."""
    look: str = "auto"
    """Light and colours, as in `propwash render --look`."""
    gates: bool = True
    """Whether the gates of the scene are drawn."""

    def load(self, seed: int | None = None) -> Scene:
        """The scene. seed: see Scene.load."""
        scene = Scene.load(self.scene, seed=seed)
        if self.gates:
            return scene
        return Scene([item for item in scene.items if item.category != "gate"])


STAGES: dict[str, Stage] = {
    "": Stage("alphapilot"),
    "Abandoned_Factory_Morning": Stage("alphapilot", "morning"),
    "Abandoned_Factory_Morning_No_Gates": Stage("alphapilot", "morning", gates=False),
    "Abandoned_Factory_Sunset": Stage("alphapilot", "sunset"),
    "Abandoned_Factory_Sunset_No_Gates": Stage("alphapilot", "sunset", gates=False),
    "Butterfly_World": Stage("forest", "noon"),
    "FPS_Warehouse_Day": Stage("warehouse"),
    "FPS_Warehouse_Night": Stage("warehouse"),
    "Hazelwood_Loft_Full_Day": Stage("room"),
    "Hazelwood_Loft_Full_Night": Stage("room"),
    "Museum_Day": Stage("room"),
    "Museum_Day_Small": Stage("room"),
    "NYC_Subway": Stage("warehouse"),
    "Stata_Basement": Stage("warehouse"),
    "Stata_GroundFloor": Stage("room"),
}
"""Scenes of the published renderer, by name."""


class Server:
    """Answers pose messages with images.

    Args:
        scene: the scene to show, whatever the poses specify: a Scene, the name of a shipped or of a
            published scene (`STAGES`), or a scene file. None: the scene that the pose names, and
            alphapilot for an unknown name.
        ports: pose port and image port of the client.
        client_ip: the client's address.
        look: the light; see Offscreen. "auto" also considers the name of a published scene.
        antialias: see Offscreen.
        threads: see Offscreen.
        seed: of the scene and its textures.
        log: called with each line of the log.

    Raises ValueError for invalid arguments.
    """

    def __init__(
        self,
        scene: Scene | str | Path | None = None,
        *,
        ports: tuple[int, int] = (POSE_PORT, IMAGE_PORT),
        client_ip: str = LOOPBACK,
        look: str = "auto",
        antialias: int = 2,
        threads: int = 1,
        seed: int | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        (self.ports,) = checked_ports([ports])
        expected = "the IPv4 address of the client's machine, such as 127.0.0.1, not a host name"
        self.client_ip = checked_address("client_ip", client_ip, expected)
        self.counts: Counter[str] = Counter()
        """poses: received; answered: with new images; repeated: with the previous images; skipped:
        superseded by newer poses; malformed: not decoded; refused: not rendered; unsent: the client
        was too slow."""
        self._log = log if log is not None else lambda line: None
        self._options = {"seed": seed or 0, "antialias": antialias, "threads": threads}
        self._seed = seed
        self._look = look
        self._fixed = scene
        if isinstance(scene, str) and scene in STAGES:
            self._fixed = STAGES[scene].load(seed)
            if look == "auto":
                self._look = STAGES[scene].look
        self._scene_name: str | None = None
        self._last: tuple[bytes, list[bytes | memoryview]] | None = None
        self._complaints: set[str] = set()
        self._reference = self._staged("")

    @property
    def look(self) -> str:
        """The light of the present scene."""
        return self._reference.look

    def answer(self, payload: bytes | memoryview) -> list[bytes | memoryview] | None:
        """The answer to the second frame of a pose message; None if there is none.

        A malformed pose gets the previous answer, as from the published renderer.
        """
        if self._last is not None and payload == self._last[0]:
            self.counts["repeated"] += 1
            return self._last[1]
        try:
            pose = _render.decode_pose(payload)
        except ValueError as error:  # ProtocolError is one
            return self._complain("malformed", f"pose not read: {error}")
        try:
            frames = self._rendered(pose)
        except (ValueError, MemoryError) as error:
            return self._complain("refused", f"pose not rendered: {error}")
        self.counts["answered"] += 1
        self._last = (bytes(payload), frames)
        return frames

    def forget(self) -> None:
        """Ends the session: the next pose starts a new one."""
        self._last = None
        self._reference.forget()

    def run(
        self,
        until: Callable[[], bool] = lambda: False,
        status: Callable[[Server], None] | None = None,
    ) -> None:
        """Connects and answers until `until()` returns True.

        Args:
            until: called at least ten times a second.
            status: called as often, to report progress.

        Raises ImportError without pyzmq.
        """
        zmq = require_zeromq()
        context = zmq.Context()
        poses, images = context.socket(zmq.SUB), context.socket(zmq.PUB)
        try:
            for socket, port in ((poses, self.ports[0]), (images, self.ports[1])):
                socket.setsockopt(zmq.LINGER, 0)
                socket.setsockopt(zmq.RCVHWM, HIGH_WATER_MARK)
                socket.setsockopt(zmq.SNDHWM, HIGH_WATER_MARK)
                socket.connect(f"tcp://{self.client_ip}:{port}")
            poses.setsockopt(zmq.SUBSCRIBE, b"Pose")
            self._serve(zmq, poses, images, until, status)
        finally:
            poses.close(linger=0)
            images.close(linger=0)
            context.term()

    def _serve(
        self,
        zmq: Any,
        poses: Any,
        images: Any,
        until: Callable[[], bool],
        status: Callable[[Server], None] | None,
    ) -> None:
        received = time.monotonic()
        in_session = False
        while not until():
            if status is not None:
                status(self)
            if not poses.poll(100):
                if in_session and time.monotonic() - received > SESSION_TIMEOUT:
                    in_session = False
                    self.forget()
                continue
            received, in_session = time.monotonic(), True
            payload = self._newest(zmq, poses)
            frames = None if payload is None else self.answer(payload)
            if frames is not None:
                try:
                    images.send_multipart(frames, flags=zmq.NOBLOCK, copy=False)
                except zmq.Again:  # the client is too slow and misses this answer
                    self.counts["unsent"] += 1

    def _newest(self, zmq: Any, poses: Any) -> bytes | None:
        """The second frame of the newest pending message; None if none is a pose."""
        newest = None
        # bounded, so that a flooded port cannot block the answers
        for _ in range(10_000):
            try:
                message = poses.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            self.counts["poses"] += 1
            if len(message) != 2 or message[0] != b"Pose" or len(message[1]) < 10:
                lengths = [len(frame) for frame in message[:8]]
                self._complain(
                    "malformed",
                    f"pose not read: expected two frames, 'Pose' and JSON, got {lengths} bytes",
                )
                continue
            if newest is not None:
                self.counts["skipped"] += 1
            newest = message[1]
        return newest

    def _rendered(self, pose: Any) -> list[bytes | memoryview]:
        if pose.scene != self._scene_name:
            self._reference = self._staged(pose.scene)
        request = _request(pose)
        shot = self._reference.take(request, bottom_first=True)
        shown = [
            (number, view.name, layout)
            for number, (view, layout) in enumerate(
                zip(request.views, pose.image_layouts, strict=True)
            )
            if view.name in shot.images
        ]
        landmarks = _wire_landmarks(shot, pose.width, pose.height)
        header = _render.encode_answer(
            pose.ntime,
            pose.width,
            pose.height,
            [name for _, name, _ in shown],
            [channels for _, _, (channels, _) in shown],
            camera_indexes=[number for number, _, _ in shown],
            collision=shot.collision,
            landmark_ids=[name for name, _ in landmarks],
            landmark_position=[place for _, place in landmarks],
            range=shot.range_m,
            depth_scale=pose.depth_scale,
        )
        return [header, *(_wire_bytes(shot.images[name], pixel) for _, name, (_, pixel) in shown)]

    def _staged(self, name: str) -> SceneRenderer:
        """The renderer of the scene with this name in a pose."""
        if self._fixed is not None:
            stage = STAGES.get(name, Stage(""))
            scene = self._fixed
            if not isinstance(scene, Scene):
                scene = self._fixed = Scene.load(scene, seed=self._seed)
        else:
            stage = self._stage(name)
            scene = stage.load(self._seed)
        look = self._look if self._look != "auto" else stage.look
        reference = SceneRenderer(scene, look, **self._options)
        self._scene_name = name
        return reference

    def _stage(self, name: str) -> Stage:
        known = STAGES.get(name)
        if known is not None:
            return known
        if name in scene_names():
            return Stage(name)
        self._complain_once(f"scene {name!r} is unknown: showing alphapilot instead")
        return Stage("alphapilot")

    def _complain(self, what: str, line: str) -> list[bytes | memoryview] | None:
        self.counts[what] += 1
        self._complain_once(line)
        return None if self._last is None else self._last[1]

    def _complain_once(self, line: str) -> None:
        """Logs each message once, at most 100 of them."""
        if line not in self._complaints and len(self._complaints) < 100:
            self._complaints.add(line)
            self._log(line[:500])


def _request(pose: Any) -> Request:
    cameras = pose.cameras
    objects = pose.objects
    return Request(
        pose.width,
        pose.height,
        pose.vertical_fov_deg,
        [
            ImageView(
                camera.id,
                _KIND_OF.get(camera.type, camera.type),
                _pose_of(camera),
                camera.collision_check,
                camera.render,
                motion_blur=camera.motion_blur,
            )
            for camera in cameras
        ],
        [Body(body.id, body.prefab, tuple(body.size), _pose_of(body)) for body in objects],
    )


def _pose_of(item: Any) -> Pose:
    x, y, z = map(float, item.position)
    attitude = tuple(map(float, item.attitude))
    norm = math.hypot(*attitude)
    if not 1e-6 < norm < 1e6:
        raise ValueError(
            f"rotation of {item.id!r:.100}: expected a unit quaternion, got {attitude}"
        )
    a, b, c, d = (part / norm for part in attitude)
    return (x, y, z), (a, b, c, d)


def _wire_landmarks(
    shot: Shot, width: int, height: int
) -> list[tuple[str, tuple[float, float, float]]]:
    """Names and (u, v, depth) of a message: u, v from 0 to 1, from the lower left corner."""
    placed = [(name, (u / width, 1.0 - v / height, depth)) for name, u, v, depth in shot.landmarks]
    # at the edge of the image they may round to 0 or 1, which clients reject
    return [each for each in placed if 0.0 < each[1][0] < 1.0 and 0.0 < each[1][1] < 1.0]


def _wire_bytes(image: Any, bytes_per_pixel: int) -> memoryview:
    """The bytes of an image in a message: 16 bits little-endian, grey as three bytes for v3."""
    if image.dtype.itemsize > 1:
        image = image.astype(image.dtype.newbyteorder("<"), copy=False)
    elif image.ndim == 2 and bytes_per_pixel == 3:
        image = np.stack((image, image, image), axis=-1)
    return memoryview(image).cast("B")
