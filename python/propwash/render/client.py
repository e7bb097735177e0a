"""The client of one or several renderers on the FlightGoggles wire (docs/render.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash.render import _pose
from propwash.render._engine import LOCAL, Engine, described_silence
from propwash.render._launch import RendererProcess
from propwash.render._pose import Pose
from propwash.render._side import Setting, Side
from propwash.render._transport import (
    HIGH_WATER_MARK,
    IMAGE_PORT,
    LOOPBACK,
    POSE_PORT,
    Link,
    checked_address,
    checked_ports,
    zeromq,
)
from propwash.render.cameras import (
    RenderCamera,
    RenderObject,
    check_name,
    check_picture,
    check_renderer,
    check_unique,
    distribute,
    listed,
)
from propwash.render.errors import RendererError, RenderTimeoutError
from propwash.render.frame import Frame
from propwash.render.statistics import Statistics
from propwash.sensors import Camera

__all__ = ["Client"]

Poses = Mapping[str, tuple[ArrayLike, ArrayLike]]
"""Name to (position, attitude), world frame, scalar first."""


class Client:
    """Sends poses to renderers, receives their images. A context manager; close it at the end.

    It binds both ports, and renderers connect to it, before or after. Work is done on the
    caller's thread, in `poll`, `request` and `sleep`: call one of them at least twice a second, or
    `start` a thread, or the renderer forgets the session.

    Args:
        scene: a name that the renderer knows; "" for its default.
        cameras: of the type `RenderCamera`; one named "camera" by default.
        objects: of the type `RenderObject`, shown from the start; `add` adds others.
        width: px, of every picture.
        height: px.
        vertical_fov_deg: degrees, of every camera.
        ports: (pose port, image port), or a list of such pairs, one for each renderer. Cameras are
            distributed over the renderers; objects go to all.
        bind: the address to listen on: "127.0.0.1" for renderers on this machine, that of another
            interface or "*" for others. Whoever reaches it can send images: there is no
            authentication.
        senses: the number of the renderer whose landmarks, range and collision a frame takes.
        in_flight: poses sent and not answered, at most; 1 to 8.
        resend_after: s without an answer until a pose is sent again, 0.05 to 1.5.
        timeout: s for which `request` waits, unless told otherwise.
        on_fault: what a malformed answer does: "raise" a ProtocolError from `poll` or `request`,
            or only "count" it. It is dropped in either case, and the next is received.
        depth_scale: handed to the renderer; published ones give it back.

    Raises:
        ImportError: without pyzmq.
        PortInUseError: where another client has a port.
        ValueError: for what cannot be sent.
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
        if on_fault not in ("raise", "count"):
            raise ValueError(f"on_fault: expected 'raise' or 'count', got {on_fault!r:.100}")
        check_picture(width, height, vertical_fov_deg)
        pairs, address = checked_ports(ports), checked_address(bind)
        if type(senses) is not int or not 0 <= senses < len(pairs):
            raise ValueError(f"senses: expected 0 to {len(pairs) - 1}, got {senses!r:.100}")
        given = listed(
            "cameras", RenderCamera, [RenderCamera("camera")] if cameras is None else cameras
        )
        shown = listed("objects", RenderObject, objects)
        check_unique(given, shown)
        for item in shown:
            check_renderer(f"object {item.name!r}", item.renderer, len(pairs))
        self.scene, self.width, self.height = scene, width, height
        self.vertical_fov_deg = vertical_fov_deg
        self.timeout = _seconds("timeout", timeout)
        self._objects = {item.name: item for item in shown}
        self._moved: dict[str, Pose] = {i.name: (i.position, i.attitude) for i in shown}
        self._mounts: dict[str, Pose] = {c.name: (c.position, c.attitude) for c in given}
        self._children: list[RendererProcess] = []
        setting = Setting(scene, width, height, vertical_fov_deg, depth_scale)
        shares = distribute(given, len(pairs))
        self._context = zeromq().Context()
        links: list[Link] = []
        try:
            for pair in pairs:
                links.append(Link(self._context, address, pair, HIGH_WATER_MARK))
            sides = [
                Side(link, setting, share, in_flight, resend_after)
                for link, share in zip(links, shares, strict=True)
            ]
            self._engine = Engine(sides, senses, on_fault == "raise")
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
        """A client with a renderer: one that connects within `probe` [s], or else our own.

        The reference renderer is started as a child process, one for each pair of ports without a
        renderer, and ended with the client.

        Args:
            scene: as for the client, like cameras and objects; the child is started with it.
            cameras: see there.
            objects: see there.
            probe: s to wait for a renderer that runs already.
            start: s to wait for one that was started.
            arguments: further arguments of `python -m propwash render`.
            command: another command that takes the arguments --scene, --port and --client-ip.
            **options: the client's other arguments.

        Raises:
            RendererError: where the child ended or did not connect in time, with what it printed.
        """
        client = cls(scene, cameras, objects, **options)
        try:
            client._launch(_seconds("probe", probe), _seconds("start", start), arguments, command)
        except BaseException:
            client.close()
            raise
        return client

    @property
    def camera_matrix(self) -> NDArray[np.float64]:
        """(3, 3) K of every camera (`propwash.Camera.matrix`)."""
        return Camera(self.width, self.height, self.vertical_fov_deg).matrix

    @property
    def latest(self) -> Frame | None:
        """The newest frame that came, whether or not `poll` gave it."""
        return self._engine.latest

    @property
    def last_fault(self) -> Exception | None:
        """What was wrong with the last answer that was dropped as malformed."""
        return self._engine.last_fault

    @property
    def statistics(self) -> Statistics:
        """Counts and latencies so far."""
        return self._engine.statistics()

    @property
    def renderers(self) -> list[int]:
        """How many renderers listen on each pair of ports at present; one is right."""
        return [side.link.subscribers for side in self._engine.sides]

    def submit(
        self,
        time_ns: int,
        cameras: Poses,
        objects: Poses | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> None:
        """Asks for the pictures of a moment, without waiting for them.

        Where the renderer is behind, the newest pose takes the place of one that still waits.

        Args:
            time_ns: ns, the stamp that the frame will carry; it must increase.
            cameras: every camera's name to its (position (3,) [m], attitude (4,)) in the world.
            objects: those that moved, likewise; others stay where they were.
            render: the names of the cameras that render this frame; None: all. The others have no
                image in it (`shouldRenderThisFrame` on the wire), but their poses count for the
                range, and the first camera's for the landmarks.

        Raises:
            ValueError: for a name that is unknown or missing, or numbers that are no pose; nothing
                is sent then.
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
        """As `submit`, with the cameras where they are mounted on a vehicle at this pose.

        Args:
            time_ns: ns; it must increase.
            position: (3,) m, world frame.
            attitude: (4,) scalar first, body to world.
            objects: those that moved.
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
        """As `submit`, and waits for the frame of this very moment.

        Raises:
            RenderTimeoutError: after `timeout` [s] (None: the client's); it says what to check.
            ProtocolError: for a malformed answer, unless those are only counted.
            RendererError: where the renderer that `launch` started has ended.
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
        """The next frame, in order; None where none came within `timeout` [s].

        Raises ProtocolError for a malformed answer, unless those are only counted, and the next
        call goes on; RendererError where the renderer that `launch` started has ended.
        """
        frame = self._engine.wait_for(self._engine.take, _seconds("timeout", timeout))
        if frame is None:
            self._check_children()
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
        """Shows another object from the next pose on. Renderers never remove one."""
        listed("item", RenderObject, [item])
        if item.name in self._mounts or item.name in self._objects:
            raise ValueError(f"objects: the name {item.name!r} is taken")
        check_renderer(f"object {item.name!r}", item.renderer, len(self._engine.sides))
        self._moved[item.name] = (item.position, item.attitude)
        self._objects[item.name] = item

    def start(self) -> None:
        """Has a thread serve the renderers from now on, so that the session outlives any pause."""
        self._engine.start()

    def restart(self) -> None:
        """Ends the session by 2.5 s of silence, after which renderers begin anew.

        For a renderer that lives but has stopped answering. Poses not answered are given up. Where
        one has listened for 10 s and answered nothing, such a silence comes by itself, and the
        newest pose is asked for again.
        """
        self._engine.restart()

    def close(self) -> None:
        """Frees the ports, ends the renderer that `launch` started. May be called twice."""
        self._engine.close()
        self._context.term()
        for child in self._children:
            child.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ports = ", ".join(str(side.link) for side in self._engine.sides)
        cameras = ", ".join(self._mounts)
        return f"Client({self.scene!r}, cameras {cameras}; {ports})"

    def _await(self, time_ns: int, seconds: float) -> Frame:
        def come() -> Frame | None:
            frame = self._engine.take_stamped(time_ns)
            if frame is None:
                self._check_children()
            return frame

        frame = self._engine.wait_for(come, seconds)
        if frame is None:
            raise RenderTimeoutError(
                described_silence(self._engine.sides, self.scene, seconds, self.last_fault)
            )
        return frame

    def _launch(
        self, probe: float, start: float, arguments: Sequence[str], command: Sequence[str] | None
    ) -> None:
        def all_there() -> bool | None:
            self._check_children()
            return all(self.renderers) or None

        if self._engine.wait_for(all_there, probe):
            return
        for side in self._engine.sides:
            if side.link.subscribers == 0:
                address = LOCAL.get(side.link.bind, side.link.bind)
                self._children.append(
                    RendererProcess(self.scene, side.link.ports, address, arguments, command)
                )
        if not self._engine.wait_for(all_there, start):
            child = self._children[-1]
            raise RendererError(
                f"the renderer that was started did not connect within {start:g} s: "
                f"{' '.join(child.command)}\n{child.output()}"
            )

    def _check_children(self) -> None:
        for child in self._children:
            # another may have taken its place
            gone = self._engine.subscribers(child.ports) == 0
            if gone and child.status is not None:
                raise RendererError(
                    f"the renderer that was started has ended with status {child.status}: "
                    f"{' '.join(child.command)}\n{child.output()}"
                )


def _seconds(name: str, value: float) -> float:
    if not _pose.is_number(value) or not 0.0 <= value < math.inf:
        raise ValueError(f"{name}: expected a finite number >= 0 [s], got {value!r:.100}")
    return float(value)
