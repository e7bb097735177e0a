"""Renderers of the camera bridge: in process, or the published one over ZeroMQ."""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import dataclass, replace
from typing import Protocol

from propwash._rotation import product
from propwash.render import Client, Frame, Offscreen, RenderObject, RenderTimeoutError
from propwash.render.server import STAGES, Stage
from propwash.ros._camera_settings import BridgeSettings
from propwash.ros._transforms import Pose, compose, inverse

QUEUE = 8
"""Frames that wait for the bridge; further ones displace the oldest."""


@dataclass(frozen=True)
class Job:
    """A pose to render, in axes of the scene."""

    stamp: int
    """Time stamp [ns]."""
    cameras: dict[str, Pose]
    """Name to pose; cameras look along x, and z is up in their images."""
    objects: dict[str, Pose]
    """Frame to pose of the bodies flightgoggles_obstacle/<prefab>/<number>."""


class Renderer(Protocol):
    """Renders jobs; the time stamp of a frame is that of its job."""

    def submit(self, job: Job) -> None:
        """Requests a frame; a newer job replaces one that is not yet rendered."""
        ...

    def request(self, job: Job) -> Frame | None:
        """The frame of a job; None after a fault."""
        ...

    def poll(self) -> Frame | None:
        """The next frame; None if there is none yet."""
        ...

    def faults(self) -> list[str]:
        """Faults since the last call."""
        ...

    def close(self) -> None:
        """Ends its thread or connection."""
        ...


def stage_of(name: str) -> Stage:
    """The scene for the name of a published or a shipped scene, or for a scene file."""
    return STAGES.get(name, Stage(name))


class InProcess:
    """The built-in renderer on a thread of its own (docs/render-reference.md).

    scene_seed: of the scene. antialias, threads: see Offscreen. Raises ValueError or OSError for an
    invalid scene.
    """

    def __init__(
        self,
        settings: BridgeSettings,
        *,
        scene_seed: int | None = None,
        antialias: int = 2,
        threads: int = 1,
    ) -> None:
        stage = stage_of(settings.scene)
        self._cameras = settings.render_cameras
        self._offscreen = Offscreen(
            stage.load(scene_seed),
            width=settings.width,
            height=settings.height,
            vertical_fov_deg=settings.vertical_fov_deg,
            look=stage.look,
            antialias=antialias,
            threads=threads,
        )
        self._last: Job | None = None
        self._next: Job | None = None
        self._closed = False
        self._frames: deque[Frame] = deque(maxlen=QUEUE)
        self._faults: deque[str] = deque(maxlen=QUEUE)
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="propwash-render", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Requests a frame; a newer job replaces one that is not yet rendered."""
        with self._changed:
            self._next = job
            self._changed.notify()

    def request(self, job: Job) -> Frame | None:
        """Renders a job in the calling thread."""
        try:
            return self._rendered(job)
        except (ValueError, ArithmeticError, MemoryError) as error:
            self._faults.append(str(error))
            return None

    def poll(self) -> Frame | None:
        """The next frame; None if there is none yet."""
        return self._frames.popleft() if self._frames else None

    def faults(self) -> list[str]:
        """Faults since the last call."""
        return _drained(self._faults)

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._next is None and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job, self._next = self._next, None
            assert job is not None
            frame = self.request(job)
            if frame is not None:
                self._frames.append(frame)

    def _rendered(self, job: Job) -> Frame:
        poses = [job.cameras[camera.name] for camera in self._cameras]
        # the first camera is the vehicle, on which the others are mounted
        vehicle, to_vehicle = poses[0], inverse(poses[0])
        mounted = []
        for camera, pose in zip(self._cameras, poses, strict=True):
            position, attitude = compose(to_vehicle, pose)
            mounted.append(replace(camera, position=position, attitude=attitude))
        velocity, rates = self._motion(job)
        self._last = job
        bodies = [_body(name, pose) for name, pose in job.objects.items()]
        frame = self._offscreen.render(
            mounted,
            *vehicle,
            velocity=velocity,
            body_rates=rates,
            objects=bodies,
            time=job.stamp * 1e-9,
        )
        return replace(frame, time_ns=job.stamp)  # seconds since 1970 are not exact to 1 ns

    def _motion(self, job: Job) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Velocity [m/s] and rates [rad/s] of the first camera since the last image."""
        none = (0.0, 0.0, 0.0)
        last, name = self._last, self._cameras[0].name
        if last is None or not 0 < job.stamp - last.stamp < 10**9:
            return none, none
        dt = 1e-9 * (job.stamp - last.stamp)
        (before, turn), (now, attitude) = last.cameras[name], job.cameras[name]
        w, *vector = product((turn[0], -turn[1], -turn[2], -turn[3]), attitude)
        sine = math.hypot(*vector)
        angle = 2.0 * math.atan2(sine, abs(w))
        scale = math.copysign(angle / sine if sine > 0.0 else 0.0, w) / dt
        velocity = tuple((b - a) / dt for a, b in zip(before, now, strict=True))
        return velocity, tuple(scale * part for part in vector)


