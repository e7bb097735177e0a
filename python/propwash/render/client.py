"""The client of one or several renderers, over the FlightGoggles protocol (docs/render.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._checks import choice
from propwash.render import _pose
from propwash.render._engine import RenderEngine, described_silence
from propwash.render._launch import Children
from propwash.render._pose import Pose
from propwash.render._side import Setting, Side
from propwash.render._transport import (
    HIGH_WATER_MARK,
    IMAGE_PORT,
    LOOPBACK,
    POSE_PORT,
    RenderTimeoutError,
    SocketPair,
    checked_address,
    checked_ports,
    require_zeromq,
)
from propwash.render.cameras import (
    RenderCamera,
    RenderObject,
    check_image,
    check_name,
    check_renderer,
    check_unique,
    distribute,
    listed,
)
from propwash.render.frame import Frame
from propwash.render.statistics import Statistics
from propwash.sensors import Camera

__all__ = ["Client"]

Poses = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""Name to (position, attitude), world frame, scalar first."""


class Client:
    """Sends poses to renderers and receives their images. A context manager.

    The client binds both ports, and renderers connect to it at any time. It communicates in calls
    of `poll`, `request` and `sleep`: call one of them at least twice a second, or `start` a
    background thread, or the renderer ends the session.

    Args:
        scene: name of a scene of the renderer; "" for its default.
        cameras: `RenderCamera` objects; one named "camera" by default.
        objects: `RenderObject` objects that are shown from the start; `add` adds others.
        width: px, of every image.
        height: px.
        vertical_fov_deg: degrees, of every camera.
        ports: (pose port, image port), or a list of such pairs, one for each renderer. Cameras are
            distributed over the renderers; objects go to all.
        bind: the address to bind: "127.0.0.1" for renderers on this machine, the address of another
            interface or "*" for others. Any program that can connect can send images: there is no
            authentication.
        senses: the index of the renderer that provides landmarks, range and collision.
        in_flight: maximum number of unanswered poses, 1 to 8.
        resend_after: s without an answer until a pose is sent again, 0.05 to 1.5.
        timeout: s, the default time-out of `request`.
        on_fault: "raise" a ProtocolError from `poll` or `request` for a malformed answer, or only
            "count" it. The answer is dropped in either case.
        depth_scale: sent to the renderer; published renderers return it.

    Raises:
        ImportError: without pyzmq.
        PortInUseError: if another client uses a port.
        ValueError: for invalid arguments.
    """

    def __init__(
        self,
        scene: str = "",
        cameras: Iterable[RenderCamera] | None = None,
        objects: Iterable[RenderObject] = (),
        *,
        width: int = 1024,
        height: int = 768,
        vertical_fov_deg: float = 70.0,
        ports: tuple[int, int] | Sequence[tuple[int, int]] = (POSE_PORT, IMAGE_PORT),
        bind: str = LOOPBACK,
        senses: int = 0,
        in_flight: int = 2,
        resend_after: float = 0.5,
        timeout: float = 10.0,
        on_fault: Literal["raise", "count"] = "raise",
        depth_scale: float = 0.2,
    ) -> None:
        if scene != "":
            check_name("scene", scene)
        choice("on_fault", on_fault, ("raise", "count"))
        check_image(width, height, vertical_fov_deg)
        pairs, address = checked_ports(ports), bind
        if bind != "*":
            expected = "an IPv4 address of this machine, or '*' for all interfaces"
            address = checked_address("bind", bind, expected)
        if type(senses) is not int or not 0 <= senses < len(pairs):
            raise ValueError(f"senses: expected 0 to {len(pairs) - 1}, got {senses!r:.100}")
        mounted = [RenderCamera("camera")] if cameras is None else cameras
        mounted = listed("cameras", RenderCamera, mounted)
        for camera in mounted:
            if any(camera.distortion):
                raise ValueError(
                    f"camera {camera.name!r}: distortion: expected 0, because messages have no "
                    f"field for it, got {camera.distortion}; use propwash.render.Offscreen"
                )
        shown = listed("objects", RenderObject, objects)
        check_unique(mounted, shown)
        for item in shown:
            check_renderer(f"object {item.name!r}", item.renderer, len(pairs))
        self.scene, self.width, self.height = scene, width, height
        self.vertical_fov_deg = vertical_fov_deg
        self.timeout = _seconds("timeout", timeout)
        self._objects = {item.name: item for item in shown}
        self._moved: dict[str, Pose] = {i.name: (i.position, i.attitude) for i in shown}
        self._mounts: dict[str, Pose] = {c.name: (c.position, c.attitude) for c in mounted}
        setting = Setting(scene, width, height, vertical_fov_deg, depth_scale)
        groups = distribute(mounted, len(pairs))
        self._context = require_zeromq().Context()
        links: list[SocketPair] = []
        try:
            for pair in pairs:
                links.append(SocketPair(self._context, address, pair, HIGH_WATER_MARK))
            sides = [
                Side(link, setting, group, in_flight, resend_after)
                for link, group in zip(links, groups, strict=True)
            ]
            self._engine = RenderEngine(sides, senses, on_fault == "raise")
            self._children = Children(scene, self._engine)
        except BaseException:
            for link in links:
                link.close()
            self._context.term()
            raise

    @classmethod
    def launch(
        cls,
        scene: str = "",
        cameras: Iterable[RenderCamera] | None = None,
        objects: Iterable[RenderObject] = (),
        *,
        probe: float = 1.0,
        start: float = 30.0,
        arguments: Sequence[str] = (),
        command: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Creates a client; starts the reference renderer unless one connects within `probe` [s].

        One child process is started for each pair of ports without a renderer; it ends with the
        client.

        Args:
            scene: as for `Client`; also passed to the child.
            cameras: as for `Client`.
            objects: as for `Client`.
            probe: s to wait for a running renderer.
            start: s to wait for the started renderer.
            arguments: additional arguments of `python -m propwash render`.
            command: another command with the options --scene, --port and --client-ip.
            **options: other arguments of `Client`.

        Raises:
            RendererError: if the child ended or did not connect in time; with its output.
        """
        client = cls(scene, cameras, objects, **options)
        try:
            times = _seconds("probe", probe), _seconds("start", start)
            client._children.launch(*times, arguments, command)
        except BaseException:
            client.close()
            raise
        return client

    @property
    def camera_matrix(self) -> NDArray[np.float64]:
        """(3, 3) camera matrix K, common to all cameras (`propwash.Camera.matrix`)."""
        return Camera(self.width, self.height, self.vertical_fov_deg).matrix

    @property
    def latest(self) -> Frame | None:
        """The newest frame, whether or not `poll` has returned it."""
        return self._engine.latest

    @property
    def last_fault(self) -> Exception | None:
        """The error of the last answer that was dropped as malformed."""
        return self._engine.last_fault

    @property
    def statistics(self) -> Statistics:
        """Counts and latencies so far."""
        return self._engine.statistics()

    @property
    def renderers(self) -> list[int]:
        """The number of connected renderers for each pair of ports; it should be 1."""
        return [side.link.subscribers for side in self._engine.sides]

    def submit(
        self,
        time_ns: int,
        cameras: Poses,
        objects: Poses | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> None:
        """Requests the images of a pose without waiting for them.

        If the renderer is slow, the newest pose replaces a waiting one.

        Args:
            time_ns: ns, the time stamp of the frame; it must increase.
            cameras: the name of every camera to (position (3,) [m], attitude (4,)), world frame.
            objects: the same for objects that moved; the others keep their poses.
            render: the names of the cameras that render this frame; None: all. The others have no
                image (`shouldRenderThisFrame` in messages), but their poses are used for the range,
                and that of the first camera for the landmarks.

        Raises:
            ValueError: for an unknown or missing name or an invalid pose; nothing is sent then.
        """
        stamp = _pose.time_stamp(time_ns)
        placed = _pose.poses("cameras", cameras, self._mounts)
        missing = [name for name in self._mounts if name not in placed]
        if missing:
            raise ValueError(
                f"cameras: expected a pose for each, got none for {', '.join(map(repr, missing))}"
            )
        moved = self._moved | _pose.poses("objects", objects, self._objects)
        shown = [(item, moved[name]) for name, item in self._objects.items()]
        rendered = _pose.names("render", render, self._mounts)
        self._engine.submit(stamp, placed, shown, rendered)
        self._moved = moved

    def submit_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Poses | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> None:
        """As `submit`, with the cameras mounted on a vehicle at this pose.

        Args:
            time_ns: ns; it must increase.
            position: (3,) m, world frame.
            attitude: (4,) scalar first, body to world.
            objects: objects that moved.
            render: the cameras that render this frame; None: all.
        """
        vehicle = _pose.position("position", position), _pose.attitude("attitude", attitude)
        cameras = {name: _pose.compose(vehicle, at) for name, at in self._mounts.items()}
        self.submit(time_ns, cameras, objects, render=render)

    def request(
        self,
        time_ns: int,
        cameras: Poses,
        objects: Poses | None = None,
        *,
        render: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> Frame:
        """As `submit`, and waits for the frame of this pose.

        Raises:
            RenderTimeoutError: after `timeout` [s] (None: that of the client).
            ProtocolError: for a malformed answer, unless on_fault="count".
            RendererError: if the renderer that `launch` started has ended.
        """
        seconds = self.timeout if timeout is None else _seconds("timeout", timeout)
        self.submit(time_ns, cameras, objects, render=render)
        return self._await(int(time_ns), seconds)

    def request_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Poses | None = None,
        *,
        render: Iterable[str] | None = None,
        timeout: float | None = None,
    ) -> Frame:
        """As `submit_vehicle`, and waits as `request` does."""
        seconds = self.timeout if timeout is None else _seconds("timeout", timeout)
        self.submit_vehicle(time_ns, position, attitude, objects, render=render)
        return self._await(int(time_ns), seconds)

    def poll(self, timeout: float = 0.0) -> Frame | None:
        """The next frame in order; None if none arrives within `timeout` [s].

        Raises ProtocolError for a malformed answer, unless on_fault="count", and RendererError if
        the renderer that `launch` started has ended.
        """
        frame = self._engine.wait_for(self._engine.take, _seconds("timeout", timeout))
        if frame is None:
            self._children.check()
        return frame

    def sleep(self, seconds: float) -> None:
        """Waits, and serves the renderers meanwhile."""
        self._engine.wait_for(lambda: None, _seconds("seconds", seconds))

    def mount(
        self, camera: str, position: ArrayLike | None = None, attitude: ArrayLike | None = None
    ) -> None:
        """Moves a camera on its vehicle, as a gimbal does; at any time.

        Args:
            camera: its name.
            position: (3,) m, vehicle axes; None: as it was.
            attitude: (4,) camera to vehicle; None: as it was.
        """
        _pose.check_known("camera", camera, self._mounts)
        was = self._mounts[camera]
        self._mounts[camera] = (
            was[0] if position is None else _pose.position("position", position),
            was[1] if attitude is None else _pose.attitude("attitude", attitude),
        )

    def add(self, item: RenderObject) -> None:
        """Adds an object from the next pose on. Renderers never remove an object."""
        listed("item", RenderObject, [item])
        if item.name in self._mounts or item.name in self._objects:
            raise ValueError(f"item: expected a name that is not in use, got {item.name!r}")
        check_renderer(f"object {item.name!r}", item.renderer, len(self._engine.sides))
        self._moved[item.name] = (item.position, item.attitude)
        self._objects[item.name] = item

    def start(self) -> None:
        """Starts a background thread, so that the session survives pauses of the caller."""
        self._engine.start()

    def restart(self) -> None:
        """Ends the session by a pause of 2.5 s, after which renderers start a new one.

        For a renderer that has stopped answering. Unanswered poses are dropped. If a connected
        renderer has not answered for 10 s, this happens automatically, and the newest pose is sent
        again.
        """
        self._engine.restart()

    def close(self) -> None:
        """Releases the ports and ends the renderer that `launch` started. May be called twice."""
        self._engine.close()
        self._context.term()
        self._children.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ports = ", ".join(str(side.link) for side in self._engine.sides)
        cameras = ", ".join(self._mounts)
        return f"Client({self.scene!r}, cameras {cameras}; {ports})"

    def _await(self, time_ns: int, seconds: float) -> Frame:
        def take() -> Frame | None:
            frame = self._engine.take_stamped(time_ns)
            if frame is None:
                self._children.check()
            return frame

        frame = self._engine.wait_for(take, seconds)
        if frame is None:
            raise RenderTimeoutError(
                described_silence(self._engine.sides, self.scene, seconds, self.last_fault)
            )
        return frame


def _seconds(name: str, value: float) -> float:
    if not _pose.is_number(value) or not 0.0 <= value < math.inf:
        raise ValueError(f"{name}: expected a finite number >= 0 [s], got {value!r:.100}")
    return float(value)