class Published:
    """A renderer over ZeroMQ: the published one, or `python -m propwash render`.

    ports: (pose port, image port), to which the renderer connects. bind: the address of the
    interface. timeout: s, that `request` waits. Needs pyzmq.
    """

    def __init__(
        self,
        settings: BridgeSettings,
        *,
        ports: tuple[int, int] = (10253, 10254),
        bind: str = "127.0.0.1",
        timeout: float = 10.0,
    ) -> None:
        self._client = Client(
            settings.scene,
            settings.render_cameras,
            width=settings.width,
            height=settings.height,
            vertical_fov_deg=settings.vertical_fov_deg,
            ports=ports,
            bind=bind,
            timeout=timeout,
            on_fault="count",
        )
        self._client.start()
        self._known: set[str] = set()
        self._newest, self._offset = -1, 0
        self._fault: Exception | None = None
        self._faults: deque[str] = deque(maxlen=QUEUE)

    def submit(self, job: Job) -> None:
        """Sends a pose."""
        try:
            self._client.submit(self._prepared(job), job.cameras, job.objects)
        except ValueError as error:  # a pose or a name that has no form in the protocol
            self._faults.append(str(error))

    def request(self, job: Job) -> Frame | None:
        """Sends a pose and waits for its frame; None after the time-out."""
        try:
            frame = self._client.request(self._prepared(job), job.cameras, job.objects)
            return self._restored(frame)
        except (RenderTimeoutError, ValueError) as error:
            self._faults.append(str(error))
            return None

    def poll(self) -> Frame | None:
        """The next frame; None if there is none yet."""
        while (frame := self._client.poll()) is not None:
            if frame.time_ns >= self._offset:  # not one from before a jump of time
                return self._restored(frame)
        return None

    def faults(self) -> list[str]:
        """Faults since the last call."""
        fault = self._client.last_fault
        if fault is not None and fault is not self._fault:
            self._fault = fault
            self._faults.append(str(fault))
        return _drained(self._faults)

    def close(self) -> None:
        """Releases the ports."""
        self._client.close()

    def _prepared(self, job: Job) -> int:
        """The stamp of a job in the protocol, where stamps always increase; adds its objects."""
        stamp = job.stamp + self._offset
        if stamp <= self._newest:
            self._offset = self._newest + 1 - job.stamp
            stamp = self._newest + 1
        self._newest = stamp
        for name, pose in job.objects.items():
            if name not in self._known:
                self._client.add(_body(name, pose))
                self._known.add(name)
        return stamp

    def _restored(self, frame: Frame) -> Frame:
        return replace(frame, time_ns=frame.time_ns - self._offset)


def _body(name: str, pose: Pose) -> RenderObject:
    """A body whose frame is flightgoggles_obstacle/<prefab>/<number>."""
    parts = name.split("/")
    return RenderObject(name, parts[1] if len(parts) > 2 else name, (1.0, 1.0, 1.0), *pose)


def _drained(items: deque[str]) -> list[str]:
    found = list(items)
    items.clear()
    return found
